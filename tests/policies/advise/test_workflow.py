"""Workflows that turn out otherwise than planned are planned anew."""

from __future__ import annotations

import msgspec
import pytest
from tests.plan.workflow.test_plans import MARKET, layers

from bursar.beliefs.task_times import workflow_times
from bursar.engine.roles import Policy
from bursar.model.assigned import Assigned
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.money import Money
from bursar.model.plan_options import PlanOptions
from bursar.model.work import Work
from bursar.plan.workflow.plans import WorkflowPlanner, offered_plans
from bursar.policies.advise.workflow import WorkflowAdvisor, part_of
from bursar.policies.place.assigned import AssignedPlacer
from bursar.policies.provision.prob import Prob
from bursar.policies.replicate.none import NoReplicas
from bursar.runs.choosing import choice_of
from bursar.simulate.faults import ModelledBehaviour
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.read_only import view_of
from bursar.testing import Auditor, Scene

RUNS = 6


@pytest.fixture(scope="module")
def flow():
    return layers(8, 12)


@pytest.fixture(scope="module")
def times(flow):
    return workflow_times(flow.dag, MARKET.offers, {}, 0.2)


@pytest.fixture(scope="module")
def plan(flow, times):
    """The fastest that keeps a budget of 4.2 with confidence, if run times are as predicted."""
    plans = WorkflowPlanner(flow, MARKET.offers, times).plans()
    goal, planning = Goal(Money.parse("4.2")), PlanOptions()
    [best] = [one for one in offered_plans(plans, goal, planning, MARKET) if one.is_default]
    return choice_of(best)


class Changes:
    def __init__(self):
        self.seen = []

    def saw(self, event, state):
        if isinstance(event, ev.AssignmentChanged):
            self.seen.append(event)


def run(flow, times, plan, *, slower, seed, advised, observer=None, advisor=None):
    offers = [offer.name for offer in MARKET.offers]

    def runtime(task, machine):
        histogram = times.of(task - 1, offers.index(machine.offer.name))
        luck = (task * 7919 + seed * 104729) % len(histogram.values)
        return max(1, round(histogram.values[luck] * slower * 1e6))

    prob = Prob()
    own = WorkflowAdvisor(flow, MARKET.offers, times, PlanOptions())
    advisors = (advisor or own,) if advised else ()
    return simulate(
        MARKET,
        Goal(Money.parse("4.2")),
        [ev.WorkArrived(0, Work(flow)), plan],
        Policy(prob, AssignedPlacer(prob), NoReplicas(), advisors),
        ModelledBehaviour(runtime),
        observers=[observer or Auditor()],
    )


@pytest.mark.timeout(900)  # it plans dozens of times
def test_slower_tasks_break_the_budget_unless_the_rest_is_planned_anew(flow, times, plan):
    def finished(*, advised):
        states = [
            run(flow, times, plan, slower=1.7, seed=seed, advised=advised) for seed in range(RUNS)
        ]
        return [state for state in states if state.ended.status == "done"]

    assert len(finished(advised=False)) == 0
    anew = finished(advised=True)
    assert len(anew) >= RUNS - 1
    assert all("slower than predicted" in state.plans_of(1).assignment.why for state in anew)


def test_nothing_is_planned_anew_while_tasks_are_as_predicted(flow, times, plan):
    for seed in range(RUNS):
        state = run(flow, times, plan, slower=1.0, seed=seed, advised=True)
        assert state.plans_of(1).assignment is None


class Twin:
    """An advisor that sees every event, beside one that learns now and then from the view."""

    def __init__(self, make):
        self.make, self.one, self.compared = make, make(), 0

    def saw(self, event, state):
        self.one.saw(event, state)
        if state.events % 23 == 0 and state.done:
            late = self.make()
            late.saw_before(view_of(state))
            for key, factor in self.one._means().items():
                assert late._means()[key] == pytest.approx(factor)
            for name in ("_assigned", "_fleet", "_finished"):
                assert getattr(late, name) == getattr(self.one, name)
            assert late._watch.side == self.one._watch.side
            assert late._watch._above.stake == pytest.approx(self.one._watch._above.stake)
            self.compared += 1


@pytest.mark.parametrize("slower", [1.0, 1.7])
def test_an_advisor_learns_from_the_view_what_events_teach(flow, times, plan, slower):
    twin = Twin(lambda: WorkflowAdvisor(flow, MARKET.offers, times, PlanOptions()))
    run(flow, times, plan, slower=slower, seed=1, advised=False, observer=twin)
    assert twin.compared > 3


def test_what_is_done_keeps_its_offer_in_the_new_plan(flow, times, plan):
    changes = Changes()
    state = run(flow, times, plan, slower=2.0, seed=1, advised=True, observer=changes)
    changed = changes.seen[0]
    begun = [
        state.log.task[attempt]
        for attempt in range(1, len(state.log) + 1)
        if 0 <= state.log.ended[attempt] < changed.at
    ]
    assert begun
    assert all(changed.assigned.of(task) == plan.assigned.of(task) for task in begun)


def test_a_part_of_a_workflow_needs_only_what_is_in_it(flow):
    part = part_of(flow, [12, 13, 24])
    assert part.names == tuple(flow.names[task] for task in (12, 13, 24))
    assert part.parents[:2] == ((), ())
    kept = [parent for parent in flow.parents[24] if parent in (12, 13)]
    assert part.parents[2] == tuple(parent - 12 for parent in kept)
    assert len(part.dag) == 3


class Advised(Scene):
    """A run that an advisor watches, told what it decides."""

    def __init__(self, flow, times, plan, before=0, budget="4.2"):
        self.reported = []
        super().__init__(*MARKET.offers, tasks=before, arrivals_open=True, budget=budget)
        self.work = len(self.state.work) + 1
        self.advisor = WorkflowAdvisor(
            flow, MARKET.offers, times, PlanOptions(), work=self.work, before=before
        )
        self.tell(ev.WorkArrived(0, Work(flow)))
        self.tell(msgspec.structs.replace(plan, work=self.work))

    def tell(self, event):
        super().tell(event)
        if "advisor" in vars(self):
            self.advisor.saw(event, self.state)

    def change_budget(self, budget):
        self.pass_time(1)
        self.tell(ev.GoalChanged(self.at, Goal(Money.parse(budget))))
        self.ask()

    def ask(self):
        question = self.advisor.question(self.state, self.at)
        if question is not None:
            self.reported.append(self.advisor.answer(question))
            self.tell(msgspec.structs.replace(self.reported[-1], at=self.at))


def test_another_goal_is_planned_for(flow, times, plan):
    scene = Advised(flow, times, plan)
    scene.change_budget("1.5")
    (changed,) = scene.reported
    assert changed.why == "the goal was changed: 96 tasks that are left replanned"
    assert changed.assigned != plan.assigned
    scene.ask()
    assert scene.reported == [changed]


def test_the_goal_that_comes_with_the_choice_of_a_plan_is_the_one_it_was_chosen_for(
    flow, times, plan
):
    scene = Advised(flow, times, plan)
    scene.tell(ev.GoalChanged(scene.at, Goal(Money.parse("1.5"))))
    scene.ask()
    assert scene.reported == []


def test_what_is_planned_for_a_later_work_is_the_same_and_says_whose_it_is(flow, times, plan):
    plain, later = Advised(flow, times, plan), Advised(flow, times, plan, before=5)
    for scene in (plain, later):
        scene.change_budget("1.5")
    assert (plain.reported[0].work, later.reported[0].work) == (1, 2)
    assert later.reported[0].assigned == plain.reported[0].assigned
    assert later.state.plans_of(1).assignment is None


def test_the_plan_of_another_work_is_none_of_an_advisors_business(flow, times, plan):
    scene = Advised(flow, times, plan)
    scene.tell(ev.WorkArrived(0, Work(flow)))
    other = Assigned(plan.assigned.offers, (0,) * flow.count)
    scene.tell(msgspec.structs.replace(plan, work=2, assigned=other, fleet={"small": 1}))
    scene.change_budget("1.5")
    (changed,) = scene.reported
    alone = Advised(flow, times, plan)
    alone.change_budget("1.5")
    assert (changed.assigned, changed.fleet) == (
        alone.reported[0].assigned,
        alone.reported[0].fleet,
    )
    assert scene.state.plans_of(2).chosen.assigned == other


def test_what_cannot_be_planned_is_reported_and_the_plan_stays(flow, times, plan, monkeypatch):
    def refuse(*_):
        raise InputError("check the prices")

    scene = Advised(flow, times, plan)
    monkeypatch.setattr(WorkflowPlanner, "plans", refuse)
    for budget in ("1000", "2000"):
        scene.change_budget(budget)
    (changed,) = scene.reported
    assert changed.why.endswith("left, for which no plan could be made: check the prices")
    assert (changed.assigned, changed.fleet) == (plan.assigned, plan.fleet)
