"""Plans for a million tasks once their sample is there: ten offers, by the hour and by the second.

What a user waits for between the sample and the list of choices: fleets, and the bounds of each.
Several samples are planned from, of bags short and long in the tail, since some leave harder
knapsacks than others; the slowest of them counts. Compiling is not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Goal, Line, Result, best_of
from bursar.kernels.knapsack import compiled
from bursar.model.goal import Goal as Wish
from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, SECOND, Time
from bursar.plan.bag.plans import make_plans
from bursar.simulate.distributions import BAGS

TASKS = 1_000_000
SAMPLED = 31
SAMPLES = [(bag, seed) for bag in ("normal", "levy", "multi-modal") for seed in (0, 1)]
MOST_SECONDS = 2.0
OFFERS = {
    "a1": ("0.05", 1.0), "a2": ("0.07", 1.3), "a3": ("0.08", 1.7), "a4": ("0.10", 2.0),
    "a5": ("0.14", 2.6), "a6": ("0.16", 3.1), "a7": ("0.20", 4.0), "a8": ("0.28", 5.2),
    "a9": ("0.31", 6.0), "a10": ("0.42", 8.0),
}  # fmt: skip
"""Price of an hour, and speed."""
LIMIT = 100
WOBBLE = 0.03
"""How far a task's run times on two offers are from their line, relative to it."""


def measure(rounds: int) -> Result:
    compiled()
    lines, goals = [], []
    for name, billing in (("by the hour", HOUR), ("by the second", SECOND)):
        market = make_market(billing)
        turns = {f"{bag} {seed}": _timed(market, bag, seed) for bag, seed in SAMPLES}
        best = best_of(turns, rounds)
        lines += [Line(name, taken, "s", sample) for sample, taken in best.items()]
        goals.append(Goal(f"billed {name}", max(best.values()), "<=", MOST_SECONDS, "s"))
    title = f"Plans for {TASKS:,} tasks, {len(OFFERS)} offers with {LIMIT} machines each"
    return Result(title, lines, goals)


def make_market(billing: Time) -> Market:
    offers = [
        Offer(name, Money(Money.parse(price).nanos * billing // HOUR), billing, limit=LIMIT)
        for name, (price, _) in OFFERS.items()
    ]
    return Market("USD", "2026-01-01", tuple(offers))


def make_samples(bag: str, seed: int) -> dict[str, NDArray[np.int64]]:
    """The same tasks on every offer."""
    rng = np.random.default_rng(seed)
    times = BAGS[bag](rng, SAMPLED)
    return {
        name: np.maximum(1, times / speed * rng.normal(1, WOBBLE, SAMPLED)).astype(np.int64)
        for name, (_, speed) in OFFERS.items()
    }


def _timed(market: Market, bag: str, seed: int) -> Callable[[], float]:
    samples = make_samples(bag, seed)

    def run() -> float:
        began = time.perf_counter()
        make_plans(market, samples, TASKS, Wish())
        return time.perf_counter() - began

    return run
