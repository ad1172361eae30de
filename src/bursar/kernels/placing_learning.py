"""What a simulated workload teaches: run times by kind, corrections by work, trust in estimates.

Plain functions that numba compiles, for `placing`. `bursar.beliefs.learned` and the placer
`stretch` do the same in the engine.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bursar.kernels import placing_rows as row
from bursar.kernels import placing_state as ps
from bursar.kernels.placing_keys import verdict
from bursar.kernels.placing_state import PlacingState
from bursar.model.learning import correction, first_correction, kind_mean, size_class


def taking(state: PlacingState, task: int, machine: int) -> int:
    """What a task is expected to take on a machine."""
    table, ratio = state.table, state.ratio
    time = table[row.ESTIMATE, task] * ratio[row.FACTOR, table[row.WORK, task]]
    expected: int = np.int64(np.rint(time / ratio[row.SPEED, machine]))  # type: ignore[assignment]
    return expected


def learn(state: PlacingState, task: int) -> None:
    """What a task took tells about others of its kind, about its work, and about estimates."""
    table, ratio, numbers = state.table, state.ratio, state.numbers
    work = table[row.WORK, task]
    time = table[row.END, task] - table[row.START, task]
    took = np.int64(np.rint(time * ratio[row.SPEED, table[row.MACHINE, task]]))
    table[row.TOOK, work] += took
    table[row.EXPECTED, work] += table[row.ESTIMATE, task]
    if numbers[ps.LEARNS]:
        kind = table[row.KIND, task]
        table[row.KIND_COUNT, kind] += 1
        table[row.KIND_TOOK, kind] += took
        numbers[ps.LEARNED] += 1
        numbers[ps.LEARNED_TOOK] += took
        tasks = table[row.FIRST, work + 1] - table[row.FIRST, work]
        first = ratio[row.FIRST_FACTOR, work]
        ratio[row.FACTOR, work] = correction(
            first,
            table[row.TOOK, work],
            table[row.EXPECTED, work],
            table[row.TOTAL, work],
            tasks,
        )
        if table[row.LEFT, work] == 0:
            group = size_class(table[row.TOTAL, work])
            table[row.CLASS_TOOK, group] += table[row.TOOK, work]
            table[row.CLASS_EXPECTED, group] += table[row.TOTAL, work]
    if numbers[ps.HISTORY] > 0:
        if table[row.IS_SECOND, task]:
            table[row.HALF_TOOK, work] += took
        if table[row.LEFT, work] == 0:
            judge(state, work)


def look_half_way(state: PlacingState, task: int) -> None:
    """What the second half of a work is expected to take, when its first task is about to start."""
    table, ratio = state.table, state.ratio
    work = table[row.WORK, task]
    tasks = table[row.FIRST, work + 1] - table[row.FIRST, work]
    unstarted = table[row.LEFT, work] - table[row.ACTIVE, work]
    if unstarted == (tasks + 1) // 2:
        expected = table[row.WORK_LEFT, work] * ratio[row.FACTOR, work]
        ratio[row.HALF_LEFT, work] = expected
    if unstarted <= (tasks + 1) // 2:
        table[row.IS_SECOND, task] = 1


def judge(state: PlacingState, work: int) -> None:
    """A work has ended: whether estimates put it and the one before in the right order."""
    table, ratio, numbers = state.table, state.ratio, state.numbers
    took, last = table[row.HALF_TOOK, work], numbers[ps.WORKS]
    if numbers[ps.JUDGED] > 0:
        place = numbers[ps.JUDGED] % numbers[ps.HISTORY]
        expected, other = ratio[row.HALF_LEFT, work], ratio[row.HALF_LEFT, last]
        found = verdict(took, expected, numbers[ps.LAST_TOOK], other)
        before = table[row.VERDICT, place]
        numbers[ps.AGREED] += found - before
        numbers[ps.COMPARED] += found * found - before * before
        table[row.VERDICT, place] = found
    numbers[ps.JUDGED] += 1
    numbers[ps.LAST_TOOK] = took
    ratio[row.HALF_LEFT, last] = ratio[row.HALF_LEFT, work]


def remember(state: PlacingState, took: int, expected: int) -> None:
    """What the correction coefficient (3.6) is made of."""
    table, numbers = state.table, state.numbers
    if numbers[ps.REMEMBERED] == 0:
        return
    place = numbers[ps.ENDED] % numbers[ps.REMEMBERED]
    numbers[ps.TAKEN] += took - table[row.LAST_TAKEN, place]
    numbers[ps.EXPECTED] += expected - table[row.LAST_EXPECTED, place]
    table[row.LAST_TAKEN, place], table[row.LAST_EXPECTED, place] = took, expected
    numbers[ps.ENDED] += 1


def expect(state: PlacingState, work: int) -> None:
    """What the tasks of a work are expected to take when it arrives."""
    table, ratio, numbers = state.table, state.ratio, state.numbers
    for task in range(table[row.FIRST, work], table[row.FIRST, work + 1]):
        if numbers[ps.LEARNS]:
            kind = table[row.KIND, task]
            table[row.ESTIMATE, task] = kind_mean(
                table[row.KIND_TOOK, kind],
                table[row.KIND_COUNT, kind],
                numbers[ps.LEARNED_TOOK],
                numbers[ps.LEARNED],
            )
        table[row.TOTAL, work] += table[row.ESTIMATE, task]
    if numbers[ps.LEARNS]:
        group = size_class(table[row.TOTAL, work])
        took, expected = (
            table[row.CLASS_TOOK, group],
            table[row.CLASS_EXPECTED, group],
        )
        first = first_correction(took, expected)
        ratio[row.FIRST_FACTOR, work] = first
        ratio[row.FACTOR, work] = first


PARTS: Final = (taking, learn, look_half_way, judge, expect, remember)
"""what the compiler is to know"""
