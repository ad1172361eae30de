"""Plans for all works at once by workload HEFT, in plain functions that numba compiles.

Section 3.3.8 of the thesis on workloads of workflows. Tasks are numbered from 0 among those that
are planned; times are whole microseconds.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from bursar.kernels.heft import FIRST_ROOM, fill, find_gap, idle_for_ever, with_more_room

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""


def assign_levels(
    by_rank: Array,
    parents_start: Array,
    parents: Array,
    group: Array,
    level: Array,
    turn: Array,
    seen: Array,
    count: Array,
) -> None:
    """Fill levels, in which no task depends on another, and whose turn it is in a level.

    `by_rank` are tasks by falling ranks, `group` their works from 0 on. A level ends before a task
    that depends on one of it. Works take turns in a level, each with its tasks in the same order.
    Levels are -1 at first; so is, by work, the level in which it was `seen`.
    """
    now = 0
    for task in by_rank:
        for edge in range(parents_start[task], parents_start[task + 1]):
            if level[parents[edge]] == now:
                now += 1
                break
        level[task] = now
        work = group[task]
        if seen[work] < now:
            seen[work], count[work] = now, 0
        turn[task] = count[work]
        count[work] += 1


def plan_tasks(
    order: Array,
    parents_start: Array,
    parents: Array,
    ready: Array,
    times: Array,
    speed: Array,
    free: Array,
    chosen: Array,
    begins: Array,
    ends: Array,
) -> None:
    """Give each task in turn to the machine on which it ends first, perhaps in a gap.

    `ready` is when what a task needs beside planned tasks is done, `times` what it takes at speed
    1, `free` when a machine is. Fills machine, begin and end by task.
    """
    machines = len(speed)
    gaps = idle_for_ever(machines, FIRST_ROOM)
    for machine in range(machines):
        gaps.begin[machine, 0] = free[machine]
    for task in order:
        soonest = ready[task]
        for edge in range(parents_start[task], parents_start[task + 1]):
            soonest = max(soonest, ends[parents[edge]])
        best_end, best_machine, best_begin, best_gap = np.inf, 0, 0.0, 0
        for machine in range(machines):
            time = np.rint(times[task] / speed[machine])
            if soonest + time >= best_end:
                continue
            gap = find_gap(gaps, machine, soonest, time, best_end)
            begin = max(gaps.begin[machine, gap], soonest)
            if begin + time < best_end:
                best_end, best_machine, best_begin, best_gap = begin + time, machine, begin, gap
        chosen[task], begins[task], ends[task] = best_machine, best_begin, best_end
        if best_end > best_begin:
            fill(gaps, best_machine, best_gap, best_begin, best_end)
            if gaps.count[best_machine] == gaps.begin.shape[1]:
                gaps = with_more_room(gaps)


PARTS: Final = (find_gap, fill, idle_for_ever, with_more_room)
"""what the compiler is to know"""
