"""The first fleets of a plan, listed by the compiled kernel, against the same in numpy's arrays."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from bursar.beliefs.bag_times import BagTimes
from bursar.kernels.fleet_candidates import DEAR, ENDS, LATEST, LIKELY_END, PLAIN
from bursar.plan.bag.live_fleet import LiveFleetJudge, MachineGroups, WorkLeft
from bursar.plan.bag.live_plan import cheapest_groups

CHEAPEST = 4


def random_judge(rng, count):
    is_new = rng.random(count) < 0.5
    slots = rng.choice([1.0, 4.0], count)
    begin = np.where(is_new | (rng.random(count) < 0.2), rng.uniform(0, 90, count), 0.0)
    runs = (begin == 0) & (rng.random(count) < 0.8)
    groups = MachineGroups(
        offer=np.arange(count),
        is_new=is_new,
        room=rng.integers(1, 60, count).astype(float),
        slots=slots,
        speed=rng.choice([1.0, 1.7, 2.5], count),
        begin=begin,
        price=rng.uniform(1e4, 1e6, count),
        unit=rng.choice([1.0, 60.0, 3600.0], count),
        paid=rng.uniform(0, 3600, count),
        held=np.where(runs, rng.uniform(1, 400, count), 0.0),
        running=np.where(runs, rng.uniform(1, 400, count) * slots, 0.0),
    )
    here = np.where(is_new, 0.0, groups.room)
    ready = int(rng.choice([3, 400]))
    running, attempts = float(groups.running @ here), int(slots @ here)
    left = WorkLeft(ready, running, attempts, 1e9, inf, elapsed=10.0, spent=1e6)
    times = BagTimes.lognormal(120.0, 0.1, 0.4, 50)
    doubt = rng.choice([0.0, 0.3], count)
    return LiveFleetJudge(groups, left, times, doubt), here, doubt


@pytest.mark.parametrize("seed", range(40))
def test_the_kernel_lists_what_arrays_do(seed):
    rng = np.random.default_rng(seed)
    judge, here, doubt = random_judge(rng, int(rng.choice([1, 2, 5, 9])))
    groups, room = judge.groups, judge.room
    is_early, may_drop = bool(rng.random() < 0.3), bool(rng.random() < 0.5)
    found = judge.candidates(CHEAPEST, is_early=is_early, may_drop=may_drop)
    floor = here if is_early else plain_floor(groups, judge.times, doubt)
    assert found.floor.tolist() == floor.tolist()
    assert np.flatnonzero(found.is_cheap).tolist() == cheapest_groups(groups, most=CHEAPEST)
    listed = [here[np.newaxis, :], covers(judge, room), one_offer(groups, here, room, judge.left)]
    if may_drop and not is_early:
        listed.append(fewer(groups, here))
    fleets = within(np.concatenate(listed), floor, room)
    assert unique(found.fleets) == unique(fleets), "in the same order, each once"


def test_what_can_neither_go_nor_be_joined_is_the_only_fleet():
    judge = random_judge(np.random.default_rng(1), 1)[0]
    groups = judge.groups
    groups.is_new[:], groups.paid[:] = False, 1e6
    judge = LiveFleetJudge(groups, judge.left, judge.times, np.zeros(1))
    found = judge.candidates(CHEAPEST, is_early=False, may_drop=True)
    assert found.fleets.tolist() == [groups.room.tolist()]


def unique(fleets):
    return list(dict.fromkeys(map(tuple, fleets.tolist())))


def plain_floor(groups, times, speed_doubt):
    """What is not dropped: a machine at work whose work costs little more than elsewhere.

    Elsewhere it may cost more than it seems, where speeds are in doubt. Its boot is paid, and the
    time that some of its slots idle at its end comes sooner or later.
    Nor one whose paid time is long enough for another task: that can be decided later.
    """
    price = groups.price / groups.unit / (groups.slots * groups.speed)
    elsewhere = float(np.min(price * (1 + speed_doubt)))
    fair = (price <= DEAR * elsewhere) & (groups.running > 0)
    task = float(times.curve.rest_within(np.zeros(1), np.full(1, LIKELY_END))[0])
    fair |= groups.paid >= groups.begin + task / groups.speed
    return np.where(~groups.is_new & fair, groups.room, 0.0)


def covers(judge, room):
    """For each finishing time, machines by what a piece of work costs until all is covered."""
    groups, left, times = judge.groups, judge.left, judge.times
    work = left.ready * times.mean + left.running
    rate = groups.slots * groups.speed
    lost = groups.slots * np.maximum(0.0, judge.longest - judge.rest)
    earliest = float(groups.begin.min()) + max(
        0.5 * times.mean / float(groups.speed.max()), work / max(1e-9, float(rate @ room))
    )
    latest = float(groups.begin.max()) + 2 * (work + times.mean) / float(rate.min())
    ends = rising(np.array([earliest]), np.array([min(latest, earliest * LATEST)]), ENDS).T
    done = np.maximum(0.0, rate * (ends - groups.begin) - lost)
    cost = groups.charge(np.maximum(ends, groups.held))
    is_of_use = done > 0
    value = np.full_like(done, np.inf)
    np.divide(cost, done, out=value, where=is_of_use)
    order = value.argsort(axis=1, kind="stable")
    rows = np.arange(ENDS)
    sorted_ = rows[:, np.newaxis], order
    done, most = done[sorted_], np.where(is_of_use, room, 0.0)[sorted_]
    covered = done * most
    before = covered.cumsum(axis=1) - covered
    counts = within(np.ceil((work - before) / np.maximum(done, 1e-9)), 0.0, most)
    fleets = np.empty((2, *counts.shape))
    fleets[:, rows[:, np.newaxis], order] = counts
    # The same with one machine less of the group that each cover took last.
    last = counts.shape[1] - 1 - (counts[:, ::-1] > 0).argmax(axis=1)
    fleets[1, rows, order[rows, last]] -= 1
    return np.maximum(0.0, fleets.reshape(-1, len(groups)))


def one_offer(groups, here, room, left):
    """Machines of one offer alone, and added to those that are there."""
    places = np.array(cheapest_groups(groups, groups.is_new, CHEAPEST), dtype=np.int64)
    most = np.minimum(room[places], np.ceil(left.tasks / groups.slots[places]))
    places, most = places[most >= 1], most[most >= 1]
    if not len(places):
        return here[np.newaxis, :]
    counts = np.rint(rising(np.ones(len(places)), most, PLAIN)).ravel()
    both = np.zeros((counts.size, 2, len(groups)))
    both[:, 1] = here
    both[np.arange(counts.size), :, places.repeat(PLAIN)] += counts[:, np.newaxis]
    return both.reshape(-1, len(groups))


def fewer(groups, here):
    """What is there, without some or all machines of the groups whose work costs most."""
    price = groups.price / groups.unit / (groups.slots * groups.speed)
    places = np.flatnonzero(here)
    left, found = here.copy(), []
    for place in places[np.argsort(-price[places], kind="stable")].tolist():
        for count in (np.ceil(here[place] / 2), 0.0):
            left[place] = count
            found.append(left.copy())
    return np.array(found).reshape(-1, len(groups))


def within(counts, least, most):
    return np.minimum(np.maximum(counts, least), most)


def rising(first, last, count):
    """For each pair, numbers in equal ratios: as `np.geomspace`, which takes ten times as long."""
    low, high = np.log10(first), np.log10(last)
    steps = (high - low) / (count - 1)
    found = 10.0 ** (np.arange(count) * steps[:, np.newaxis] + low[:, np.newaxis])
    found[:, 0], found[:, -1] = first, last
    return found
