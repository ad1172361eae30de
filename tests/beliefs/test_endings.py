"""Ends of slots: exact list scheduling without simulating it, and its long run."""

from __future__ import annotations

from heapq import heapify, heapreplace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.endings import MOST_MODELLED, EqualSlots, cut_short, exact_ends, long_run_ends
from bursar.beliefs.posterior import possible_runtimes
from bursar.model.time import MINUTE
from bursar.simulate.distributions import BAGS


def list_schedule(durations: list[list[int]], boots: list[int], tasks: int) -> list[int]:
    """Step by step: the slot that is free first takes the next task; slot i takes durations[i]."""
    free = [(boot, slot) for slot, boot in enumerate(boots)]
    heapify(free)
    done, ends = [0] * len(boots), [0] * len(boots)
    for _ in range(tasks):
        now, slot = free[0]
        ends[slot] = now + durations[slot][done[slot]]
        done[slot] += 1
        heapreplace(free, (ends[slot], slot))
    return ends


@given(st.data())
def test_cutting_the_slots_short_is_list_scheduling(data):
    slots = data.draw(st.integers(1, 6))
    tasks = data.draw(st.integers(1, 25))
    longest = data.draw(st.sampled_from([2, 5, 10**6]))  # few different lengths make many ties
    times = st.lists(st.integers(1, longest), min_size=tasks, max_size=tasks)
    durations = data.draw(st.lists(times, min_size=slots, max_size=slots))
    boots = data.draw(st.lists(st.integers(0, longest), min_size=slots, max_size=slots))
    starts = np.cumsum([[b, *d] for b, d in zip(boots, durations, strict=True)], axis=1)
    here = max(1, slots // 2)
    groups = [starts[None, :here].astype(float), starts[None, here:].astype(float)]
    ends = cut_short([group for group in groups if group.shape[1]], tasks)
    found = np.concatenate(ends, axis=1)[0]
    wanted = list_schedule(durations, boots, tasks)
    if len(set(starts.ravel())) == starts.size:
        assert list(found) == wanted
    else:  # who takes the last tasks is open where several are free at once
        last_start = np.sort(starts, axis=None)[tasks - 1]
        done = [
            int(np.searchsorted(row, end)) if end else 0
            for row, end in zip(starts, found, strict=True)
        ]
        assert sum(done) == tasks
        for row, count in zip(starts, done, strict=True):
            assert count == 0 or row[count - 1] <= last_start
            assert row[count] >= last_start


def test_slots_that_do_not_know_enough_tasks_ahead_say_so():
    starts = np.array([[[0.0, 1.0, 2.0], [0.0, 10.0, 20.0]]])
    assert cut_short([starts], 6) is None
    assert [list(end) for end in cut_short([starts], 3)[0]] == [[2.0, 10.0]]


def crews_of(bag: str, draws: int, rng, machines=(24, 24, 24), boot: int = 0) -> list[EqualSlots]:
    times = BAGS[bag](np.random.default_rng(1), 60)
    possible = possible_runtimes([times, times // 3, times // 2], draws, rng)
    return [EqualSlots(p, count, boot) for p, count in zip(possible, machines, strict=True)]


@pytest.mark.parametrize("bag", ["normal", "levy", "multi-modal"])
def test_the_long_run_agrees_with_exact_execution(bag):
    rng = np.random.default_rng(2)
    groups = crews_of(bag, 400, rng, machines=(8, 8, 8), boot=20 * MINUTE)
    exact = exact_ends(groups, 1500, rng)
    approximate = long_run_ends(groups, 1500, rng)
    for level in (0.1, 0.5, 0.9):
        first, second = (
            np.quantile(np.max([end.last for end in ends], axis=0), level)
            for ends in (exact, approximate)
        )
        assert second == pytest.approx(first, rel=0.03)
    for first, second in zip(exact, approximate, strict=True):
        assert second.slots.mean() == pytest.approx(first.slots.mean(), rel=0.02)


def test_every_task_is_done_in_exact_execution():
    """With run times that are all equal, the slots' ends tell how many tasks each did."""
    equal = possible_runtimes([np.full(10, 7)], 5, np.random.default_rng(0))
    for tasks, slots in ((1, 1), (10, 3), (9, 3), (100, 7)):
        ends = exact_ends([EqualSlots(equal[0], slots, 0)], tasks, np.random.default_rng(0))[
            0
        ].slots
        assert (ends.sum(axis=1) == 7 * tasks).all()


def test_a_slot_that_boots_too_late_gets_no_task():
    equal = possible_runtimes([np.full(10, 7), np.full(10, 7)], 3, np.random.default_rng(0))
    groups = [EqualSlots(equal[0], 2, 0), EqualSlots(equal[1], 1, 1000)]
    ready, late = exact_ends(groups, 10, np.random.default_rng(0))
    assert (ready.slots == 35).all()
    assert (late.slots == 0).all()


@pytest.mark.parametrize("bag", ["normal", "levy", "multi-modal"])
def test_the_last_of_many_slots_is_known_though_few_are_modelled(bag):
    rng = np.random.default_rng(3)
    groups = crews_of(bag, 60, rng, machines=(1500, 1000, 500), boot=20 * MINUTE)
    exact = np.max([end.last for end in exact_ends(groups, 60_000, rng)], axis=0)
    approximate = long_run_ends(groups, 60_000, rng)
    assert all(end.slots.shape[1] == MOST_MODELLED for end in approximate)
    last = np.max([end.last for end in approximate], axis=0)
    assert np.median(last) == pytest.approx(np.median(exact), rel=0.02)
