"""`bats-table-3.1`: what sampling costs, with regression and without (BaTS thesis, table 3.1)."""

from __future__ import annotations

from statistics import fmean
from typing import Final

import numpy as np

from bursar.beliefs.samples import SampleLog
from bursar.beliefs.sampling import sample_size
from bursar.engine.roles import Policy
from bursar.model.goal import Goal
from bursar.model.market import Market
from bursar.model.money import Money
from bursar.model.time import HOUR, Time
from bursar.model.work import Bag
from bursar.plan.bag.choices import least_budget
from bursar.plan.bag.knapsack import fastest
from bursar.policies.place.random import RandomPlacer
from bursar.policies.place.sample import SamplePlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.provision.sample import Sample
from bursar.policies.replicate.none import NoReplicas
from bursar.reproduce.bats_executions import SPREAD, SPREAD_REASON
from bursar.reproduce.bats_scenarios import SCENARIOS, TASKS, bag, scenario
from bursar.reproduce.result import Reproduction, Row, around, judged, same
from bursar.simulate.faults import ModelledBehaviour, given
from bursar.simulate.run import simulate
from bursar.state.state import RunState

SEEDS: Final = 10
PLENTY: Final = Goal(Money.parse(100_000))

_PUBLISHED: Final = {
    "S4-1": ((105, 837, 2025), (450, 1026, 2034)),
    "S4-3": ((105, 801, 1065), (450, 846, 1062)),
    "S1-1": ((42, 774, 810), (180, 756, 810)),
    "S3-4": ((84, 597, 852), (360, 594, 768)),
    "S1-4": ((42, 213, 426), (180, 258, 384)),
}
"""sampling, cheapest and fastest makespan's cost, with linear regression and without"""


def reproduce(name: str) -> Reproduction:
    rows: list[Row] = []
    for key in SCENARIOS:
        for kind, paper, ours in zip(
            ("with regression", "without"), _PUBLISHED[key], _means(scenario(key)), strict=True
        ):
            for what, published, found in zip(
                ("sampling", "cheapest", "fastest"), paper, ours, strict=True
            ):
                rows.append(_row(f"{key}, {kind}: {what}, $", published, found))
    return Reproduction(
        name=name,
        title="Costs of sampling, of the cheapest and of the fastest schedule",
        source="BaTS thesis, table 3.1",
        rows=tuple(rows),
        assumed=(
            f"means over {SEEDS} bags, each moved to the mean of the thesis's (910 s, as in table"
            " 3.2); seven workers of each cluster sample with regression, thirty"
            " without (sections 2.3.1 and 3.2.2)",
            "without regression the cheapest continues with one machine of the most profitable kind"
            " after the sampling hour, and the fastest is all machines from the beginning",
        ),
    )


def _row(what: str, published: int, found: float) -> Row:
    """What the sampling hour costs is certain; what the rest costs depends on the bag."""
    if "sampling" in what:
        return same(what, published, round(found, 9))
    return judged(what, published, found, around(published, SPREAD, SPREAD_REASON))


def _means(market: Market) -> tuple[tuple[float, ...], tuple[float, ...]]:
    found = [(_with_regression(market, seed), _without(market, seed)) for seed in range(SEEDS)]
    return (
        tuple(fmean(each) for each in zip(*(one for one, _ in found), strict=True)),
        tuple(fmean(each) for each in zip(*(other for _, other in found), strict=True)),
    )


def _with_regression(market: Market, seed: int) -> tuple[float, float, float]:
    """Sample on seven workers of each cluster for an hour; the rest by the estimates."""
    sample_log, size = SampleLog(), sample_size(TASKS)
    policy = Policy(
        Sample(sample_log, size, workers=7), SamplePlacer(sample_log, size), NoReplicas()
    )
    state = _simulate(market, policy, PLENTY, seed, sample_log)
    means: dict[str, Time | None] = {
        name: round(float(np.mean(times)))
        for name, times in sample_log.samples(market.offers).items()
    }
    return _costs(market, state, means)


def _without(market: Market, seed: int) -> tuple[float, float, float]:
    """Thirty workers of each cluster for an hour, then one machine for the rest; or round robin."""
    thirty = {offer.name: 30 for offer in market.offers}
    hour = Goal(PLENTY.budget, deadline=HOUR)
    state = _simulate(market, _fixed(thirty), hour, seed)
    mean = round(fmean(bag(seed)))
    means: dict[str, Time | None] = {o.name: round(mean / o.speed) for o in market.offers}
    sampling, cheapest, _ = _costs(market, state, means)
    everything = {offer.name: offer.limit or 0 for offer in market.offers}
    round_robin = _simulate(market, _fixed(everything), PLENTY, seed)
    return sampling, cheapest, float(round_robin.ledger.committed)


def _costs(
    market: Market, state: RunState, means: dict[str, Time | None]
) -> tuple[float, float, float]:
    left = state.total - state.done
    sampling = state.ledger.committed
    cheapest = sampling + least_budget(market.offers, means, left)
    dearest = sampling + fastest(market.offers, means, left).cost
    return float(sampling), float(cheapest), float(dearest)


def _fixed(fleet: dict[str, int]) -> Policy:
    return Policy(Fixed(fleet), RandomPlacer(), NoReplicas())


def _simulate(
    market: Market, policy: Policy, goal: Goal, seed: int, sample_log: SampleLog | None = None
) -> RunState:
    observers = [] if sample_log is None else [sample_log]
    behaviour = ModelledBehaviour(given(bag(seed)))
    return simulate(
        market, goal, Bag(count=TASKS), policy, behaviour, seed=seed, observers=observers
    )
