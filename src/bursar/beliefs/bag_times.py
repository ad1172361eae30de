"""How long the tasks of a bag take, before and while it runs.

Work is the time a task takes at speed 1. It may have many forms (`work_forms`), with any mean. What
ended counts by its density, what runs by the chance to be as old as it is: the first to end are the
short ones, and an attempt that goes on tells that its task is long.

Before anything has ended, the budget tells: somebody who gives one believes that it will do. So
the mean may be much shorter than the budget allows, and hardly longer. Run times that somebody
knows take the place of that: work is lognormal then, of a known deviation, on a grid of means.

Real bags need not have any of these forms. They count for a few tasks only, and what was seen
corrects them (`work_curve`). The doubt of the mean holds what may not have been seen: tasks longer
than the longest, and tasks of another kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import hypot, log, log1p, sqrt
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.normal import below
from bursar.beliefs.work_curve import (
    BINS,
    EDGES,
    WIDTH,
    WorkCurve,
    bin_of,
    bins_of,
    corrected,
    estimate,
    shifted,
)
from bursar.beliefs.work_forms import SLICES, WorkForms
from bursar.model.past_runtimes import PastRuntimes
from bursar.model.time import SECOND

Floats = NDArray[np.float64]

MEANS: Final = 40
"""Means on the grid."""
SHORTER, LONGER = 0.8, 0.3
"""Deviations of the logarithm of the mean, below and above what the budget says."""
SURE: Final = 0.02
"""The same of a mean that somebody knows."""
ENOUGH: Final = 12
"""Results from which on plans follow what was seen."""
IMAGINED, IMAGINED_KNOWN = 8.0, 30.0
"""Tasks that the lognormal form counts for, beside those that were seen; more of a known one."""
IMAGINED_PAST: Final = 100.0
"""Tasks that earlier ones count for at most: nobody knows that these are quite like them."""
RESOLVED: Final = 0.6 * WIDTH
"""Means that deviate by less are neighbours on the grid of forms: only the curve tells more."""
UNSEEN: Final = 0.7
"""What lies beyond the longest task seen is in doubt by so much of that task."""
OTHER_KINDS: Final = 0.5
"""A mean is in doubt by tasks of a kind that was not seen: by so much, were nothing seen at all."""
AGES: Final = 16
"""Groups of running attempts of about one age."""
UNKNOWN_SPEED, GIVEN_SPEED = 0.3, 0.01
"""Deviations of the logarithm of an offer's speed: of one that nobody gave, and of a given one."""


class EndedWork(msgspec.Struct):
    """What ended on one offer, in seconds there."""

    count: int = 0
    total: float = 0.0
    longest: float = 0.0
    _latest: list[float] = []
    """those that are in none of the figures below yet: these are found when somebody asks"""
    _logs: float = 0.0
    _log_squares: float = 0.0
    _bins: Floats = msgspec.field(default_factory=lambda: np.zeros(BINS))

    @classmethod
    def of(cls, seconds: Floats) -> EndedWork:
        """The same as `add` of each."""
        found = cls()
        for one in seconds.tolist():
            found.add(one)
        return found

    def add(self, seconds: float) -> None:
        self.count += 1
        self.total += seconds
        self.longest = max(self.longest, seconds)
        self._latest.append(seconds)

    @property
    def logs(self) -> float:
        """The sum of their logarithms."""
        return self._settled()._logs

    @property
    def log_squares(self) -> float:
        """The sum of the squares of these."""
        return self._settled()._log_squares

    @property
    def bins(self) -> Floats:
        """How many of each length."""
        return self._settled()._bins

    def _settled(self) -> EndedWork:
        if self._latest:
            latest = np.array(self._latest)
            logs = np.log(latest)
            self._logs += float(logs.sum())
            self._log_squares += float(np.square(logs).sum())
            self._bins = self._bins + np.bincount(bins_of(latest), minlength=BINS)
            self._latest.clear()
        return self


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

    past: PastRuntimes | None = None
    """the work of earlier tasks, if somebody has it"""
    between: float = 0.0
    """the part of `shorter` that comes from not knowing which machines a budget is meant for"""

    @classmethod
    def of_budget(cls, mean: float, between: float = 0.0) -> WorkPrior:
        """`between`: a logarithm by which the mean is shorter if reliable machines are meant."""
        return cls(mean, SHORTER + between, LONGER, between=between)

    @classmethod
    def known(cls, mean: float, deviation: float, past: PastRuntimes | None = None) -> WorkPrior:
        return cls(mean, SURE, SURE, max(0.01, deviation / mean), past)


class BagTimes(msgspec.Struct, frozen=True, eq=False):
    """The belief at one moment."""

    mean: float
    """work of a task, in seconds at speed 1"""
    doubt: float
    """deviation of that mean, as a share of it"""
    spread: float
    """deviation of the work of one task, as a share of the mean"""
    count: int
    """results it rests on"""
    curve: WorkCurve
    """how likely longer work is"""
    unseen: float = 0.0
    """share of the tasks that take longer than any did so far ..."""
    longer: float = 0.0
    """... by work that is in doubt by so much, in seconds at speed 1"""
    factors: Floats | None = None
    """the true mean may be any of these times `mean`, with the chances of `SLICES` ..."""
    noise: float = 0.0
    """... and then it is in doubt by this share"""

    @classmethod
    def lognormal(cls, mean: float, doubt: float, spread: float, count: int) -> BagTimes:
        return cls(mean, doubt, spread, count, WorkCurve.lognormal(mean, spread))

    def rest(self, work: Floats) -> Floats:
        """Work that is left on average of attempts that have done so much."""
        return self.curve.rest(work)

    def more_doubtful(self, share: float) -> BagTimes:
        """The same with a mean that has one more reason for doubt."""
        doubt, noise = hypot(self.doubt, share), hypot(self.noise, share)
        return msgspec.structs.replace(self, doubt=doubt, noise=noise)


def learn(
    prior: WorkPrior,
    seen: Mapping[str, EndedWork],
    ages: Mapping[str, Sequence[float] | Floats],
    speeds: Mapping[str, float],
) -> BagTimes:
    """What is believed now; ages are those of running attempts, in seconds on their offer."""
    work = [np.asarray(some, np.float64) * speeds[name] for name, some in ages.items()]
    old = np.concatenate(work) if work else np.zeros(0)
    ended = np.zeros(BINS)
    for name, one in seen.items():
        ended += shifted(one.bins, speeds[name])
    count = sum(one.count for one in seen.values())
    longest = max((one.longest * speeds[name] for name, one in seen.items()), default=0.0)
    longest = max(longest, float(old.max(initial=0.0)))
    if prior.spread is None:
        return _by_forms(prior, ended, old, count, longest)
    if prior.past is not None:
        return _by_past(prior.past, ended, old, count, longest)
    form = _grid_of(prior).posterior(_pooled(seen, speeds), old, count)
    return _by_known(form, ended, old, count, longest)


def _by_forms(prior: WorkPrior, ended: Floats, old: Floats, count: int, longest: float) -> BagTimes:
    """Where nobody knows run times: all forms that are possible, corrected by what was seen."""
    forms = _forms_of(prior).believe(ended, old)
    found = corrected(ended, old, forms.alive, forms.reach, IMAGINED)
    curve = found.curve
    if not count:
        return BagTimes(curve.mean, forms.doubt, curve.spread, 0, curve)
    past, spread = _past(curve, longest), curve.spread
    kinds = OTHER_KINDS / (count + 2)
    longer = spread * curve.mean
    apart = sqrt(float(np.square(forms.factors - 1) @ SLICES))
    if apart < RESOLVED:
        doubt = hypot(found.doubt, kinds)
        return BagTimes(curve.mean, doubt, spread, count, curve, past, longer)
    doubt = hypot(max(forms.doubt, found.doubt), kinds)
    noise = hypot(sqrt(max(0.0, found.doubt**2 - apart**2)), kinds)
    return BagTimes(curve.mean, doubt, spread, count, curve, past, longer, forms.factors, noise)


def _by_known(form: _Form, ended: Floats, old: Floats, count: int, longest: float) -> BagTimes:
    """Where somebody knows them: that form, corrected by what was seen."""
    found = estimate(ended, old, form.mean, form.spread, IMAGINED_KNOWN)
    curve = found.curve
    if not count:
        return BagTimes(form.mean, form.doubt, form.spread, 0, curve)
    share = IMAGINED_KNOWN / (IMAGINED_KNOWN + count)
    past = share * _past(curve, longest)
    beyond = past * UNSEEN * longest / curve.mean
    kinds = share * OTHER_KINDS / (count + 2)
    doubt = hypot(found.doubt, share * form.doubt, beyond, kinds)
    return BagTimes(curve.mean, doubt, curve.spread, count, curve, past, UNSEEN * longest)


def _by_past(
    past: PastRuntimes, ended: Floats, old: Floats, count: int, longest: float
) -> BagTimes:
    """Where the work of earlier tasks is known: these count as well, as far as they are many."""
    form = _form_of(past)
    imagined = min(IMAGINED_PAST, float(past.count))
    found = corrected(ended, old, form.alive, form.reach, imagined)
    curve, doubt = found.curve, hypot(found.doubt, OTHER_KINDS / (past.count + count + 2))
    longest = max(longest, past.times[-1] / SECOND)
    unseen = _past(curve, longest)
    return BagTimes(curve.mean, doubt, curve.spread, count, curve, unseen, UNSEEN * longest)


class _PastForm(msgspec.Struct, frozen=True, eq=False):
    """The work of earlier tasks."""

    alive: Floats
    """the share that took longer than each edge"""
    reach: tuple[int, int]
    """edges below and above which there is none"""


@lru_cache(maxsize=16)
def _form_of(past: PastRuntimes) -> _PastForm:
    """A run has one: it is made once."""
    work = np.array(past.times) / SECOND
    alive = 1 - np.searchsorted(work, EDGES, side="right") / len(work)
    return _PastForm(
        alive, (max(0, bin_of(float(work[0]))), min(BINS, bin_of(float(work[-1])) + 2))
    )


def _past(curve: WorkCurve, longest: float) -> float:
    """The share of the tasks that take longer than any did so far."""
    return float(np.interp(EDGES[bin_of(longest) + 1], curve.points, curve.alive))


@lru_cache(maxsize=16)
def _forms_of(prior: WorkPrior) -> WorkForms:
    """A run has one: it is made once."""
    return WorkForms(prior.mean, prior.shorter, prior.longer, prior.between)


def _pooled(seen: Mapping[str, EndedWork], speeds: Mapping[str, float]) -> tuple[float, float]:
    """Sums of the logarithms of work and of their squares."""
    first = second = 0.0
    for name, one in seen.items():
        shift = log(speeds[name])
        first += one.logs + one.count * shift
        second += one.log_squares + 2 * shift * one.logs + one.count * shift * shift
    return first, second


class _Form(msgspec.Struct, frozen=True):
    """A lognormal form, and how much its mean is in doubt."""

    mean: float
    doubt: float
    spread: float


class _Grid:
    """Means that are possible of work of a known deviation, and how likely they are before."""

    def __init__(self, prior: WorkPrior) -> None:
        low, high = log(prior.mean) - 3.2 * prior.shorter, log(prior.mean) + 5 * prior.longer
        self.means = np.linspace(low, high, MEANS)[:, np.newaxis]
        assert prior.spread is not None  # noqa: S101
        self.spreads = np.array([[prior.spread]])
        self.sigma = np.sqrt(np.log1p(self.spreads**2))
        self.center = self.means - self.sigma**2 / 2
        self.squares = self.center**2
        self.logs, self.twice = np.log(self.sigma), 2 * self.sigma**2
        off = self.means - log(prior.mean)
        self.weight = -0.5 * np.square(np.where(off > 0, off / prior.longer, off / prior.shorter))

    def posterior(self, logs: tuple[float, float], old: Floats, count: int) -> _Form:
        center = self.center
        first, second = logs
        weight = self.weight - (
            count * self.logs + (second - 2 * center * first + count * self.squares) / self.twice
        )
        ages, many = _grouped(old)
        if len(ages):
            alive = below((center - ages[:, np.newaxis, np.newaxis]) / self.sigma)
            chances = np.log(np.maximum(alive, 1e-12)).reshape(len(ages), -1)
            weight = weight + np.dot(many[np.newaxis], chances).reshape(weight.shape)
        share = np.exp(weight - weight.max())
        share /= share.sum()
        by_mean, by_spread = share.sum(axis=1), share.sum(axis=0)
        means = np.exp(self.means[:, 0])
        mean = float(by_mean @ means)
        doubt = sqrt(max(0.0, float(by_mean @ np.square(means / mean - 1))))
        spread = sqrt(float(by_spread @ np.square(self.spreads[0])))
        return _Form(mean, doubt, spread)


@lru_cache(maxsize=16)
def _grid_of(prior: WorkPrior) -> _Grid:
    """A run has one: it is made once."""
    return _Grid(prior)


def _grouped(old: Floats) -> tuple[Floats, Floats]:
    """Ages of running attempts as logarithms, those of about one age together, and how many."""
    logs = np.log(np.sort(old[old > 0]))
    if len(logs) <= AGES:
        return logs, np.ones(len(logs))
    edges = np.linspace(0, len(logs), AGES + 1).astype(np.int64)
    many = np.diff(edges).astype(np.float64)
    return np.add.reduceat(logs, edges[:-1]) / many, many


def learn_speeds(
    market_speeds: Mapping[str, float],
    seen: Mapping[str, EndedWork],
    spread: float,
    *,
    given: bool,
    under_way: Mapping[str, Floats] | None = None,
) -> tuple[dict[str, float], dict[str, float]]:
    """Speeds of offers and how much they are in doubt, as shares.

    What ended on an offer, against what ended elsewhere, is weighed with what the market tells.
    `under_way` has the times that are expected of attempts that run: without them, an offer whose
    short tasks have ended so far would seem fast.
    """
    sigma = sqrt(log1p(spread**2))
    before = GIVEN_SPEED if given else UNKNOWN_SPEED
    ends = {name: one for name, one in seen.items() if one.count}
    shift = {}
    for name, one in ends.items():
        times = (under_way or {}).get(name, np.zeros(0))
        logs = one.logs + float(np.sum(np.log(times)))
        shift[name] = logs / (one.count + len(times)) + log(market_speeds[name])
    weight = {
        name: 1 / (before**2 + sigma**2 / one.count) for name, one in ends.items()
    }  # of each offer's mean, as a measurement of the bag's
    center = (
        sum(weight[name] * shift[name] for name in ends) / sum(weight.values()) if ends else 0.0
    )
    speeds, doubts = {}, {}
    for name, speed in market_speeds.items():
        found = ends.get(name)
        if found is None:
            speeds[name], doubts[name] = speed, before
            continue
        noise = sigma**2 / found.count
        trust = before**2 / (before**2 + noise)
        speeds[name] = speed * float(np.exp(-trust * (shift[name] - center)))
        doubts[name] = sqrt(before**2 * noise / (before**2 + noise))
    return speeds, doubts
