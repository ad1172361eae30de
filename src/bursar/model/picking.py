"""One of several at random: the same pick wherever it is made, found in a tree of counts.

Plain functions for arrays or lists, which are called by policies and compiled for kernels.
"""

from __future__ import annotations

from typing import Any, Final

Counts = Any
"""A numpy array or a list of whole numbers."""
LOW: Final = 0xFFFFFFFF
MIX: Final = 0x45D9F3B


def mixed(bits: int) -> int:
    """32 bits, scrambled."""
    bits = (bits ^ (bits >> 16)) * MIX & LOW
    bits = (bits ^ (bits >> 16)) * MIX & LOW
    return bits ^ (bits >> 16)


def drawn(seed: int, work: int, number: int, count: int) -> int:
    """A random number below a count, for the pick of a number within a work.

    Of the seed, the work and the number alone, so that it is the same wherever it is drawn.
    """
    bits = mixed(mixed(seed & LOW) ^ ((seed >> 32) & LOW))
    bits = mixed(mixed(bits ^ (work & LOW)) ^ (number & LOW))
    return (bits * count) >> 32


def count_in(tree: Counts, base: int, size: int, place: int, change: int) -> None:
    """Add to the count of a place in a tree of counts (a Fenwick tree)."""
    at = place + 1
    while at <= size:
        tree[base + at - 1] += change
        at += at & -at


def find_in(tree: Counts, base: int, size: int, index: int) -> int:
    """The place of a one in a tree of counts, so many ones from the first."""
    step = 1
    while 2 * step <= size:
        step *= 2
    place = 0
    while step > 0:
        after = place + step
        if after <= size and tree[base + after - 1] <= index:
            place = after
            index -= tree[base + after - 1]
        step >>= 1
    return place


PARTS: Final = (mixed, drawn, count_in, find_in)
"""what the compiler is to know"""
