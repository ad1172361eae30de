"""The rolling plan: the rest of a bag on machines that are there or might be rented."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.time import HOUR, MINUTE
from bursar.plan.rolling import Standing, plan_by, plan_frugally, plan_rest

DOLLAR = 10**9


def machine(price=1, minutes=10, until=0, free=None, under_way=0):
    """By the hour, one slot; for hire unless it is paid until some minute."""
    return Standing(
        price=price * DOLLAR,
        unit=HOUR,
        pace=float(minutes * MINUTE),
        slots=1,
        until=until * MINUTE,
        free=float((0 if free is None else free) * MINUTE),
        under_way=under_way,
    )


def dollars(plan):
    return plan.cost / DOLLAR


def test_little_money_keeps_fewer_machines_for_longer():
    machines = [machine() for _ in range(8)]
    rich, poor = (plan_rest(machines, 80, budget * DOLLAR, 0) for budget in (16, 14))
    assert rich.covers
    assert poor.covers
    assert poor.end > rich.end
    assert dollars(poor) <= 14


def test_where_money_cannot_do_it_buys_the_best_value():
    plan = plan_rest([machine(price=1), machine(price=3)], 100, 2 * DOLLAR, 0)
    assert not plan.covers
    assert list(plan.units) == [2, 0]


def test_tasks_under_way_are_not_given_up_where_there_is_money_for_some_of_them():
    """Nothing is left to start, but three tasks are lost unless their machines stay."""
    machines = [machine(price=2, until=5, free=6, under_way=1) for _ in range(3)]
    assert list(plan_rest(machines, 0, 6 * DOLLAR, 0).units) == [1, 1, 1]
    some = plan_rest(machines, 0, 2 * DOLLAR, 0)
    assert not some.covers
    assert sum(some.units) == 1


def test_a_frugal_plan_costs_least_however_late():
    machines = [machine(price=1, minutes=10), machine(price=9, minutes=5)]
    fast, frugal = (plan(machines, 10, 99 * DOLLAR, 0) for plan in (plan_rest, plan_frugally))
    assert dollars(frugal) == 2
    assert dollars(fast) > dollars(frugal)
    assert fast.end < frugal.end


@pytest.mark.parametrize(("hours", "cost"), [(2, 5), (4, 5), (1, None)])
def test_a_plan_by_a_deadline_is_the_cheapest_that_ends_by_then(hours, cost):
    machines = [machine(price=1) for _ in range(4)] + [machine(price=5, minutes=10)]
    plan = plan_by(machines, 26, hours * HOUR, 100 * DOLLAR, 0)
    if cost is None:
        assert plan is None or dollars(plan) > 5
    else:
        assert plan is not None
        assert dollars(plan) <= cost + 1
        assert plan.units[4] == 0


def test_no_plan_ends_before_now_or_without_machines():
    assert plan_by([machine()], 1, 0, inf, 0) is None
    assert plan_by([], 1, HOUR, inf, 0) is None


@given(
    st.lists(st.builds(machine, st.integers(1, 9), st.integers(1, 90)), min_size=1, max_size=6),
    st.integers(1, 200),
    st.integers(1, 200),
)
def test_no_plan_costs_more_than_the_money(machines, tasks, budget):
    for plan in (plan_rest, plan_frugally):
        found = plan(machines, tasks, budget * DOLLAR, 0)
        assert dollars(found) <= budget
        assert found.cost == sum(
            int(units) * each.price for units, each in zip(found.units, machines, strict=True)
        )
