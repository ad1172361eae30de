"""The search among fleets in the compiled kernel, against the same in plain words."""

from __future__ import annotations

from itertools import product
from math import inf, log

import numpy as np
import pytest

from bursar.beliefs.bag_times import BagTimes
from bursar.kernels.fleet_search import COST, FIGURES, LOG_CHANCE, MIDDLE, VALUE
from bursar.plan.bag.live_fleet import LiveFleetJudge, MachineGroups, WorkLeft

MOST = 16
PRICE, PAYABLE = 20.0, log(0.9)


def judge(rng, count, deadline=inf):
    is_new = rng.random(count) < 0.5
    slots = rng.choice([1.0, 4.0], count)
    groups = MachineGroups(
        offer=np.arange(count),
        is_new=is_new,
        room=rng.integers(1, 60, count).astype(float),
        slots=slots,
        speed=np.ones(count),
        begin=np.where(is_new, 30.0, 0.0),
        price=rng.uniform(1e4, 1e6, count),
        unit=np.full(count, 60.0),
        paid=np.full(count, 60.0),
        held=np.where(is_new, 0.0, 50.0),
        running=np.where(is_new, 0.0, 50.0 * slots),
    )
    here = np.where(is_new, 0.0, groups.room)
    running, attempts = float(groups.running @ here), int(slots @ here)
    left = WorkLeft(400, running, attempts, 1e9, deadline, elapsed=10.0, spent=1e6)
    times = BagTimes.lognormal(120.0, 0.1, 0.4, 50)
    return LiveFleetJudge(groups, left, times, np.zeros(count)), here


def plain_neighbours(fleets, floor, room, is_cheap):
    """Steps of one and of a tenth, up and down, then one machine in the place of another."""
    found = []
    some = [[group for group, there in enumerate(fleet) if there > 0][:MOST] for fleet in fleets]
    for sign, is_tenth in product((1, -1), (False, True)):
        for fleet, own in zip(fleets, some, strict=True):
            for group, there in enumerate(fleet):
                by = round(there / 10) if is_tenth else 1
                may = there < room[group] if sign > 0 else there > floor[group]
                if may and (is_cheap[group] or group in own) and not (is_tenth and by <= 1):
                    found.append([*fleet[:group], there + sign * by, *fleet[group + 1 :]])
    for fleet, own in zip(fleets, some, strict=True):
        for gone, group in product(own, range(len(fleet))):
            if fleet[gone] > floor[gone] and is_cheap[group] and fleet[group] < room[group]:
                found.append(list(fleet))
                found[-1][gone] -= 1
                found[-1][group] += 1
    return np.clip(np.array(found).reshape(-1, len(floor)), floor, room).tolist()


@pytest.mark.parametrize("seed", range(12))
def test_neighbours_differ_by_a_machine_or_a_tenth(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.choice([1, 3, 6, 20]))
    one, _ = judge(rng, count)
    fleets = np.floor(rng.random((3, count)) * (one.room + 1))
    floor = np.floor(rng.random(count) * fleets.min(axis=0))
    is_cheap = (rng.random(count) < 0.6).astype(float)
    found = one.neighbours(fleets, floor, is_cheap, MOST)
    assert found.tolist() == plain_neighbours(
        fleets.tolist(), floor.tolist(), one.room.tolist(), is_cheap.tolist()
    )


@pytest.mark.parametrize("deadline", [inf, 2000.0])
@pytest.mark.parametrize("is_begun", [True, False])
def test_each_fleet_is_judged_once_and_has_the_value_of_its_time_and_chance(deadline, is_begun):
    one, here = judge(np.random.default_rng(5), 4, deadline)
    room = np.maximum(one.room, here)
    fleets = np.array([here, room, here, np.ceil(room / 2), room])
    tried, found = np.empty((8, 4)), np.empty((8, FIGURES))
    worth = np.array((one.left.elapsed, one.left.spent, is_begun, PRICE, PAYABLE))
    count = one.judge_new(fleets[:2], tried, found, 0, worth)
    assert one.judge_new(fleets, tried, found, count, worth) == 3
    assert tried[:3].tolist() == [fleets[0].tolist(), fleets[1].tolist(), fleets[3].tolist()]
    for fleet, figures in zip(tried[:3], found[:3], strict=True):
        is_more = bool((fleet >= here).all() and (fleet > here).any())
        taken = log(one.left.elapsed + figures[MIDDLE] + 1e-3)
        if deadline < inf:
            taken = log(one.left.spent + figures[COST] + 1.0)
        value = taken - PRICE * figures[LOG_CHANCE]
        if is_begun and is_more and deadline == inf and figures[LOG_CHANCE] < PAYABLE:
            value = inf
        assert figures[VALUE] == pytest.approx(value)
