"""What running tasks take in all, by those that took longer: plain loops that numba compiles.

`beliefs.unified` says what is computed, and does the same in arrays; all numbers are whole.
"""

from __future__ import annotations

from typing import Any, Final

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""

MILLION: Final = 1_000_000
"""Slopes are millionths."""


def convert_totals(
    elapsed: Array,
    sources: Array,
    slopes: Array,
    times: Array,
    sums: Array,
    latest: Array,
    latest_sums: Array,
    totals: Array,
    here: Array,
) -> None:
    """For tasks that ran so long on some offers, what each takes in all: as on the canonical offer,
    and where it runs; 0 where the slope of its offer is not known.

    `times` and `latest` are what finished tasks took, both ascending, with sums from each place on.
    Rows follow each other in the order of time as a rule: a place is near that of the row before.
    """
    first = other = 0
    for row in range(len(elapsed)):
        slope = slopes[sources[row]]
        if slope <= 0:
            totals[row] = here[row] = 0
            continue
        so_far = scaled(elapsed[row], slope, MILLION)
        first = place_above(times, so_far, first)
        other = place_above(latest, so_far, other)
        count = len(times) - first + len(latest) - other
        total = so_far
        if count > 0:
            total = (sums[first] + latest_sums[other]) // count
        totals[row] = total
        here[row] = scaled(total, MILLION, slope)


def scaled(time: int, by: int, over: int) -> int:
    """So many times as long, rounded down; in two parts, as the product may not fit."""
    whole = time // over
    return whole * by + (time - whole * over) * by // over


def place_above(times: Array, bound: int, near: int) -> int:
    """The first place of a longer time, looked for around a place."""
    low = high = near
    step = 1
    while low > 0 and times[low - 1] > bound:
        high = low
        low = max(0, low - step)
        step *= 2
    while high < len(times) and times[high] <= bound:
        low = high + 1
        high = min(len(times), high + step)
        step *= 2
    while low < high:
        middle = (low + high) // 2
        if times[middle] <= bound:
            low = middle + 1
        else:
            high = middle
    return low


PARTS: Final = (scaled, place_above)
