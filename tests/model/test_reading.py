"""Single values out of files and options are of the right kind, or refused."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.amount import Amount
from bursar.model.errors import InputError
from bursar.model.reading import (
    read_amount,
    read_duration,
    read_flag,
    read_toml,
    read_whole,
    read_words,
)

anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(allow_nan=True, allow_infinity=True),
    st.text(),
    st.binary(),
    st.dates(),
    st.times(),
    st.lists(st.integers()),
    st.dictionaries(st.text(), st.integers()),
)
READERS = {
    read_amount: Amount,
    read_duration: int,
    read_whole: int,
    read_flag: bool,
    read_words: str,
}


@given(anything, st.sampled_from(list(READERS)))
def test_a_value_is_of_the_right_kind_or_refused_in_one_line(value, reader):
    try:
        found = reader(value)
    except InputError as refusal:
        assert str(refusal).isprintable()
    else:
        assert type(found) is READERS[reader]


@pytest.mark.parametrize(
    ("reader", "value"),
    [
        (read_whole, True),
        (read_whole, 1.0),
        (read_whole, "3"),
        (read_whole, -1),
        (read_whole, 2**31),
        (read_amount, False),
        (read_amount, -1),
        (read_amount, datetime.date(2012, 9, 21)),
        (read_duration, 60),
        (read_duration, Decimal("1.5")),
        (read_flag, 1),
        (read_flag, "true"),
        (read_words, " "),
        (read_words, "a\tb"),
        (read_words, 3),
    ],
)
def test_a_value_of_another_kind_is_not_bent_into_shape(reader, value):
    with pytest.raises(InputError):
        reader(value)


def test_numbers_with_a_point_stay_exact():
    assert read_toml("price = 0.10", "x") == {"price": Decimal("0.10")}


def test_the_place_of_a_mistake_in_toml_is_reported():
    with pytest.raises(InputError, match=r"a\.toml: not valid TOML: .*\(at line 2, column 5\)"):
        read_toml("a = 1\nb = ?", "a.toml")
