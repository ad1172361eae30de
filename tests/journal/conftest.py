"""Runs to be journaled: the engine in a simulated world with every kind of luck."""

import os
from contextlib import contextmanager
from random import Random

import pytest

from bursar.engine.loop import Engine
from bursar.engine.roles import Policy, Replicator
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Work, make_bag
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.simulate.world import SimulatedWorld
from bursar.state import actions as act
from bursar.state import events as ev
from bursar.state.state import RunState

BEGAN = 1_700_000_000.0
MARKET = Market(
    "USD",
    "2026-01-01",
    (
        Offer("small", Money.parse("0.10"), limit=4),
        Offer("spot", Money.parse("0.0002"), SECOND, boot=30 * SECOND, limit=3, slots=2),
    ),
)


class Luck:
    """Attempts succeed, fail, time out; machines never come up, or are lost."""

    def __init__(self, rng, *, faults):
        self.rng = rng
        self.faults = faults

    def attempt(self, task, attempt, machine, now):
        unlucky = self.rng.random() < self.faults
        outcome = self.rng.choice(["failed", "timeout"]) if unlucky else "success"
        return 1 + round(self.rng.expovariate(1 / (10 * MINUTE))), outcome

    def boot(self, machine):
        return None if self.rng.random() < self.faults / 3 else machine.offer.boot

    def life(self, machine):
        if self.rng.random() >= self.faults:
            return None
        return 1 + round(self.rng.expovariate(1 / (20 * MINUTE)))

    def notice(self, machine):
        return 2 * MINUTE if machine.id % 2 else 0


class Twice(Replicator):
    """A second attempt for whatever runs, as long as machines are idle."""

    def replicate(self, view, now, rng):
        lonely = [a.task for a in view.attempts.values() if len(view.attempts_of(a.task)) == 1]
        return [
            act.Start(task, m, "to be sure") for task, m in zip(lonely, view.idle, strict=False)
        ]


class ClosableWorld(SimulatedWorld):
    is_closed = False

    def close(self):
        self.is_closed = True


def prepare(journal, *, state=None, tasks=20, retries=1, budget="5.00", outside=(), **luck):
    """An engine about to run a bag; `outside` are events that come from elsewhere."""
    engine, world = engine_of(state or RunState(), journal, **luck)
    goal = Goal(Money.parse(budget), deadline=40 * HOUR)
    bag = make_bag(["echo", "{}"], [[f"it's {n}"] for n in range(tasks)])
    engine.record(ev.RunCreated(0, "r", MARKET, goal, Limits(retries), 1, {}, {}, BEGAN))
    world.schedule(ev.WorkArrived(0, Work(bag)))
    for event in outside:
        world.schedule(event)
    world.schedule(ev.ArrivalsEnded(max((e.at for e in outside), default=0)))
    return engine, world


def engine_of(state, journal, *, faults=0.2, seed=0):
    rng = Random(seed)
    world = ClosableWorld(state, Luck(rng, faults=faults))
    policy = Policy(Fixed({"small": 3, "spot": 2}), RandomPlacer(), Twice())
    return Engine(state, policy, world, journal, rng), world


@pytest.fixture(scope="session")
def new_engine():
    return prepare


@pytest.fixture(scope="session")
def play():
    """Run a bag to its end, whatever that is, and return the live state."""

    def run(journal, **conditions):
        engine, _ = prepare(journal, **conditions)
        engine.run()
        return engine.state

    return run


@pytest.fixture(scope="session")
def play_on():
    """Go on with a run that was stopped, to its end."""

    def run(state, journal, **luck):
        engine, _ = engine_of(state, journal, **luck)
        engine.record(ev.RunResumed(state.now))
        engine.run()

    return run


@pytest.fixture
def as_ordinary_user():
    """Permissions mean nothing to root, so be somebody else for a while."""

    @contextmanager
    def demoted():
        was = os.geteuid()
        if was == 0:
            os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(was)

    return demoted
