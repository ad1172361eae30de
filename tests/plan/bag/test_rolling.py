"""The rolling plan: the rest of a bag on machines that are there or might be rented."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.plan.bag.rolling import RentableMachine, plan_by, plan_frugally, plan_rest

DOLLAR = 10**9


def machine(price=1, minutes=10, until=0, free=None, under_way=0):
    """By the hour, one slot; for hire unless it is paid until some minute."""
    return RentableMachine(
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


@pytest.mark.parametrize(
    ("hours", "cost", "units"),
    [(1, 9, [1, 1, 1, 1, 1]), (2, 5, [2, 2, 1, 0, 0]), (4, 5, [4, 1, 0, 0, 0])],
)
def test_a_plan_by_a_deadline_is_the_cheapest_that_ends_by_then(hours, cost, units):
    """An hour does 5.5 tasks of ten minutes: of the last one half is lost."""
    machines = [machine(price=1) for _ in range(4)] + [machine(price=5, minutes=10)]
    plan = plan_by(machines, 26, hours * HOUR, 100 * DOLLAR, 0)
    assert (dollars(plan), list(plan.units)) == (cost, units)
    assert plan_by(machines, 26, hours * HOUR, (cost - 1) * DOLLAR, 0) is None


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


def test_fine_units_lose_nothing_at_the_end():
    """A task that is under way at the end of its paid time ends within another second."""
    row = RentableMachine(1, SECOND, float(10 * MINUTE), 1, 0, 0.0)
    plan = plan_rest([row], 3, inf, 0)
    assert plan.cost == pytest.approx(1800, abs=1)


def test_copies_are_planned_one_by_one():
    one = machine(price=1)
    four = RentableMachine(one.price, one.unit, one.pace, 1, 0, 0.0, copies=4)
    alike, single = plan_rest([four], 20, inf, 0), plan_rest([one] * 4, 20, inf, 0)
    assert list(alike.units) == list(single.units)
    assert alike.end == single.end


def test_where_money_cannot_do_machines_work_side_by_side():
    """As many tasks as one machine would do, but sooner."""
    row = RentableMachine(1, SECOND, float(10 * MINUTE), 1, 0, 0.0)
    plan = plan_rest([row] * 5, 100, 6000, 0)
    assert not plan.covers
    assert sum(plan.units) == 6000
    assert max(plan.units) < 1500


# --- machines that are paid for an hour -----------------------------------------------------------


def paid(price=1, pace=15, until=60, free=0.0, under_way=0):
    """A machine that is paid for an hour; times in minutes, prices in billionths."""
    return RentableMachine(price, 60, float(pace), 1, until, free, under_way)


def test_paid_time_is_used_before_any_money():
    plan = plan_rest([paid(), paid()], 6.0, 100, now=0)
    assert plan.covers
    assert plan.cost == 0
    assert plan.units.tolist() == [0, 0]


def test_the_better_value_is_kept_when_money_is_short():
    plan = plan_rest([paid(price=3), paid(price=1)], 10.0, 1, now=0)
    assert plan.covers
    assert plan.units.tolist() == [0, 1]


def test_all_is_kept_when_there_is_money():
    plan = plan_rest([paid(price=3), paid(price=1)], 14.0, 100, now=0)
    assert plan.units.tolist() == [1, 1]
    assert plan.end <= 120


def test_a_machine_that_has_more_under_way_is_kept_first():
    rows = [paid(until=60, free=60.0), paid(until=60, free=62.0, under_way=1)]
    assert plan_rest(rows, 1.0, 1, now=60).units.tolist() == [0, 1]


def test_no_machines_make_no_plan():
    assert not plan_rest([], 5.0, 100, now=0).covers


ROWS = st.lists(
    st.builds(
        paid,
        price=st.integers(1, 20),
        pace=st.integers(1, 90),
        until=st.integers(0, 120),
        free=st.floats(0, 90),
        under_way=st.integers(0, 1),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(rows=ROWS, tasks=st.integers(0, 200), money=st.integers(0, 500))
def test_a_plan_costs_what_its_units_cost_and_never_more_than_the_money(rows, tasks, money):
    plan = plan_rest(rows, float(tasks), money, now=0)
    cost = sum(row.price * int(units) for row, units in zip(rows, plan.units, strict=True))
    assert min(plan.units) >= 0
    assert abs(cost - plan.cost) < 1e-6
    assert cost <= money


@settings(max_examples=100, deadline=None)
@given(rows=ROWS, tasks=st.integers(1, 200), money=st.integers(0, 500))
def test_a_plan_that_covers_does_all_tasks(rows, tasks, money):
    plan = plan_rest(rows, float(tasks), money, now=0)
    if not plan.covers:
        return
    done = 0.0
    for row, units in zip(rows, plan.units, strict=True):
        stay = min(max(plan.end, row.free), row.until + 60 * int(units))
        done += max(0.0, (stay - row.free) / row.pace - 0.5 * min(1, row.unit / row.pace))
        done -= row.under_way if not units else 0
    assert done >= tasks - 1e-6


def test_money_that_is_there_buys_whole_units_of_others_before_a_last_one_in_part():
    """The cheap machine alone would take an hour longer, for 8 of 12."""
    rows = [paid(price=2, pace=20, under_way=1), paid(price=5, pace=20, free=40.0)]
    plan = plan_rest(rows, 15.0, 12, now=0)
    assert plan.units.tolist() == [3, 1]
    assert plan.end < 250


def test_what_is_left_over_is_done_where_it_costs_least():
    """One more hour of the fast machine would cost 5; two of the slow one do, too, and sooner."""
    rows = [
        paid(price=5, pace=10, until=30, under_way=1),
        paid(price=3, pace=20, until=30),
    ]
    plan = plan_rest(rows, 15.0, 12, now=0)
    assert plan.units.tolist() == [1, 2]
    assert plan.end < 141


def test_a_task_that_ends_in_the_second_unit_needs_both():
    """It ends after 70 minutes; the first hour alone would lose it."""
    rows = [paid(price=5, until=30), paid(price=1, until=0, free=70.0, under_way=1)]
    plan = plan_rest(rows, 1.0, 12, now=0)
    assert (plan.units.tolist(), plan.cost) == ([0, 2], 2)


def test_an_end_that_has_passed_makes_no_plan_though_time_was_paid_then():
    assert plan_by([paid(until=120)], 1, 30, inf, now=60) is None
