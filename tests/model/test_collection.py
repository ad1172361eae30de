"""IndexedSet behaves as a set whose members can be picked by position."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.collection import IndexedSet

numbers = st.integers(0, 30)
steps = st.lists(st.tuples(st.sampled_from(["add", "discard"]), numbers), max_size=100)


@given(st.lists(numbers), steps)
def test_it_holds_what_a_plain_set_would_hold(initial, steps):
    indexed, plain = IndexedSet(initial), set(initial)
    for step, number in steps:
        getattr(indexed, step)(number)
        getattr(plain, step)(number)
        assert len(indexed) == len(plain)
        assert sorted(indexed) == sorted(plain)
        assert {indexed[place] for place in range(len(indexed))} == plain
        assert all((other in indexed) == (other in plain) for other in range(31))


@given(st.lists(numbers, unique=True), st.integers(0, 20), steps)
def test_many_new_numbers_can_be_added_at_once(initial, count, steps):
    new = range(100, 100 + count)
    at_once, one_by_one = IndexedSet(initial), IndexedSet(initial)
    at_once.extend(new)
    for number in new:
        one_by_one.add(number)
    for step, number in steps:
        getattr(at_once, step)(number)
        getattr(one_by_one, step)(number)
    assert list(at_once) == list(one_by_one)


@given(st.lists(numbers), steps)
def test_the_same_calls_give_the_same_order(initial, steps):
    def run():
        indexed = IndexedSet(initial)
        for step, number in steps:
            getattr(indexed, step)(number)
        return list(indexed)

    assert run() == run()


def test_what_is_no_member_is_reported_so_whatever_it_is():
    indexed = IndexedSet([0, 3])
    assert 3 in indexed
    assert all(other not in indexed for other in (-1, 1, 4, 2**80, 3.5, "3", None))


def test_only_numbers_greater_than_all_before_are_added_at_once():
    indexed = IndexedSet([7])
    indexed.discard(7)
    with pytest.raises(ValueError, match="7 is not greater"):
        indexed.extend(range(7, 9))
