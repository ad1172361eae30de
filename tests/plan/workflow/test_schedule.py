"""A schedule costs what its machines are rented for, and tells what it breaks."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.dag import dag_of
from bursar.model.errors import InputError
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.plan.workflow.heft import Network
from bursar.plan.workflow.schedule import NOWHERE, Schedule, most_at_once

MARKET = Market(
    "USD",
    "2013-01-01",
    (
        Offer("small", Money.parse("0.10"), boot=MINUTE, limit=1),
        Offer("large", Money.parse("0.25"), billing=MINUTE, minimum=10 * MINUTE),
    ),
)
GRAPH = dag_of([[], [0], [0]])
RUNTIMES = np.array([[60.0, 30.0], [120.0, 60.0], [120.0, 60.0]])
VOLUMES = np.array([10.0, 20.0])
NETWORK = Network.even(2, pace=1.0, latency=1.0)


def planned(**changes):
    """One small machine for the first two tasks, a large one for the third."""
    begin = np.array([60, 120, 141]) * SECOND
    end = np.array([120, 240, 201]) * SECOND
    plan = Schedule.tight(MARKET, [0, 1], [0, 0, 1], begin, end)
    return msgspec.structs.replace(plan, **changes)


def check(plan):
    plan.check(GRAPH, RUNTIMES, VOLUMES, NETWORK, MARKET)


def test_a_machine_is_rented_from_its_boot_to_the_end_of_its_last_task():
    plan = planned()
    check(plan)
    assert plan.rented.tolist() == [0, 141 * SECOND]
    assert plan.released.tolist() == [240 * SECOND, 201 * SECOND]
    assert plan.makespan == 240 * SECOND


def test_the_cost_is_that_of_all_billing_units_entered_and_at_least_the_minimum():
    assert planned().cost(MARKET) == Money.parse("0.10") + 10 * Money.parse("0.25")
    longer = planned(released=np.array([HOUR, HOUR]) + 1)
    units = -(-(HOUR + 1 - 141 * SECOND) // MINUTE)
    assert longer.cost(MARKET) == 2 * Money.parse("0.10") + units * Money.parse("0.25")


def test_tasks_that_do_not_run_cost_nothing():
    plan = Schedule.tight(
        MARKET, [0], [0, NOWHERE, NOWHERE], [60 * SECOND, 0, 0], [120 * SECOND, 0, 0]
    )
    check(plan)
    assert plan.cost(MARKET) == Money.parse("0.10")


def test_an_empty_schedule_takes_no_time_and_no_money():
    plan = Schedule.tight(MARKET, [], [], [], [])
    assert (plan.makespan, plan.cost(MARKET)) == (0, Money(0))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"end": np.array([120, 241, 201]) * SECOND}, "task 1 does not have its run time"),
        ({"rented": np.array([1, 141]) * SECOND}, "task 0 begins before its machine is ready"),
        ({"released": np.array([239, 201]) * SECOND}, "task 1 ends after its machine's release"),
        ({"rented": np.array([-1, 141]) * SECOND}, "rented before the plan"),
        ({"machine": np.array([NOWHERE, 0, 1])}, "task 1 waits for one that does not run"),
        (
            {
                "begin": np.array([60, 120, 140]) * SECOND,
                "end": np.array([120, 240, 200]) * SECOND,
                "rented": np.array([0, 100]) * SECOND,
            },
            "task 2 begins before its files are there",
        ),
        (
            {
                "machine": np.array([0, 0, 0]),
                "begin": np.array([60, 120, 200]) * SECOND,
                "end": np.array([120, 240, 320]) * SECOND,
                "released": np.array([400, 400]) * SECOND,
            },
            "task 2 begins before another on its machine ends",
        ),
        ({"machines": np.array([0, 0])}, "2 machines of small at once; its limit is 1"),
    ],
)
def test_what_cannot_be_run_is_reported(changes, message):
    with pytest.raises(InputError, match=message):
        check(planned(**changes))


def test_a_schedule_of_another_workflow_is_refused():
    with pytest.raises(InputError, match="a schedule of 3 tasks for 1"):
        planned().check(dag_of([[]]), RUNTIMES[:1], np.empty(0), NETWORK, MARKET)


def test_a_machine_without_a_task_is_refused():
    with pytest.raises(InputError, match="a machine without a task"):
        Schedule.tight(MARKET, [0, 1], [0], [0], [1])


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), max_size=8))
def test_spans_that_only_touch_are_not_at_once(spans):
    begins = np.array([begin for begin, _ in spans], np.int64)
    ends = np.array([begin + long for begin, long in spans], np.int64)
    held = [int(((begins <= moment) & (moment < ends)).sum()) for moment in range(20)]
    assert most_at_once(begins, ends) == max(held)
