from __future__ import annotations

import pytest
from msgspec.structs import replace

from bursar.journal.replay import load_state
from bursar.journal.runs import Home
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.plan import Assumed, MakespanSpan, Plan
from bursar.model.plan_options import PlanOptions
from bursar.model.time import SECOND
from bursar.model.work import Bag, Work
from bursar.runs.choosing import Chooser, find_plan
from bursar.runs.planning import Asked, current_plans, open_planned
from bursar.runs.request import Request
from bursar.runs.session import Session
from bursar.state import events as ev
from bursar.state.digest import digest_of
from bursar.state.state import RunState

ONE = Money.parse("1")
MARKET = Market(
    "USD", "2026-01-01", (Offer("small", Money.parse("0.01"), billing=SECOND, limit=4),)
)


def plan(name, **fields):
    return Plan(
        name=name,
        fleet={"small": 1},
        cost=ONE,
        makespan_s=MakespanSpan(1.0, 1.0, 1.0, 1.0),
        cost_p50=ONE,
        cost_p90=ONE,
        cost_upper=ONE,
        **fields,
    )


PLANS = (plan("cheapest"), plan("cheapest +20 %", is_knee=True), plan("within budget"))


@pytest.mark.parametrize(
    ("choice", "number"),
    [
        ("cheapest", 1),
        ("2", 2),
        ("knee", 2),
        ("cheapest +20 %", 2),
        ("within budget", 3),
        ("within-budget", 3),
    ],
)
def test_a_plan_is_found_by_its_name_or_number(choice, number):
    assert find_plan(PLANS, choice) is PLANS[number - 1]


@pytest.mark.parametrize("choice", ["4", "0", "", "slowest"])
def test_another_choice_is_refused_with_what_there_is(choice):
    with pytest.raises(InputError, match=r"write cheapest, 'cheapest \+20 %', 'within budget'"):
        find_plan(PLANS, choice)


def state_with(offered, tasks=3):
    state = RunState()
    state.apply(
        ev.RunCreated(0, "r", MARKET, Goal(), Request(market=MARKET).limits, 0, {}, {}, 0.0)
    )
    state.apply(ev.WorkArrived(0, Work(Bag(count=tasks))))
    state.apply(offered)
    return state


def test_a_list_is_current_while_nothing_was_done_or_spent_since():
    offered = ev.PlansOffered(0, PLANS, Assumed(tasks=3, date="2026-01-01"))
    three, four = (digest_of(state_with(offered, tasks)) for tasks in (3, 4))
    assert current_plans(offered, three) == offered
    assert current_plans(offered, four) is None
    spent = replace(offered, assumed=replace(offered.assumed, spent=ONE))
    assert current_plans(spent, three) is None
    assert current_plans(None, three) is None


def test_the_goal_is_that_of_the_plans_unless_another_is_given():
    goal = Goal(Money.parse("7"), 60 * SECOND)
    capped = tuple(replace(one, cap=Money.parse("3")) for one in PLANS)
    assumed = Assumed(tasks=3, date="2026-01-01", goal=goal, planning=PlanOptions())
    offered = ev.PlansOffered(0, capped, assumed)
    chosen = Chooser("knee").choose_from(offered, "USD")
    assert (chosen.goal, chosen.notes) == (Goal(Money.parse("3"), 60 * SECOND), ())
    other = Chooser("knee", "7", "2m").choose_from(offered, "USD")
    assert other.goal == Goal(Money.parse("7"), 120 * SECOND)
    assert other.notes == (
        "the plans were made for a deadline of 1.0 min; this one is run as it was offered",
    )


def test_the_deadline_of_plans_for_a_bag_is_no_deadline_of_its_run():
    goal = Goal(Money.parse("7"), 60 * SECOND)
    assumed = Assumed(tasks=3, date="2026-01-01", goal=goal)
    chosen = Chooser("knee").choose_from(ev.PlansOffered(0, PLANS, assumed), "USD")
    assert chosen.goal.deadline is None


@pytest.fixture
def sampled(tmp_path, monkeypatch):
    """A run whose sample was executed."""
    monkeypatch.chdir(tmp_path)
    home = Home(tmp_path / "home")
    request = Request(
        market=MARKET,
        goal=Goal(ONE),
        bag=Bag(count=40, template=("true",)),
        policies={"provisioner": "sample", "placer": "sample"},
        seed=1,
    )
    with Session.begin(home, request) as session:
        assert session.execute().status == "planned"
        return session.run_dir


def test_a_list_is_kept_in_the_journal_and_not_made_again(sampled):
    with open_planned(sampled) as planned:
        first = planned.offer(Asked(between=2))
    state = load_state(sampled.journal)
    assert state.plans_of(1).offered == replace(first, at=state.now)
    with open_planned(sampled) as planned:
        assert planned.offer().plans == first.plans
        other = planned.offer(Asked(confidence=0.7))
    assert other.plans != first.plans
    assert load_state(sampled.journal).plans_of(1).offered.plans == other.plans


def test_a_run_that_is_being_executed_is_planned_for_and_left_alone(sampled):
    with sampled.acquire(), open_planned(sampled) as planned:
        assert f"run {sampled.name} is " in planned.why_read_only
        assert planned.offer().plans
    assert load_state(sampled.journal).plans_of(1).offered is None


def test_a_plan_never_has_more_than_the_budget_that_was_written(sampled):
    budget = Money.parse("0.5")
    with open_planned(sampled) as planned:
        free = {one.name: one for one in planned.offer().plans}
        spent = planned.state.ledger.committed
        within = planned.offer(Asked(Goal(budget)))
    for one in within.plans:
        assert one.cap <= budget
        assert one.cap == min(budget, spent + one.bound + one.reserve)
    assert all(one.cap == spent + one.bound + one.reserve for one in free.values())
