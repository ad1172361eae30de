"""What a simulated workload teaches: run times by kind, corrections by work, trust in estimates.

Plain functions that numba compiles, for `placing`. `bursar.beliefs.learned` and the placer
`stretch` do the same in the engine.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bursar.kernels import placing_state as ps
from bursar.kernels.placing_keys import verdict
from bursar.kernels.placing_state import PlacedMachines, PlacedWorks, PlacingState
from bursar.model.learning import correction, first_correction, kind_mean, size_class


def taking(
    works: PlacedWorks, machines: PlacedMachines, state: PlacingState, task: int, machine: int
) -> int:
    """What a task is expected to take on a machine."""
    time = works.estimates[task] * state.factor[works.work[task]]
    return int(np.rint(time / machines.speed[machine]))


def learn(works: PlacedWorks, machines: PlacedMachines, state: PlacingState, task: int) -> None:
    """What a task took tells about others of its kind, about its work, and about estimates."""
    numbers, work = state.numbers, works.work[task]
    time = state.end[task] - state.start[task]
    took = int(np.rint(time * machines.speed[state.machine[task]]))
    state.took[work] += took
    state.expected[work] += works.estimates[task]
    if len(works.kinds) > 0:
        kind = works.kinds[task]
        state.kind_count[kind] += 1
        state.kind_took[kind] += took
        numbers[ps.LEARNED] += 1
        numbers[ps.LEARNED_TOOK] += took
        tasks = works.first[work + 1] - works.first[work]
        first = state.first_factor[work]
        state.factor[work] = correction(
            first, state.took[work], state.expected[work], state.total[work], tasks
        )
        if state.left[work] == 0:
            group = size_class(state.total[work])
            state.class_took[group] += state.took[work]
            state.class_expected[group] += state.total[work]
    if len(state.verdicts) > 0:
        if state.is_second[task]:
            state.half_took[work] += took
        if state.left[work] == 0:
            judge(state, work)


def look_half_way(works: PlacedWorks, state: PlacingState, task: int) -> None:
    """What the second half of a work is expected to take, when its first task is about to start."""
    work = works.work[task]
    tasks = works.first[work + 1] - works.first[work]
    unstarted = state.left[work] - state.active[work]
    if unstarted == (tasks + 1) // 2:
        state.half_left[work] = state.work_left[work] * state.factor[work]
    if unstarted <= (tasks + 1) // 2:
        state.is_second[task] = 1


def judge(state: PlacingState, work: int) -> None:
    """A work has ended: whether estimates put it and the one before in the right order."""
    numbers, verdicts = state.numbers, state.verdicts
    took, last = state.half_took[work], len(state.took)
    if numbers[ps.JUDGED] > 0:
        place = numbers[ps.JUDGED] % len(verdicts)
        found = verdict(took, state.half_left[work], numbers[ps.LAST_TOOK], state.half_left[last])
        numbers[ps.AGREED] += found - verdicts[place]
        numbers[ps.COMPARED] += abs(found) - abs(verdicts[place])
        verdicts[place] = found
    numbers[ps.JUDGED] += 1
    numbers[ps.LAST_TOOK] = took
    state.half_left[last] = state.half_left[work]


def remember(state: PlacingState, took: int, expected: int) -> None:
    """What the correction coefficient (3.6) is made of."""
    numbers, ring = state.numbers, state.ring
    if len(ring) == 0:
        return
    place = numbers[ps.ENDED] % len(ring)
    numbers[ps.TAKEN] += took - ring[place, 0]
    numbers[ps.EXPECTED] += expected - ring[place, 1]
    ring[place, 0], ring[place, 1] = took, expected
    numbers[ps.ENDED] += 1


def expect(works: PlacedWorks, state: PlacingState, work: int) -> None:
    """What the tasks of a work are expected to take when it arrives."""
    numbers = state.numbers
    for task in range(works.first[work], works.first[work + 1]):
        if len(works.kinds) > 0:
            kind = works.kinds[task]
            works.estimates[task] = kind_mean(
                state.kind_took[kind],
                state.kind_count[kind],
                numbers[ps.LEARNED_TOOK],
                numbers[ps.LEARNED],
            )
        state.total[work] += works.estimates[task]
    if len(works.kinds) > 0:
        group = size_class(state.total[work])
        first = first_correction(state.class_took[group], state.class_expected[group])
        state.first_factor[work] = first
        state.factor[work] = first


PARTS: Final = (taking, learn, look_half_way, judge, expect, remember)
"""what the compiler is to know"""
