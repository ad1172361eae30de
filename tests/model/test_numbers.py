from __future__ import annotations

import pytest

from bursar.model.errors import InputError
from bursar.model.numbers import is_position, parse_number, parse_whole

STRANGE = [
    "",
    " ",
    "nan",
    "inf",
    "-inf",
    "٣",
    "３",
    "1_000",
    "0x10",
    "1,5",
    "one",
    "1e",
    "²",
    "9" * 99,
]


@pytest.mark.parametrize("text", [*STRANGE, "1.0", "-1", "11", "1e1"])
def test_what_is_no_whole_number_within_its_limits_is_refused(text):
    with pytest.raises(InputError, match="is not a whole number from 0 to 10"):
        parse_whole(text, 0, 10)


@pytest.mark.parametrize("text", [*STRANGE, "-0.1", "1.1", "1e999", "1e-999x"])
def test_what_is_no_number_within_its_limits_is_refused(text):
    with pytest.raises(InputError, match="is not a number from 0 to 1"):
        parse_number(text, 0, 1)


@pytest.mark.parametrize(
    ("text", "value"), [("0.5", 0.5), (".5", 0.5), ("1.", 1.0), ("5e-1", 0.5), (" 1 ", 1.0)]
)
def test_numbers_as_people_write_them(text, value):
    assert parse_number(text, 0, 1) == value


def test_whole_numbers_as_people_write_them():
    assert [parse_whole(text, -5, 5) for text in ("3", "+3", "-3", " 0 ", "005")] == [
        3,
        3,
        -3,
        0,
        5,
    ]


@pytest.mark.parametrize("text", ["0", "4", "٣", "-1", "", "1.0", "9" * 30])
def test_only_some_numbers_are_those_of_things(text):
    assert is_position("3", 3)
    assert not is_position(text, 3)
