"""The fleet for a bag whose run times somebody knows, before anything is rented.

Candidates are executed on the same draws (`fleet_frontier`): of the run times of earlier tasks, or
of a lognormal distribution where only a mean and a deviation are known. The best is the fastest
that stays within the budget in nearly all of them: each draw in which it does not has a price in
time, as in `live_plan`. What differs from it by a machine or two is tried until none is better. It
is the one to rent, and to keep: what a run shows of run times that are known is mostly luck, and a
fleet that follows luck costs more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import inf, log1p, sqrt
from statistics import NormalDist
from typing import Final

import msgspec
import numpy as np

from bursar.beliefs.normal import below
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.past_runtimes import PastRuntimes
from bursar.model.release import is_long
from bursar.model.time import Time
from bursar.plan.bag.fleet_candidates import neighbours
from bursar.plan.bag.fleet_frontier import FrontierSearch
from bursar.plan.bag.fleet_judge import FleetJudge, Floats, Integers, Outcomes, SampledBag

CONFIDENCES: Final = (0.976, 0.5)
"""Frontiers that fleets are taken from: by what is exceeded in one draw of 40, as the money is to
do, and in half of them, as nearly all times are then that of the longest task."""
FORM: Final = 0.01
"""By so much of its cost a draw may be wrong. So one that hardly fits counts in part, and a fleet
is the better the more is left in all of them: a few draws do not tell chances near one apart."""
PRICE_OF_CHANCE: Final = 12.0
"""What a logarithm of the chance is worth, in logarithms of time."""
POINTS: Final = 4_000
"""of the distribution of run times"""
USUAL_DEVIATION: Final = 0.2
"""as a share of the mean, where nobody says more"""
ENOUGH: Final = 100
"""Earlier tasks that tell a distribution; of fewer, what they may have missed is drawn, too."""
BEST: Final = 3
"""Fleets whose neighbours are tried ..."""
ROUNDS: Final = 6
"""... at most so many times."""
JUDGED_AGAIN: Final = 8
"""Fleets that are executed on other draws in the end: the best of many had some luck."""
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


class KnownRuntimes(msgspec.Struct, frozen=True):
    """What somebody knows of run times at speed 1."""

    mean: Time
    deviation: Time | None = None
    past: PastRuntimes | None = None
    """those of earlier tasks"""

    def sampled(self, offers: tuple[Offer, ...], tasks: int) -> SampledBag:
        """A bag of such tasks."""
        if self.past is None:
            spread = USUAL_DEVIATION if self.deviation is None else self.deviation / self.mean
            times, count = _lognormal(self.mean, spread), inf
        else:
            times, count = np.array(self.past.times, dtype=np.float64), float(self.past.count)
        samples = tuple(
            np.maximum(1, np.rint(times / offer.speed)).astype(np.int64) for offer in offers
        )
        return SampledBag(offers, samples, tasks, known_from=count if count >= ENOUGH else None)


def fleet_of_market(market: Market, tasks: int, known: KnownRuntimes, budget: Money) -> KnownFleet:
    """The same with the offers of a market that may be rented and are not taken away."""
    offers = tuple(o for o in market.offers if o.limit != 0 and o.pool == "reliable")
    return known_fleet(offers, tasks, known, budget)


@lru_cache(REMEMBERED)
def known_fleet(
    offers: tuple[Offer, ...], tasks: int, known: KnownRuntimes, budget: Money
) -> KnownFleet:
    """The best fleet for a budget; where it does for none, the cheapest."""
    sampled = known.sampled(offers, tasks)
    searches = [FrontierSearch(sampled, sure, Goal(budget)) for sure in CONFIDENCES]
    found = [one for search in searches for one in search.find()]
    search = searches[0]
    names = [offer.name for offer in search.sampled.offers]
    counts = np.array([[one.fleet.get(name, 0) for name in names] for one in found])
    best = _search(search, counts, budget)
    again = FleetJudge(search.sampled, seed=1, draws=search.shown_draws)
    outcomes = again.outcomes(best)
    values = _values(*again.execute(best), again.sampled.offers, budget)
    place = int(np.argmin(values)) if np.isfinite(values).any() else _cheapest(outcomes)
    fleet = {name: int(n) for name, n in zip(names, best[place], strict=True) if n}
    return _known(fleet, outcomes[place], budget)


def _search(search: FrontierSearch, counts: Integers, budget: Money) -> Integers:
    """The best fleets, after all that differ a little from them were tried."""
    judge, quick = search.judge, search.quick
    counts = np.unique(counts, axis=0)
    offers = judge.sampled.offers
    values = _values(*judge.execute(counts), offers, budget)
    if not np.isfinite(values).any():
        return counts
    for _ in range(ROUNDS):
        best = counts[np.argsort(values, kind="stable")[:BEST]]
        near = np.unique(neighbours(quick, best), axis=0)
        near = near[~(near[:, None] == counts[None]).all(axis=2).any(axis=1)]
        if not len(near):
            break
        found = _values(*judge.execute(near), offers, budget)
        is_better = bool(found.min() < values.min())
        counts, values = np.concatenate([counts, near]), np.concatenate([values, found])
        if not is_better:
            break
    return counts[np.argsort(values, kind="stable")[:JUDGED_AGAIN]]


def _values(makespans: Integers, units: Integers, offers: Sequence[Offer], budget: Money) -> Floats:
    """How good fleets are, the less the better; infinite where the budget never does.

    Where units are long, a fleet may cost the same in all draws: then it is not in doubt, however
    near to the budget that is.
    """
    costs = units @ np.array([float(offer.price.nanos) for offer in offers])
    doubt = FORM * np.maximum(costs, 1.0)
    if all(map(is_long, offers)):
        doubt = np.minimum(doubt, np.maximum(costs.std(axis=1, keepdims=True), 1.0))
    margins = (budget.nanos - costs) / doubt
    fits = (costs <= budget.nanos).any(axis=1)
    chance = np.where(fits, below(margins).mean(axis=1), 0.0)
    middle, late = np.quantile(makespans, (0.5, 0.9), axis=1)
    with np.errstate(divide="ignore"):
        missed = -np.log(chance)
    values: Floats = np.log(middle + late) + PRICE_OF_CHANCE * missed
    return values


def _cheapest(outcomes: list[Outcomes]) -> int:
    return min(range(len(outcomes)), key=lambda place: outcomes[place].cost(0.5))


def _known(fleet: dict[str, int], outcomes: Outcomes, budget: Money) -> KnownFleet:
    costs = outcomes.units @ np.array([float(offer.price.nanos) for offer in outcomes.offers])
    return KnownFleet(
        fleet=fleet,
        chance=float(np.mean(costs <= budget.nanos)),
        time=outcomes.makespan(0.5),
        upper_time=outcomes.makespan(0.9),
        cost=outcomes.cost(0.5),
        upper_cost=outcomes.cost(0.9),
    )


def _lognormal(mean: float, spread: float) -> Floats:
    """Run times with this mean and a deviation of so many times that."""
    sigma = sqrt(log1p(spread**2))
    shape = NormalDist(0.0, max(sigma, 1e-9))
    logs = np.array([shape.inv_cdf((rank + 0.5) / POINTS) for rank in range(POINTS)])
    values = np.exp(logs)
    found: Floats = values * (mean / values.mean())
    return found
