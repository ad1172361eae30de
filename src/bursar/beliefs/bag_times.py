"""How long the tasks of a bag take, before and while it runs: a posterior on a grid.

Work is the time a task takes at speed 1. It is believed to be lognormal; its mean and its
deviation, as a share of the mean, are the two sides of the grid. What ended counts by its density,
what runs by the chance to be as old as it is: the first to end are the short ones, and an attempt
that goes on tells that its task is long.

Before anything has ended, the budget tells: somebody who gives one believes that it will do. So
the mean may be much shorter than the budget allows, and hardly longer. Run times that somebody
knows take the place of that.

As more end, the sum of what was seen takes over from the lognormal form, which real bags need not
have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log, log1p, sqrt
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.normal import below

Floats = NDArray[np.float64]

SPREADS: Final = np.array([0.03, 0.08, 0.15, 0.25, 0.35, 0.5, 0.7, 1.0, 1.5, 2.2])
"""Deviations over the mean that are thought possible ..."""
WEIGHTS: Final = np.array([0.5, 0.8, 1.0, 1.2, 1.2, 1.0, 0.9, 0.7, 0.45, 0.2])
"""... and how much so before anything is known."""
MEANS: Final = 40
"""Means on the grid."""
SHORTER, LONGER = 0.8, 0.3
"""Deviations of the logarithm of the mean, below and above what the budget says."""
SURE: Final = 0.02
"""The same of a mean that somebody knows."""
ENOUGH: Final = 12
"""Results from which on sums count beside the form ..."""
PLENTY: Final = 60
"""... and from which on they alone do."""
AGES: Final = 16
"""Groups of running attempts of about one age."""
UNKNOWN_SPEED, GIVEN_SPEED = 0.3, 0.01
"""Deviations of the logarithm of an offer's speed: of one that nobody told, and of a given one."""


class EndedWork(msgspec.Struct):
    """What ended on one offer, in seconds there."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    logs: float = 0.0
    log_squares: float = 0.0

    @classmethod
    def of(cls, seconds: Floats) -> EndedWork:
        """The same as `add` of each."""
        logs = np.log(seconds)
        squares, log_squares = float(seconds @ seconds), float(logs @ logs)
        return cls(len(seconds), float(seconds.sum()), squares, float(logs.sum()), log_squares)

    def add(self, seconds: float) -> None:
        self.count += 1
        self.total += seconds
        self.squares += seconds * seconds
        one = log(seconds)
        self.logs += one
        self.log_squares += one * one


class WorkPrior(msgspec.Struct, frozen=True):
    """What is believed of the work of a task before the run."""

    mean: float
    """in seconds at speed 1"""
    shorter: float
    """deviation of the logarithm of the mean below that ..."""
    longer: float
    """... and above"""
    spread: float | None = None
    """the deviation over the mean, if somebody knows it"""

    @classmethod
    def of_budget(cls, mean: float) -> WorkPrior:
        return cls(mean, SHORTER, LONGER)

    @classmethod
    def known(cls, mean: float, deviation: float) -> WorkPrior:
        return cls(mean, SURE, SURE, max(0.01, deviation / mean))


class BagTimes(msgspec.Struct, frozen=True):
    """The belief at one moment."""

    mean: float
    """work of a task, in seconds at speed 1"""
    doubt: float
    """deviation of that mean, as a share of it"""
    spread: float
    """deviation of the work of one task, as a share of the mean"""
    count: int
    """results it rests on"""

    def rest(self, work: Floats) -> Floats:
        """Work that is left on average of attempts that have done so much."""
        sigma = sqrt(log1p(self.spread**2))
        place = (np.log(np.maximum(work, 1e-9) / self.mean) + sigma * sigma / 2) / sigma
        alive = np.maximum(below(-place), 1e-12)
        left = self.mean * below(sigma - place) / alive - work
        # Far in the tail the two are lost in rounding: there it goes on by its hazard.
        far = work * sigma / np.maximum(place, 1.0)
        return np.where(place > 3.5, np.maximum(far, 0.02 * self.mean), np.maximum(left, 0.0))


def learn(
    prior: WorkPrior,
    seen: Mapping[str, EndedWork],
    ages: Mapping[str, Sequence[float] | Floats],
    speeds: Mapping[str, float],
) -> BagTimes:
    """What is believed now; ages are those of running attempts, in seconds on their offer."""
    count = sum(one.count for one in seen.values())
    grid = _Grid(prior)
    work = [np.asarray(some, np.float64) * speeds[name] for name, some in ages.items()]
    old = np.concatenate(work) if work else np.zeros(0)
    found = grid.posterior(_pooled(seen, speeds), old, count)
    return found if count < ENOUGH else _summed(found, seen, speeds, old, count, prior)


def _pooled(seen: Mapping[str, EndedWork], speeds: Mapping[str, float]) -> tuple[float, float]:
    """Sums of the logarithms of work and of their squares."""
    first = second = 0.0
    for name, one in seen.items():
        shift = log(speeds[name])
        first += one.logs + one.count * shift
        second += one.log_squares + 2 * shift * one.logs + one.count * shift * shift
    return first, second


def _summed(
    form: BagTimes,
    seen: Mapping[str, EndedWork],
    speeds: Mapping[str, float],
    old: Floats,
    count: int,
    prior: WorkPrior,
) -> BagTimes:
    """The mean by sums: of what ended, and of what runs by what is expected of it."""
    total = sum(one.total * speeds[name] for name, one in seen.items())
    squares = sum(one.squares * speeds[name] ** 2 for name, one in seen.items())
    ended = total / count
    sampled = sqrt(max(0.0, squares / count - ended * ended)) / ended
    share = min(1.0, (count - ENOUGH) / (PLENTY - ENOUGH))
    spread = form.spread * (max(sampled, 0.01) / form.spread) ** (0.8 * share)
    if prior.spread is not None:
        spread = sqrt(spread * prior.spread)
    now = BagTimes(form.mean, form.doubt, spread, count)
    mean = (total + float(np.sum(old + now.rest(old)))) / (count + len(old))
    error = spread / sqrt(count) * (1 + 2 / count)
    if prior.spread is not None:  # the sum is another measurement of what somebody knows
        weight = error**-2 / (error**-2 + prior.longer**-2)
        mean = prior.mean * (mean / prior.mean) ** weight
        return BagTimes(mean, sqrt(1 / (error**-2 + prior.longer**-2)), spread, count)
    mixed = form.mean * (mean / form.mean) ** share
    return BagTimes(mixed, max(error, (1 - share) * form.doubt), spread, count)


class _Grid:
    """Means and deviations that are possible, and how likely before anything was seen."""

    def __init__(self, prior: WorkPrior) -> None:
        low, high = log(prior.mean) - 3.2 * prior.shorter, log(prior.mean) + 5 * prior.longer
        self.means = np.linspace(low, high, MEANS)[:, np.newaxis]
        spreads = SPREADS if prior.spread is None else np.array([prior.spread])
        weights = WEIGHTS if prior.spread is None else np.ones(1)
        self.spreads = spreads[np.newaxis, :]
        self.sigma = np.sqrt(np.log1p(self.spreads**2))
        off = self.means - log(prior.mean)
        self.weight = np.log(weights)[np.newaxis, :] - 0.5 * np.square(
            np.where(off > 0, off / prior.longer, off / prior.shorter)
        )

    def posterior(self, logs: tuple[float, float], old: Floats, count: int) -> BagTimes:
        center = self.means - self.sigma**2 / 2
        first, second = logs
        weight = self.weight - (
            count * np.log(self.sigma)
            + (second - 2 * center * first + count * center**2) / (2 * self.sigma**2)
        )
        ages, many = _grouped(old)
        if len(ages):
            alive = below((center - ages[:, np.newaxis, np.newaxis]) / self.sigma)
            weight = weight + np.tensordot(many, np.log(np.maximum(alive, 1e-12)), axes=1)
        share = np.exp(weight - weight.max())
        share /= share.sum()
        by_mean, by_spread = share.sum(axis=1), share.sum(axis=0)
        means = np.exp(self.means[:, 0])
        mean = float(by_mean @ means)
        doubt = sqrt(max(0.0, float(by_mean @ np.square(means / mean - 1))))
        spread = sqrt(float(by_spread @ np.square(self.spreads[0])))
        return BagTimes(mean, doubt, spread, count)


def _grouped(old: Floats) -> tuple[Floats, Floats]:
    """Ages of running attempts as logarithms, those of about one age together, and how many."""
    logs = np.log(np.sort(old[old > 0]))
    if len(logs) <= AGES:
        return logs, np.ones(len(logs))
    edges = np.linspace(0, len(logs), AGES + 1).astype(np.int64)
    many = np.diff(edges).astype(np.float64)
    return np.add.reduceat(logs, edges[:-1]) / many, many


def learn_speeds(
    market_speeds: Mapping[str, float], seen: Mapping[str, EndedWork], spread: float, *, given: bool
) -> tuple[dict[str, float], dict[str, float]]:
    """Speeds of offers and how much they are in doubt, as shares.

    What ended on an offer, against what ended elsewhere, is weighed with what the market tells.
    """
    sigma = sqrt(log1p(spread**2))
    before = GIVEN_SPEED if given else UNKNOWN_SPEED
    ends = {name: one for name, one in seen.items() if one.count}
    shift = {name: one.logs / one.count + log(market_speeds[name]) for name, one in ends.items()}
    weight = {
        name: 1 / (before**2 + sigma**2 / one.count) for name, one in ends.items()
    }  # of each offer's mean, as a measurement of the bag's
    center = (
        sum(weight[name] * shift[name] for name in ends) / sum(weight.values()) if ends else 0.0
    )
    speeds, doubts = {}, {}
    for name, speed in market_speeds.items():
        one = ends.get(name)
        if one is None:
            speeds[name], doubts[name] = speed, before
            continue
        noise = sigma**2 / one.count
        trust = before**2 / (before**2 + noise)
        speeds[name] = speed * float(np.exp(-trust * (shift[name] - center)))
        doubts[name] = sqrt(before**2 * noise / (before**2 + noise))
    return speeds, doubts
