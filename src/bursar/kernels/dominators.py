"""Distributions of a workflow's times on grids, in plain functions that numba compiles.

A distribution is a row of probabilities of equally spaced times, from a first cell on. A time
between two cells is shared out between them, so that means are exact.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""

CELLS: Final = 8192
"""For the longest time that is possible in a region."""
SPARE: Final = 64
"""Cells beyond, for what sharing out moves up."""
ROOM: Final = CELLS + SPARE


class Region(NamedTuple):
    """The structure of a workflow, see `Dominated`; the last task is the end of all."""

    parents_start: Array
    parents: Array
    order: Array
    dominator: Array
    """[task]: the immediate one, counted from 1; 0 is the begin"""
    is_plain: Array
    """[task]: waits for its dominator alone"""
    steps_start: Array
    """[task]: where its steps begin"""
    steps: Array
    """tasks between a task's dominator and its parents, each after those that it dominates"""
    source: Array
    """[step]: the row that holds what comes after the step's task; 0 for none"""
    target: Array
    """[step]: the row of its dominator"""
    rows: int
    """needed at most"""


def widths_of(region: Region, longest: Array) -> Array:
    """[region]: the width of a cell, such that the longest time that is wanted of it has room.

    Widths are powers of 2, so that most regions have the same as the one before, and nothing is
    shared out again. A region is what follows a dominator, counted from 1. A time is wanted from it
    to its own tasks, and to all parents of a task that waits for several, if it lies on the way.
    """
    tasks = len(region.order)
    reach, span, deepest = np.zeros(tasks + 1), np.zeros(tasks + 1), np.zeros(tasks + 1)
    for task in region.order:
        ready, begin = 0.0, region.dominator[task]
        for edge in range(region.parents_start[task], region.parents_start[task + 1]):
            ready = max(ready, reach[region.parents[edge] + 1] - reach[begin])
        reach[task + 1] = reach[begin] + ready + longest[task]
        span[begin] = max(span[begin], ready + longest[task])
        for step in range(region.steps_start[task], region.steps_start[task + 1]):
            other = region.steps[step]
            above = region.dominator[other]
            far = max(deepest[other + 1], reach[other + 1])
            span[above] = max(span[above], far - reach[above])
            deepest[above], deepest[other + 1] = max(deepest[above], far), 0.0
        deepest[begin] = 0.0
    for begin in range(tasks + 1):
        span[begin] = 2.0 ** np.ceil(np.log2(span[begin] / CELLS)) if span[begin] > 0 else 1.0
    return span


def evaluate(region: Region, table: Array, row: Array, last: Array) -> tuple[int, int, float]:
    """Fill `last` with the distribution of the makespan; its first cell, its end, a cell's width.

    `table[row[task]]` are equally likely times; the last task takes none.
    """
    tasks = len(region.order)
    longest = np.zeros(tasks)
    for task in range(tasks - 1):
        longest[task] = table[row[task], -1]
    width = widths_of(region, longest)
    found, first, end = np.empty(ROOM * 4), np.zeros(tasks, np.int64), np.zeros(tasks, np.int64)
    place, used = np.zeros(tasks, np.int64), 0
    reached = np.ones((region.rows, ROOM))
    low, high = np.zeros(region.rows, np.int64), np.ones(region.rows, np.int64)
    own, rest, both = np.zeros(ROOM), np.zeros(ROOM), np.zeros(ROOM)
    for task in region.order:
        if region.is_plain[task]:
            continue
        for step in range(region.steps_start[task], region.steps_start[task + 1]):
            other = region.steps[step]
            cell = width[region.dominator[other]]
            if region.is_plain[other]:
                a, b = spread(table[row[other]], cell, own)
            else:
                a, b = first[other], end[other]
                own[: b - a] = found[place[other] : place[other] + b - a]
            if region.source[step]:
                source = region.source[step]
                c, d = differences(reached[source], low[source], high[source], both)
                low[source], high[source] = 0, 1
                c, d = regrid(both, c, d, width[other + 1] / cell, rest)
                a, b = convolve(own, a, b, rest, c, d, both)
                own[: b - a] = both[: b - a]
            target = region.target[step]
            low[target], high[target] = multiply(
                reached[target], low[target], high[target], own, a, b
            )
        a, b = differences(reached[0], low[0], high[0], rest)
        low[0], high[0] = 0, 1
        if task == tasks - 1:
            last[: b - a] = rest[: b - a]
            return a, b, width[0]
        c, d = spread(table[row[task]], width[region.dominator[task]], own)
        a, b = convolve(own, c, d, rest, a, b, both)
        if used + b - a > len(found):
            more = np.empty(2 * len(found))
            more[:used] = found[:used]
            found = more
        found[used : used + b - a] = both[: b - a]
        place[task], first[task], end[task] = used, a, b
        used += b - a
    return 0, 1, 1.0


def spread(times: Array, cell: float, out: Array) -> tuple[int, int]:
    """Equally likely times on a grid; the first cell and the end."""
    first, end = int(times[0] / cell), min(int(times[-1] / cell) + 2, ROOM)
    out[: end - first] = 0.0
    each = 1.0 / len(times)
    for time in times:
        share_out(time / cell, each, first, end, out)
    return first, end


def share_out(place: float, chance: float, first: int, end: int, out: Array) -> None:
    below = min(int(place), end - 1)
    above = min(below + 1, end - 1)
    part = (place - below) * chance
    out[above - first] += part
    out[below - first] += chance - part


def regrid(row: Array, first: int, end: int, ratio: float, out: Array) -> tuple[int, int]:
    """The same on a grid whose cells are narrower by a ratio, or wider."""
    if ratio == 1.0:
        out[: end - first] = row[: end - first]
        return first, end
    new_first, new_end = int(first * ratio), min(int((end - 1) * ratio) + 2, ROOM)
    out[: new_end - new_first] = 0.0
    for cell in range(first, end):
        share_out(cell * ratio, row[cell - first], new_first, new_end, out)
    return new_first, new_end


def convolve(
    one: Array, first: int, end: int, other: Array, other_first: int, other_end: int, out: Array
) -> tuple[int, int]:
    """The sum of two."""
    new_first, new_end = first + other_first, min(end + other_end - 1, ROOM)
    out[: new_end - new_first] = 0.0
    for cell in range(end - first):
        chance = one[cell]
        for place in range(min(other_end - other_first, new_end - new_first - cell)):
            out[cell + place] += chance * other[place]
    return new_first, new_end


def multiply(
    reached: Array, low: int, high: int, row: Array, first: int, end: int
) -> tuple[int, int]:
    """The maximum: a row of cumulative probabilities, 1 from `high` - 1 on and 0 below `low`."""
    for cell in range(high, end):
        reached[cell] = 1.0
    total = 0.0
    for cell in range(first, end):
        total += row[cell - first]
        if cell == end - 1:
            total = 1.0
        reached[cell] *= total
    return max(low, first), max(high, end)


def differences(reached: Array, low: int, high: int, out: Array) -> tuple[int, int]:
    """Probabilities from cumulative ones; the row is made ready for the next use."""
    before = 0.0
    for cell in range(low, high):
        out[cell - low] = reached[cell] - before
        before = reached[cell]
    reached[:high] = 1.0
    return low, high


PARTS: Final = (widths_of, spread, share_out, regrid, convolve, multiply, differences)
"""what the compiler is to know"""
