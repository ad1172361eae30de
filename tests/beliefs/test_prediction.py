"""Predictions: exact where nothing is uncertain, monotone, fast, and equal to what the engine does."""

from __future__ import annotations

import math
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.prediction import FleetPart, Prediction, predict
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.model.work import Bag
from bursar.policies.registry import make_policy
from bursar.simulate.distributions import BAGS
from bursar.simulate.fortune import ModelledFortune, traced
from bursar.simulate.run import simulate

PRICES = {"A": "3", "B": "12", "C": "3"}
SPEEDS = {"A": 1, "B": 3, "C": 2}


def fleet(times, machines: dict[str, int], shared: str = "bag", **terms) -> list[FleetPart]:
    return [
        FleetPart(Offer(name, Money.parse(PRICES[name]), **terms), n, times // SPEEDS[name], shared)
        for name, n in machines.items()
    ]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"billing": SECOND},
        {"billing": MINUTE, "minimum": 2 * HOUR, "slots": 3},
        {"boot": 11 * MINUTE},
        {"billing": SECOND, "boot": 90 * SECOND, "slots": 2},
    ],
)
@pytest.mark.parametrize("machines", [{"A": 1}, {"A": 4, "B": 3, "C": 5}, {"B": 40, "C": 40}])
def test_a_bag_of_equal_tasks_is_predicted_as_the_engine_executes_it(terms, machines):
    times = np.full(30, 36 * MINUTE)
    parts = fleet(times, machines, **terms)
    predicted = predict(parts, 100, rng(), draws=5)
    market = Market("USD", "-", tuple(part.offer for part in parts))
    runtimes = {part.offer.name: [int(part.runtimes[0])] * 100 for part in parts}
    policy = make_policy("fixed", options={"provisioner": {"fleet": machines}})
    state = simulate(
        market, Goal(), Bag(100), policy, ModelledFortune(traced(runtimes)), seed=1
    )
    assert set(predicted.makespans) == {state.last_settled}
    assert predicted.cost(0.9) == pytest.approx_money(state.ledger.spent)
