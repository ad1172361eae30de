"""What replicators know of run times (BaTS thesis, section 5.1), for the kernels of the tail.

The run times of finished tasks, converted to the first offer and sorted, with their sums: what a
task takes in all that has run for so long is the mean of those that are longer. The figures are
those of `bursar.beliefs.unified`, to the last digit.

Most attempts have run too long to be worth a replica. How long that is, is kept as a bound for each
offer of theirs and each of a new machine: above it not even a mean must be found out.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from bursar.simulate.kernels_list import NEVER, Array, Shop

MILLION: Final = 1_000_000
SLACK: Final = 8.0
"""Microseconds by which bounds are generous: means and quotients are rounded down."""
CELLS: Final = 1024
STRIDE: Final = 16
"""Values that are looked at together when bounds are found."""


KNOWN: Final = 0
ORIGIN: Final = 1
SHIFT: Final = 2


class Sample(NamedTuple):
    values: Array
    """run times of finished tasks on the first offer, ascending, and NEVER after the last"""
    sums: Array
    """sums[i] is the sum of the first i values"""
    grid: Array
    """grid[c] values are below origin + c * 2**shift: where to begin to look"""
    size: Array
    """[0] the number of values, [1] origin and [2] shift of the grid"""
    reach: Array
    """[offer, new offer]: an attempt that has run for longer is not expected to end sooner anew"""


def make_sample(tasks: int, offers: int) -> Sample:
    return Sample(
        values=np.zeros(tasks + 2, np.int64),
        sums=np.zeros(tasks + 2, np.int64),
        grid=np.zeros(CELLS, np.int32),
        size=np.zeros(3, np.int64),
        reach=np.empty((offers, offers), np.float64),
    )


def gather(shop: Shop, sample: Sample, owner: Array, unfinished: Array) -> None:
    """Begin with the run times of all tasks that are finished, each on its owner."""
    values, sums = sample.values, sample.sums
    known, last = 0, 0
    for task in shop.by_length:
        if unfinished[task]:
            continue
        value = shop.unified[shop.offer[owner[task]], task]
        values[known] = value
        known += 1
        if value < last:
            sink(values, known - 1)
        else:
            last = value
    values[known] = NEVER
    total = 0
    for place in range(known):
        total += values[place]
        sums[place + 1] = total
    sample.size[KNOWN] = known
    lay_grid(sample)
    set_reach(shop, sample)


def sink(values: Array, place: int) -> None:
    """Move the last value to where it belongs."""
    value = values[place]
    while place > 0 and values[place - 1] > value:
        values[place] = values[place - 1]
        place -= 1
    values[place] = value


def learn(shop: Shop, sample: Sample, value: int) -> None:
    """Insert a finished run time; what is longer moves up."""
    values, sums, known = sample.values, sample.sums, sample.size[KNOWN]
    place = first_above(sample, value)
    move_up(values[place : known + 2], value, 0)
    move_up(sums[place + 1 : known + 2], sums[place] + value, value)
    sample.size[KNOWN] = known + 1
    origin, shift = sample.size[ORIGIN], sample.size[SHIFT]
    cell = ((value - origin) >> shift) + 1 if value >= origin else 0
    count_one(sample.grid[min(cell, CELLS) :])
    extend_reach(shop, sample, value)


def move_up(values: Array, first: int, added: int) -> None:
    """Put a value before the others, each of which grows by what is added; the last one is lost."""
    carried = first
    for place in range(len(values)):
        following = values[place] + added
        values[place] = carried
        carried = following


def count_one(cells: Array) -> None:
    for cell in range(len(cells)):
        cells[cell] += 1


def extend_reach(shop: Shop, sample: Sample, value: int) -> None:
    """Keep the bounds true with one more value.

    An attempt is worth a replica if the sum of (value * lead - elapsed) over the longer values is
    above zero, the lead being what a new machine gains on a task of length 1. One more value raises
    that for attempts only that have run for less than the value times the lead.
    """
    inverse, reach = shop.inverse, sample.reach
    for source in range(len(inverse)):
        for target in range(len(inverse)):
            lead = inverse[source] - inverse[target]
            if lead > 0.0 and value * lead + SLACK > reach[source, target]:
                reach[source, target] = bound(shop, sample, source, target)


def set_reach(shop: Shop, sample: Sample) -> None:
    for source in range(len(shop.inverse)):
        for target in range(len(shop.inverse)):
            sample.reach[source, target] = bound(shop, sample, source, target)


def bound(shop: Shop, sample: Sample, source: int, target: int) -> float:
    """How long an attempt may have run, and still be expected to end sooner on the new offer.

    Means grow with the time that has passed, so the mean above the highest value of a stretch is
    the most for the whole stretch. If even that is too little for an attempt at its low end, no
    attempt in the stretch is worth a replica. Stretches are looked at from the longest down.
    """
    lead = shop.inverse[source] - shop.inverse[target]
    known = sample.size[KNOWN]
    if lead <= 0.0 or known == 0:
        return 0.0
    high = known - 1
    while True:
        above, longer = float(sample.sums[known] - sample.sums[high]), float(known - high)
        low = high - STRIDE
        if low < 0 or sample.values[low] * shop.inverse[source] * longer < (
            above * lead + SLACK * longer
        ):
            return float(above * lead / longer + SLACK)
        high = low


def first_above(sample: Sample, so_far: int) -> int:
    """Where the values begin that are above so_far."""
    values, origin = sample.values, sample.size[ORIGIN]
    place = 0
    if so_far >= origin:
        place = sample.grid[min((so_far - origin) >> sample.size[SHIFT], CELLS - 1)]
    while values[place] <= so_far:
        place += 1
    return int(place)


def lay_grid(sample: Sample) -> None:
    """Make the grid for the values so far; from here on `learn` keeps it."""
    values, known, grid = sample.values, sample.size[KNOWN], sample.grid
    origin = values[0] if known else 0
    span = values[known - 1] - origin if known else 0
    shift = 0
    while (span >> shift) >= CELLS:
        shift += 1
    place = 0
    for cell in range(CELLS):
        while place < known and values[place] < origin + (cell << shift):
            place += 1
        grid[cell] = place
    sample.size[ORIGIN] = origin
    sample.size[SHIFT] = shift


def quotient(amount: int, parts: int) -> int:
    """Divide and round down what is not negative, by a division of floats: much faster."""
    guess = int(float(amount) / float(parts))
    rest = amount - guess * parts
    if rest < 0:
        return guess - 1
    return guess + 1 if rest >= parts else guess


ALLOCATING: Final = (make_sample,)
PARTS: Final = (
    gather, sink, learn, move_up, count_one, extend_reach, set_reach, bound, first_above, lay_grid,
    quotient,
)  # fmt: skip
