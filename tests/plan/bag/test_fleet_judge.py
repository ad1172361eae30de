"""Fleets are judged by executions: the kernels and the engine find the same with the same draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.beliefs.prediction import FleetPart, predict
from bursar.engine.roles import Policy
from bursar.kernels import fleets
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.plan.bag.fleet_judge import FleetJudge, SampledBag
from bursar.plan.bag.plans import known_runtimes
from bursar.policies.place.fifo import FifoPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.simulate.faults import ModelledBehaviour
from bursar.simulate.run import simulate


class OfTheKernel(ModelledBehaviour):
    """Each slot of a machine goes its way through the table of run times, as in the kernels."""

    def __init__(self, judge, draw):
        super().__init__(lambda task, machine: 1)
        self.bag, self.draw = judge.bag, draw
        self.offers = [offer.name for offer in judge.sampled.offers]
        self.machines = {}
        self.rented = dict.fromkeys(self.offers, 0)

    def boot(self, machine):
        number = self.rented[machine.offer.name]
        self.rented[machine.offer.name] += 1
        offer = self.offers.index(machine.offer.name)
        slots = range(number * machine.offer.slots, (number + 1) * machine.offer.slots)
        # [free from, next place] of each slot
        self.machines[machine.id] = [[0, fleets.place_of(self.bag, offer, one)] for one in slots]
        return super().boot(machine)

    def attempt(self, task, attempt, machine, now=0):
        offer = self.offers.index(machine.offer.name)
        slot = max((one for one in self.machines[machine.id] if one[0] <= now), key=lambda s: s[0])
        runtime = int(self.bag.runtimes[offer, self.draw, slot[1]])
        slot[0] = now + runtime
        slot[1] = (slot[1] + fleets.stride_of(self.bag)) % self.bag.runtimes.shape[2]
        return runtime, "success"


def by_engine(judge, counts, draw):
    offers = judge.sampled.offers
    fleet = {offer.name: int(n) for offer, n in zip(offers, counts, strict=True) if n}
    policy = Policy(Fixed(fleet), FifoPlacer(), NoReplicas())
    market = Market("USD", "undated", offers)
    bag = Bag(count=judge.sampled.tasks)
    return simulate(market, Goal(), bag, policy, OfTheKernel(judge, draw))


@st.composite
def judged_bags(draw):
    """Small bags on markets of today: slots, boots, minimum charges, fine and coarse units."""
    offers = tuple(
        Offer(
            f"offer-{number}",
            Money.parse(number + 1),
            billing=draw(st.sampled_from([SECOND, MINUTE, HOUR])),
            minimum=draw(st.sampled_from([0, MINUTE])),
            boot=draw(st.sampled_from([0, 7 * SECOND, 50 * SECOND, 2 * MINUTE])),
            slots=draw(st.sampled_from([1, 2, 5])),
        )
        for number in range(draw(st.integers(1, 3)))
    )
    runtimes = [
        (draw(st.integers(20, 400)) * SECOND, draw(st.integers(1, 60)) * SECOND) for _ in offers
    ]
    tasks = draw(st.integers(1, 40))
    counts = [draw(st.integers(0, 3)) for _ in offers]
    if not any(counts):
        counts[0] = 1
    return offers, runtimes, tasks, counts, draw(st.integers(0, 99))


def needs_all(sampled, counts, runtimes):
    """Whether every machine gets a task: one that comes up too late is released at the next event
    in the engine, and at once in the kernel.
    """
    used = [offer for offer, n in zip(sampled.offers, counts, strict=True) if n]
    total = sum(o.slots * n for o, n in zip(sampled.offers, counts, strict=True))
    last, shortest = max(offer.boot for offer in used), min(mean for mean, _ in runtimes)
    in_time = last * total <= (sampled.tasks - total) * shortest or not last
    return total - min(offer.slots for offer in used) < sampled.tasks and in_time


@settings(max_examples=60, deadline=None)
@given(judged_bags())
def test_a_fleet_takes_and_costs_what_it_does_in_the_engine(case):
    offers, runtimes, tasks, counts, seed = case
    sampled = SampledBag(offers, tuple(known_runtimes(*one) for one in runtimes), tasks)
    if not needs_all(sampled, counts, runtimes):
        return
    judge = FleetJudge(sampled, seed=seed, draws=2)
    makespans, units = judge.execute(np.array([counts]))
    for draw in range(2):
        state = by_engine(judge, counts, draw)
        assert state.ended.status == "done"
        assert makespans[0, draw] == state.last_settled
        cost = sum(
            o.price.nanos * int(u) for o, u in zip(sampled.offers, units[0, draw], strict=True)
        )
        assert cost == state.ledger.committed.nanos


SECONDS = Offer("a", Money.parse("0.0001"), SECOND, MINUTE, boot=45 * SECOND, slots=8)
LARGE = Offer("b", Money.parse("0.0009"), SECOND, MINUTE, boot=90 * SECOND, slots=64)


@pytest.mark.parametrize(
    ("tasks", "counts"),
    [
        (4_000, (1, 0)),
        (4_000, (40, 2)),
        (12_000, (100, 3)),
        (12_000, (0, 70)),
        (300_000, (0, 400)),
    ],
)
@pytest.mark.parametrize(
    ("deviation", "noise"), [(20, {0.5: 0.02, 0.9: 0.04}), (150, {0.5: 0.03, 0.9: 0.09})]
)
def test_large_bags_are_judged_as_if_every_task_were_executed(tasks, counts, deviation, noise):
    """By another way to the same figures, which looks at every task, or at every slot."""
    samples = tuple(known_runtimes(mean * SECOND, deviation * SECOND) for mean in (200, 180))
    judge = FleetJudge(SampledBag((SECONDS, LARGE), samples, tasks))
    [found] = judge.outcomes(np.array([counts]))
    parts = [
        FleetPart(offer, count, sample, sample="bag")
        for offer, count, sample in zip((SECONDS, LARGE), counts, samples, strict=True)
        if count
    ]
    other = predict(parts, tasks, np.random.default_rng(1))
    for confidence, share in noise.items():
        assert found.makespan(confidence) == pytest.approx(other.makespan(confidence), rel=share)
        assert float(found.cost(confidence)) == pytest.approx(
            float(other.cost(confidence)), rel=share
        )
