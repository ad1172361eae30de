"""The list of plans for a bag once its sample is there: today's offers, billed by the second.

What a user waits for between the sample and the list: fleets, each judged by executions. Several
samples are planned from, of bags short and long in the tail; the slowest of them counts. Processor
time is measured, and compiling is not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Goal, Line, Result, best_of
from bursar.model.goal import Goal as RunGoal
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.plan.bag.fleet_judge import compiled_fleets
from bursar.plan.bag.plans import make_plans
from bursar.simulate.distributions import BAGS

SAMPLED = 31
SAMPLES = [(bag, seed) for bag in ("normal", "levy", "multi-modal") for seed in (0, 1)]
SIZES = {
    "5 offers, 5,000 tasks": (5, 100, 5_000, 0.2),
    "50 offers of 1,000 machines, 1,000,000 tasks": (50, 1_000, 1_000_000, 1.0),
}
"""Offers, their limit, tasks, and the seconds that it may take."""
WOBBLE = 0.03
"""How far a task's run times on two offers are from their line, relative to it."""


def measure(rounds: int) -> Result:
    compiled_fleets()
    lines, goals = [], []
    for name, (offers, limit, tasks, most) in SIZES.items():
        market = make_market(offers, limit)
        turns = {f"{bag} {seed}": _timed(market, bag, seed, tasks) for bag, seed in SAMPLES}
        best = best_of(turns, rounds)
        lines += [Line(name, taken, "s", sample) for sample, taken in best.items()]
        goals.append(Goal(name, max(best.values()), "<=", most, "s"))
    return Result("The list of plans for a bag", lines, goals)


def make_market(count: int, limit: int) -> Market:
    """Larger machines have more slots and cost about as much for a slot."""
    rng = Random(count)
    offers = []
    for number in range(count):
        slots = rng.choice([2, 4, 8, 16, 32, 64])
        price = Money(round(0.05e9 * slots * rng.uniform(0.8, 1.2)) * SECOND // HOUR)
        boot = rng.randint(20, 120) * SECOND
        offers.append(Offer(f"a{number}", price, SECOND, MINUTE, limit, boot, slots))
    return Market("USD", "2026-01-01", tuple(offers))


def make_samples(market: Market, bag: str, seed: int) -> dict[str, NDArray[np.int64]]:
    """The same tasks on every offer."""
    rng = np.random.default_rng(seed)
    times = BAGS[bag](rng, SAMPLED)
    return {
        offer.name: np.maximum(
            1, times / rng.uniform(0.8, 1.25) * rng.normal(1, WOBBLE, SAMPLED)
        ).astype(np.int64)
        for offer in market.offers
    }


def _timed(market: Market, bag: str, seed: int, tasks: int) -> Callable[[], float]:
    samples = make_samples(market, bag, seed)

    def run() -> float:
        began = time.process_time()
        make_plans(market, samples, tasks, RunGoal())
        return time.process_time() - began

    return run
