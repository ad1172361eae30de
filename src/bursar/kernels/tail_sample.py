"""What replicators know of run times (BaTS thesis, section 5.1), for the kernels of the tail.

The run times of finished tasks, converted to the first offer: what a task takes in all that has run
for so long is the mean of those that are longer. The figures are those of `bursar.beliefs.unified`,
to the last digit.

Run times are kept in cells of equal width, with the number and the sum of those in a cell and all
above. That bounds a mean from both sides at once; the run times of a single cell are looked at only
where the bounds leave a doubt.

Most attempts have run too long to be worth a replica. How long that is, is kept as a bound for each
offer of theirs and each of a new machine: above it not even a mean must be found out.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from bursar.kernels.bag import Array, BagOnFleet

MILLION: Final = 1_000_000
SLACK: Final = 8.0
"""Microseconds by which bounds are generous: means and quotients are rounded down."""
CELLS: Final = 512
"""a power of two"""
BULK: Final = 0.98
"""The part of all run times for which the cells are laid."""
NEAR: Final = 0.98
"""A bound on ages is close enough once a further step lowers it by less than this factor."""

KNOWN: Final = 0
LONGEST: Final = 1
ORIGIN: Final = 2
SHIFT: Final = 3


class FinishedSample(NamedTuple):
    values: Array
    """run times of finished tasks on the first offer, as they came"""
    link: Array
    """[value's number]: another value of the same cell; -1 after the last"""
    head: Array
    """[cell]: the number of a value in it; -1: there is none"""
    longer: Array
    """[cell]: values in it and in those above; one more cell, always empty, is at the end"""
    above: Array
    """[cell]: their sum"""
    size: Array
    """the number of values, the longest, and where the first cell begins; a cell's width is a
    power of two: this is its exponent"""
    reach: Array
    """[offer, new offer]: one that has run for longer does not end sooner if it starts again"""


def lay_cells(unified: Array) -> tuple[int, int]:
    """Where the cells begin, and the exponent of their width: for all but the longest run times.

    Those share the last cell, so that a few of them do not coarsen all others.
    """
    origin, last = int(unified.min()), int(np.quantile(unified, BULK))
    return origin, max(0, (last - origin).bit_length() - CELLS.bit_length() + 1)


def make_sample(setup: BagOnFleet) -> FinishedSample:
    offers, tasks = setup.unified.shape
    size = np.zeros(4, np.int64)
    size[ORIGIN], size[SHIFT] = setup.origin, setup.shift
    return FinishedSample(
        values=np.empty(tasks + 1, np.int64),
        link=np.empty(tasks + 1, np.int32),
        head=np.empty(CELLS, np.int32),
        longer=np.empty(CELLS + 1, np.int32),
        above=np.empty(CELLS + 1, np.int64),
        size=size,
        reach=np.empty((offers, offers), np.float64),
    )


def gather(setup: BagOnFleet, sample: FinishedSample, owner: Array, unfinished: Array) -> None:
    """Begin with the run times of all tasks that are finished, each on its owner."""
    longer, above = sample.longer, sample.above
    sample.head[:] = -1
    longer[:] = 0
    above[:] = 0
    known, longest = 0, 0
    for task in range(len(unfinished)):
        value = setup.unified[setup.offer[owner[task]], task]
        sample.values[known] = value
        known += int(unfinished[task] == 0)
    for number in range(known):
        value = sample.values[number]
        cell = keep(sample, number, value)
        longer[cell] += 1
        above[cell] += value
        longest = max(longest, value)
    for cell in range(CELLS - 1, -1, -1):
        longer[cell] += longer[cell + 1]
        above[cell] += above[cell + 1]
    sample.size[KNOWN] = known
    sample.size[LONGEST] = longest
    for source in range(len(setup.inverse)):
        for target in range(len(setup.inverse)):
            lead = setup.inverse[source] - setup.inverse[target]
            sample.reach[source, target] = bound(
                setup, sample, source, lead, longest * lead + SLACK
            )


def keep(sample: FinishedSample, number: int, value: int) -> int:
    """Put a value into its cell; which one it is."""
    cell = cell_of(sample, value)
    sample.values[number] = value
    sample.link[number] = sample.head[cell]
    sample.head[cell] = number
    return cell


def cell_of(sample: FinishedSample, time: int) -> int:
    """The cell for a time; the first and the last one are for all that is outside, too."""
    cell = (time - sample.size[ORIGIN]) >> sample.size[SHIFT]
    return int(min(max(cell, 0), CELLS - 1))


def learn(setup: BagOnFleet, sample: FinishedSample, value: int) -> None:
    """One more run time of a finished task."""
    cell = keep(sample, sample.size[KNOWN], value)
    sample.size[KNOWN] += 1
    sample.size[LONGEST] = max(sample.size[LONGEST], value)
    increase(sample.longer[: cell + 1], 1)
    increase(sample.above[: cell + 1], value)
    extend_reach(setup, sample, value)


def increase(cells: Array, added: int) -> None:
    for cell in range(len(cells)):
        cells[cell] += added


# --- means ---------------------------------------------------------------------------------------


def most_expected(sample: FinishedSample, so_far: int) -> float:
    """A bound above the mean of the values that are longer: the mean of the cells above.

    Where those are empty, it is the longest value.
    """
    cell = cell_of(sample, so_far) + 1
    longer = sample.longer[cell]
    is_empty = int(longer == 0)
    return float(sample.above[cell] + is_empty * sample.size[LONGEST]) / float(longer + is_empty)


def least_expected(sample: FinishedSample, so_far: int) -> float:
    """A bound below the mean of the values that are longer: with all of the same cell."""
    cell = cell_of(sample, so_far)
    return float(sample.above[cell]) / float(max(sample.longer[cell], 1))


def expected(sample: FinishedSample, so_far: int) -> int:
    """What a task takes in all that has run for so long: the mean of the longer values.

    Where none is longer, nothing is known but that it has run so long.
    """
    cell = cell_of(sample, so_far)
    longer, above = int(sample.longer[cell + 1]), sample.above[cell + 1]
    number = sample.head[cell]
    while number >= 0:
        value = sample.values[number]
        is_longer = int(value > so_far)
        longer += is_longer
        above += value * is_longer
        number = sample.link[number]
    return quotient(above, longer) if longer > 0 else so_far


def quotient(amount: int, parts: int) -> int:
    """Divide and round down what is not negative, by a division of floats: much faster."""
    guess = int(float(amount) / float(parts))
    rest = amount - guess * parts
    if rest < 0:
        return guess - 1
    return guess + 1 if rest >= parts else guess


# --- bounds on ages ------------------------------------------------------------------------------


def extend_reach(setup: BagOnFleet, sample: FinishedSample, value: int) -> None:
    """Keep the bounds true with one more value.

    An attempt is worth a replica if the sum of (value * lead - elapsed) over the longer values is
    above zero, the lead being what a new machine gains on a task of length 1. One more value raises
    that for attempts only that have run for less than the value times the lead.
    """
    inverse, reach = setup.inverse, sample.reach
    for source in range(len(inverse)):
        for target in range(len(inverse)):
            lead = inverse[source] - inverse[target]
            least = value * lead + SLACK
            if lead > 0.0 and least > reach[source, target]:
                reach[source, target] = bound(setup, sample, source, lead, least)


def bound(
    setup: BagOnFleet, sample: FinishedSample, source: int, lead: float, most: float
) -> float:
    """How long an attempt may have run, and still be expected to end sooner on the new offer.

    `most` is such a bound, perhaps far too high. Means grow with the time that has passed, so what
    is expected of an attempt that has run for `most` is a bound for all that have run for less, and
    gives a better bound on their age; and so on.
    """
    if lead <= 0.0 or sample.size[KNOWN] == 0:
        return 0.0
    while True:
        done = int(most / setup.inverse[source]) + 1
        better = most_expected(sample, done) * lead + SLACK
        if better >= most * NEAR:
            return float(min(better, most))
        most = better


ALLOCATING: Final = (make_sample,)
PARTS: Final = (
    gather, keep, cell_of, learn, increase, most_expected, least_expected, expected, quotient,
    extend_reach, bound,
)  # fmt: skip
