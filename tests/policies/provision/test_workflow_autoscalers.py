"""Autoscalers that look into workflows: `plan`, `token` and `pfa`."""

from __future__ import annotations

from random import Random

import pytest

from bursar.beliefs.estimates import GivenByOffer
from bursar.engine.roles import Policy
from bursar.model.goal import Account, Budget, Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import MINUTE, SECOND
from bursar.model.work import Work
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.policies.place.fifo import FifoPlacer
from bursar.policies.provision.forecast import ForecastAhead
from bursar.policies.provision.pfa import Pfa
from bursar.policies.provision.plan import PlanAhead
from bursar.policies.provision.token import Token
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.faults import ModelledBehaviour
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.actions import Scale
from bursar.state.run_times import RunTimes
from bursar.testing import Scene

ONE = Offer("one", Money.parse("0.001"), SECOND, limit=50)
MARKET = Market("USD", "undated", (ONE,))
FORK = ((), (0,), (0,), (0,), (1, 2, 3))


class Told(RunTimes):
    """What tasks take, in seconds."""

    def __init__(self, *seconds):
        self.seconds = seconds

    def expected(self, offer, elapsed=0, task=0):
        return self.seconds[(task - 1) % len(self.seconds)] * SECOND


def flow(parents, owner=""):
    builder = WorkflowBuilder("flow")
    for task, needs in enumerate(parents):
        builder.task(str(task), needs=[str(one) for one in needs])
    return Work(Work.of_dag(builder.build()).tasks, owner)


def scene_of(*works, runtimes, offer=ONE):
    scene = Scene(offer, arrivals_open=True)
    for work in works:
        scene.tell(ev.WorkArrived(0, work))
    scene.state.runtimes = runtimes
    return scene


def target(entry, scene):
    actions = entry.provision(scene.state, scene.at, Random(0))
    (reported,) = [action for action in actions if isinstance(action, Scale)]
    return reported.inputs.get("target")


def test_plan_counts_the_machines_of_an_imagined_interval():
    scene = scene_of(flow(FORK), runtimes=Told(10, 10, 10, 10, 10))
    assert target(PlanAhead(MARKET), scene) == 3


def test_plan_leaves_out_what_would_begin_after_the_interval():
    scene = scene_of(flow(FORK), runtimes=Told(30, 10, 10, 10, 10))
    assert target(PlanAhead(MARKET), scene) == 1


def test_plan_uses_a_machine_again_that_is_free_by_then():
    chains = ((), (0,), (), (2,))
    scene = scene_of(flow(chains), runtimes=Told(5, 5, 10, 5))
    assert target(PlanAhead(MARKET), scene) == 2


def test_plan_wants_no_more_than_the_system_has():
    few = Offer("one", Money.parse("0.001"), SECOND, limit=2)
    scene = scene_of(flow(FORK), runtimes=Told(1, 10, 10, 10, 10), offer=few)
    assert target(PlanAhead(Market("USD", "undated", (few,))), scene) == 2


def test_plan_begins_with_what_runs():
    scene = scene_of(flow(FORK), runtimes=Told(25, 10, 10, 10, 10))
    scene.start(1, scene.machine())
    assert target(PlanAhead(MARKET), scene) == 3, "the children begin at 25 s of 30"
    scene = scene_of(flow(FORK), runtimes=Told(45, 10, 10, 10, 10))
    scene.start(1, scene.machine())
    assert target(PlanAhead(MARKET), scene) == 1
    scene.pass_time(30 * SECOND)
    assert target(PlanAhead(MARKET), scene) == 3, "15 s are left of it"


SLOW = Offer("one", Money.parse("0.001"), SECOND, limit=50, boot=20 * SECOND)
BOOTING = Market("USD", "undated", (SLOW,))


def test_forecast_counts_the_slots_that_an_imagined_execution_uses():
    scene = scene_of(flow(FORK), runtimes=Told(10, 10, 10, 10, 10))
    assert target(ForecastAhead(MARKET), scene) == 3
    scene = scene_of(flow(FORK), runtimes=Told(30, 10, 10, 10, 10))
    assert target(ForecastAhead(MARKET), scene) == 1, "the children begin after the interval"


def test_forecast_rents_nothing_for_what_is_over_before_a_machine_is_up():
    """Three tasks of 5 s on a machine that is up are over after 15 s, and a boot takes 20."""
    runtimes = Told(*[5] * 3)
    scene = scene_of(flow(((), (), ())), runtimes=runtimes, offer=SLOW)
    scene.machine()
    assert target(ForecastAhead(BOOTING), scene) == 1
    assert target(PlanAhead(BOOTING), scene) == 3
    longer = scene_of(flow(((), (), ())), runtimes=Told(*[25] * 3), offer=SLOW)
    longer.machine()
    assert target(ForecastAhead(BOOTING), longer) == 3, (
        "two would begin after 25 s, and could after 20"
    )


def test_forecast_rents_nothing_for_a_task_that_a_slot_takes_a_moment_later():
    """The machine that is up is free a second after a new one, and two seconds after it."""
    for later, slots in ((1, 1), (2, 2)):
        scene = scene_of(flow(((), ())), runtimes=Told(0, 0), offer=SLOW)
        scene.machine()
        boot = scene.state.boot_time(SLOW, scene.at) // SECOND
        scene.state.runtimes = Told(boot + later, boot + later)
        assert target(ForecastAhead(BOOTING), scene) == slots


def test_forecast_looks_past_a_boot_that_is_longer_than_the_interval():
    late = Offer("one", Money.parse("0.001"), SECOND, limit=50, boot=2 * MINUTE)
    scene = scene_of(flow(((), ())), runtimes=Told(10, 10), offer=late)
    assert target(ForecastAhead(Market("USD", "undated", (late,))), scene) == 2


def test_forecast_wants_no_more_than_the_system_has():
    few = Offer("one", Money.parse("0.001"), SECOND, limit=2)
    scene = scene_of(flow(FORK), runtimes=Told(1, 10, 10, 10, 10), offer=few)
    assert target(ForecastAhead(Market("USD", "undated", (few,))), scene) == 2


def test_token_looks_as_many_waves_ahead_as_pass_in_an_interval():
    wide = ((), (0,), (1,), (2,), (2,), (2,), (3, 4, 5))
    slow, quick = Told(*[60] * 7), Told(*[10] * 7)
    assert target(Token(MARKET), scene_of(flow(wide), runtimes=slow)) == 1
    assert target(Token(MARKET), scene_of(flow(wide), runtimes=quick)) == 3
    two = scene_of(flow(wide), flow(FORK), runtimes=quick)
    assert target(Token(MARKET), two) == 6


def test_token_stops_at_the_size_of_the_system():
    few = Offer("one", Money.parse("0.001"), SECOND, limit=4)
    scene = scene_of(*[flow(FORK)] * 5, runtimes=Told(*[10] * 5), offer=few)
    assert target(Token(Market("USD", "undated", (few,))), scene) == 4


# --- pfa -----------------------------------------------------------------------------------------

SMALL = Offer("small", Money.parse("1"), MINUTE, limit=32)
LARGE = Offer("large", Money.parse("5"), MINUTE, limit=32, speed=2)
TWO = Market("USD", "undated", (SMALL, LARGE))


class Listener:
    def __init__(self):
        self.decisions = []

    def saw(self, event, state):
        if isinstance(event, ev.ScaleDecided):
            self.decisions.append(event)


def stream(owner, count, gap):
    return [ev.WorkArrived(n * gap, flow(FORK, owner)) for n in range(count)]


def run(entry, goal, arrivals, seconds=20):
    listener = Listener()
    behaviour = ModelledBehaviour(
        lambda task, machine: round(seconds * SECOND / machine.offer.speed)
    )
    policy = Policy(entry, FifoPlacer(), NoReplicas())
    events = sorted(arrivals, key=lambda event: event.at)
    state = simulate(TWO, goal, events, policy, behaviour, observers=[listener])
    return state, listener.decisions


@pytest.mark.parametrize("smooth", ["ma", "ewma"])
def test_pfa_serves_two_users_each_within_its_budget(smooth):
    budgets = {"ann": Money.parse("20"), "bob": Money.parse("6")}
    goal = Goal(accounts=tuple(Account(n, Budget(b, MINUTE)) for n, b in budgets.items()))
    work = stream("ann", 12, 40 * SECOND) + stream("bob", 12, 50 * SECOND)
    state, decisions = run(Pfa(TWO, smooth=smooth), goal, work)
    assert state.ended.status == "done"
    for name, budget in budgets.items():
        spent = [state.ledger.committed_in(name, interval) for interval in range(200)]
        assert max(spent) <= budget
        assert max(spent) > Money.parse("2"), "the money is used"
    served = {(c.account, state.offer_of(c.machine)) for c in state.ledger.charges()}
    assert {account for account, _ in served} == {"ann", "bob"}
    assert {d.account for d in decisions} == {"ann", "bob"}


def test_pfa_sees_which_offer_does_more():
    goal = Goal(budget=Money.parse("60"), every=MINUTE)
    state, decisions = run(Pfa(TWO), goal, stream("", 60, 5 * SECOND))
    assert state.ended.status == "done"
    later = [d for d in decisions if d.at > 3 * MINUTE and d.demand > 6]
    both = [(d.inputs["rate of small"], d.inputs["rate of large"]) for d in later]
    used = [(small, large) for small, large in both if small and large]
    assert used
    assert sum(large for _, large in used) > 1.3 * sum(small for small, _ in used)


def test_pfa_without_a_budget_follows_the_demand():
    state, decisions = run(Pfa(TWO), Goal(), stream("", 6, 30 * SECOND))
    assert state.ended.status == "done"
    assert max(sum(d.fleet.values()) for d in decisions) > 1


def test_pfa_learns_the_same_from_a_journal():
    goal = Goal(budget=Money.parse("30"), every=MINUTE)
    first, seen = Pfa(TWO), []

    class Recorder:
        def saw(self, event, state):
            seen.append(event)

    behaviour = ModelledBehaviour(lambda task, machine: 20 * SECOND)
    policy = Policy(first, FifoPlacer(), NoReplicas())
    simulate(TWO, goal, stream("", 9, 30 * SECOND), policy, behaviour, observers=[Recorder()])
    second, state = Pfa(TWO), Scene(SMALL, LARGE).state
    state = type(state)()
    for event in seen:
        state.apply(event)
        second.saw(event, state)
    assert second._of("").shares == first._of("").shares
    assert second._of("").mean == first._of("").mean > 0


@pytest.mark.parametrize(("entry", "machines"), [(PlanAhead, 3), (Token, 3), (ForecastAhead, 3)])
def test_run_times_are_those_on_the_offer_that_is_rented_first(entry, machines):
    """On the dear offer, which the market has first, nothing would follow within an interval."""
    dear = Offer("dear", Money.parse("1"), SECOND, limit=50)
    slow, quick = [1_000 * SECOND] * 5, [10 * SECOND] * 5
    scene = Scene(dear, ONE, arrivals_open=True)
    scene.tell(ev.WorkArrived(0, flow(FORK)))
    scene.state.runtimes = GivenByOffer({"dear": slow, "one": quick})
    assert target(entry(scene.state.market), scene) == machines


def test_a_task_that_needs_one_of_its_own_wave_comes_after_it():
    """The third task needs the first two, of which the second needs the first."""
    scene = scene_of(flow(((), (0,), (0, 1))), runtimes=Told(5, 5, 5))
    assert target(PlanAhead(MARKET), scene) == 1
    assert target(ForecastAhead(MARKET), scene) == 1


@pytest.mark.parametrize(
    ("entry", "fleet"),
    [(ForecastAhead, {"cheap": 4, "dear": 1}), (PlanAhead, {"cheap": 0, "dear": 2})],
)
def test_forecast_gives_up_dear_machines_once_cheap_ones_are_free(entry, fleet):
    """The first user has all cheap machines for a minute; the other begins with dear ones."""
    cheap = Offer("cheap", Money.parse("1"), MINUTE, limit=4)
    dear = Offer("dear", Money.parse("5"), MINUTE, limit=4)
    market = Market("USD", "undated", (cheap, dear))
    budget = Money.parse("10")
    goal = Goal(accounts=tuple(Account(n, Budget(budget, MINUTE)) for n in ("first", "late")))
    arrivals = [
        ev.WorkArrived(0, flow([()] * 4, "first")),
        ev.WorkArrived(30 * SECOND, flow([()] * 60, "late")),
    ]
    seconds = [50] * 4 + [11] * 60
    behaviour = ModelledBehaviour(lambda task, machine: seconds[task - 1] * SECOND)
    policy = Policy(
        entry(market, interval=MINUTE), FifoPlacer(), NoReplicas(), runtimes=Told(*seconds)
    )
    listener = Listener()
    state = simulate(market, goal, arrivals, policy, behaviour, observers=[listener])
    assert state.ended.status == "done"
    decided = {d.at: d.fleet for d in listener.decisions if d.account == "late"}
    assert decided[MINUTE] == {"cheap": 0, "dear": 2}
    assert decided[2 * MINUTE] == fleet
    assert max(state.ledger.committed_in("late", n) for n in range(20)) <= budget
