"""How many tasks of a workflow may run at once: generations of eligible tasks, found by tokens.

Generation 0 is the eligible set: tasks that are not done and whose parents all are, running ones
included. Generation i + 1 becomes eligible when exactly all of generation i are done (sections 1.4
and 2.3.1 of the thesis on workloads of workflows). A token moves from a task to its children; three
readings of what it leaves behind:

`gen`   it leaves nothing: the tokens of a step are a generation
`stay`  it remains on a task until all of its children have got theirs
`echo`  as `stay`, and a task that holds one gives another to those of its children that had theirs

Plain functions for arrays or lists, which numba compiles: a `max` or `min` is a function more.
"""

from __future__ import annotations

from typing import Any, Final

Array = Any
"""A numpy array or a list."""

GEN: Final = 0
STAY: Final = 1
ECHO: Final = 2
READINGS: Final = {"gen": GEN, "stay": STAY, "echo": ECHO}
ENDLESS: Final = 1 << 30
"""a depth that no workflow has"""
MILLION: Final = 1_000_000


def largest_generation(
    begin: int,
    end: int,
    missing: Array,
    children_start: Array,
    children: Array,
    reading: int,
    depth: int,
    scratch: Array,
) -> int:
    """The most tokens in a step, from the first to that of a depth.

    Tasks from `begin` to `end` are a workflow. `missing` has by task how many parents are not done;
    -1: it is done itself. `scratch` are four arrays with room for a number for each task.
    """
    left, level, order, held = scratch
    last = begin
    for task in range(begin, end):
        left[task] = missing[task]
        held[task] = 0
        if missing[task] == 0:
            level[task] = 0
            order[last] = task
            last += 1
    place = begin
    while place < last:  # first in, first out: levels never fall
        task = order[place]
        place += 1
        for edge in range(children_start[task], children_start[task + 1]):
            child = children[edge]
            left[child] -= 1
            if left[child] == 0:
                level[child] = level[task] + 1
                order[last] = child
                last += 1
    if last == begin:
        return 0
    deepest = level[order[last - 1]]
    deepest = depth if depth < deepest else deepest
    if reading == GEN:
        return most_of_a_level(begin, last, level, order, deepest)
    if reading == STAY:
        return most_that_stay(begin, last, children_start, children, deepest, scratch)
    return most_echoed(begin, last, children_start, children, deepest, scratch)


def most_of_a_level(begin: int, last: int, level: Array, order: Array, deepest: int) -> int:
    most, count, now = 0, 0, 0
    for place in range(begin, last):
        task = order[place]
        if level[task] > deepest:
            break
        if level[task] > now:
            now, count = level[task], 0
        count += 1
        most = count if count > most else most
    return most


def most_that_stay(
    begin: int, last: int, children_start: Array, children: Array, deepest: int, scratch: Array
) -> int:
    """A token is on a task from its level to before the highest of its children."""
    _, level, order, change = scratch
    for place in range(begin, last):
        task = order[place]
        leaves = level[task] + 1
        for edge in range(children_start[task], children_start[task + 1]):
            below = level[children[edge]]
            leaves = below if below > leaves else leaves
        change[begin + level[task]] += 1
        if leaves < last - begin:
            change[begin + leaves] -= 1
    most, count = 0, 0
    for step in range(deepest + 1):
        count += change[begin + step]
        most = count if count > most else most
    return most


def most_echoed(
    begin: int, last: int, children_start: Array, children: Array, deepest: int, scratch: Array
) -> int:
    """Step by step; `held` is the last step in which a task held a token, plus one."""
    _, level, order, held = scratch
    most, count = 0, 0
    for place in range(begin, last):
        if level[order[place]] == 0:
            held[order[place]] = 1
            count += 1
    most = count
    for step in range(1, deepest + 1):
        count = 0
        for place in range(last - 1, begin - 1, -1):  # children before their parents
            task = order[place]
            if held[task] != step:  # it had none in the step before
                continue
            stays = False
            for edge in range(children_start[task], children_start[task + 1]):
                child = children[edge]
                if level[child] > step:
                    stays = True
                elif held[child] != step + 1:
                    held[child] = step + 1
                    count += 1
            if stays:
                held[task] = step + 1
                count += 1
        most = count if count > most else most
    return most


def scaled_target(parallelism: int, millionths: int) -> int:
    """A share of the level of parallelism, rounded up."""
    return (parallelism * millionths + MILLION - 1) // MILLION


def kept_idle(waiting: int, running: int, target: int, free: int) -> int:
    """How many idle machines a work keeps, of those that it may have.

    All of its waiting tasks are started, as far as there are machines; the others are reserved up
    to the target (sections 2.3.3 to 2.3.5).
    """
    started = waiting if waiting < free else free
    kept, missing = free - started, target - running - started
    kept = missing if missing < kept else kept
    return kept if kept > 0 else 0


PARTS: Final = (
    largest_generation,
    most_of_a_level,
    most_that_stay,
    most_echoed,
    scaled_target,
    kept_idle,
)
"""what the compiler is to know"""
