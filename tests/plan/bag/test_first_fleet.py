"""Which offers are tried at the beginning where nobody knows how fast they are."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from bursar.beliefs.bag_times import BagTimes
from bursar.plan.bag.first_fleet import PERHAPS, RISKED, lost_on_trial, with_trials
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
    assert tried @ lost_on_trial(groups, TIMES) <= RISKED * money
    assert (tried >= 0).all() and (tried.sum() > 0) == (tasks > 20)


def test_a_machine_loses_its_boot_and_the_time_that_its_slots_wait():
    """With one slot nothing waits; an hour that must be paid is worked for, not lost."""
    least = offers([1], [1.0], boot=0.0)
    assert lost_on_trial(least, TIMES)[0] == pytest.approx(0.0, abs=1.0)
    assert lost_on_trial(offers([1], [1.0]), TIMES)[0] == pytest.approx(30.0, abs=1.0)
    assert lost_on_trial(offers([8], [1.0]), TIMES)[0] > 8 * 30 + 8 * 40
    assert lost_on_trial(offers([1], [1.0], unit=3600.0), TIMES)[0] == pytest.approx(30.0, abs=1.0)
