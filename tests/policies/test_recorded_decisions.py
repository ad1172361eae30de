"""Every provisioner rents, extends and releases as it did when these decisions were recorded.

A digest stands for all decisions of one simulated run. One that differs is no mistake by itself: it
says that a change reached decisions, and the change must say why.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from random import Random

import pytest
from tests.plan.workflow.test_plans import layers

from bursar.beliefs.samples import SampleLog
from bursar.beliefs.sampling import sample_size
from bursar.engine.roles import Policy
from bursar.model.assigned import Assigned
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.strategy import read_strategy
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag, Work
from bursar.policies.place.assigned import AssignedPlacer
from bursar.policies.place.fitting import FittingPlacer
from bursar.policies.place.pooled import PooledPlacer
from bursar.policies.place.random import RandomPlacer
from bursar.policies.place.sample import SamplePlacer
from bursar.policies.provision.bats import Bats
from bursar.policies.provision.fixed import Fixed
from bursar.policies.provision.mixed import Mixed
from bursar.policies.provision.planned import Planned
from bursar.policies.provision.prob import Prob
from bursar.policies.provision.sample import Sample
from bursar.policies.replicate.at_risk import AtRisk
from bursar.policies.replicate.none import NoReplicas
from bursar.policies.replicate.ntdmr import Ntdmr
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.simulate.unreliable import UnreliablePool
from bursar.state import events as ev

HOURLY = Market(
    "USD",
    "undated",
    (
        Offer("small", Money.parse("0.10"), HOUR, limit=12, boot=2 * MINUTE),
        Offer("large", Money.parse("0.35"), HOUR, limit=6, boot=MINUTE, speed=3.0, slots=2),
    ),
)
FINE = Market(
    "USD",
    "undated",
    (
        Offer("small", Money.parse("0.0001"), SECOND, limit=20, boot=20 * SECOND),
        Offer("large", Money.parse("0.0004"), SECOND, MINUTE, limit=8, speed=3.0),
    ),
)
POOLS = Market(
    "USD",
    "undated",
    (
        Offer("spot", Money.parse("0.02"), MINUTE, limit=15, pool="unreliable"),
        Offer("sure", Money.parse("0.10"), MINUTE, limit=4),
    ),
)
FLEET = {"small": 5, "large": 3}
LIVES = {"small": 2 * HOUR, "large": 90 * MINUTE}


class Decisions:
    """A journal that keeps what was decided, and when."""

    def __init__(self):
        self.seen = Counter()
        self._digest = hashlib.sha256()

    def append(self, event):
        reported = self._reported(event)
        if reported is not None:
            kind = type(event).__name__
            self.seen[kind] += 1
            self._digest.update(f"{event.at} {kind} {reported}\n".encode())

    def commit(self, *, safely):
        pass

    def digest(self):
        return self._digest.hexdigest()[:12]

    @staticmethod
    def _reported(event):
        match event:
            case ev.MachineRented():
                return event.machine, event.offer
            case ev.LeaseExtended() | ev.ReleaseOrdered() | ev.ReleaseMarked():
                return event.machine
            case ev.AttemptStarted():
                return event.task, event.machine, event.measure
            case ev.CancelOrdered():
                return event.attempt
            case ev.RunEnded() | ev.StopRequested():
                return event.status
        return None


def _bats(faithful=False):
    bats = Bats(faithful=faithful)
    if faithful:
        return Policy(bats, RandomPlacer(), NoReplicas())
    return Policy(bats, FittingPlacer(bats), AtRisk(bats))


def _planned():
    planned = Planned(FLEET)
    return Policy(planned, FittingPlacer(planned), AtRisk(planned))


def _fixed():
    return Policy(Fixed(FLEET), RandomPlacer(), NoReplicas())


def _bag(make, market, budget, *, deadline=None, tasks=150, lives=None):
    def run(journal, seed):
        rng = Random(seed)
        runtimes = [max(SECOND, round(rng.gauss(20, 8) * MINUTE)) for _ in range(tasks)]
        behaviour = ModelledBehaviour(given(runtimes), failing=0.02, mean_life=lives, seed=seed)
        goal = Goal(None if budget is None else Money.parse(budget), deadline)
        simulate(market, goal, Bag(tasks), make(), behaviour, seed=seed, journal=journal)

    return run


def _sample(journal, seed):
    book, size = SampleLog(), sample_size(300)
    rng = Random(seed)
    runtimes = [max(SECOND, round(rng.gauss(5, 2) * MINUTE)) for _ in range(300)]
    policy = Policy(Sample(book, size, 2), SamplePlacer(book, size), NoReplicas())
    behaviour = ModelledBehaviour(given(runtimes), failing=0.02, mean_life=LIVES, seed=seed)
    goal = Goal(Money.parse("9"))
    simulate(
        HOURLY, goal, Bag(300), policy, behaviour, seed=seed, journal=journal, observers=[book]
    )


def _mixed(strategy):
    def run(journal, seed):
        mixed = Mixed(POOLS, {"spot": 15, "sure": 4}, read_strategy(strategy))
        rng = Random(seed)
        runtimes = [max(SECOND, round(rng.gauss(9, 3) * MINUTE)) for _ in range(90)]
        lives = {"spot": HOUR}
        behaviour = ModelledBehaviour(given(runtimes), mean_life=lives, notice=MINUTE, seed=seed)
        simulate(
            POOLS,
            Goal(Money.parse("40")),
            Bag(90),
            Policy(mixed, PooledPlacer(), Ntdmr(mixed)),
            UnreliablePool(behaviour, reliability=0.8, seed=seed),
            seed=seed,
            journal=journal,
        )

    return run


def _prob(market, budget, lives=None):
    def run(journal, seed):
        flow, prob, rng = layers(6, 8), Prob(), Random(seed)
        runtimes = [max(SECOND, round(rng.gauss(12, 4) * MINUTE)) for _ in range(flow.count)]
        assigned = Assigned(("small", "large"), tuple(rng.randrange(2) for _ in range(flow.count)))
        zero = Money.parse("0")
        plan = ev.PlanChosen(
            0, "knee", {"small": 4, "large": 2}, 0, 0, zero, zero, assigned=assigned
        )
        simulate(
            market,
            Goal(Money.parse(budget)),
            [ev.WorkArrived(0, Work(flow)), plan],
            Policy(prob, AssignedPlacer(prob), NoReplicas()),
            ModelledBehaviour(given(runtimes), failing=0.02, mean_life=lives, seed=seed),
            seed=seed,
            journal=journal,
        )

    return run


RUNS = {
    "fixed": _bag(_fixed, HOURLY, "30", lives=LIVES),
    "fixed, little money": _bag(_fixed, HOURLY, "3.3", lives=LIVES),
    "fixed, fine units": _bag(_fixed, FINE, "40", lives=LIVES),
    "fixed, fine units, little money": _bag(_fixed, FINE, "5"),
    "planned": _bag(_planned, HOURLY, "9"),
    "planned, which does not do": _bag(_planned, HOURLY, "6", lives=LIVES),
    "bats": _bag(_bats, HOURLY, "12", lives=LIVES),
    "bats, deadline": _bag(_bats, HOURLY, None, deadline=6 * HOUR),
    "bats, fine units": _bag(_bats, FINE, "30"),
    "bats as published": _bag(lambda: _bats(faithful=True), HOURLY, "12"),
    "bats as published, losses": _bag(lambda: _bats(faithful=True), HOURLY, "15", lives=LIVES),
    "sample": _sample,
    "mixed": _mixed("N=1,T=15m,D=40m,Mr=0.2"),
    "mixed, no reliable machines": _mixed("AUR"),
    "prob": _prob(HOURLY, "20"),
    "prob, losses": _prob(HOURLY, "20", LIVES),
    "prob, fine units": _prob(FINE, "20", LIVES),
    "prob, little money": _prob(HOURLY, "2.5", LIVES),
}


def decided(name):
    """What was decided in three runs."""
    journal = Decisions()
    for seed in range(3):
        RUNS[name](journal, seed)
    return journal


RECORDED = {
    "fixed": "9891750418ee",
    "fixed, little money": "4b495796351f",
    "fixed, fine units": "7e2451eb2ff2",
    "fixed, fine units, little money": "2bde00d7ad63",
    "planned": "0fc2d2cf7b6e",
    "planned, which does not do": "8bb1c7a636e4",
    "bats": "23e97fe7d3cb",
    "bats, deadline": "ebc450f49c1a",
    "bats, fine units": "4b4559da8286",
    "bats as published": "bc65ea8b0248",
    "bats as published, losses": "5efa4e13244b",
    "sample": "d5fdad64a887",
    "mixed": "8080adff0fc2",
    "mixed, no reliable machines": "070a8f90d95a",
    "prob": "7558a055357c",
    "prob, losses": "9d425bf62ef6",
    "prob, fine units": "391301b406b4",
    "prob, little money": "04ad6cd896d0",
}


@pytest.mark.parametrize("name", RUNS)
def test_decisions_are_those_that_were_recorded(name):
    journal = decided(name)
    assert journal.digest() == RECORDED[name], dict(journal.seen)


if __name__ == "__main__":
    for name in RUNS:
        journal = decided(name)
        print(f"    {name!r}: {journal.digest()!r},", dict(journal.seen))
