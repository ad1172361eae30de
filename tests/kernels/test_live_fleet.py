"""Fleets judged one by one in the compiled kernel are judged as in numpy's arrays."""

from __future__ import annotations

from math import inf
from random import Random

import msgspec
import numpy as np
import pytest
from tests.plan.bag.plain_live_fleet import PlainFleetJudge

from bursar.beliefs.bag_times import BagTimes
from bursar.beliefs.work_forms import SLICES
from bursar.kernels.live_fleet import BEGIN, FREE, ORDER, RATE, ROWS, UNDONE, queue_empty
from bursar.plan.bag.live_fleet import LiveFleetJudge, MachineGroups, WorkLeft


def some_groups(rng, count):
    is_new = rng.random(count) < 0.5
    slots = rng.choice([1.0, 2.0, 4.0, 8.0, 32.0], count)
    is_at_work = ~is_new & (rng.random(count) < 0.7)
    return MachineGroups(
        offer=np.arange(count),
        is_new=is_new,
        room=rng.integers(1, 60, count).astype(float),
        slots=slots,
        speed=rng.uniform(0.3, 3.0, count),
        begin=np.where(rng.random(count) < 0.4, 0.0, rng.choice([30.0, 60.0, 500.0], count)),
        price=rng.uniform(1e4, 1e6, count),
        unit=np.full(count, rng.choice([1.0, 60.0, 3600.0])),
        paid=rng.uniform(0.0, 100.0, count),
        held=np.where(is_at_work, rng.uniform(1.0, 200.0, count), 0.0),
        running=np.where(is_at_work, slots * rng.uniform(1.0, 200.0, count), 0.0),
    )


def some_times(rng):
    results = int(rng.choice([0, 50]))
    times = BagTimes.lognormal(120.0, rng.uniform(0.0, 0.4), rng.uniform(0.02, 1.5), results)
    if rng.random() < 0.5:
        return times
    factors = np.exp(rng.normal(0.0, 0.5, len(SLICES)))
    return msgspec.structs.replace(times, factors=factors, noise=0.1, unseen=0.05, longer=100.0)


@pytest.mark.parametrize("seed", range(60))
def test_times_costs_and_chances_are_those_of_arrays(seed):
    rng = np.random.default_rng(seed)
    groups, times = some_groups(rng, rng.integers(1, 9)), some_times(rng)
    here = np.where(groups.is_new, 0.0, groups.room)
    left = WorkLeft(
        ready=int(rng.integers(0, 1000)),
        running=float(groups.running @ here),
        attempts=int(groups.slots @ here),
        money=rng.choice([inf, 1e9, 1e7]),
        deadline=rng.choice([inf, 3000.0, 100.0]),
        elapsed=10.0,
        spent=1e6,
    )
    doubt = rng.choice([0.0, 0.3], len(groups))
    fleets = np.floor(rng.random((50, len(groups))) * (groups.room + 1))
    fleets *= rng.random(fleets.shape) < 0.7
    fleets[0] = here
    found = LiveFleetJudge(groups, left, times, doubt).judge(fleets)
    expected = PlainFleetJudge(groups, left, times, doubt).judge(fleets)
    for name in ("middle", "time", "cost", "log_chance"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9), name


# --- when no task is ready any more --------------------------------------------------------------

REST = 10.0
BEGINS, SPEEDS, SLOTS = (30.0, 0.0, 100.0), (2.0, 1.0, 1.0), (1.0, 2.0, 4.0)
RUNNING = (0.0, 20.0, 0.0)
BY_BEGIN = (1, 0, 2)


def table():
    found = np.zeros((ROWS, 3))
    for group, (begin, speed, slots) in enumerate(zip(BEGINS, SPEEDS, SLOTS, strict=True)):
        found[BEGIN, group], found[RATE, group] = begin, slots * speed
        found[UNDONE, group] = slots * (speed * begin - REST)
        found[FREE, group] = 0.0 if RUNNING[group] else slots
    found[ORDER] = BY_BEGIN
    return found


def plain(counts, work):
    """One group after the other: all that came up works until the next one does, or to the end."""
    rate = done = 0.0
    for group, following in zip(BY_BEGIN, [*BY_BEGIN[1:], None], strict=True):
        machines = counts[group] * SLOTS[group]
        rate += machines * SPEEDS[group]
        done += machines * (SPEEDS[group] * BEGINS[group] - REST)
        if rate:
            empty = max((work + done) / rate, BEGINS[group])
            if empty <= (inf if following is None else BEGINS[following]):
                return empty
    return 0.0


@pytest.mark.parametrize("work", [50.0, 400.0, 4000.0])
def test_all_that_came_up_works_until_no_task_is_ready(work):
    rng = Random(1)
    for _ in range(20):
        fleet = [rng.randrange(6) for _ in BEGINS]
        found = queue_empty(np.array([fleet], float), 0, table(), work, 1000)
        assert found == pytest.approx((plain(fleet, work), False))


def test_nobody_waits_for_an_end_where_free_slots_suffice_for_all_that_is_ready():
    fleets = np.array([[4.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    assert queue_empty(fleets, 0, table(), 4000.0, 4) == (30.0, True)
    assert queue_empty(fleets, 1, table(), 4000.0, 4) == (100.0, True)
