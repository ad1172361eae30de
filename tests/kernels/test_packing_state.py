"""Sets of places and the heap of the packing kernel, as plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bursar.kernels import packing_state

WIDTH = 3 * 64 * 64 + 70


def terms():
    words = -(-WIDTH // 64)
    row = np.zeros(packing_state.TERMS, dtype=np.int64)
    row[packing_state.WORDS], row[packing_state.GROUPS], row[packing_state.LAST_GROUP] = (
        0,
        words,
        words + 4,
    )
    return row


@given(st.lists(st.tuples(st.booleans(), st.integers(0, WIDTH - 1)), max_size=60))
def test_a_set_tells_the_first_place_that_is_there(changes):
    row, there = terms(), set()
    bits = np.zeros(row[packing_state.LAST_GROUP], dtype=np.uint64)
    with np.errstate(over="ignore"):
        for comes, place in changes:
            if comes:
                packing_state.put(bits, row, place)
                there.add(place)
            elif there:
                first = packing_state.find_first(bits, row)
                packing_state.drop(bits, row, first)
                there.discard(first)
            assert packing_state.find_first(bits, row) == min(there, default=-1)


def test_the_lowest_of_64_bits_is_found():
    with np.errstate(over="ignore"):
        for bit in range(64):
            for above in (0, 1, (1 << 64) - 1):
                word = np.uint64((1 << bit | above << bit + 1) & (1 << 64) - 1)
                assert packing_state.lowest_bit(word) == bit


@given(st.lists(st.none() | st.integers(0, 20), max_size=60))
def test_the_heap_gives_the_earliest_first(moments):
    heap, size = np.empty((60, 2), dtype=np.int64), 0
    there = set()
    for number, moment in enumerate(moments):
        if moment is not None:
            size = packing_state.push(heap, size, moment, number)
            there.add((moment, number))
        elif there:
            there.remove(tuple(heap[0].tolist()))
            size = packing_state.pop(heap, size)
        assert size == len(there)
        assert not there or heap[0, 0] == min(there)[0]
