"""Autoscalers that plan their interval within a budget, `plf` and `scf`, and who follows them."""

from __future__ import annotations

from random import Random

import pytest

from bursar.engine.roles import Policy
from bursar.model.goal import Account, Budget, Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import MINUTE, SECOND
from bursar.model.work import Work
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.policies.place.follow import FollowPlacer
from bursar.policies.provision.plf import PlanningFirst
from bursar.policies.provision.scf import ScalingFirst, scaled
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.faults import ModelledBehaviour, traced
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.actions import Scale
from bursar.state.run_times import RunTimes
from bursar.state.state import RunState
from bursar.testing import Auditor

SMALL = Offer("small", Money.parse("1"), MINUTE, limit=4)
LARGE = Offer("large", Money.parse("5"), MINUTE, limit=4)
MARKET = Market("USD", "undated", (SMALL, LARGE))


class TimesOnOffers(RunTimes):
    """Seconds of tasks from 1 on, by offer."""

    def __init__(self, **seconds):
        self.seconds = seconds

    def expected(self, offer, elapsed=0, task=0):
        return self.seconds[offer][task - 1] * SECOND


def flow(*parents, owner="", priority=0):
    builder = WorkflowBuilder("flow")
    for task, needs in enumerate(parents):
        builder.task(str(task), needs=[str(one) for one in needs])
    return Work(Work.of_dag(builder.build()).tasks, owner, priority)


def decided(entry, works, runtimes, goal):
    """The first decision of an entry on works that are all there."""
    state = RunState()
    state.apply(ev.RunCreated(0, "r", entry.market, goal, Limits(), 0, {}, {}, 0.0))
    for work in works:
        state.apply(ev.WorkArrived(0, work))
    state.runtimes = runtimes
    actions = entry.provision(state, 0, Random(0))
    (reported,) = [action for action in actions if isinstance(action, Scale)]
    return reported


def per_minute(amount):
    return Goal(Money.parse(amount), every=MINUTE)


def test_plf_gives_each_task_the_offer_where_it_ends_first_while_its_share_pays():
    works = [flow((), (), priority=9), flow((), priority=0)]
    runtimes = TimesOnOffers(small=[9, 5, 5], large=[5, 9, 9])
    # 11 money: 10 of it for the first work, 1 for the second.
    reported = decided(PlanningFirst(MARKET), works, runtimes, per_minute("11"))
    assert reported.fleet == {"small": 2, "large": 1}
    assert reported.lines == {"small+1": (2,), "small+2": (3,), "large+1": (1,)}


def test_plf_pools_what_works_leave_for_tasks_that_got_nothing():
    works = [flow((), priority=0), flow((), priority=0)]
    runtimes = TimesOnOffers(small=[5, 9], large=[9, 5])
    # 3 money for each: the second lacks 2 of the 5 that it asks for, and the first leaves 2.
    reported = decided(PlanningFirst(MARKET), works, runtimes, per_minute("6"))
    assert reported.fleet == {"small": 1, "large": 1}


def test_a_plan_ends_with_the_interval_and_begins_after_the_boot():
    market = Market("USD", "undated", (Offer("small", Money.parse("1"), MINUTE, boot=20 * SECOND),))
    works = [flow((), (0,), (1,), (2,))]
    runtimes = TimesOnOffers(small=[15, 15, 15, 15])
    reported = decided(PlanningFirst(market), works, runtimes, per_minute("5"))
    assert reported.lines == {"small+1": (1, 2, 3)}, "the fourth would begin at 65 s"


def test_scf_scales_down_what_works_want_and_spends_the_rest_in_turn():
    prices = (1, 5)
    assert scaled([10, 10], prices, 30, [None, None]) == [5, 5]
    assert scaled([3, 1], prices, 20, [None, None]) == [5, 3], "not scaled, but spent"
    assert scaled([3, 1], prices, 20, [4, None]) == [4, 3], "one is left, and pays no other"
    assert scaled([3, 0], prices, 20, [None, None]) == [20, 0]
    assert scaled([0, 0], prices, 20, [None, None]) == [0, 0]
    assert scaled([7, 3], prices, None, [5, None]) == [5, 3], "no budget, nothing to spend"


def test_scf_counts_what_would_begin_within_the_interval():
    works = [flow((), (0,), (0,))]
    runtimes = TimesOnOffers(small=[40, 40, 40], large=[90, 90, 90])
    reported = decided(ScalingFirst(MARKET), works, runtimes, per_minute("2"))
    assert reported.fleet == {"small": 2, "large": 0}, "120 s of run time in a minute"
    runtimes = TimesOnOffers(small=[70, 40, 40], large=[90, 90, 90])
    reported = decided(ScalingFirst(MARKET), works, runtimes, Goal())
    assert reported.fleet == {"small": 2, "large": 0}, "70 s, and nothing begins after it"


def test_scf_rents_for_tasks_that_seem_to_take_no_time():
    runtimes = TimesOnOffers(small=[0, 0], large=[0, 0])
    reported = decided(ScalingFirst(MARKET), [flow((), ())], runtimes, Goal())
    assert reported.fleet == {"small": 1, "large": 0}


@pytest.mark.parametrize("entry", [PlanningFirst, ScalingFirst])
def test_two_users_are_served_within_their_budgets(entry):
    goal = Goal(
        accounts=(
            Account("ann", Budget(Money.parse("7"), MINUTE)),
            Account("bob", Budget(Money.parse("3"), MINUTE)),
        )
    )
    arrivals = [
        ev.WorkArrived(at * 20 * SECOND, flow((), (0,), (0,), (0,), (1, 2, 3), owner=owner))
        for at, owner in enumerate(["ann", "bob"] * 6)
    ]
    rng = Random(7)
    times = {name: [rng.randint(2, 50) * SECOND for _ in range(60)] for name in ("small", "large")}
    runtimes = TimesOnOffers(**{name: [t // SECOND for t in one] for name, one in times.items()})
    policy = Policy(entry(MARKET), FollowPlacer(), NoReplicas(), runtimes=runtimes)
    behaviour = ModelledBehaviour(traced(times))
    state = simulate(MARKET, goal, arrivals, policy, behaviour, observers=[Auditor()])
    assert state.ended.status == "done"
    for name, most in (("ann", "7"), ("bob", "3")):
        spent = [state.ledger.committed_in(name, number) for number in range(60)]
        assert max(spent) <= Money.parse(most)
