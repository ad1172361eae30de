from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from bursar.beliefs.task_times import workflow_times
from bursar.engine.roles import Policy
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money, format_money
from bursar.model.plan_options import PlanOptions
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Work
from bursar.model.workflow import Workflow
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.plan.workflow.plans import (
    WorkflowPlanner,
    offered_plans,
    pick,
    reliable_offers,
    why_none_fits,
)
from bursar.policies.place.assigned import AssignedPlacer
from bursar.policies.provision.prob import Prob
from bursar.policies.replicate.none import NoReplicas
from bursar.runs.choosing import choice_of
from bursar.simulate.faults import ModelledBehaviour
from bursar.simulate.run import simulate
from bursar.state import events as ev

SMALL = Offer("small", Money.parse("0.0001"), billing=SECOND, boot=30 * SECOND)
LARGE = Offer("large", Money.parse("0.0003"), billing=SECOND, boot=30 * SECOND, speed=2.0)
MARKET = Market("USD", "2026-01-01", (SMALL, LARGE))


def layers(depth=5, width=8):
    rng = np.random.default_rng(0)
    work = WorkflowBuilder("layers")
    for layer in range(depth):
        for number in range(width):
            above = rng.choice(width, 2, replace=False) if layer else ()
            needs = [f"t{layer - 1}x{one}" for one in above]
            time = float(rng.uniform(60, 300))
            work.task(f"t{layer}x{number}", needs=needs, runtime=time, kind=f"k{layer}")
    return Workflow.of(work.build())


@pytest.fixture(scope="module")
def flow():
    return layers()


@pytest.fixture(scope="module")
def times(flow):
    return workflow_times(flow.dag, MARKET.offers, {}, 0.2)


@pytest.fixture(scope="module")
def plans(flow, times):
    return WorkflowPlanner(flow, MARKET.offers, times).plans()


def test_plans_go_from_cheapest_to_fastest_and_none_beats_another(plans):
    points = [plan.point for plan in plans]
    assert len(plans) >= 4
    assert points == sorted(points, key=lambda point: (-point[0], point[1]))
    assert all(one[1] < other[1] for one, other in itertools.pairwise(points))


def test_the_ends_are_what_they_are_called(flow, times, plans):
    """All on one cheap machine, and as fast as all on the faster offer with machines enough."""
    planner = WorkflowPlanner(flow, MARKET.offers, times)
    alone = planner.judge(np.zeros(flow.count, dtype=np.int64), (1, 0))
    fast = planner.judge(np.ones(flow.count, dtype=np.int64), (0, flow.count))
    assert plans[0].mean_cost <= alone.mean_cost
    assert plans[-1].point[0] <= 1.02 * fast.point[0]


def test_the_same_seed_gives_the_same_plans(flow, times, plans):
    again = WorkflowPlanner(flow, MARKET.offers, times).plans()
    assert [plan.assigned for plan in again] == [plan.assigned for plan in plans]
    assert [plan.fleet for plan in again] == [plan.fleet for plan in plans]


@pytest.mark.parametrize("place", [0, -1])
def test_the_promises_of_a_plan_hold_in_the_engine(flow, times, plans, place):
    plan = plans[place]
    chosen = choice_of(offered_plans(plans, Goal(), PlanOptions(), MARKET)[place])
    assert chosen.assigned == plan.assigned
    rng = np.random.default_rng(99)
    spans, costs = [], []
    for _ in range(60):
        luck = rng.integers(0, times.table.shape[1], flow.count)
        rows = times.rows[np.arange(flow.count), plan.of_task]
        drawn = np.rint(times.table[rows, luck] * SECOND).astype(int).tolist()
        prob = Prob()
        state = simulate(
            MARKET,
            Goal(Money.parse("100")),
            [ev.WorkArrived(0, Work(flow)), chosen],
            Policy(prob, AssignedPlacer(prob), NoReplicas()),
            ModelledBehaviour(lambda task, _, drawn=drawn: drawn[task - 1]),
        )
        assert state.ended.status == "done"
        spans.append(state.last_settled)
        costs.append(state.ledger.committed)
    assert sum(span <= plan.makespan(0.9) for span in spans) >= 45
    assert sum(cost <= plan.cost(0.9) for cost in costs) >= 45
    assert sum(span <= plan.makespan(0.1) for span in spans) <= 15
    assert np.median(spans) == pytest.approx(plan.makespan(0.5), rel=0.05)


# --- goals ---------------------------------------------------------------------------------------


def test_a_budget_takes_the_fastest_plan_that_keeps_it_with_the_confidence(plans):
    budget = plans[len(plans) // 2].cost(0.9)
    best = pick(plans, Goal(budget), PlanOptions())
    assert best.chance_within(budget) >= 0.9
    faster = [plan for plan in plans if plan.point[0] < best.point[0]]
    assert all(plan.chance_within(budget) < 0.9 for plan in faster)


def test_a_budget_on_average_allows_more_than_one_to_be_kept_almost_always(plans):
    budget = plans[-2].mean_cost
    on_average = pick(plans, Goal(budget), PlanOptions(on_average=True))
    surely = pick(plans, Goal(budget), PlanOptions(confidence=0.99))
    assert on_average.mean_cost <= budget
    assert surely.chance_within(budget) >= 0.99
    assert on_average.point[0] < surely.point[0]


def test_a_deadline_takes_the_cheapest_plan_that_keeps_it(plans):
    deadline = plans[len(plans) // 2].makespan(0.9)
    best = pick(plans, Goal(deadline=deadline), PlanOptions())
    assert best.chance_by(deadline) >= 0.9
    cheaper = [plan for plan in plans if plan.mean_cost < best.mean_cost]
    assert all(plan.chance_by(deadline) < 0.9 for plan in cheaper)


def why(plans, goal, planning=None):
    """What is told of plans that do not keep a goal."""
    planning = planning or PlanOptions()
    assert pick(plans, goal, planning) is None
    offered = offered_plans(plans, goal, planning, MARKET)
    assert not any(plan.fits or plan.is_default for plan in offered)
    return why_none_fits(offered, goal, planning, "USD")


def test_a_goal_that_no_plan_keeps_is_reported_with_what_could_be_had(plans):
    reported = why(plans, Goal(Money.parse("0.01")))
    assert re.search(r"budget of \$0.01 .* the cheapest costs .* give more", reported)
    assert re.search(r"deadline of 1.0 min .* the fastest takes", why(plans, Goal(None, MINUTE)))
    both = Goal(plans[0].cost(0.9), plans[-1].makespan(0.9))
    assert re.search(r"budget .* and a deadline", why(plans, both))


def test_a_budget_that_is_to_be_kept_on_average_is_reported_as_such(plans):
    mean = format_money(plans[0].mean_cost, "USD", up=True)
    reported = why(plans, Goal(Money.parse("0.01")), PlanOptions(on_average=True))
    assert f"budget of $0.01 on average: the cheapest costs {mean} and" in reported


def test_without_a_goal_it_is_the_knee(plans):
    best = pick(plans, Goal(), PlanOptions())
    assert best in plans[1:-1]


def test_few_of_many_plans_are_offered_with_the_best_among_them(plans):
    best = plans[1]
    found = offered_plans(plans, Goal(best.cost(0.9)), PlanOptions(), MARKET)
    assert len(found) <= 8
    assert (found[0].name, found[-1].name) == ("cheapest", "fastest")
    assert found[0].assigned == plans[0].assigned
    assert found[-1].assigned == plans[-1].assigned
    [default] = [plan for plan in found if plan.is_default]
    assert default.fits
    assert sum(plan.is_knee for plan in found) == 1


def test_a_plan_without_a_budget_is_capped_by_its_bound_and_a_unit_for_each_machine(plans):
    for plan in offered_plans(plans, Goal(), PlanOptions(), MARKET):
        unit = min(MARKET[name].entry_charge for name in plan.fleet)
        assert plan.cap == max(plan.cost_upper, plan.cost) + unit * sum(plan.fleet.values())
    budget = Money.parse("5")
    assert {plan.cap for plan in offered_plans(plans, Goal(budget), PlanOptions(), MARKET)} == {
        budget
    }


# --- machines ------------------------------------------------------------------------------------


def test_an_hour_once_paid_is_shared_by_many_tasks():
    """20 tasks of 2 minutes: a machine each would cost 20 hours."""
    work = WorkflowBuilder("bag")
    for number in range(20):
        work.task(f"t{number}", runtime=120)
    flow, hourly = Workflow.of(work.build()), Offer("hourly", Money.parse("1"), billing=HOUR)
    times = workflow_times(flow.dag, (hourly,), {}, 0.0)
    plans = WorkflowPlanner(flow, (hourly,), times).plans()
    assert plans[0].fleet == {"hourly": 1}
    assert plans[0].cost(0.5) == Money.parse("1")
    assert plans[-1].fleet == {"hourly": 20}
    assert plans[-1].makespan(0.5) == 2 * MINUTE


def test_offers_with_few_machines_share_their_tasks_with_others():
    work = WorkflowBuilder("bag")
    for number in range(90):
        work.task(f"t{number}", runtime=120)
    flow = Workflow.of(work.build())
    offers = (
        Offer("slow", Money.parse("0.001"), billing=SECOND, limit=10),
        Offer("fast", Money.parse("0.001"), billing=SECOND, limit=10, speed=2.0),
    )
    plans = WorkflowPlanner(flow, offers, workflow_times(flow.dag, offers, {}, 0.0)).plans()
    assert plans[-1].fleet == {"slow": 10, "fast": 10}
    assert plans[-1].makespan(0.5) < 9 * MINUTE * 0.75
    assert all(count <= 10 for plan in plans for count in plan.fleet.values())


def test_workflows_are_planned_for_machines_that_stay():
    spot = Offer("spot", Money.parse("0.0001"), pool="unreliable")
    none = Offer("none", Money.parse("0.0001"), limit=0)
    assert reliable_offers(Market("USD", "x", (spot, SMALL, none))) == (SMALL,)
    with pytest.raises(InputError, match="no reliable offer"):
        reliable_offers(Market("USD", "x", (spot, none)))


def test_a_single_task_has_a_plan():
    work = WorkflowBuilder("one")
    work.task("only", runtime=60)
    flow = Workflow.of(work.build())
    plans = WorkflowPlanner(
        flow, MARKET.offers, workflow_times(flow.dag, MARKET.offers, {})
    ).plans()
    assert [plan.fleet for plan in plans] == [{"small": 1}, {"large": 1}]
