"""The fleet to begin with where the budget alone tells run times."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from bursar.beliefs.bag_times import BagTimes
from bursar.plan.bag import first_plan
from bursar.plan.bag.first_plan import FEW, PossibleMean, plan_first
from bursar.plan.bag.live_fleet import LiveFleetJudge, MachineGroups, WorkLeft

MEAN = 120.0


def offers(count=3, boot=45.0):
    """By the second with a minimum; the price of a slot is about one a second."""
    slots = np.array([2.0, 4.0, 8.0] * count)[:count]
    one = np.ones(count)
    return MachineGroups(
        offer=np.arange(count),
        is_new=np.ones(count, dtype=bool),
        room=50 * one,
        slots=slots,
        speed=one,
        begin=boot * one,
        price=slots * np.linspace(1.0, 1.1, count),
        unit=one,
        paid=60 * one,
        held=0 * one,
        running=0 * one,
    )


def bag(tasks, money):
    return WorkLeft(
        ready=tasks, running=0.0, attempts=0, money=money, deadline=inf, elapsed=0.0, spent=0.0
    )


def possible(*factors):
    """Means for which the money is so many times the least cost."""
    return [PossibleMean(MEAN / factor, 1 / len(factors)) for factor in factors]


def slots_of(plan, groups):
    return float(plan.fleet @ groups.slots)


@pytest.mark.parametrize("tasks", [60, 150, 600])
def test_where_money_may_hardly_do_it_begins_with_less_than_where_it_surely_does(tasks):
    groups, left = offers(), bag(tasks, tasks * MEAN)
    fleets = [
        plan_first(groups, left, possible(*factors))
        for factors in ((1.3, 1.5, 2.0, 3.0), (2.0, 3.0), (3.0,))
    ]
    sizes = [slots_of(plan, groups) for plan in fleets]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


@pytest.mark.parametrize("tasks", [60, 150, 600])
def test_the_first_fleet_can_be_paid_with_the_longest_run_times_that_the_money_does_for(tasks):
    groups, left = offers(), bag(tasks, tasks * MEAN)
    plan = plan_first(groups, left, possible(1.15, 1.3, 1.6, 2.5))
    times = BagTimes.lognormal(MEAN / 1.6, 0.02, 0.35, 0)
    verdict = LiveFleetJudge(groups, left, times, np.zeros(3)).judge(plan.fleet[np.newaxis, :])
    assert np.exp(verdict.log_chance[0]) > 0.9


def test_run_times_for_which_no_fleet_does_do_not_make_it_small():
    """With 60 tasks the boot alone costs more than a tenth: nothing is lost by not saving."""
    groups, left = offers(boot=120.0), bag(60, 60 * MEAN)
    able = plan_first(groups, left, possible(2.0, 3.0))
    both = plan_first(groups, left, possible(0.9, 1.0, 2.0, 3.0))
    assert both.fleet.tolist() == able.fleet.tolist()
    assert slots_of(both, groups) > 2


def few_now(now, later):
    """The offers, a third of the price where few are rented at first; and how many may be later."""
    groups = offers()
    groups.room[0], groups.price[0] = now, groups.price[0] / 3
    return groups, np.array([later, 50.0, 50.0])


def test_it_is_not_small_for_tasks_that_only_machines_of_later_can_do():
    """Should tasks be so long, the money that is left then buys machines enough."""
    groups, rooms = few_now(3, 50)
    left, means = bag(2_000, 2_000 * MEAN), possible(0.6, 1.0, 1.6, 3.0)
    alone = plan_first(groups, left, means)
    with_more = plan_first(groups, left, means, rooms)
    assert slots_of(with_more, groups) > 2 * slots_of(alone, groups)


@pytest.mark.parametrize("longest", [0.38, 0.45, 0.6])
def test_what_machines_of_later_need_is_left_for_them(longest):
    """The first fleet works for about a task, and the rest is paid at the price of later."""
    groups, rooms = few_now(3, 50)
    left = bag(2_000, 2_000 * MEAN)
    plan = plan_first(groups, left, possible(longest, 1.0, 2.0), rooms)
    spent = float(plan.fleet @ groups.price) * (45 + MEAN / longest)
    slots = slots_of(plan, groups)
    rest = (2_000 - slots) * MEAN / longest * groups.price[0] / groups.slots[0]
    assert spent + rest < left.money


@pytest.mark.parametrize("tasks", [1, 30, 300])
def test_long_units_take_half_of_the_money_at_first_where_nobody_tells_speeds(tasks):
    groups, means = offers(boot=60.0), possible(1.1, 1.25, 1.6)
    groups.unit[:], groups.paid[:] = 3600.0, 3600.0
    groups.price[:] *= 3600
    left = bag(tasks, max(tasks * MEAN, 2.5 * 3600))
    given = plan_first(groups, left, means)
    plan = plan_first(groups, left, means, are_speeds_in_doubt=True)
    cost, whole = (float(one.fleet @ groups.price) for one in (plan, given))
    assert 0 < cost <= min(whole, max(left.money / 2, groups.price.min()))
    assert cost == whole or whole > left.money / 2


def test_where_nothing_is_possible_it_is_the_fleet_with_the_best_chance():
    groups, left = offers(), bag(60, 60 * MEAN)
    assert plan_first(groups, left, possible(0.5, 0.6)).fleet.sum() >= 1


def test_its_chance_is_that_whatever_the_run_times_are():
    plan = plan_first(offers(), bag(600, 600 * MEAN), possible(1.1, 1.6, 3.0))
    assert 0.6 < np.exp(plan.log_chance) <= 1.0
    assert 0 < plan.middle <= plan.time


def test_of_many_offers_few_are_looked_at_again(monkeypatch):
    seen = []
    plan_live = first_plan.plan_live

    def watched(groups, *given):
        seen.append(int(groups.is_new.sum()))
        return plan_live(groups, *given)

    monkeypatch.setattr(first_plan, "plan_live", watched)
    means = possible(1.2, 1.6, 3.0)
    plan_first(offers(40), bag(5000, 5000 * MEAN), means)
    assert seen[: len(means)] == [40] * len(means)
    assert set(seen[len(means) :]) == {FEW}


def test_the_same_question_is_answered_once(monkeypatch):
    asked = offers(), bag(321, 321 * MEAN), possible(1.2, 1.6)
    first = plan_first(*asked)
    monkeypatch.setattr(first_plan, "plan_live", None)
    assert plan_first(*asked) is first
