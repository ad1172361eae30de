"""`bats-table-4.2`: intervals that a sample gives, and how often they hold (BaTS thesis, 4.5).

Tables 4.2 to 4.4 count confidence intervals of the mean and the deviation that hold the true one;
section 4.5.5 prints estimates and bounds of makespans. The intervals are bursar's published ones
(`bursar.beliefs.bounds`), next to the default predictions from the same samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.bounds import Confidence, OfferBelief, PublishedBound, published_bound
from bursar.beliefs.posterior import possible_runtimes
from bursar.model.fleet import Fleet, format_fleet
from bursar.model.time import MINUTE
from bursar.plan.bag.choices import choose, delta_n, least_budget
from bursar.plan.bag.knapsack import fastest, fastest_within
from bursar.reproduce.bats_chapter_4 import (
    BAGS,
    CHANCE,
    LEFT,
    OFFERS,
    SAMPLE,
    TASKS,
    means,
    on,
    one_of_these,
    sure,
)
from bursar.reproduce.result import (
    Band,
    Reproduction,
    Row,
    between,
    judged,
    rounded,
    same,
    shown_only,
)
from bursar.simulate.distributions import BAGS as DRAWS
from bursar.simulate.distributions import Runtimes

STUDIES: Final = 200
"""Bags of each kind, each sampled a hundred times."""
DEFAULT_STUDIES: Final = 60
DEFAULT_SAMPLES: Final = 10
POSSIBLE: Final = 400
LEVEL: Final = 0.9

_RATIOS: Final = {
    ("4.2a", 30, 30): ((0.83, 0.93, 1.0), (1.0, 0.96, 0.5)),
    ("4.2b", 30, 100): ((0.85, 0.92, 0.96), (0.91, 0.91, 0.55)),
    ("4.3a", 50, 30): ((0.96, 0.93, 0.93), (0.96, 0.93, 0.5)),
    ("4.3b", 50, 100): ((0.9, 0.93, 0.94), (0.94, 0.91, 0.5)),
    ("4.4a", 100, 30): ((0.93, 0.93, 0.96), (0.93, 0.96, 0.66)),
    ("4.4b", 100, 100): ((0.88, 0.93, 0.93), (0.94, 0.94, 0.57)),
}
"""table, tasks of a sample and number of samples to the ratios of the mean and the deviation, for
the normal, the Levy and the mixture bag"""
_PARAMETERS: Final = ("mean", "deviation")

Ratios = NDArray[np.float64]


def reproduce(name: str) -> Reproduction:
    return Reproduction(
        name=name,
        title="Confidence intervals of samples, and bounds of makespans from them",
        source="BaTS thesis, tables 4.2, 4.3 and 4.4, and section 4.5.5",
        rows=(*table_rows(), *default_rows(), *schedule_rows()),
        assumed=(
            f"each ratio is the mean of {STUDIES} studies, each of a bag of its own of {TASKS}"
            " tasks; samples are drawn without replacement, and the true mean and deviation are"
            " those of the bag",
            "a printed ratio is the outcome of one study of 30 or 100 samples: it may differ from"
            " the mean of ours by 2.58 standard deviations of such a study",
            "the mixture bag is printed only in outline; how heavy its tail is was chosen with the"
            " ratios of its deviation in view, so those rows tell little",
            "default: the middle 90 % of what the predictions take for possible; they care for the"
            " upper end and allow for tasks not seen, so they are no confidence intervals",
            "the means of the three bags, and of experiments 3 and 18, follow from one printed"
            " makespan each; their samples' deviations are not printed, and the normal"
            " distribution's is taken",
            "$3 an hour for A and C and $12 for B follow from the printed $366",
        ),
    )


# --- tables 4.2 to 4.4 ----------------------------------------------------------------------------


def table_rows(studies: int = STUDIES) -> Iterator[Row]:
    """Studies of 30 samples take the first 30 of the 100."""
    held = {(bag, size): _held(bag, size, studies, 100) for bag in BAGS for size in (30, 50, 100)}
    for (table, size, samples), printed in _RATIOS.items():
        for number, parameter in enumerate(_PARAMETERS):
            for bag, paper in zip(BAGS, printed[number], strict=True):
                ratios = held[bag, size][number, :, :samples].mean(axis=1)
                what = f"{table}, {bag}: {parameter} held"
                fitted = bag == "MDB" and parameter == "deviation"
                note = "the bag was chosen to agree" if fitted else ""
                yield one_of_these(what, paper, ratios, 1.0, note)


def _held(bag: str, size: int, studies: int, samples: int) -> NDArray[np.bool_]:
    """[mean or deviation, study, sample]: whether the interval held the bag's."""
    shape = OfferBelief(0.0, 1.0, size)
    reach, spread = shape.mean_interval(LEVEL).high, shape.deviation_interval(LEVEL)
    held = np.empty((2, studies, samples), dtype=np.bool_)
    for study in range(studies):
        runtimes, drawn = _sampled(bag, size, study, samples)
        mean, deviation = drawn.mean(axis=1), drawn.std(axis=1)
        held[0, study] = np.abs(mean - runtimes.mean()) <= reach * deviation
        true = runtimes.std()
        held[1, study] = (spread.low * deviation <= true) & (true <= spread.high * deviation)
    return held


def _sampled(bag: str, size: int, study: int, samples: int) -> tuple[Runtimes, Runtimes]:
    """A bag, and samples of it."""
    rng = np.random.default_rng([4, list(BAGS).index(bag), size, study])
    runtimes = DRAWS[BAGS[bag]](rng, TASKS)
    picks = np.argpartition(rng.random((samples, TASKS)), size, axis=1)[:, :size]
    return runtimes, runtimes[picks]


def default_rows(studies: int = DEFAULT_STUDIES) -> Iterator[Row]:
    """The same ratios for what the default takes for possible, with samples of 30."""
    for bag in BAGS:
        held = np.array([_default_held(bag, study) for study in range(studies)])
        for number, parameter in enumerate((*_PARAMETERS, "mean at most the upper end")):
            what = f"default, samples of 30, {bag}: {parameter}"
            what += " held" if number < 2 else ""
            yield shown_only(what, None, round(float(held[:, :, number].mean()), 3))


def _default_held(bag: str, study: int) -> Ratios:
    """[sample, (mean held, deviation held, mean below the upper end)]"""
    runtimes, drawn = _sampled(bag, 30, study, DEFAULT_SAMPLES)
    true = np.array([runtimes.mean(), runtimes.std()])
    held = np.empty((len(drawn), 3))
    for number, sample in enumerate(drawn):
        possible = possible_runtimes([sample], POSSIBLE, np.random.default_rng([study, number]))[0]
        found = np.array([possible.mean(), np.sqrt(possible.variance())])
        low, high = np.quantile(found, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=1)
        held[number, :2] = (low <= true) & (true <= high)
        held[number, 2] = true[0] <= high[0]
    return held


# --- section 4.5.5 --------------------------------------------------------------------------------


class PrintedBounds(msgspec.Struct, frozen=True):
    """What the thesis prints for a bag of known mean."""

    fastest_minutes: float
    """all machines; from it follows the mean"""
    fastest_cost: str
    least_cost: str
    minutes: float
    """of the fastest fleet for that"""
    fleet: Fleet | None = None
    """None: not printed"""


_BAGS: Final = {
    "NDB": PrintedBounds(101.58, "864.00", "366.00", 3657),
    "LTB": PrintedBounds(99.05, "864.00", "357.00", 419.53, {"C": 17}),
    "MDB": PrintedBounds(53.76, "432.00", "195.00", 297.75),
}
_EXPERIMENTS: Final = (
    ("NDB, experiment 3", 358.23, 377.49, "378.00", {"C": 21}),
    ("NDB, experiment 18", 7586.20, 7998.56, "381.00", {"C": 1}),
)
"""estimate and bound of the makespan in minutes, cost, fleet"""
_DEVIATION: Final = sqrt(5)
"""of the normal bag, minutes"""
_DEVIATION_REASON: Final = "the sample's deviation is not printed: 2.58 of its standard errors"


def schedule_rows() -> Iterator[Row]:
    for bag, printed in _BAGS.items():
        yield from _bag_rows(bag, printed)
    yield from _cushion_rows(_mean_of(_BAGS["LTB"]))
    bound = _bound({"A": 24, "B": 24, "C": 24}, _mean_of(_BAGS["NDB"]))
    reach = (bound.makespan_bound - bound.makespan) / MINUTE
    why = "said of all thirty samples together; this is for the bag's own deviation"
    yield judged("NDB, fastest: bound less estimate, min", 7, reach, rounded(7, 1), why=why)
    yield same("NDB, fastest: bound of the cost, $", "864.00", str(bound.cost_bound))
    for what, minutes, upper, cost, fleet in _EXPERIMENTS:
        yield from _experiment_rows(what, minutes, upper, cost, fleet)
    yield same("lowest joint confidence (4.13)", 0.7, round(Confidence().joint, 12))


def _mean_of(printed: PrintedBounds) -> float:
    """Minutes on a machine A, from the makespan of 24 machines of each offer."""
    return printed.fastest_minutes * 24 * sum(offer.speed for offer in OFFERS) / LEFT


def _bag_rows(bag: str, printed: PrintedBounds) -> Iterator[Row]:
    runtimes = means(_mean_of(printed) * MINUTE)
    least = least_budget(OFFERS, runtimes, LEFT)
    found = sure(fastest_within(OFFERS, runtimes, LEFT, least))
    everything = fastest(OFFERS, runtimes, LEFT)
    yield same(f"{bag}, fastest: cost, $", printed.fastest_cost, str(everything.cost))
    yield same(f"{bag}, minimal: budget, $", printed.least_cost, str(least))
    what, fleet = f"{bag}, minimal: fleet", format_fleet(found.fleet)
    if printed.fleet is None:
        yield shown_only(what, None, fleet)
    else:
        yield same(what, format_fleet(printed.fleet), fleet)
    minutes = found.makespan / MINUTE
    band = _follows(printed, printed.minutes, 1.0 if bag == "NDB" else 0.01)
    yield judged(f"{bag}, minimal: estimate, min", printed.minutes, minutes, band)


def _cushion_rows(mean: float) -> Iterator[Row]:
    """The Levy bag's minimal schedule is risky, and with a cushion gets another fleet."""
    runtimes = means(mean * MINUTE)
    least = least_budget(OFFERS, runtimes, LEFT)
    plain = sure(fastest_within(OFFERS, runtimes, LEFT, least))
    refined = sure(choose("", OFFERS, runtimes, LEFT, least))
    by_name = {offer.name: offer for offer in OFFERS}
    yield same("LTB, minimal: tasks left over", 1, delta_n(plain, by_name, runtimes, LEFT))
    what = "LTB, minimal with cushion"
    fleet = format_fleet({"A": 1, "C": 24})
    yield same(f"{what}: fleet", fleet, format_fleet(refined.fleet))
    yield same(f"{what}: cost, $", "375.00", str(refined.cost))
    band = _follows(_BAGS["LTB"], 291.10, 0.01)
    yield judged(f"{what}: estimate, min", 291.10, refined.makespan / MINUTE, band)


def _follows(printed: PrintedBounds, minutes: float, unit: float) -> Band:
    """What rounding leaves of a makespan, if the mean follows from another one."""
    reach = unit / 2 + minutes * (0.005 / printed.fastest_minutes)
    reason = f"printed to {unit:g}; the mean follows from a makespan printed to 0.01"
    return between(minutes - reach, minutes + reach, reason)


def _experiment_rows(
    what: str, minutes: float, upper: float, cost: str, fleet: Fleet
) -> Iterator[Row]:
    """A sample whose mean follows from the estimate: what it leads to, and the bound."""
    speed = sum(fleet.get(offer.name, 0) * offer.speed for offer in OFFERS)
    mean = minutes * speed / LEFT
    runtimes = means(mean * MINUTE)
    least = least_budget(OFFERS, runtimes, LEFT)
    found = sure(fastest_within(OFFERS, runtimes, LEFT, least))
    yield same(f"{what}: budget, $", cost, str(least))
    yield same(f"{what}: fleet", format_fleet(fleet), format_fleet(found.fleet))
    bound = _bound(found.fleet, mean).makespan_bound / MINUTE
    reach = CHANCE / sqrt(2 * (SAMPLE - 1)) * (upper - minutes)
    band = between(upper - reach, upper + reach, _DEVIATION_REASON)
    yield judged(f"{what}: bound of the makespan, min", upper, bound, band)


def _bound(fleet: Fleet, mean: float) -> PublishedBound:
    """The published bound from a sample of 30 with this mean and the normal bag's deviation."""
    shape = np.tile((-1.0, 1.0), 15)
    sample = np.rint((mean + _DEVIATION * shape) * MINUTE).astype(np.int64)
    return published_bound([(o, fleet.get(o.name, 0), on(o, sample)) for o in OFFERS], LEFT)
