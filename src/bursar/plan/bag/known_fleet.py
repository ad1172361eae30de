"""The fleet for a bag whose run times somebody knows, before anything is rented.

Candidates are executed on the same draws (`fleet_frontier`). The best is the fastest that stays
within the budget in nearly all of them: each draw in which it does not has a price in time, as in
`live_plan`. It is the one to rent, and to keep: what a run shows of run times that are known is
mostly luck, and a fleet that follows luck costs more.
"""

from __future__ import annotations

from functools import lru_cache
from math import log, log1p, sqrt
from statistics import NormalDist
from typing import Final

import msgspec
import numpy as np

from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import Time
from bursar.plan.bag.fleet_frontier import JudgedFleet, find_frontier
from bursar.plan.bag.fleet_judge import Integers, SampledBag

CONFIDENCES: Final = (0.976, 0.5)
"""Frontiers that fleets are taken from: by what is exceeded in one draw of 40, as the money is to
do, and in half of them, as nearly all times are then that of the longest task."""
PRICE_OF_CHANCE: Final = 12.0
"""What a logarithm of the chance is worth, in logarithms of time."""
POINTS: Final = 4_000
"""of the distribution of run times"""
USUAL_DEVIATION: Final = 0.2
"""as a share of the mean, where nobody says more"""
REMEMBERED: Final = 64
"""Answers: many simulated runs ask for the same."""


class KnownFleet(msgspec.Struct, frozen=True):
    """A fleet, and what is to be expected of it."""

    fleet: dict[str, int]
    chance: float
    """share of the draws in which the budget does"""
    time: Time
    """to the end, on the middle draw ..."""
    upper_time: Time
    """... and not exceeded nine times in ten"""
    cost: Money
    upper_cost: Money


def fleet_of_market(
    market: Market, tasks: int, runtime: Time, deviation: Time | None, budget: Money
) -> KnownFleet:
    """The same with the offers of a market that may be rented and are not taken away."""
    offers = tuple(o for o in market.offers if o.limit != 0 and o.pool == "reliable")
    return known_fleet(offers, tasks, runtime, deviation, budget)


@lru_cache(REMEMBERED)
def known_fleet(
    offers: tuple[Offer, ...], tasks: int, runtime: Time, deviation: Time | None, budget: Money
) -> KnownFleet:
    """The best fleet for a budget; where it does for none, the cheapest."""
    spread = USUAL_DEVIATION if deviation is None else deviation / runtime
    samples = tuple(_sample(runtime / offer.speed, spread) for offer in offers)
    bag, goal = SampledBag(offers, samples, tasks), Goal(budget)
    judged = [one for sure in CONFIDENCES for one in find_frontier(bag, sure, goal=goal)]
    found = [_known(one, budget) for one in judged]
    able = [one for one in found if one.chance > 0]
    return min(able, key=_value) if able else found[0]


def _value(known: KnownFleet) -> float:
    """The less the better."""
    return log(known.time + known.upper_time) - PRICE_OF_CHANCE * log(known.chance)


def _known(judged: JudgedFleet, budget: Money) -> KnownFleet:
    outcomes = judged.outcomes
    costs = outcomes.units @ np.array([float(offer.price.nanos) for offer in outcomes.offers])
    return KnownFleet(
        fleet=judged.fleet,
        chance=float(np.mean(costs <= budget.nanos)),
        time=outcomes.makespan(0.5),
        upper_time=outcomes.makespan(0.9),
        cost=outcomes.cost(0.5),
        upper_cost=outcomes.cost(0.9),
    )


def _sample(mean: float, spread: float) -> Integers:
    """Run times with this mean and a deviation of so many times that: lognormal."""
    sigma = sqrt(log1p(spread**2))
    shape = NormalDist(0.0, max(sigma, 1e-9))
    logs = np.array([shape.inv_cdf((rank + 0.5) / POINTS) for rank in range(POINTS)])
    values = np.exp(logs)
    found: Integers = np.maximum(1, np.rint(values * (mean / values.mean()))).astype(np.int64)
    return found
