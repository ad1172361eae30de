"""What people are told fits on a line and helps them on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bursar.model.errors import BursarError, InputError, JournalError, instead_of, one_line, shown


@given(st.text())
def test_anything_is_shown_on_one_line(text):
    assert one_line(text).isprintable()
    assert one_line(text) == text or not text.isprintable()


@given(st.one_of(st.text(), st.integers(), st.floats(), st.lists(st.text()), st.binary()))
def test_a_quoted_value_is_short_and_printable(value):
    assert shown(value).isprintable()
    assert len(shown(value)) < 70


def test_a_number_too_long_to_print_is_only_named():
    assert shown(10**10_000) == "a number of very many digits"
    assert shown("x" * 100) == "'" + "x" * 60 + "...'"
    assert shown("a\nb") == "'a\\nb'"


def test_a_misspelt_name_is_answered_with_the_closest():
    assert instead_of("budjet", ["budget", "deadline"]) == "did you mean 'budget'?"
    assert instead_of("xyz", ["budget", "deadline"]) == "known: budget, deadline"


def test_usage_mistakes_end_with_two_and_internal_ones_with_one():
    assert (InputError.exit_code, JournalError.exit_code) == (2, 1)
    assert issubclass(InputError, BursarError)
