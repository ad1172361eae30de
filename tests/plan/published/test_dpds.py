"""DPDS and WA-DPDS: examples computed by hand, and what holds of every run."""

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
from bursar.plan.published.dpds import Admission, Thresholds, dpds
from bursar.plan.published.ensemble import Member
from bursar.plan.workflow.schedule import NOWHERE

DOLLAR = Money.parse("1")
SMALL = Offer("small", DOLLAR)


def workflow(parents, minutes, priority=0):
    return Member(dag_of(parents), np.array(minutes, float) * 60, priority)


def bags(tasks, minutes):
    """Workflows of one task, the first most urgent."""
    return [workflow([[]], [minutes], tasks - number) for number in range(tasks)]


def cost(plan, offer=SMALL):
    return plan.schedule.cost(Market("USD", "", (offer,)))


def test_as_many_machines_are_rented_as_use_up_the_budget_by_the_deadline():
    plan = dpds(bags(10, 60), SMALL, DOLLAR * 10, 5 * HOUR)
    assert plan.finished == tuple(range(10))
    assert len(plan.schedule.machines) == 2
    assert (plan.schedule.makespan, cost(plan)) == (5 * HOUR, DOLLAR * 10)


def test_one_task_is_run_on_one_machine():
    plan = dpds([workflow([[]], [30])], SMALL, DOLLAR * 5, HOUR)
    assert (plan.finished, plan.schedule.makespan, cost(plan)) == ((0,), 30 * MINUTE, DOLLAR)


def test_a_chain_runs_task_by_task():
    plan = dpds([workflow([[], [0], [1]], [30, 30, 30])], SMALL, DOLLAR * 2, 2 * HOUR)
    assert plan.schedule.begin.tolist() == [0, 30 * MINUTE, 60 * MINUTE]
    assert (plan.finished, cost(plan)) == ((0,), DOLLAR * 2)


def test_the_most_urgent_workflows_come_first():
    reverse = list(reversed(bags(4, 60)))
    plan = dpds(reverse, SMALL, DOLLAR * 3, 3 * HOUR)
    assert plan.finished == (1, 2, 3)
    assert plan.schedule.begin.tolist() == [0, 2 * HOUR, HOUR, 0]
    assert plan.schedule.machine.tolist() == [NOWHERE, 0, 0, 0]


def test_a_unit_that_cannot_be_paid_is_not_entered_and_its_task_is_lost():
    plan = dpds([workflow([[]], [90])], SMALL, DOLLAR, 2 * HOUR)
    assert (plan.finished, plan.schedule.released.tolist()) == ((), [HOUR])
    assert cost(plan) == DOLLAR


def test_where_money_ends_machines_go_and_the_others_go_on():
    """Two machines for two tasks of 150 min; at 2 h there is money for one more hour."""
    plan = dpds(bags(2, 150), SMALL, DOLLAR * 5, 3 * HOUR)
    assert plan.schedule.released.tolist() == [3 * HOUR, 2 * HOUR]
    assert plan.schedule.machine.tolist() == [0, NOWHERE]
    assert (plan.finished, cost(plan)) == ((0,), DOLLAR * 5)


def test_a_machine_with_a_task_is_paid_before_one_without():
    """Tasks of 30 and 90 min on two machines; at 1 h there is money for one."""
    pair = [workflow([[]], [30], 2), workflow([[]], [90], 1)]
    plan = dpds(pair, SMALL, DOLLAR * 3, 2 * HOUR)
    assert plan.finished == (0, 1)
    assert plan.schedule.released.tolist() == [HOUR, 90 * MINUTE]


def test_no_machine_is_added_with_the_money_for_the_next_unit_of_another():
    plan = dpds(bags(2, 120), SMALL, DOLLAR * 2, 2 * HOUR, thresholds=Thresholds(growth=2))
    assert len(plan.schedule.machines) == 1
    assert plan.finished == (0,)


def test_without_money_for_a_machine_or_time_to_boot_nothing_runs():
    assert dpds(bags(2, 10), SMALL, DOLLAR - Money(1), HOUR).finished == ()
    late = Offer("late", DOLLAR, boot=HOUR)
    plan = dpds(bags(2, 10), late, DOLLAR * 9, HOUR)
    assert (plan.finished, cost(plan, late)) == ((), Money(0))


def test_half_of_the_idle_machines_go_at_the_end_of_their_hour_while_few_are_busy():
    """Four tasks of 30 min, and one of 3 h that waits for them, on four machines.

    At 1 h three are idle, and two of them go. The third stays until the end, at 3.5 h: without it
    all would be busy, and a machine be added.
    """
    fork = workflow([[], [], [], [], [0, 1, 2, 3]], [30, 30, 30, 30, 180])
    plan = dpds([fork], SMALL, DOLLAR * 16, 4 * HOUR)
    assert plan.schedule.released.tolist() == [210 * MINUTE, HOUR, HOUR, 210 * MINUTE]
    assert cost(plan) == DOLLAR * 10
    kept = dpds([fork], SMALL, DOLLAR * 16, 4 * HOUR, thresholds=Thresholds(u_low=0.0))
    assert cost(kept) == DOLLAR * 16


def test_machines_are_added_while_most_are_busy_up_to_the_growth_that_is_allowed():
    alone = dpds(bags(4, 60), SMALL, DOLLAR * 4, 4 * HOUR)
    assert (len(alone.schedule.machines), alone.schedule.makespan) == (1, 4 * HOUR)
    grown = dpds(bags(4, 60), SMALL, DOLLAR * 4, 4 * HOUR, thresholds=Thresholds(growth=2))
    assert (len(grown.schedule.machines), grown.schedule.makespan) == (2, 2 * HOUR)
    assert cost(grown) == DOLLAR * 4


def test_a_machine_takes_tasks_when_it_has_booted_and_its_boot_is_charged():
    offer = Offer("slow", DOLLAR, billing=10 * MINUTE, boot=25 * MINUTE)
    plan = dpds([workflow([[]], [30])], offer, DOLLAR * 6, HOUR)
    assert plan.schedule.begin.tolist() == [25 * MINUTE]
    assert (plan.finished, cost(plan, offer)) == ((0,), DOLLAR * 6)


def test_a_workflow_that_cannot_be_paid_is_left_out_where_workflows_are_looked_at():
    """Money for two hours; the urgent workflow takes three, the other one.

    DPDS begins with the urgent one and finishes none.
    """
    pair = [workflow([[], [], []], [60, 60, 60], 2), workflow([[]], [60], 1)]
    assert dpds(pair, SMALL, DOLLAR * 2, 2 * HOUR).finished == ()
    aware = dpds(pair, SMALL, DOLLAR * 2, 2 * HOUR, admission=Admission())
    assert aware.finished == (1,)
    assert aware.schedule.machine[:3].tolist() == [NOWHERE] * 3


def test_paid_time_counts_for_what_is_left():
    """Two hours of work, for two dollars of which one is spent on the hour that begins."""
    chain = [workflow([[], [0]], [60, 60])]
    assert dpds(chain, SMALL, DOLLAR * 2, 2 * HOUR, admission=Admission()).finished == (0,)


def test_work_that_was_taken_before_is_kept_money_for():
    """Chains of two and three hours, and money for four: two machines for two hours.

    Beside the first there is money for two hours, which is not enough for the second. If more than
    two are kept aside, it is not enough for the first either.
    """
    pair = [workflow([[], [0]], [60, 60], 2), workflow([[], [0], [1]], [60, 60, 60], 1)]
    plan = dpds(pair, SMALL, DOLLAR * 4, 2 * HOUR, admission=Admission())
    assert plan.finished == (0,)
    assert plan.schedule.machine[2:].tolist() == [NOWHERE] * 3
    margin = DOLLAR * 2 + Money(1)
    cautious = dpds(pair, SMALL, DOLLAR * 4, 2 * HOUR, admission=Admission(margin))
    assert cautious.finished == ()


def test_free_machines_are_as_many_as_tasks():
    free = Offer("own", Money(0))
    plan = dpds(bags(5, 60), free, Money(0), HOUR)
    assert plan.finished == (0, 1, 2, 3, 4)
    assert len(plan.schedule.machines) == 5


def test_no_workflow_costs_nothing_and_an_empty_one_is_finished():
    assert dpds([], SMALL, DOLLAR, HOUR).finished == ()
    plan = dpds([workflow([], [])], SMALL, DOLLAR, HOUR)
    assert (plan.finished, cost(plan)) == ((0,), Money(0))


@pytest.mark.parametrize("words", [{"u_high": 0.5}, {"u_low": -0.1}, {"growth": 0.5}])
def test_thresholds_that_cannot_be_are_refused(words):
    with pytest.raises(InputError, match=r"thresholds of utilisation|growth is"):
        Thresholds(**words)


# --- laws -----------------------------------------------------------------------------------------


@st.composite
def ensembles(draw):
    members = draw(random_members(workflow))
    offer = Offer(
        "any",
        Money(draw(st.sampled_from([0, 7, 10**9]))),
        billing=draw(st.sampled_from([SECOND, 7 * MINUTE, HOUR])),
        minimum=draw(st.sampled_from([0, 10 * MINUTE])),
        boot=draw(st.sampled_from([0, 90 * SECOND, 10 * MINUTE])),
        limit=draw(st.sampled_from([None, 1, 3])),
    )
    units = draw(st.integers(0, 40)) * HOUR // offer.billing
    return members, offer, offer.price * units, int(draw(st.floats(0.1, 10)) * HOUR)


RULES = st.builds(
    Thresholds, st.floats(0.7, 1), st.floats(0, 0.7), st.sampled_from([1.0, 1.5, 4.0])
)


@settings(max_examples=200, deadline=None)
@given(ensembles(), RULES, st.sampled_from([None, Admission(), Admission(Money(1000))]))
def test_budget_and_deadline_are_kept_and_what_is_finished_has_all_its_tasks(
    ensemble, thresholds, admission
):
    members, offer, budget, deadline = ensemble
    plan = dpds(members, offer, budget, deadline, thresholds=thresholds, admission=admission)
    plan.check(members, offer)
    assert cost(plan, offer) <= budget
    assert plan.schedule.makespan <= deadline
    assert np.all(plan.schedule.released <= deadline)
    ends = [*plan.first[1:], len(plan.schedule.machine)]
    for number, (first, last) in enumerate(zip(plan.first, ends, strict=True)):
        runs = plan.schedule.machine[first:last] != NOWHERE
        assert runs.all() == (number in plan.finished)


@settings(max_examples=50, deadline=None)
@given(ensembles())
def test_with_money_and_time_enough_all_workflows_finish(ensemble):
    members, offer, _, _ = ensemble
    work = sum(float(member.runtimes.sum()) for member in members)
    deadline = int((work + 1200) * SECOND)
    tasks = sum(len(member.dag) for member in members)
    units = deadline // offer.billing + 700
    plan = dpds(members, offer, offer.price * (units * tasks), deadline)
    assert plan.finished == tuple(range(len(members)))
