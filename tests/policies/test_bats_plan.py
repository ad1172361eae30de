"""The rolling plan of `bats`, and the placer that follows it."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.plan.rolling import Standing, plan_rest
from bursar.policies.place.fitting import FittingPlacer
from bursar.testing import Scene

SLOW = Offer("slow", Money.parse(1), HOUR)
FAST = Offer("fast", Money.parse(4), HOUR, speed=4.0)


def machine(price=1, pace=15, until=60, free=0.0, under_way=0):
    """A machine billed by the hour; times in minutes."""
    return Standing(price, 60, float(pace), 1, until, free, under_way)


def test_paid_time_is_used_before_any_money():
    plan = plan_rest([machine(), machine()], 6.0, 100, now=0)
    assert plan.covers
    assert plan.cost == 0
    assert plan.units.tolist() == [0, 0]


def test_the_better_value_is_kept_when_money_is_short():
    plan = plan_rest([machine(price=3), machine(price=1)], 10.0, 1, now=0)
    assert plan.covers
    assert plan.units.tolist() == [0, 1]


def test_all_is_kept_when_there_is_money():
    plan = plan_rest([machine(price=3), machine(price=1)], 14.0, 100, now=0)
    assert plan.units.tolist() == [1, 1]
    assert plan.end <= 120


def test_a_machine_that_has_more_under_way_is_kept_first():
    rows = [machine(until=60, free=60.0), machine(until=60, free=62.0, under_way=1)]
    assert plan_rest(rows, 1.0, 1, now=60).units.tolist() == [0, 1]


def test_where_money_cannot_do_it_buys_what_it_can():
    plan = plan_rest([machine(), machine()], 100.0, 3, now=0)
    assert not plan.covers
    assert plan.units.sum() == 3


def test_no_machines_make_no_plan():
    assert not plan_rest([], 5.0, 100, now=0).covers


ROWS = st.lists(
    st.builds(
        machine,
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
        done += max(0.0, (stay - row.free) / row.pace - 0.5)
        done -= row.under_way if not units else 0
    assert done >= tasks - 1e-6


# --- the placer -----------------------------------------------------------------------------------


class Known:
    """Mean run times of 20 and 5 minutes; machines stay as long as they are paid for."""

    def stays_until(self, machine):
        return machine.until

    def expected(self, offer, elapsed=0):
        return max(elapsed, (20 if offer == "slow" else 5) * MINUTE)


class Ignorant(Known):
    def expected(self, offer, elapsed=0):
        return None


def placed(guide, tasks):
    """Where tasks go with one slow and one fast machine, both idle."""
    scene = Scene(SLOW, FAST, tasks=tasks, budget="9")
    machines = {scene.up(scene.rent(name)): name for name in ("slow", "fast")}
    starts = FittingPlacer(guide).place(scene.state, scene.at, Random(0))
    return sorted(machines[start.machine] for start in starts)


def test_the_last_tasks_wait_for_the_fast_machine():
    assert placed(Known(), tasks=3) == ["fast"]
    assert placed(Known(), tasks=4) == ["fast"]


def test_many_tasks_go_everywhere():
    assert placed(Known(), tasks=5) == ["fast", "slow"]
    assert placed(Known(), tasks=50) == ["fast", "slow"]


def test_where_nothing_is_known_every_machine_gets_a_task():
    assert placed(Ignorant(), tasks=2) == ["fast", "slow"]
