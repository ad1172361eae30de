"""The cases of `plan-bounds`: bags of many kinds, markets of today, and samples to plan from.

All of a case is drawn from its name, so that cases are the same on every computer and nobody
picked them by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from math import log, sqrt
from pathlib import Path
from random import Random
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.samples import REPLICATED, SampleLog
from bursar.formats.workflow import read_workflow
from bursar.model.errors import InputError
from bursar.model.market import Market
from bursar.model.time import SECOND, Time
from bursar.reproduce.regret_cases import HOURS, MINUTES, SECONDS, draw_market, log_uniform
from bursar.simulate.distributions import BAGS

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]
"""Run times of so many tasks, by their mean."""

DATA: Final = Path("../shared/data")
"""From the directory of the project."""
FEWEST_TASKS: Final = 90
"""Workflows with fewer are no bag to take a sample of."""
BILLINGS: Final = (HOURS, MINUTES, SECONDS)
SAMPLED: Final = (30, 60)
"""Tasks that are timed on each offer."""
WOBBLE: Final = 0.05
"""How far a run time on a machine is from the task's work over the offer's speed."""

SAME: Final = "the same tasks on each offer"
OTHER: Final = "other tasks on each offer"
TYPICAL: Final = "as bursar samples"
"""a few tasks on every offer, all others on one of them"""
WAYS: Final = (SAME, OTHER, TYPICAL)


# --- bags ----------------------------------------------------------------------------------------


def _lognormal(deviation: float) -> Draw:
    sigma = sqrt(log(1 + deviation**2))
    return lambda rng, count: rng.lognormal(-(sigma**2) / 2, sigma, count)


def _normal(deviation: float) -> Draw:
    return lambda rng, count: np.maximum(rng.normal(1.0, deviation, count), 0.02)


def _two_kinds(share: float, ratio: float, deviation: float) -> Draw:
    """So many tasks take so many times as long as the others; each kind varies."""

    def draw(rng: np.random.Generator, count: int) -> Floats:
        kinds = np.where(rng.random(count) < share, ratio, 1.0) / (1 + share * (ratio - 1))
        return np.maximum(kinds * rng.normal(1.0, deviation, count), 0.01)

    return draw


def _of_thesis(bag: str) -> Draw:
    mean = BAGS[bag](np.random.default_rng(0), 200_000).mean()
    return lambda rng, count: BAGS[bag](rng, count) / mean


def _body_and_tail(rng: np.random.Generator, count: int) -> Floats:
    """Nine tasks in ten are alike, one is lognormal and three times as long."""
    alike, long = rng.normal(1.0, 0.15, count), _lognormal(0.7)(rng, count) * 3.0
    return np.maximum(np.where(rng.random(count) < 0.1, long, alike), 0.05) / 1.2


DRAWS: Final[Mapping[str, Draw]] = {
    "normal 0.2": _normal(0.2),
    "lognormal 0.5": _lognormal(0.5),
    "lognormal 1.5": _lognormal(1.5),
    "Weibull 0.8": lambda rng, count: rng.weibull(0.8, count) / 1.1330030963,
    "Pareto 2.5": lambda rng, count: (1 + rng.pareto(2.5, count)) * 0.6,
    "bimodal": _two_kinds(0.2, 5.0, 0.1),
    "uniform": lambda rng, count: rng.uniform(0.1, 1.9, count),
    "exponential": lambda rng, count: rng.exponential(1.0, count),
    "gamma 2": lambda rng, count: rng.gamma(2.0, 0.5, count),
    "gamma 0.5": lambda rng, count: rng.gamma(0.5, 2.0, count) + 1e-4,
    "lognormal 1.0": _lognormal(1.0),
    "Pareto 3.5": lambda rng, count: (1 + rng.pareto(3.5, count)) * (2.5 / 3.5),
    "two kinds 0.35": _two_kinds(0.35, 2.5, 0.2),
    "body and tail": _body_and_tail,
    "levy": _of_thesis("levy"),
    "multi-modal": _of_thesis("multi-modal"),
}
"""By name, run times with a mean of one; a number is the deviation over the mean, or the shape."""
WORKFLOWS: Final = "workflows"
"""The run times of all tasks of a real workflow, drawn with replacement."""


@cache
def real_workflows(folder: Path = DATA) -> tuple[tuple[str, Floats], ...]:
    """Name and run times of each with enough tasks, over their mean."""
    paths = sorted([*folder.glob("wfinstances/*.json"), *folder.glob("bharathi/large/*.json.gz")])
    found = []
    for path in paths:
        seconds = np.array(read_workflow(path).runtimes, dtype=np.float64)
        if len(seconds) >= FEWEST_TASKS:
            found.append((path.name.partition(".")[0], np.maximum(seconds / seconds.mean(), 1e-4)))
    if not found:
        raise InputError(f"{folder}: no workflows; put those of WfInstances into wfinstances/")
    return tuple(found)


def draw_of(family: str, name: str) -> Draw:
    """How run times are drawn; one of the real workflows, by the name of the case."""
    if family != WORKFLOWS:
        return DRAWS[family]
    times = Random(f"workflow/{name}").choice(real_workflows())[1]
    return lambda rng, count: rng.choice(times, count)


# --- cases ---------------------------------------------------------------------------------------


class BoundsCase(msgspec.Struct, frozen=True):
    """A bag, a market, and how a sample is taken."""

    name: str
    family: str
    number: int
    billing: str
    sampled: int
    way: str
    market: Market
    """with the true speeds"""
    shown: Market
    """as the planner sees it: without speeds, where nobody tells them"""
    tasks: int
    mean: Time
    """of run times, on a machine of speed 1"""

    def runtimes(self, rng: np.random.Generator, count: int) -> Integers:
        """`[offer, task]`, of new tasks."""
        work = draw_of(self.family, self.name)(rng, count) * self.mean
        speeds = np.array([offer.speed for offer in self.market.offers])
        noise = rng.lognormal(0.0, WOBBLE, (len(speeds), count))
        found: Integers = np.maximum(1, np.rint(work * noise / speeds[:, None])).astype(np.int64)
        return found

    def generator(self, purpose: str) -> np.random.Generator:
        return np.random.default_rng([*self.name.encode(), *purpose.encode()])

    def samples(self) -> dict[str, Integers]:
        """Run times by offer; not of the same tasks if the way is `OTHER`."""
        rng, names = self.generator("sample"), [offer.name for offer in self.market.offers]
        if self.way == OTHER:
            rows = [self.runtimes(rng, self.sampled)[place] for place in range(len(names))]
        else:
            rows = list(self.runtimes(rng, self.sampled))
        if self.way != TYPICAL:
            return dict(zip(names, rows, strict=True))
        replicated = range(REPLICATED)
        timed = [
            (*replicated, *range(REPLICATED + place, self.sampled, len(names)))
            for place in range(len(names))
        ]
        log = SampleLog.of(
            {
                name: {task: int(rows[place][task]) for task in timed[place]}
                for place, name in enumerate(names)
            }
        )
        return log.samples(self.shown.offers)


def bounds_case(family: str, number: int, seed: str = "") -> BoundsCase:
    """Billing, size of the sample and the way it is taken change from number to number."""
    name = f"{family} {number}{seed}"
    rng = Random(f"plan-bounds/{name}")
    billing = BILLINGS[number % 3]
    way = WAYS[number // 3 % 3]
    sampled = SAMPLED[number // 9 % 2]
    tasks = round(log_uniform(rng, 60, 1200))
    shortest, longest = (180.0, 1200.0) if billing == HOURS else (30.0, 600.0)
    mean = round(log_uniform(rng, shortest, longest) * SECOND)
    market = draw_market(rng, billing, tasks)
    shown = market
    if rng.random() < 0.5:
        offers = tuple(msgspec.structs.replace(offer, speed=1.0) for offer in market.offers)
        shown = msgspec.structs.replace(market, offers=offers)
    return BoundsCase(name, family, number, billing, sampled, way, market, shown, tasks, mean)
