"""HEFT in plain functions that numba compiles: earliest ends with insertion.

A machine's idle times are kept, not its busy ones: there are few, since tasks that follow each
other leave none, and those that end too early are skipped by halving. The last has no end.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""

FIRST_ROOM: Final = 64
"""Idle times that a machine has room for at first."""


class Gaps(NamedTuple):
    """[machine, place]: idle times, ascending, none of length 0; `count[machine]` of them."""

    begin: Array
    end: Array
    count: Array


def place_all(
    parents_start: Array,
    parents: Array,
    volumes: Array,
    order: Array,
    runtimes: Array,
    offer: Array,
    latency: Array,
    pace: Array,
    chosen: Array,
    begins: Array,
    ends: Array,
) -> None:
    """Give each task in turn to the machine on which it ends first; of equals, the first.

    `runtimes[task, offer]`; moving a volume between machines of two offers takes their latency and
    the volume times their pace, and nothing on the same machine. Fills machine, begin and end by
    task. A task that takes no time leaves a machine's idle times as they are.
    """
    machines = len(offer)
    gaps = idle_for_ever(machines, FIRST_ROOM)
    ready = np.empty(machines)
    for task in order:
        ready[:] = 0.0
        for edge in range(parents_start[task], parents_start[task + 1]):
            parent = parents[edge]
            arrive(ready, offer, chosen[parent], ends[parent], volumes[edge], latency, pace)
        best_end, best_machine, best_begin, best_gap = np.inf, 0, 0.0, 0
        for machine in range(machines):
            time = runtimes[task, offer[machine]]
            if ready[machine] + time >= best_end:
                continue
            gap = find_gap(gaps, machine, ready[machine], time, best_end)
            begin = max(gaps.begin[machine, gap], ready[machine])
            if begin + time < best_end:
                best_end, best_machine, best_begin, best_gap = begin + time, machine, begin, gap
        chosen[task], begins[task], ends[task] = best_machine, best_begin, best_end
        if best_end > best_begin:
            fill(gaps, best_machine, best_gap, best_begin, best_end)
            if gaps.count[best_machine] == gaps.begin.shape[1]:
                gaps = with_more_room(gaps)


def arrive(
    ready: Array, offer: Array, source: int, end: float, volume: float, latency: Array, pace: Array
) -> None:
    """A parent's result reaches every machine: none is ready before."""
    from_offer = offer[source]
    for machine in range(len(offer)):
        arrival = end
        if machine != source:
            arrival += (
                latency[from_offer, offer[machine]] + volume * pace[from_offer, offer[machine]]
            )
        ready[machine] = max(ready[machine], arrival)


def find_gap(gaps: Gaps, machine: int, ready: float, time: float, too_late: float) -> int:
    """The first idle time that has room for a task, or one in which it would end too late."""
    begin, end = gaps.begin[machine], gaps.end[machine]
    low, high = 0, gaps.count[machine] - 1
    while low < high:
        middle = (low + high) // 2
        if end[middle] > ready:
            high = middle
        else:
            low = middle + 1
    while begin[low] + time < too_late and max(begin[low], ready) + time > end[low]:
        low += 1
    return low


def fill(gaps: Gaps, machine: int, gap: int, task_begin: float, task_end: float) -> None:
    """Take a task's time out of the idle time in which it lies; there is room for one more."""
    begin, end, count = gaps.begin[machine], gaps.end[machine], gaps.count[machine]
    before, after = task_begin > begin[gap], end[gap] > task_end
    if before and after:
        for place in range(count, gap, -1):
            begin[place], end[place] = begin[place - 1], end[place - 1]
        end[gap], begin[gap + 1] = task_begin, task_end
        gaps.count[machine] += 1
    elif before:
        end[gap] = task_begin
    elif after:
        begin[gap] = task_end
    else:
        for place in range(gap, count - 1):
            begin[place], end[place] = begin[place + 1], end[place + 1]
        gaps.count[machine] -= 1


def idle_for_ever(machines: int, room: int) -> Gaps:
    gaps = Gaps(
        np.empty((machines, room)), np.empty((machines, room)), np.empty(machines, np.int64)
    )
    for machine in range(machines):
        gaps.begin[machine, 0], gaps.end[machine, 0], gaps.count[machine] = 0.0, np.inf, 1
    return gaps


def with_more_room(gaps: Gaps) -> Gaps:
    machines, room = gaps.begin.shape
    begin, end = np.empty((machines, 2 * room)), np.empty((machines, 2 * room))
    for machine in range(machines):
        for place in range(gaps.count[machine]):
            begin[machine, place] = gaps.begin[machine, place]
            end[machine, place] = gaps.end[machine, place]
    return Gaps(begin, end, gaps.count)


PARTS: Final = (arrive, find_gap, fill, idle_for_ever, with_more_room)
"""what the compiler is to know"""
