"""The cases of `regret`: markets like those of today's clouds, bags, and what is known of them.

All of a case is drawn from its name, so that cases are the same on every computer and nobody
picked them by hand.
"""

from __future__ import annotations

from math import exp, log, sqrt
from random import Random
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.market import Market, Offer
from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE, SECOND, Time

Runtimes = NDArray[np.int64]

SECONDS: Final = "per second"
MINUTES: Final = "per minute"
HOURS: Final = "hourly"
BILLINGS: Final = (SECONDS, SECONDS, MINUTES, HOURS)
"""Most clouds bill by the second today."""
UNIT: Final = {SECONDS: SECOND, MINUTES: MINUTE, HOURS: HOUR}

ALL: Final = "run times and speeds"
MOMENTS: Final = "mean, deviation and speeds"
SPEEDS: Final = "speeds from the market"
HEAVY: Final = "speeds, heavy tails"
NOTHING: Final = "nothing"
KNOWN: Final = (ALL, MOMENTS, SPEEDS, HEAVY, NOTHING)
"""What is known before the run: the first two of the same bags."""
BEFORE: Final = 5_000
"""Tasks of an earlier bag whose run times are known, where run times are."""

NORMAL: Final = "normal"
LOGNORMAL: Final = "lognormal"
BIMODAL: Final = "bimodal"
WEIBULL: Final = "Weibull"
PARETO: Final = "Pareto 2.5"
OF_SHAPE: Final = {WEIBULL: 1.261, PARETO: 0.894}
"""Deviations over the mean that follow from the shape alone: Weibull with 0.8, Pareto with 2.5."""


class Spread(msgspec.Struct, frozen=True):
    """How run times are distributed around their mean."""

    shape: str
    deviation: float
    """by the mean"""

    def draw(self, rng: np.random.Generator, tasks: int) -> NDArray[np.float64]:
        """Run times with a mean of one."""
        if self.shape == NORMAL:
            return np.maximum(rng.normal(1.0, self.deviation, tasks), 0.05)
        if self.shape == LOGNORMAL:
            sigma = sqrt(log(1 + self.deviation**2))
            return rng.lognormal(-(sigma**2) / 2, sigma, tasks)
        if self.shape == WEIBULL:
            return rng.weibull(0.8, tasks) / 1.1330030963
        if self.shape == PARETO:
            return (1 + rng.pareto(2.5, tasks)) * 0.6
        few = 0.2  # one task in five is long, and both kinds vary by a tenth
        apart = sqrt(max(0.0, (self.deviation**2 - 0.01) / 1.01))
        short = 1 - apart * sqrt(few / (1 - few))
        long = 1 + apart * sqrt((1 - few) / few)
        middle = np.where(rng.random(tasks) < few, long, short)
        return np.maximum(middle * rng.normal(1.0, 0.1, tasks), 0.02)


class RegretCase(msgspec.Struct, frozen=True):
    """A market and a bag."""

    name: str
    billing: str
    known: str
    market: Market
    """with the true speeds"""
    tasks: int
    mean: Time
    """of run times, on a machine of speed 1"""
    spread: Spread

    @property
    def least(self) -> float:
        """What the bag would cost on the offer that works for least, were nothing ever idle."""
        rate = min(
            float(offer.price) / offer.billing / (offer.slots * offer.speed)
            for offer in self.market.offers
        )
        return rate * self.mean * self.tasks

    def budget(self, factor: float) -> Money:
        return Money.parse(f"{factor * self.least:.6f}")

    def runtimes(self, run: int) -> Runtimes:
        """Of each task on a machine of speed 1, in one of many executions."""
        return self._draw(np.random.default_rng([*self.name.encode(), run]), self.tasks)

    def history(self) -> Runtimes:
        """Of the tasks of an earlier bag: no execution has them."""
        return self._draw(np.random.default_rng([*f"before {self.name}".encode()]), BEFORE)

    def _draw(self, rng: np.random.Generator, tasks: int) -> Runtimes:
        drawn = self.spread.draw(rng, tasks) * self.mean
        return np.maximum(np.rint(drawn), SECOND / 100).astype(np.int64)


def cases(known: str, count: int) -> list[RegretCase]:
    """So many cases of which this is known."""
    if known != MOMENTS:
        return [_case(known, number) for number in range(count)]
    return [msgspec.structs.replace(_case(ALL, number), known=known) for number in range(count)]


def _case(known: str, number: int) -> RegretCase:
    name = f"{known} {number + 1}"
    rng = Random(f"regret/{name}")
    billing = BILLINGS[number % len(BILLINGS)]
    tasks = round(log_uniform(rng, 50, 5000))
    shortest, longest = (180.0, 1200.0) if billing == HOURS else (30.0, 600.0)
    mean = round(log_uniform(rng, shortest, longest) * SECOND)
    market = draw_market(rng, billing, tasks)
    return RegretCase(name, billing, known, market, tasks, mean, _spread(rng, known))


def log_uniform(rng: Random, low: float, high: float) -> float:
    """As likely to be in one octave as in another."""
    return exp(rng.uniform(log(low), log(high)))


def draw_market(rng: Random, billing: str, tasks: int) -> Market:
    """Offers whose price grows with their slots and speed, more or less."""
    unit = UNIT[billing]
    largest = {SECONDS: 6, MINUTES: 4, HOURS: 3}[billing]
    offers = []
    for number in range(rng.randint(2, 8)):
        slots = 2 ** rng.randint(0, largest)
        speed = round(rng.uniform(0.7, 1.6), 2)
        hourly = 0.045 * slots * speed ** rng.uniform(0.6, 1.2) * log_uniform(rng, 0.85, 1.3)
        price = Money.parse(f"{hourly * unit / HOUR:.9f}")
        boot = rng.choice((0, 30, 45, 60, 90, 120)) * SECOND
        limit = min(rng.randint(4, 40), max(1, tasks // slots))
        minimum = MINUTE if billing == SECONDS else 0
        name = f"{'abcdefgh'[number]}{slots}"
        offers.append(Offer(name, price, unit, minimum, limit, boot, slots, speed))
    return Market("USD", "undated", tuple(offers))


def _spread(rng: Random, known: str) -> Spread:
    if known == HEAVY:
        shape, deviation = rng.choice((LOGNORMAL, WEIBULL, PARETO)), rng.uniform(0.9, 1.5)
    elif known == ALL:
        shape = rng.choice((NORMAL, LOGNORMAL, LOGNORMAL, BIMODAL, WEIBULL, PARETO))
        deviation = rng.uniform(0.1, 0.3 if shape == NORMAL else 1.5)
        deviation = min(deviation, 0.9) if shape == BIMODAL else deviation
    else:
        shape = rng.choice((NORMAL, LOGNORMAL, LOGNORMAL, BIMODAL))
        deviation = rng.uniform(0.1, 0.3 if shape == NORMAL else 0.7)
    return Spread(shape, OF_SHAPE.get(shape, deviation))
