"""SPSS: examples computed by hand, and what holds of every plan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.published.shapes import random_members

from bursar.model.dag import dag_of
from bursar.model.errors import InputError
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.plan.published.ensemble import Ensemble, Member
from bursar.plan.published.spss import share_out, spss
from bursar.plan.workflow.schedule import NOWHERE

DOLLAR = Money.parse("1")
SMALL = Offer("small", DOLLAR)


def workflow(parents, minutes, priority=0):
    return Member(dag_of(parents), np.array(minutes, float) * 60, priority)


def cost(plan, offer=SMALL):
    return plan.schedule.cost(Market("USD", "", (offer,)))


def test_one_task_is_run_if_there_is_money_and_time():
    one = [workflow([[]], [30])]
    plan = spss(one, SMALL, DOLLAR, HOUR)
    assert (plan.finished, plan.schedule.makespan, cost(plan)) == ((0,), 30 * MINUTE, DOLLAR)
    assert spss(one, SMALL, DOLLAR - Money(1), HOUR).finished == ()
    assert spss(one, SMALL, DOLLAR, 30 * MINUTE).finished == (0,)
    assert spss(one, SMALL, DOLLAR, 30 * MINUTE - 1).finished == ()


def test_the_more_urgent_workflow_gets_the_money():
    pair = [workflow([[]], [40], priority=1), workflow([[]], [40], priority=2)]
    plan = spss(pair, SMALL, DOLLAR, 2 * HOUR)
    assert plan.finished == (1,)
    assert plan.schedule.machine.tolist() == [NOWHERE, 0]
    assert spss(pair, SMALL, DOLLAR * 2, 2 * HOUR).finished == (0, 1)


def test_a_workflow_that_does_not_fit_makes_room_for_a_less_urgent_one():
    trio = [workflow([[]], [50], 3), workflow([[]], [90], 2), workflow([[]], [10], 1)]
    assert spss(trio, SMALL, DOLLAR * 2, HOUR).finished == (0, 2)


def test_paid_idle_time_is_used_first():
    plan = spss([workflow([[]], [40]), workflow([[]], [20])], SMALL, DOLLAR, HOUR)
    assert plan.finished == (0, 1)
    assert plan.schedule.begin.tolist() == [0, 40 * MINUTE]


def test_spare_time_is_shared_out_over_levels():
    """Levels of one task of 10 s and three of 20 s; 70 s to spare.

    By tasks they get 17.5 and 52.5 s; by run times 10 and 60 s.
    """
    members = [Member(dag_of([[], [0], [0], [0]]), np.array([10.0, 20, 20, 20]))]
    ensemble = Ensemble.of(members, SMALL, DOLLAR, 100 * SECOND)
    by_tasks, by_times = share_out(ensemble, 0, 1.0), share_out(ensemble, 0, 0.0)
    assert [by_tasks[task] for task in range(4)] == [27_500_000, *[100 * SECOND] * 3]
    assert [by_times[task] for task in range(4)] == [20 * SECOND, *[100 * SECOND] * 3]


def test_a_fork_and_join_is_consolidated_as_its_deadlines_allow():
    """A task of 10 min, four of 10 min, one of 10 min; at 60 min all six fit in one paid hour.

    With `alpha` 1 the 30 min to spare are 5, 20 and 5 min, so that the middle tasks must end by
    45 min; three of them can do so one after the other on the first machine, at 20, 30 and 40 min.
    """
    fork = workflow([[], [0], [0], [0], [0], [1, 2, 3, 4]], [10] * 6)
    plan = spss([fork], SMALL, DOLLAR * 9, HOUR, alpha=1.0)
    assert np.bincount(plan.schedule.machine).tolist() == [5, 1]
    assert plan.schedule.makespan == 50 * MINUTE
    assert cost(plan) == DOLLAR * 2


def test_a_chain_stays_on_one_machine():
    plan = spss([workflow([[], [0], [1]], [20, 20, 20])], SMALL, DOLLAR, HOUR)
    assert plan.schedule.machine.tolist() == [0, 0, 0]
    assert plan.schedule.begin.tolist() == [0, 20 * MINUTE, 40 * MINUTE]


def test_a_task_goes_between_those_of_a_machine():
    """Task 2 waits for 0 (20 min) and 1 (40 min), which have a machine each, and follows 0."""
    urgent, less = workflow([[], [], [0, 1]], [20, 40, 20], 1), workflow([[]], [20])
    plan = spss([urgent, less], SMALL, DOLLAR * 2, HOUR)
    assert plan.schedule.machine.tolist() == [0, 1, 0, 0]
    assert plan.schedule.begin.tolist() == [0, 0, 40 * MINUTE, 20 * MINUTE]


def test_a_task_goes_before_those_of_a_machine_as_early_as_its_paid_time_allows():
    """Task 0 takes an hour, and two of 40 min wait for it; the second machine begins with one.

    That leaves 20 min of its hour, of which the less urgent task of 10 min takes the first.
    """
    urgent, less = workflow([[], [0], [0]], [60, 40, 40], 1), workflow([[]], [10])
    plan = spss([urgent, less], SMALL, DOLLAR * 3, 2 * HOUR)
    assert plan.schedule.machine.tolist() == [0, 0, 1, 1]
    assert plan.schedule.begin.tolist() == [0, HOUR, HOUR, 40 * MINUTE]
    assert cost(plan) == DOLLAR * 3


def test_boot_times_count_for_the_deadline_and_the_cost():
    offer = Offer("small", DOLLAR, boot=10 * MINUTE)
    one = [workflow([[]], [50])]
    plan = spss(one, offer, DOLLAR, HOUR)
    assert (plan.schedule.begin.tolist(), cost(plan, offer)) == ([10 * MINUTE], DOLLAR)
    assert spss(one, offer, DOLLAR, HOUR - 1).finished == ()


def test_a_limit_of_machines_is_kept():
    offer = Offer("small", DOLLAR, limit=1)
    plan = spss([workflow([[], []], [30, 30])], offer, DOLLAR * 9, 2 * HOUR)
    assert plan.schedule.begin.tolist() == [0, 30 * MINUTE]
    assert spss([workflow([[], []], [30, 30])], offer, DOLLAR * 9, 50 * MINUTE).finished == ()


def test_no_workflow_costs_nothing_and_an_empty_one_is_finished():
    assert spss([], SMALL, DOLLAR, HOUR).finished == ()
    plan = spss([workflow([], [])], SMALL, Money(0), 0)
    assert (plan.finished, cost(plan)) == ((0,), Money(0))


def test_alpha_is_a_share():
    with pytest.raises(InputError, match=r"alpha is 1\.5"):
        spss([], SMALL, DOLLAR, HOUR, alpha=1.5)


# --- laws -----------------------------------------------------------------------------------------


@st.composite
def ensembles(draw):
    members = draw(random_members(workflow))
    offer = Offer(
        "any",
        DOLLAR,
        billing=draw(st.sampled_from([SECOND, 7 * MINUTE, HOUR])),
        minimum=draw(st.sampled_from([0, 10 * MINUTE])),
        boot=draw(st.sampled_from([0, 90 * SECOND, 10 * MINUTE])),
        limit=draw(st.sampled_from([None, 1, 3])),
    )
    hours = draw(st.floats(0.1, 10))
    units = draw(st.integers(0, 40)) * HOUR // offer.billing
    return members, offer, DOLLAR * units, int(hours * HOUR)


@settings(max_examples=150, deadline=None)
@given(ensembles(), st.sampled_from([0.0, 0.7, 1.0]))
def test_budget_and_deadline_are_kept_and_workflows_run_whole_or_not_at_all(ensemble, alpha):
    members, offer, budget, deadline = ensemble
    plan = spss(members, offer, budget, deadline, alpha=alpha)
    plan.check(members, offer)
    assert cost(plan, offer) <= budget
    assert plan.schedule.makespan <= deadline
    ends = [*plan.first[1:], len(plan.schedule.machine)]
    for number, (first, last) in enumerate(zip(plan.first, ends, strict=True)):
        runs = plan.schedule.machine[first:last] != NOWHERE
        assert runs.all() if number in plan.finished else not runs.any()


@settings(max_examples=50, deadline=None)
@given(ensembles())
def test_with_money_and_machines_enough_only_the_deadline_leaves_workflows_out(ensemble):
    members, offer, _, deadline = ensemble
    boundless = Offer("any", offer.price, billing=offer.billing, boot=offer.boot)
    plan = spss(members, boundless, Money.parse("9000000000"), deadline)
    plan.check(members, boundless)
    for number, member in enumerate(members):
        end = np.zeros(len(member.dag))
        for task in member.dag.order:
            start, stop = member.dag.parents.starts[task : task + 2]
            before = end[member.dag.parents.items[start:stop]].max(initial=offer.boot)
            end[task] = before + round(member.runtimes[task] * SECOND)
        assert (number in plan.finished) == (end.max() <= deadline)
