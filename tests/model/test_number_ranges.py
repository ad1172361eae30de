"""Numbers as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.number_ranges import read_ranges, write_ranges


def test_neighbours_are_written_as_a_range():
    assert write_ranges([1, 2, 3, 7, 9, 10]) == "1-3,7,9-10"


@given(st.sets(st.integers(1, 10_000), min_size=1).map(sorted))
def test_what_was_written_is_read(numbers):
    assert read_ranges(write_ranges(numbers)) == numbers


@pytest.mark.parametrize("text", ["", "a", "1-b", "1,,2"])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="invalid literal"):
        read_ranges(text)
