"""What entries learn at once from a view is what events teach them one by one."""

from __future__ import annotations

from random import Random

import pytest
from tests.plan.workflow.test_plans import layers

from bursar.beliefs.pool import PoolObserver
from bursar.engine.roles import Policy, learns, learns_at_once
from bursar.model.assigned import Assigned
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.strategy import read_strategy
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work
from bursar.policies.advise.tail import TailAdvisor
from bursar.policies.advise.workflow import WorkflowAdvisor
from bursar.policies.lost_tasks import LostTasks
from bursar.policies.place.assigned import AssignedPlacer
from bursar.policies.place.fifo import FifoPlacer
from bursar.policies.place.kept import KeptPlacer
from bursar.policies.place.pooled import PooledPlacer
from bursar.policies.provision.calls import CallFleet
from bursar.policies.provision.hedged import Hedged
from bursar.policies.provision.mixed import Mixed
from bursar.policies.provision.prob import Prob
from bursar.policies.provision.uniform_progress import UniformProgress
from bursar.policies.replicate.none import NoReplicas
from bursar.policies.replicate.ntdmr import Ntdmr
from bursar.policies.replicate.silent import Silent
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.simulate.unreliable import UnreliablePool
from bursar.state import events as ev
from bursar.state.read_only import view_of
from bursar.testing import Scene

POOLS = Market(
    "USD",
    "undated",
    (
        Offer("spot", Money.parse("0.02"), MINUTE, limit=15, pool="unreliable"),
        Offer("sure", Money.parse("0.10"), MINUTE, limit=4, speed=1.5, slots=2),
    ),
)
FLEET = {"spot": 15, "sure": 4}


class Twin:
    """An entry that sees every event, compared now and then with one that looks at the view."""

    def __init__(self, make, known):
        self.make, self.known = make, known
        self.one = make()
        self.compared = 0

    def saw(self, event, state):
        view = view_of(state)
        self.one.saw(event, view)
        if state.created is not None and not state.events % 29:
            late = self.make()
            late.saw_before(view)
            assert self.known(late) == self.known(self.one)
            self.compared += 1


def known_of_moment(last):
    return last._results, round(last._total), round(last.longest)


def known_of_pools(mixed):
    pools = mixed.pools
    timeout, last = pools._timeout, pools._deadline_help._last
    return {
        "settled": bytes(pools._settled),
        "strategies": pools.strategies.in_force,
        "timeout": (timeout.results, timeout.turnaround, timeout.known, list(timeout._recent)),
        "sure": (timeout._sure, timeout._sure_time),
        "work": known_of_moment(last),
        "fleet": (mixed._fleet, pools.unreliable),
    }


def known_of_observer(observer):
    history = observer.history()
    live = [place for place, fate in enumerate(history.fates) if not fate]
    return {
        "reliable": (observer.reliable_runs, observer.reliable_time),
        "sent": history.sent.tolist(),
        "fates": history.fates.tolist(),
        "standings": history.standings.tolist(),
        "ended": [end for place, end in enumerate(history.ended.tolist()) if place not in live],
        "up": (observer._rows, observer._standing, observer._available, observer._slots),
    }


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("strategy", ["N=1,T=15m,D=40m,Mr=0.2", "AUR"])
def test_mixed_and_its_advisor_learn_from_the_view_what_events_teach(seed, strategy):
    def make():
        return Mixed(POOLS, FLEET, read_strategy(strategy))

    rng, mixed = Random(seed), make()
    runtimes = [max(SECOND, round(rng.gauss(9, 3) * MINUTE)) for _ in range(90)]
    behaviour = ModelledBehaviour(
        given(runtimes), failing=0.05, mean_life={"spot": HOUR}, notice=MINUTE, seed=seed
    )
    twins = [
        Twin(make, known_of_pools),
        Twin(PoolObserver, known_of_observer),
        Twin(lambda: UniformProgress(POOLS, FLEET), lambda one: known_of_moment(one._last)),
    ]
    state = simulate(
        POOLS,
        Goal(Money.parse("40")),
        Bag(90),
        Policy(mixed, PooledPlacer(), Ntdmr(mixed), (TailAdvisor(mixed),)),
        UnreliablePool(behaviour, reliability=0.8, seed=seed),
        limits=Limits(retries=5),
        seed=seed,
        observers=twins,
    )
    assert state.done == 90
    assert min(twin.compared for twin in twins) > 10


def test_what_went_with_an_interrupted_run_is_withdrawn():
    """Also where the view alone tells it."""
    scene = Scene(*POOLS.offers, tasks=5)
    observer = PoolObserver()
    machine = scene.machine("spot", stay=HOUR)
    scene.start(1, machine)
    scene.pass_time(MINUTE)
    begin = scene.state.now
    scene.pass_time(MINUTE)
    scene.tell(ev.RunResumed(scene.at, 0.0))
    scene.down(machine, "lost")
    observer.saw_before(view_of(scene.state))
    history = observer.history()
    assert history.fates.tolist() == [3]
    assert history.ended.tolist() == [begin]


def known_of_prob(prob):
    return {
        "assigned": prob.work._assigned,
        "fleets": prob._fleets.total,
        "idle": prob._idle_since,
    }


@pytest.mark.parametrize("seed", range(3))
def test_prob_learns_from_the_view_what_events_teach(seed):
    flow, prob, rng = layers(6, 8), Prob(), Random(seed)
    runtimes = [max(SECOND, round(rng.gauss(12, 4) * MINUTE)) for _ in range(flow.count)]
    market = Market(
        "USD",
        "undated",
        (
            Offer("small", Money.parse("0.002"), MINUTE, limit=6, boot=MINUTE),
            Offer("large", Money.parse("0.006"), MINUTE, limit=3, speed=3.0, slots=2),
        ),
    )
    assigned = Assigned(("small", "large"), tuple(rng.randrange(2) for _ in range(flow.count)))
    plan = ev.PlanChosen(0, "knee", {"small": 4, "large": 2}, 0, 0, ZERO, ZERO, assigned=assigned)
    twin = Twin(Prob, known_of_prob)
    state = simulate(
        market,
        Goal(Money.parse("20")),
        [ev.WorkArrived(0, Work(flow)), plan],
        Policy(prob, AssignedPlacer(prob), NoReplicas()),
        ModelledBehaviour(given(runtimes), failing=0.02, mean_life={"small": HOUR}, seed=seed),
        limits=Limits(retries=5),
        seed=seed,
        observers=[twin],
    )
    assert state.done == flow.count
    assert twin.compared > 5


def known_of_hedged(hedged):
    value = hedged._value
    return {
        "rented": value._rented,
        "used": value._used,
        "useful": {name: round(worth) for name, worth in value._useful.items()},
        "wasted": {name: round(worth) for name, worth in value._wasted.items()},
        "attempts": (value._results, value._given_up),
        "work": known_of_moment(hedged._last),
        "inner": hedged.inner.belief.count,
    }


def known_of_lost(lost):
    return {
        "lost": lost._lost,
        "running": {one: some for one, some in lost._running.items() if some},
    }


def known_of_silent(silent):
    return {
        "results": (silent._results, silent._total, silent._longest),
        "given up": {task: times for task, times in silent._given_up.items() if times},
    }


class SilentTwin(Twin):
    """One that also counts what was given up, as it does where it is asked."""

    def saw(self, event, state):
        if isinstance(event, ev.CancelOrdered) and event.give_up:
            self.one._given_up[state.attempts[event.attempt].task] += 1
        super().saw(event, state)


@pytest.mark.parametrize("seed", range(3))
def test_hedged_and_silent_learn_from_the_view_what_events_teach(seed):
    goal, rng = Goal(Money.parse("60")), Random(seed)

    def make():
        return Hedged(POOLS, goal)

    hedged = make()
    runtimes = [max(SECOND, round(rng.gauss(9, 3) * MINUTE)) for _ in range(120)]
    behaviour = ModelledBehaviour(
        given(runtimes), failing=0.03, mean_life={"spot": HOUR}, notice=MINUTE, seed=seed
    )
    twins = [
        Twin(make, known_of_hedged),
        SilentTwin(lambda: Silent(make()), known_of_silent),
        Twin(LostTasks, known_of_lost),
    ]
    state = simulate(
        POOLS,
        goal,
        Bag(120),
        Policy(hedged, KeptPlacer(hedged), Silent(hedged)),
        UnreliablePool(behaviour, reliability=0.8, seed=seed),
        limits=Limits(retries=5),
        seed=seed,
        observers=twins,
    )
    value = twins[0].one._value
    assert state.done == 120
    assert min(twin.compared for twin in twins) > 10
    assert value._given_up and value._wasted and value._useful


def test_the_provisioner_of_calls_learns_from_the_view_what_events_teach():
    def known(calls):
        return calls._ended, round(calls._work), round(calls._longest), calls._busy_until

    rng = Random(5)
    runtimes = [rng.randrange(10 * SECOND, 5 * MINUTE) for _ in range(80)]
    twin = Twin(CallFleet, known)
    state = simulate(
        POOLS,
        Goal(Money.parse("40")),
        Bag(80),
        Policy(CallFleet(), FifoPlacer(), NoReplicas()),
        ModelledBehaviour(given(runtimes), failing=0.05, mean_life={"spot": HOUR}),
        limits=Limits(retries=5),
        observers=[twin],
    )
    assert state.done == 80
    assert twin.compared > 5


@pytest.mark.parametrize(
    "kind",
    [
        Mixed,
        TailAdvisor,
        UniformProgress,
        Prob,
        AssignedPlacer,
        WorkflowAdvisor,
        Hedged,
        Silent,
        CallFleet,
    ],
)
def test_every_entry_that_learns_can_begin_with_a_checkpoint(kind):
    entry = kind.__new__(kind)
    assert learns(entry)
    assert learns_at_once(entry)
