"""`bats-tables-5`: replicas in the tail of a bag (BaTS thesis, tables 5.1 to 5.3).

Thirty instances of each bag, each executed thirty times for every strategy and budget; the figures
are percentages by which the makespan exceeds the estimate, and the mean is over all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import combinations
from math import exp
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.plan.bag.choices import least_budget
from bursar.plan.bag.executions import BagExecutor, proportions
from bursar.plan.bag.knapsack import FleetChoice, fastest, fastest_within
from bursar.reproduce.result import Band, Reproduction, Row, between, judged, shown_only
from bursar.simulate.distributions import Runtimes, multi_modal, normal, truncated_levy

SMALLEST: Final = 0.1
"""Percentage points that make no difference."""
INSTANCES: Final = 30
EXECUTIONS: Final = 30
TASKS: Final = 1000
SAMPLE: Final = 30

OFFERS: Final = (
    Offer("A", Money.parse(1), HOUR, limit=24, speed=1.0),
    Offer("B", Money.parse(4), HOUR, limit=24, speed=3.0),
    Offer("C", Money.parse(1), HOUR, limit=24, speed=2.0),
)
KEPT: Final = tuple(msgspec.structs.replace(offer, billing=10_000 * HOUR) for offer in OFFERS)
"""The same machines, kept to the end of the bag."""

STRATEGIES: Final = (
    "stochastic",
    "migrate",
    "perfect",
    "random",
    "stochastic-random",
    "none",
)
_Columns = tuple[tuple[float, float, float], ...]
PRINTED: Final[Mapping[tuple[str, str], _Columns]] = {
    ("normal", "minimal +10 %"): (
        (1.13, -3.18, 7.53),
        (1.19, -3.20, 7.66),
        (1.08, -3.29, 7.50),
        (1.15, -3.20, 7.56),
        (1.11, -3.24, 7.52),
        (2.39, -2.10, 9.03),
    ),
    ("normal", "fastest"): (
        (4.87, 0.36, 11.77),
        (4.86, 0.26, 11.66),
        (3.47, -0.99, 10.24),
        (6.61, 1.86, 13.48),
        (4.60, 0.11, 11.23),
        (11.52, 6.63, 18.59),
    ),
    ("levy", "minimal +10 %"): (
        (4.66, -19.01, 70.50),
        (4.60, -19.20, 70.35),
        (4.53, -19.40, 70.36),
        (4.55, -19.37, 70.38),
        (4.55, -19.35, 70.38),
        (5.40, -17.46, 72.51),
    ),
    ("levy", "fastest"): (
        (14.30, -11.52, 88.19),
        (14.38, -11.55, 87.58),
        (9.89, -15.70, 78.81),
        (14.90, -11.86, 86.65),
        (13.17, -12.96, 84.18),
        (29.14, -0.02, 108.39),
    ),
    ("multi-modal", "minimal +10 %"): (
        (10.67, -27.36, 40.90),
        (10.62, -27.43, 40.62),
        (10.61, -27.36, 40.56),
        (10.61, -27.36, 40.57),
        (10.61, -27.36, 40.57),
        (10.93, -27.08, 42.16),
    ),
    ("multi-modal", "fastest"): (
        (28.95, -16.44, 63.35),
        (28.33, -17.15, 64.10),
        (24.14, -18.76, 58.48),
        (28.54, -15.98, 63.57),
        (27.32, -17.10, 61.88),
        (48.41, -5.00, 93.32),
    ),
}
"""The columns `avg`, `min` and `max` of tables 5.1, 5.2 and 5.3, in the order of `STRATEGIES`."""

_VARIATION: Final = {"normal": 5**0.5 / 15, "levy": 11.37 / 14.70, "multi-modal": 6.27 / 7.98}
"""Deviation over mean of the bags, from sections 4.5.1 and 4.5.6."""
CHANCE: Final = 2.58
"""Standard deviations within which 99 % of studies lie."""
_COLUMNS: Final = ("mean", "min", "max")
EXTREME: Final = 0.48
"""Standard deviation of the least, or the largest, of thirty normal draws, in theirs."""

Percentages = NDArray[np.float64]
Study = dict[str, Percentages]
"""By strategy, the mean percentage of every instance."""


def reproduce(name: str) -> Reproduction:
    rows: list[Row] = []
    for (bag, budget), printed in PRINTED.items():
        found = study(bag, budget, KEPT)
        leased = study(bag, budget, OFFERS) if budget == "fastest" else {}
        columns = dict(zip(STRATEGIES, printed, strict=True))
        rows += figure_rows(bag, budget, columns, found)
        rows += gain_rows(bag, budget, columns, found, leased)
    return Reproduction(
        name=name,
        title="Replicas in the tail: makespans beside their estimates, per cent",
        source="BaTS thesis, tables 5.1, 5.2 and 5.3",
        rows=tuple(rows),
        assumed=(
            "the deviation of the normal bag with a mean of 60 minutes is not printed; the"
            " coefficient of variation of chapter 4 is kept (four times the square root of 5"
            " minutes): it alone explains the printed span of 11 points between the instances,"
            " which is that of a mean over 30 tasks",
            "an estimate comes from the mean of 30 tasks of the instance, drawn with replacement:"
            " it errs by the coefficient of variation over the root of 30. From that follows how"
            " far the mean, the least and the largest of 30 instances may be apart in two studies"
            " (2.58 standard deviations, of logarithms)",
            "minima and maxima are those of the instances' means; the thesis does not say so",
            "how far gains may be apart follows from the spread of the gains over our instances",
            "as in the thesis's simulator, machines are there from the beginning and kept to the"
            " end of the bag; rows with leases show what is left of the gains when an idle machine"
            " is given back, and a replica abandoned, at the end of the hour that is paid for",
            "the histogram holds exact run times, and an idle machine looks for a task again"
            " whenever an attempt ends",
            "two strategies are in another order if the differences of their means in the paper"
            " and here have different signs, and are further apart than two studies are by chance"
            " and than a tenth of a percentage point",
            "`random` picks any task that a slower machine executes, even if one as fast does, too",
            "the multi-modal bag is printed only in outline (figure 4.3)",
        ),
    )


def figure_rows(
    bag: str, budget: str, printed: Mapping[str, tuple[float, float, float]], found: Study
) -> Iterator[Row]:
    """The columns of a table."""
    why = _OUTLINE if bag == "multi-modal" else ""
    for strategy in STRATEGIES:
        of = found[strategy]
        ours = (of.mean(), of.min(), of.max())
        for what, paper, figure in zip(
            ("mean", "min", "max"), printed[strategy], ours, strict=True
        ):
            title = f"{bag}, {budget}: {strategy}, {what}"
            band = _chance_band(bag, paper, extreme=what != "mean")
            yield judged(title, paper, round(float(figure), 2), band, why=why)


_OUTLINE: Final = "the bag is printed only in outline"


def _chance_band(bag: str, paper: float, *, extreme: bool) -> Band:
    """How far two studies of 30 instances are apart, as an estimate from 30 tasks errs."""
    error = _VARIATION[bag] / SAMPLE**0.5
    spread = EXTREME * error if extreme else error / INSTANCES**0.5
    reach = exp(CHANCE * 2**0.5 * spread)
    whole = 1 + paper / 100
    reason = f"chance: estimates from {SAMPLE} tasks, {INSTANCES} instances in either study"
    return between(100 * (whole / reach - 1), 100 * (whole * reach - 1), reason)


def gain_rows(
    bag: str,
    budget: str,
    printed: Mapping[str, tuple[float, float, float]],
    found: Study,
    leased: Study,
) -> Iterator[Row]:
    """What replicas gain over none, and whether the strategies stand in the printed order."""
    what, why = f"{bag}, {budget}", _OUTLINE if bag == "multi-modal" else _WHY_GAIN
    paper = {strategy: columns[0] for strategy, columns in printed.items()}
    for strategy in STRATEGIES[:-1]:
        published = round(paper["none"] - paper[strategy], 2)
        gain = round(float((found["none"] - found[strategy]).mean()), 2)
        title = f"{what}: gain of {strategy}"
        reach = _apart_by_chance(found, "none", strategy, CHANCE)
        band = between(published - reach, published + reach, "chance, by the spread of our gains")
        yield judged(title, published, gain, band, why=why)
        if leased:
            kept = round(float((leased["none"] - leased[strategy]).mean()), 2)
            yield shown_only(f"{title}, with leases", None, kept)
    yield _order(what, paper, found)


_WHY_GAIN: Final = (
    "bags of one kind gain alike, so that little is left to chance; how the thesis's idle machines"
    " look again for a task is not told"
)


def _apart_by_chance(found: Study, one: str, other: str, errors: float) -> float:
    """By so much the differences of two strategies may be apart in two studies."""
    spread = float((found[one] - found[other]).std(ddof=1))
    return max(SMALLEST, float(errors * spread * (2 / INSTANCES) ** 0.5))


def _order(what: str, paper: Mapping[str, float], found: Study) -> Row:
    """Pairs of strategies that stand in another order, but for what may be chance."""
    means = {strategy: float(found[strategy].mean()) for strategy in STRATEGIES}
    swapped: list[str] = []
    for one, other in combinations(STRATEGIES, 2):
        printed, ours = paper[one] - paper[other], means[one] - means[other]
        chance = _apart_by_chance(found, one, other, 1.96)
        if printed * ours < 0 and abs(printed - ours) > chance:
            swapped.append(f"{one} - {other}: {printed:+.2f} printed, {ours:+.2f} here")
    order = " < ".join(sorted(STRATEGIES, key=means.__getitem__))
    title = f"{what}: pairs of strategies in another order"
    none = between(0, 0, "none but by chance")
    return judged(title, 0, len(swapped), none, note=f"ours: {order}", why="; ".join(swapped))


# --- the study -----------------------------------------------------------------------------------


def study(bag: str, budget: str, offers: tuple[Offer, ...], instances: int = INSTANCES) -> Study:
    """All instances; the same bags, samples and orders of tasks for all strategies."""
    found: Study = {strategy: np.empty(instances) for strategy in STRATEGIES}
    threads = min(2, os.cpu_count() or 1)
    for instance in range(instances):
        rng = np.random.default_rng([5, instance])
        runtimes = _draw(bag, rng)
        plan = _plan(budget, float(rng.choice(runtimes, SAMPLE).mean()))
        on_offers = {o.name: np.rint(runtimes / o.speed).astype(np.int64) for o in offers}
        setup = BagExecutor(offers, plan.fleet, on_offers, proportions(offers))
        for strategy in STRATEGIES:
            runs = setup.many(EXECUTIONS, strategy, early=SAMPLE, seed=instance, threads=threads)
            found[strategy][instance] = 100 * (runs.makespans.mean() / plan.makespan - 1)
    return found


def _draw(bag: str, rng: np.random.Generator) -> Runtimes:
    if bag == "normal":
        return normal(rng, TASKS, mean=60 * MINUTE, deviation=4 * 5**0.5 * MINUTE)
    return truncated_levy(rng, TASKS) if bag == "levy" else multi_modal(rng, TASKS)


def _plan(budget: str, mean: float) -> FleetChoice:
    """The fleet and its estimate, by the mean run time of the sample."""
    means = {offer.name: round(mean / offer.speed) for offer in OFFERS}
    everything = fastest(OFFERS, means, TASKS)
    if budget == "fastest":
        return everything
    money = Money(least_budget(OFFERS, means, TASKS).nanos * 110 // 100)
    return fastest_within(OFFERS, means, TASKS, money) or everything
