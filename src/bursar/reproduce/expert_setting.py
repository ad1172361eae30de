"""The setting of the ExPERT paper's figures 7 to 11: experiment 11, estimated as published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import hypot
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.money import Money
from bursar.model.strategy import Strategy
from bursar.model.time import HOUR, SECOND, Time
from bursar.plan.dominance import Point
from bursar.plan.pools.estimator import Conditions, Estimates, Price, estimate
from bursar.plan.pools.frontier import frontier
from bursar.plan.pools.strategies import sampled_strategies
from bursar.report.plot import Series
from bursar.reproduce.result import Band, around, between

TASKS: Final = 150
MACHINES: Final = 50
RELIABILITY: Final = 0.827
MEAN: Final = 2_066 * SECOND
"""T_ur, and T_r (table 2)"""
SHORTEST: Final = 1_019 * SECOND
"""of workload WL1 (table 3)"""
LONGEST: Final = 4_000 * SECOND
"""the deadline of workload WL1 (table 3): a later result is ignored"""
MOST_RATIO: Final = 0.5
"""the greatest Mr of section 6.2"""

CENT: Final = 100
"""cents of a dollar"""
SHAPE: Final = 6
"""a + b of the beta distribution that PERT draws durations from"""
SAMPLE: Final = 1_000
"""quantiles that stand for a distribution"""
REPETITIONS: Final = 200
SEED: Final = 11

ASSUMED: Final = (
    "the distribution of turnaround times (figure 6) is not printed: a PERT distribution with a"
    f" mean of {MEAN // SECOND:,} s, from {SHORTEST // SECOND:,} s, the shortest task of WL1, to"
    f" {LONGEST // SECOND:,} s, its deadline",
    f"the reliability is {RELIABILITY} at all times; {TASKS} tasks, {MACHINES} unreliable machines",
    f"means of {REPETITIONS} repetitions, one seed for all; results are paid by the second",
)

UNPRINTED: Final = "the turnaround times of figure 6 are not printed, those assumed are ours"
"""why a figure does not come out"""


# --- bands ---------------------------------------------------------------------------------------

SPAN_OFF: Final = 0.10
COST_OFF: Final = 0.07
"""the mean deviations from real runs that the paper states for its own estimates (section 6.3)"""


def span_band(paper: float) -> Band:
    """Of an estimated makespan, or a factor between two."""
    return around(paper, SPAN_OFF, "10 %, by which the paper's makespans are off (6.3)")


def cost_band(paper: float) -> Band:
    """Of an estimated cost, or a factor between two."""
    return around(paper, COST_OFF, "7 %, by which the paper's costs are off (6.3)")


def product_band(paper: float) -> Band:
    """Of makespan * cost."""
    off = hypot(SPAN_OFF, COST_OFF)
    return around(paper, off, "12 %, by which makespan * cost is off: 10 and 7 % (6.3)")


def saving(paper: float, band_of: Callable[[float], Band]) -> Band:
    """Of a saving in per cent: what is left of the figure has the band."""
    left = band_of(1 - paper / 100)
    return between(100 * (1 - left.high), 100 * (1 - left.low), f"of what is left: {left.reason}")


# --- the setting ---------------------------------------------------------------------------------


def price(cents_an_hour: int) -> Price:
    """Of a second."""
    second = Money.parse(cents_an_hour).nanos * SECOND / (CENT * HOUR)
    return Price(Money(round(second)), SECOND)


UNRELIABLE_PRICE: Final = price(1)
RELIABLE_PRICE: Final = price(34)


def pert(shortest: Time, mean: Time, longest: Time, size: int = SAMPLE) -> NDArray[np.int64]:
    """Quantiles of the distribution with this range and mean, ascending."""
    from scipy.stats import beta

    share = (mean - shortest) / (longest - shortest)
    places = (np.arange(size) + 0.5) / size
    parts = np.asarray(beta.ppf(places, SHAPE * share, SHAPE * (1 - share)), dtype=np.float64)
    return np.rint(shortest + (longest - shortest) * parts).astype(np.int64)


def conditions(mean: Time = MEAN) -> Conditions:
    """With turnaround times of this mean, which is also what a task takes on a reliable machine."""
    return Conditions(
        tasks=TASKS,
        unreliable=MACHINES,
        reliability=RELIABILITY,
        turnarounds=pert(SHORTEST, mean, LONGEST),
        reliable_time=mean,
        unreliable_price=UNRELIABLE_PRICE,
        reliable_price=RELIABLE_PRICE,
    )


def recommended() -> Strategy:
    """`ExPERT recommended` of section 6.1."""
    return Strategy(3, MEAN, 2 * MEAN, 0.02, "ExPERT recommended")


class Studied(msgspec.Struct, frozen=True):
    """Strategies and what is estimated of them, in the same order."""

    strategies: tuple[Strategy, ...]
    found: Estimates

    @property
    def tails(self) -> list[Point]:
        """The mean tail makespan in seconds, and cents for a task."""
        spans = self.found.tails.mean(axis=1) / SECOND
        return _points(spans, self.found)

    @property
    def wholes(self) -> list[Point]:
        """The mean makespan of the whole bag in seconds, and cents for a task."""
        spans = self.found.makespans.mean(axis=1) / SECOND
        return _points(spans, self.found)


def _points(spans: NDArray[np.float64], found: Estimates) -> list[Point]:
    cents = CENT * found.costs.mean(axis=1)
    return [(float(span), float(cost)) for span, cost in zip(spans, cents, strict=True)]


def study(
    strategies: Sequence[Strategy], repetitions: int = REPETITIONS, mean: Time = MEAN
) -> Studied:
    found = estimate(conditions(mean), strategies, repetitions, seed=SEED)
    return Studied(tuple(strategies), found)


def study_grid(ratio: float = MOST_RATIO, repetitions: int = REPETITIONS) -> Studied:
    """The strategies that the paper samples (section 6.1), up to this Mr."""
    return study(sampled_strategies(MEAN, ratio, MACHINES), repetitions)


def frontier_line(name: str, points: Sequence[Point]) -> Series:
    """The efficient points, joined as the paper joins them."""
    efficient = sorted(points[index] for index in frontier(points))
    return Series(name, tuple(efficient), "line")


def label(strategy: Strategy) -> str:
    """The strategy in the paper's letters; T and D in mean turnaround times."""
    if strategy.name:
        return strategy.name
    copies = "inf" if strategy.copies is None else str(strategy.copies)
    timeout, deadline = strategy.timeout / MEAN, strategy.deadline / MEAN
    return f"N={copies} T={timeout:.3g} D={deadline:.3g} Mr={strategy.ratio:.2f}"
