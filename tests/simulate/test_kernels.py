"""The kernels and the engine find the same, task by task, when they get the same draws."""

from __future__ import annotations

from heapq import heapify, heapreplace
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from bursar.actions import Start
from bursar.beliefs.unified import UnifiedRuntimes
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.provision.fixed import Fixed
from bursar.policies.registry import Policy, make_policy
from bursar.simulate.fortune import ModelledFortune, traced
from bursar.simulate.kernels import STRATEGIES, Workshop, proportions
from bursar.simulate.kernels_list import GOLDEN, MIX_1, MIX_2
from bursar.simulate.run import simulate
from bursar.state import RunState

WORD = (1 << 64) - 1
EARLY = 3


class Ordered:
    """Places ready tasks in a given order on idle machines in the order of their numbers."""

    def __init__(self, order):
        self.places = {task + 1: place for place, task in enumerate(order)}

    def place(self, view, now, rng):
        tasks = sorted(view.ready, key=self.places.__getitem__)
        return [Start(task, machine) for task, machine in zip(tasks, sorted(view.idle))]


class Counted(Random):
    """The random numbers of the kernels."""

    def __init__(self, begin):
        super().__init__()
        self.counter = begin

    def random(self):
        self.counter = (self.counter + GOLDEN) & WORD
        z = self.counter
        z = ((z ^ (z >> 30)) * MIX_1) & WORD
        z = ((z ^ (z >> 27)) * MIX_2) & WORD
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53


class WithDraws:
    """A replicator that gets its own random numbers."""

    def __init__(self, inner, begin):
        self.inner = inner
        self.rng = Counted(begin)
        self.early = getattr(inner, "early", 0)

    def saw(self, event, state):
        if hasattr(self.inner, "saw"):
            self.inner.saw(event, state)

    def replicate(self, view, now, rng):
        return self.inner.replicate(view, now, self.rng)


class Case:
    """A bag, a fleet and an order."""

    def __init__(self, offers, fleet, runtimes, order, draws=0):
        self.offers = offers
        self.fleet = fleet
        self.runtimes = runtimes
        self.order = order
        self.draws = draws

    def __repr__(self):
        return f"Case({self.offers}, {self.fleet}, {self.runtimes}, {self.order}, {self.draws})"

    def by_kernel(self, replicator):
        rows = {name: np.array(times) for name, times in self.runtimes.items()}
        shop = Workshop(self.offers, self.fleet, rows)
        return shop.once(self.order, replicator, early=EARLY, draws=self.draws)

    def by_engine(self, replicator) -> RunState:
        used = [offer for offer in self.offers if self.fleet.get(offer.name)]
        fortune = traced(self.runtimes)
        options = {"knowledge": UnifiedRuntimes(proportions(used))}
        if replicator == "migrate":
            options["early"] = EARLY
        if replicator == "perfect":
            options = {"runtimes": fortune}
        made = make_policy(
            replicator=replicator,
            options={
                "provisioner": {"fleet": self.fleet},
                "replicator": {} if replicator == "none" else options,
            },
        )
        policy = Policy(
            Fixed(self.fleet), Ordered(self.order), WithDraws(made.replicator, self.draws)
        )
        market = Market("USD", "undated", tuple(self.offers))
        bag = Bag(count=len(self.order))
        return simulate(market, Goal(), bag, policy, ModelledFortune(fortune))


def completions_of(state):
    return [state.log.ended[state.winners[task]] for task in range(1, state.total + 1)]


def check_same(case, replicator):
    found, state = case.by_kernel(replicator), case.by_engine(replicator)
    assert state.ended.status == "done"
    assert list(found.completions) == completions_of(state)
    assert found.makespan == state.last_settled
    assert found.cost == state.ledger.committed


@st.composite
def cases(draw, exact_speeds=True):
    """Small bags and fleets, with run times that often coincide with each other and with leases."""
    count = draw(st.integers(1, 3))
    unit = draw(st.sampled_from([10 * MINUTE, HOUR, 1000 * HOUR]))
    grain = draw(st.sampled_from([MINUTE, 5 * MINUTE, SECOND // 7]))
    offers = [
        Offer(
            f"offer-{number}",
            Money.parse(number + 1),
            billing=unit,
            speed=draw(st.sampled_from([1.0, 1.5, 2.0, 3.0])),
            boot=draw(st.sampled_from([0, 0, grain, 7 * grain])),
        )
        for number in range(count)
    ]
    fleet = {offer.name: draw(st.integers(0, 4)) for offer in offers}
    assume(any(fleet.values()))
    tasks = draw(st.integers(1, 16))
    sizes = [draw(st.integers(1, 40)) * 6 * grain for _ in range(tasks)]
    runtimes = {
        offer.name: [
            max(1, round(size / offer.speed))
            if exact_speeds
            else max(1, round(size * draw(st.sampled_from([0.5, 1.0, 2.0])) / offer.speed))
            for size in sizes
        ]
        for offer in offers
    }
    order = draw(st.permutations(range(tasks)))
    return Case(offers, fleet, runtimes, order, draw(st.integers(0, WORD)))


@settings(max_examples=150)
@given(cases())
def test_a_bag_without_replicas_ends_as_in_the_engine(case):
    check_same(case, "none")


@pytest.mark.parametrize("replicator", [name for name in STRATEGIES if name != "none"])
@settings(max_examples=120)
@given(case=cases())
def test_a_bag_with_replicas_ends_as_in_the_engine(replicator, case):
    check_same(case, replicator)


@pytest.mark.parametrize("replicator", [name for name in STRATEGIES if name != "none"])
@settings(max_examples=60)
@given(case=cases(exact_speeds=False))
def test_run_times_that_defy_the_speeds_end_as_in_the_engine(replicator, case):
    check_same(case, replicator)
