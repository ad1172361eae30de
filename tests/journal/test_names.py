from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.journal.names import FIRST_WORDS, SECOND_WORDS, check_run_name, new_run_name
from bursar.model.errors import InputError


def test_there_are_thousands_of_names_and_no_word_comes_twice():
    words = FIRST_WORDS + SECOND_WORDS
    assert len(set(words)) == len(words) == 128
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words)


@given(st.integers(), st.integers(1, 50))
def test_new_names_are_free_and_valid(seed, count):
    taken = set()
    for _ in range(count):
        name = new_run_name(Random(seed), taken)
        assert name not in taken
        assert check_run_name(name) == name
        taken.add(name)


def test_a_taken_name_gets_a_number():
    name = new_run_name(Random(1), ())
    assert new_run_name(Random(1), {name}) == f"{name}-2"
    assert new_run_name(Random(1), {name, f"{name}-2"}) == f"{name}-3"


@pytest.mark.parametrize("name", ["a", "A-b_9", "_x", "9", "x" * 64, "a--b"])
def test_letters_digits_dashes_and_underscores_make_a_name(name):
    assert check_run_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "-a", ".a", "a/b", "..", "a b", "a\n", "é", "x" * 65, "a.b", "a\x00", "$(x)", "last"],
)
def test_other_names_are_refused_in_one_line(name):
    with pytest.raises(InputError, match=r"use up to 64 letters|choose another") as caught:
        check_run_name(name)
    assert str(caught.value).isprintable()
