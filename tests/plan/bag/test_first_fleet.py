"""Which offers are tried at the beginning where nobody knows how fast they are."""

from __future__ import annotations

from math import inf

import msgspec
import numpy as np
import pytest

from bursar.beliefs.bag_times import BagTimes
from bursar.plan.bag.first_fleet import (
    PERHAPS,
    RISKED,
    lost_on_trial,
    with_late_trial,
    with_trials,
)
from bursar.plan.bag.live_fleet import MachineGroups, WorkLeft

TIMES = BagTimes.lognormal(100.0, 0.02, 0.35, 0)


def offers(slots, price_of_slot, boot=30.0, unit=1.0):
    count = len(slots)
    slots = np.array(slots, dtype=float)
    return MachineGroups(
        offer=np.arange(count),
        is_new=np.ones(count, dtype=bool),
        room=np.full(count, 20.0),
        slots=slots,
        speed=np.ones(count),
        begin=np.full(count, boot),
        price=slots * np.array(price_of_slot) * unit,
        unit=np.full(count, unit),
        paid=np.full(count, max(60.0, unit)),
        held=np.zeros(count),
        running=np.zeros(count),
    )


def bag(tasks, money):
    return WorkLeft(
        ready=tasks, running=0.0, attempts=0, money=money, deadline=inf, elapsed=0.0, spent=0.0
    )


def lost_of(groups):
    return lost_on_trial(groups, TIMES, groups.speed)


def with_some_here(groups, count):
    """The offers, and so many machines of the first that have run for a while."""
    fields = msgspec.structs.asdict(groups)
    here = {name: np.concatenate([column[:1], column]) for name, column in fields.items()}
    slots = groups.slots[0]
    first = {"is_new": False, "room": count, "begin": 0.0, "held": 60.0, "running": 50.0 * slots}
    for name, value in first.items():
        here[name][0] = value
    return MachineGroups(**here)


def late_trial(money, doubt=0.3, count=6.0, **options):
    """1,000 tasks on six machines of two slots, beside a large offer that nobody has tried."""
    asked = {"slots": [2, 64], "price_of_slot": [1.0, 1.15], **options}
    groups = with_some_here(offers(**asked), count)
    left = msgspec.structs.replace(bag(1000, money), running=600.0, attempts=12, elapsed=600.0)
    times = BagTimes.lognormal(100.0, 0.03, 0.2, 30)
    doubts, untried = np.array([0.02, 0.02, doubt]), np.array([False, False, True])
    return with_late_trial(groups, left, times, doubts, untried)


def test_an_offer_that_nobody_has_tried_gets_one_machine_once_the_money_allows_for_the_loss():
    """The plan keeps to what it knows: a fleet with many machines of unknown speed is a risk."""
    assert late_trial(1.6e5).tolist() == [6.0, 0.0, 1.0]


def test_no_late_trial_where_the_money_would_not_do_after_the_loss():
    assert late_trial(1.08e5) is None


def test_no_late_trial_of_what_costs_far_more_or_has_more_slots_than_tasks_wait():
    assert late_trial(1.6e5, price_of_slot=[1.0, 2 * PERHAPS]) is None
    assert late_trial(1.6e5, slots=[2, 2048]) is None


def test_one_machine_of_each_offer_that_may_prove_cheapest_is_tried():
    groups = offers([4, 4, 4, 4], [1.0, 1.1, PERHAPS - 0.01, PERHAPS + 0.01])
    found = with_trials(np.array([5.0, 0.0, 0.0, 0.0]), groups, bag(1000, 1.2e5), TIMES)
    assert found.tolist() == [5.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("tasks", [20, 100, 400, 3000])
def test_trials_may_lose_a_small_part_of_the_money_only(tasks):
    groups = offers([1, 2, 8, 16, 64], [1.0, 1.05, 1.1, 1.2, 1.0])
    first = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    money = 1.2 * tasks * 100.0
    tried = with_trials(first, groups, bag(tasks, money), TIMES) - first
    assert tried @ lost_of(groups) <= RISKED * money
    assert (tried >= 0).all() and (tried.sum() > 0) == (tasks > 20)


def test_a_machine_loses_its_boot_and_the_time_that_its_slots_wait():
    """With one slot nothing waits; an hour that must be paid is worked for, not lost."""
    least = offers([1], [1.0], boot=0.0)
    assert lost_of(least)[0] == pytest.approx(0.0, abs=1.0)
    assert lost_of(offers([1], [1.0]))[0] == pytest.approx(30.0, abs=1.0)
    assert lost_of(offers([8], [1.0]))[0] > 8 * 30 + 8 * 40
    assert lost_of(offers([1], [1.0], unit=3600.0))[0] == pytest.approx(30.0, abs=1.0)
