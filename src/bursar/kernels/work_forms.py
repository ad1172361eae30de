"""How likely each form and mean of run times is, in plain loops that numba compiles.

`beliefs.work_forms` says what is computed, and makes the tables: a row for each form, and a column
for each bin of work over the mean, of which the means on the grid and the edges are whole numbers
apart.
"""

from __future__ import annotations

from math import exp, floor, inf, log, sqrt
from typing import Any, Final

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""

MEAN, DOUBT = range(2)
"""Places of what is found of the mean; the average of each slice of its distribution follows."""
FACTORS: Final = 2
LEAST: Final = 1e-9
"""A chance below counts as this: no form is so wrong that one task refutes it."""
NEGLIGIBLE: Final = 1e-4
"""A form that is less likely leaves no trace in the curve."""
IMPOSSIBLE: Final = -45.0
"""A form and a mean whose logarithm is lower than the highest by so much add nothing."""
SURELY, DEVIATIONS = 0.95, 1.645
"""What a mean exceeds once in twenty times counts as so many deviations: a kind of longer tasks
that is possible, but not likely, makes it doubtful on one side."""


def weigh_forms(
    ended: Array,
    ages: Array,
    log_ends: Array,
    log_alive: Array,
    curves: Array,
    all_before: Array,
    all_means: Array,
    begin: int,
    first: int,
    width: float,
    slices: Array,
    chances: Array,
    found: Array,
    alive: Array,
) -> None:
    """From tasks that ended and attempts that run, both by bin: the mean, its doubt, and the curve.

    Of all means, and what is believed of each before with each form, those from the place `begin`
    on are looked at, which are edges, from `first` on. `chances` is room for how likely these are;
    `alive` gets the chance to be longer than each edge.
    """
    forms, count = chances.shape
    means = all_means[begin : begin + count]
    for form in range(forms):
        for mean in range(count):
            chances[form, mean] = all_before[form, begin + mean]
    add_logs(ended, log_ends, first, chances)
    add_logs(ages, log_alive, first, chances)
    normalize(chances)
    weigh_means(chances, means, slices, found)
    mix_curves(chances, means, first, width, curves, alive)


def add_logs(counts: Array, table: Array, first: int, logs: Array) -> None:
    """The logarithms of a table, added up over tasks in bins: by form, and by mean.

    Which column of the table a task adds follows from its bin and the mean.
    """
    bins = len(counts)
    low, high = 0, bins - 1
    while high >= 0 and counts[high] == 0:
        high -= 1
    while low < high and counts[low] == 0:
        low += 1
    for form in range(logs.shape[0]):
        for some in range(low, high + 1):
            count = counts[some]
            if count != 0:
                column = bins + first - some
                for mean in range(logs.shape[1]):
                    logs[form, mean] += count * table[form, column + mean]


def normalize(logs: Array) -> None:
    """Chances from their logarithms, with a sum of one."""
    forms, count = logs.shape
    highest, total = -inf, 0.0
    for form in range(forms):
        for mean in range(count):
            highest = max(highest, logs[form, mean])
    for form in range(forms):
        for mean in range(count):
            one = logs[form, mean] - highest
            chance = exp(one) if one > IMPOSSIBLE else 0.0
            logs[form, mean] = chance
            total += chance
    for form in range(forms):
        for mean in range(count):
            logs[form, mean] /= total


def weigh_means(chances: Array, means: Array, slices: Array, found: Array) -> None:
    """The mean, the deviation of it as a share, and the averages of its slices, as shares, too.

    Slices are as likely as given, the lowest means first; they end within a mean, which then counts
    in parts.
    """
    forms, count = chances.shape
    expected = square = reached = total = 0.0
    for mean in range(count):
        for form in range(forms):
            expected += chances[form, mean] * means[mean]
    place, part, average, edge = 0, slices[0], 0.0, slices[0]
    longest = means[count - 1]
    for mean in range(count):
        weight = 0.0
        for form in range(forms):
            weight += chances[form, mean]
        square += weight * (means[mean] / expected - 1) ** 2
        total += weight
        if reached < SURELY <= total:
            longest = means[mean]
        while total >= edge and place < len(slices) - 1:
            average += (edge - reached) * means[mean]
            found[FACTORS + place] = average / part / expected
            reached, average, place = edge, 0.0, place + 1
            part = slices[place]
            edge += part
        average += (total - reached) * means[mean]
        reached = total
    found[FACTORS + place] = average / part / expected
    found[MEAN] = expected
    found[DOUBT] = max(sqrt(max(0.0, square)), (longest / expected - 1) / DEVIATIONS)


def mix_curves(
    chances: Array, means: Array, first: int, width: float, curves: Array, alive: Array
) -> None:
    """The chance to be longer than each edge; each form has the mean that is likely for it."""
    forms, count = chances.shape
    edges, shares = len(alive), 0.0
    for edge in range(edges):
        alive[edge] = 0.0
    for form in range(forms):
        share = likely = 0.0
        for mean in range(count):
            share += chances[form, mean]
            likely += chances[form, mean] * means[mean]
        if share <= NEGLIGIBLE:
            continue
        shares += share
        place = first + log(likely / share / means[0]) / width
        whole = floor(place)
        following = (place - whole) * share
        column = edges - 1 - whole  # the form's table from the bin of its mean on
        for edge in range(edges):
            alive[edge] += (share - following) * curves[form, column + edge]
            alive[edge] += following * curves[form, column + edge - 1]
    for edge in range(edges):
        alive[edge] /= shares


PARTS: Final = (add_logs, normalize, weigh_means, mix_curves)
