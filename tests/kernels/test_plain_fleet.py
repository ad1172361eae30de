"""A plain fleet in the compiled kernel ends as the engine lets it end."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from bursar.engine.roles import Policy
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND, Time
from bursar.model.work import Bag
from bursar.policies.place.fifo import FifoPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.reproduce.regret_rival import FleetRunner
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate


def _market(rng: Random, billing: Time) -> Market:
    offers = tuple(
        Offer(
            name,
            Money.parse(f"{rng.uniform(0.01, 0.2):.4f}"),
            billing,
            MINUTE,
            9,
            (40 * number + rng.randrange(0, 40)) * SECOND,  # no two alike
            rng.choice((1, 2, 4, 8)),
            rng.choice((0.5, 1.0, 2.0)),
        )
        for number, name in enumerate("abc")
    )
    return Market("USD", "undated", offers)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("billing", [HOUR, SECOND])
def test_a_plain_fleet_ends_and_costs_what_the_engine_says(seed: int, billing: Time) -> None:
    rng = Random(seed)
    market = _market(rng, billing)
    counts = tuple(rng.randrange(0, 5) for _ in market.offers)
    counts = counts if any(counts) else (1, 0, 0)
    bag = np.array(
        [2 * rng.randrange(5 * SECOND, 300 * SECOND) for _ in range(rng.randrange(60, 200))]
    )
    fleet = {offer.name: n for offer, n in zip(market.offers, counts, strict=True) if n}
    policy = Policy(Fixed(fleet), FifoPlacer(), NoReplicas())
    state = simulate(
        market, Goal(), Bag(count=len(bag)), policy, ModelledBehaviour(given(bag.tolist()))
    )
    runner = FleetRunner(market)
    makespan, cost = runner.run(counts, runner.runtimes(bag))
    assert makespan == state.last_settled
    assert cost == pytest.approx(
        float(state.ledger.committed), rel=0.003 if billing == SECOND else 1e-9
    )
