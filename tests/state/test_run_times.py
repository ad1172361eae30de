"""What tasks are expected to take is a plug-in of the view, which no policy knows of."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from bursar.beliefs.progress import Progress
from bursar.beliefs.unified import UnifiedRuntimes
from bursar.engine.learners import learning
from bursar.engine.roles import Policy
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.model.work import Bag
from bursar.policies.place.fitting import FittingPlacer
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.bats import Bats
from bursar.policies.provision.fixed import Fixed
from bursar.policies.provision.frontier_state import BagBelief
from bursar.policies.replicate.none import NoReplicas
from bursar.policies.replicate.perfect import Perfect
from bursar.policies.replicate.stochastic import Stochastic
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.state import events as ev
from bursar.state.read_only import view_of
from bursar.state.run_times import UNKNOWN, RunTimes, TwoRunTimes
from bursar.testing import ContractBroken, Scene, check_run_times

SLOW = Offer("slow", Money.parse(1), HOUR)
FAST = Offer("fast", Money.parse(4), HOUR, speed=3.0)
MARKET = Market("USD", "undated", (SLOW, FAST))
FLEET = {"slow": 6, "fast": 2}
DRAWN = Random(7)
RUNTIMES = [DRAWN.randrange(1, 100) * MINUTE for _ in range(40)]


class Truth(RunTimes):
    """True run times, or what an error makes of them."""

    def __init__(self, error=lambda task: 1.0):
        self._error = error
        self.events = 0

    def saw(self, event, state):
        self.events += 1

    def expected(self, offer, elapsed=0, task=0):
        mean = sum(RUNTIMES) // len(RUNTIMES)
        time = RUNTIMES[task - 1] if task else mean
        return max(elapsed, round(time * self._error(task) / MARKET[offer].speed))


def run(replicator, runtimes=None, placer=None):
    policy = Policy(Fixed(FLEET), placer or RandomPlacer(), replicator, runtimes=runtimes)
    goal = Goal(budget=Money.parse(1000))
    return simulate(MARKET, goal, Bag(40), policy, ModelledBehaviour(given(RUNTIMES)))


def attempts(state):
    return list(zip(state.log.task, state.log.machine, state.log.started, strict=True))


def true_time(task, machine):
    return round(RUNTIMES[task - 1] / machine.offer.speed)


def test_a_policy_decides_by_what_is_plugged_in_without_knowing_of_it():
    learned, perfect = run(Stochastic()), run(Stochastic(), Truth())
    assert attempts(perfect) == attempts(run(Perfect(true_time))), "as one that knows them itself"
    assert attempts(perfect) != attempts(learned)
    assert perfect.last_settled <= learned.last_settled
    rng = Random(1)
    factors = [rng.uniform(0.01, 4) for _ in range(41)]
    mistaken = run(Stochastic(), Truth(lambda task: factors[task]))
    assert attempts(mistaken) != attempts(perfect)
    assert mistaken.ended.status == "done"


def test_a_placer_reads_the_same():
    known = run(NoReplicas(), Truth(), FittingPlacer(Fixed(FLEET)))
    unknown = run(NoReplicas(), UNKNOWN, FittingPlacer(Fixed(FLEET)))
    assert attempts(known) != attempts(unknown)


def test_a_plug_in_sees_every_event():
    plugged, seen = Truth(), []

    class Witness:
        def saw(self, event, state):
            seen.append(event)

    policy = Policy(Fixed(FLEET), RandomPlacer(), NoReplicas(), runtimes=plugged)
    simulate(
        MARKET, Goal(Money.parse(99)), Bag(9), policy, ModelledBehaviour(given(RUNTIMES[:9])),
        observers=[Witness()],
    )  # fmt: skip
    assert plugged.events == len(seen) > 20
    assert learning(policy) == (plugged,)


def test_without_a_plug_in_the_view_tells_what_the_entries_have_learned():
    bats, stochastic = Bats(), Stochastic()
    assert Policy(Fixed({}), RandomPlacer(), NoReplicas()).known_runtimes is UNKNOWN
    assert Policy(bats, RandomPlacer(), NoReplicas()).known_runtimes is bats.progress
    assert Policy(Fixed({}), RandomPlacer(), stochastic).known_runtimes is stochastic.knowledge
    both = Policy(bats, RandomPlacer(), stochastic).known_runtimes
    assert isinstance(both, TwoRunTimes)
    bats.progress.learn_sample("slow", [10 * MINUTE])
    stochastic.knowledge.learn("slow", 20 * MINUTE)
    assert both.expected("slow") == 10 * MINUTE
    assert both.moved("slow", 0, "slow") == 20 * MINUTE
    assert both.pace("fast") is None
    plugged = Truth()
    policy = Policy(bats, RandomPlacer(), stochastic, runtimes=plugged)
    assert policy.known_runtimes is plugged


def test_entries_read_what_is_plugged_in_later_but_do_not_get_hold_of_it():
    scene = Scene(SLOW, FAST, tasks=2)
    view = view_of(scene.state)
    assert view.runtimes.expected("slow") is None
    assert view.runtimes.pace("slow") is None
    scene.state.runtimes = plugged = Truth()
    assert view.runtimes.expected("slow", task=1) == RUNTIMES[0]
    assert view.runtimes.moved("slow", MINUTE, "fast", 2) == round(RUNTIMES[1] / 3)
    view.runtimes.saw(scene.events[0], view)
    assert plugged.events == 0
    with pytest.raises(AttributeError):
        view.runtimes.expected = None


def test_what_a_plug_in_does_not_write_follows_from_what_it_expects():
    truth, ages, tasks = Truth(), np.array([0, 10**11, 5]), np.array([1, 2, 3])
    assert truth.expected_each("slow", ages, tasks).tolist() == [RUNTIMES[0], 10**11, RUNTIMES[2]]
    times = truth.elsewhere(("slow", "fast"), np.array([0, 1, 1]), ages, tasks)
    assert times.here.tolist() == [RUNTIMES[0], 10**11, round(RUNTIMES[2] / 3)]
    assert times.on("fast").tolist() == [round(time / 3) for time in RUNTIMES[:3]]
    assert UNKNOWN.expected_each("slow", ages, tasks) is None
    assert not UNKNOWN.elsewhere(("slow",), np.zeros(3, np.int64), ages, tasks).on("slow").any()


@pytest.mark.parametrize(
    "make", [Progress, UnifiedRuntimes, lambda: BagBelief(None, None), lambda: UNKNOWN]
)
def test_all_that_bursar_has_keep_the_contract(make):
    check_run_times(make)


class NoTime(RunTimes):
    def expected(self, offer, elapsed=0, task=0):
        return 1.5


class Forgetful(RunTimes):
    def __init__(self):
        self._rng = Random()

    def expected(self, offer, elapsed=0, task=0):
        return self._rng.randrange(10**9)


class Contradictory(Progress):
    def expected_each(self, offer, elapsed, tasks):
        return elapsed + 1


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (NoTime, "which is no time"),
        (Forgetful, "when asked the same again"),
        (Contradictory, "expected_each answers"),
    ],
)
def test_one_that_breaks_the_contract_is_found_out(make, complaint):
    with pytest.raises(ContractBroken, match=complaint):
        check_run_times(make)


def test_a_plug_in_that_fails_stops_the_run_in_one_line():
    class Faulty(Truth):
        def saw(self, event, state):
            if isinstance(event, ev.AttemptEnded):
                raise ValueError("no idea")

    with pytest.raises(Exception, match="plug-in of run times Faulty is faulty: ValueError: no"):
        run(NoReplicas(), Faulty())
