"""Forms that the run times of a bag may have, and how likely each is while it runs.

Work is the time of a task at speed 1. It may be lognormal, Weibull or Pareto, or of two kinds, most
tasks and some longer ones; its mean is on a grid. What ended counts by its density, what runs by
the chance to be as old as it is (a posterior of censored data): while attempts go on nobody knows
whether they are about to end, or of another kind. How far the forms that remain likely differ in
their mean is how much the mean is in doubt.

A form's chances depend on the logarithm of work over the mean alone, and means are edges of the
bins of work (`work_curve`): so a table for each form, moved by whole bins, serves all means.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import ceil, floor, gamma, log, log1p, sqrt
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.normal import below
from bursar.beliefs.products import product_of
from bursar.beliefs.work_curve import BINS, EDGES, SHORTEST, WIDTH

Floats = NDArray[np.float64]

LOGNORMAL: Final = (0.07, 0.11, 0.16, 0.22, 0.3, 0.4, 0.55, 0.75, 1.0, 1.5, 2.2)
"""Deviations over the mean that lognormal work may have, none smaller than a bin is wide ..."""
LIKELY: Final = (1.1, 0.8, 0.8, 0.9, 1.0, 1.0, 0.9, 0.8, 0.6, 0.4, 0.2)
"""... and how likely each is before anything is known."""
WEIBULL: Final = (0.1, 0.2, 0.35, 0.55, 0.8, 1.1, 1.5)
"""Deviations over the mean of Weibull work."""
PARETO: Final = (1.8, 2.5, 4.0)
"""Exponents of Pareto work: none is shorter than a minimum, and some is many times as long."""
LONGER_SHARES: Final = (0.05, 0.12, 0.3)
"""Where tasks are of two kinds: shares of the longer ones, ..."""
LONGER_BY: Final = (1.6, 2.6, 4.5)
"""... how many times as long these take, about, ..."""
WITHIN: Final = (0.07, 0.11, 0.16, 0.25)
"""... and how much the others vary."""
LONGER_VARY: Final = 0.25
"""How much the longer ones do: so that no length of theirs falls between two forms."""
FAMILIES: Final = (0.4, 0.15, 0.1, 0.35)
"""How likely lognormal, Weibull and Pareto work and two kinds are before anything is known."""
LEAST: Final = 1e-9
"""A chance below counts as this: no form is so wrong that one task refutes it."""
NEGLIGIBLE: Final = 1e-4
"""A form that is less likely leaves no trace in the curve."""
BELOW, ABOVE = 3.2, 5.0
"""How many deviations of what is believed before the means on the grid reach."""
SURELY, DEVIATIONS = 0.95, 1.645
"""What a mean exceeds once in twenty times counts as so many deviations: a kind of longer tasks
that is possible, but not likely, makes it doubtful on one side."""
MANY: Final = 60
"""Once so many tasks have ended, means are looked for ..."""
LOWEST, HIGHEST = 0.5, 4.0
"""... from and to so many times the mean of these, as far as the grid goes."""
SLICES: Final = (0.08, 0.15, 0.2, 0.2, 0.15, 0.11, 0.07, 0.04)
"""A belief of the mean is passed on as the averages of its slices, which are this likely."""
_SLICES: Final = np.array(SLICES)
_SLICE_EDGES: Final = np.array([0.0, *np.cumsum(SLICES)[:-1], 1.0])
NEVER_REACHED: Final = 1e-8
"""A chance below is none at all, where a curve ends."""


class FormBelief(msgspec.Struct, frozen=True, eq=False):
    """What is believed of work, as far as forms tell it."""

    mean: float
    doubt: float
    """deviation of the mean, as a share of it"""
    factors: Floats
    """the average mean in each of the `SLICES`, by the mean"""
    alive: Floats
    """the chance to be longer than each edge"""

    @property
    def reach(self) -> tuple[int, int]:
        """Edges below and above which there is next to nothing."""
        is_some = (self.alive < 1 - NEVER_REACHED) & (self.alive > NEVER_REACHED)
        some = is_some.nonzero()[0]
        first = min(int(some[0]), BINS - 2) if len(some) else 0
        return first, max(first + 2, int(some[-1])) if len(some) else BINS


class WorkForms:
    """All forms with all means that what is believed before leaves possible."""

    def __init__(self, mean: float, shorter: float, longer: float, between: float = 0.0) -> None:
        """Deviations of the logarithm of the mean below and above it.

        `between` is a part of the first: means are spread over it, and do not reach further for it.
        """
        place = log(mean / SHORTEST) / WIDTH
        self._first = max(0, floor(place - (BELOW * (shorter - between) + between) / WIDTH))
        self._last = min(BINS, ceil(place + ABOVE * longer / WIDTH)) + 1
        off = (np.arange(self._first, self._last) - place) * WIDTH
        before = -0.5 * np.square(np.where(off > 0, off / longer, off / shorter))
        self._before = _tables().likely[:, np.newaxis] + before
        self._means = SHORTEST * np.exp(WIDTH * np.arange(self._first, self._last))

    def believe(self, ended: Floats, running: Floats) -> FormBelief:
        """From what ended in each bin, and the work that attempts under way have done."""
        tables, which = _tables(), self._possible(ended)
        means, first = self._means[which], self._first + which.start
        ages = _between_edges(running)
        logs = self._before[:, which] + _log_chances(ended, tables.log_ends, first, len(means))
        logs += _log_chances(ages, tables.log_alive, first, len(means))
        chances = np.exp(logs - logs.max())
        chances /= chances.sum()
        by_mean = chances.sum(axis=0)
        mean = float(by_mean @ means)
        doubt = sqrt(max(0.0, float(by_mean @ np.square(means / mean - 1))))
        place = int(by_mean.cumsum().searchsorted(SURELY))
        longest = float(means[min(place, len(means) - 1)])
        doubt = max(doubt, (longest / mean - 1) / DEVIATIONS)
        return FormBelief(mean, doubt, _sliced(by_mean, means) / mean, _curve(chances, means))

    def _possible(self, ended: Floats) -> slice:
        """Which means are looked at."""
        count = float(ended.sum())
        if count < MANY:
            return slice(0, len(self._means))
        mean = float(ended[:BINS] @ EDGES[1:]) / count
        first, last = self._means.searchsorted((LOWEST * mean, HIGHEST * mean)).tolist()
        return slice(min(first, len(self._means) - 1), max(last, first + 1))


def _between_edges(work: Floats) -> Floats:
    """How many attempts have done the work of each edge; one between two counts for both in parts.

    Attempts that began together have the same age: where in its bin that is matters for all.
    """
    places = np.log(np.maximum(work, SHORTEST) / SHORTEST) / WIDTH
    places = np.minimum(np.maximum(places, 0.0), BINS - 1.001)
    lower = places.astype(np.int64)
    part = places - lower
    found = np.zeros(BINS)
    np.add.at(found, lower, 1 - part)
    np.add.at(found, lower + 1, part)
    return found


def _log_chances(counts: NDArray[Any], table: Floats, first: int, means: int) -> Floats:
    """The logarithms of a table, added up over tasks in bins: by form, and by mean.

    The means are `means` edges, from `first` on. A task adds as many columns of the table, and
    which they are follows from its bin: for all tasks this is one product of matrices.
    """
    some = counts.nonzero()[0]
    if not len(some):
        return np.zeros((len(table), means))
    low, high = int(some[0]), int(some[-1])
    around = np.zeros(means - 1)
    padded = np.concatenate([around, counts[low : high + 1], around])
    # A sliding window, as of `sliding_window_view`, which takes ten times as long.
    shape, step = (len(padded) - means + 1, means), padded.itemsize
    by_column = np.ndarray(shape, padded.dtype, padded, strides=(step, step))[::-1]
    begin = BINS - high + first
    return product_of(table[:, begin : begin + len(by_column)], by_column)


def _sliced(chances: Floats, means: Floats) -> Floats:
    """The average of each slice of a distribution over ascending means."""
    reached, sums = np.zeros((2, len(chances) + 1))
    reached[1:], sums[1:] = chances.cumsum(), (chances * means).cumsum()
    at_edges = np.interp(_SLICE_EDGES, reached / reached[-1], sums)
    found: Floats = (at_edges[1:] - at_edges[:-1]) / _SLICES
    return found


def _curve(chances: Floats, means: Floats) -> Floats:
    """The chance to be longer than each edge, where each form has the mean that is likely for it.

    `chances` are those of each form, with each of the means.
    """
    by_form = chances.sum(axis=1)
    likely = chances @ means / np.maximum(by_form, LEAST**2)
    forms = (by_form > NEGLIGIBLE).nonzero()[0]
    places = np.log(likely[forms] / SHORTEST) / WIDTH
    whole, shares = np.floor(places).astype(np.int64), by_form[forms]
    next_shares = (places - whole) * shares
    # Each form's table from the bin of its mean on, and from the bin before.
    columns = BINS - 1 - whole[:, np.newaxis] + np.arange(BINS + 2)
    curves = _tables().alive[forms[:, np.newaxis], columns]
    found = product_of(shares - next_shares, curves[:, 1:])
    found += product_of(next_shares, curves[:, :-1])
    found /= shares.sum()
    return found


class _FormTables(msgspec.Struct, frozen=True):
    """By form, and by bins of work over the mean."""

    likely: Floats
    """logarithms of the chances of the forms"""
    alive: Floats
    """to take longer; from the shortest work on"""
    log_ends: Floats
    """logarithms of the chances to end in a bin; from the longest work on"""
    log_alive: Floats
    """of those to be alive at its lower edge"""


@cache
def _tables() -> _FormTables:
    offsets = WIDTH * np.arange(-BINS, BINS + 2, dtype=np.float64)
    likely, alive = zip(*_forms(offsets), strict=True)
    curves = np.array(alive)
    ends = np.log(np.maximum(curves[:, :-1] - curves[:, 1:], LEAST))
    ages = np.log(np.maximum(curves[:, :-1], LEAST))
    reversed_ = (np.ascontiguousarray(one[:, ::-1]) for one in (ends, ages))
    return _FormTables(np.log(np.array(likely)), curves, *reversed_)


def _forms(logs: Floats) -> Iterator[tuple[float, Floats]]:
    """How likely each is before, and the chance of more, by logarithms of work over the mean."""
    lognormal, weibull, pareto, two_kinds = FAMILIES
    for spread, likely in zip(LOGNORMAL, LIKELY, strict=True):
        yield lognormal * likely / sum(LIKELY), _lognormal(logs, spread)
    for spread in WEIBULL:
        yield weibull / len(WEIBULL), _weibull(logs, spread)
    for power in PARETO:
        yield pareto / len(PARETO), _pareto(logs, power)
    kinds = list(product(LONGER_SHARES, LONGER_BY, WITHIN))
    for share, by, spread in kinds:
        yield two_kinds / len(kinds), _two_kinds(logs, share, by, spread)


def _lognormal(logs: Floats, spread: float) -> Floats:
    sigma = sqrt(log1p(spread**2))
    return below(-(logs + sigma * sigma / 2) / sigma)


def _weibull(logs: Floats, spread: float) -> Floats:
    """The shape of a deviation: Justus et al., Journal of Applied Meteorology 17, 1978."""
    shape = spread**-1.086
    powers = np.minimum(shape * (logs + log(gamma(1 + 1 / shape))), 50.0)
    alive: Floats = np.exp(-np.exp(powers))
    return alive


def _pareto(logs: Floats, power: float) -> Floats:
    """The chance falls by a power of work, from a minimum on that gives a mean of one."""
    alive: Floats = np.exp(-power * np.maximum(0.0, logs - log(1 - 1 / power)))
    return alive


def _two_kinds(logs: Floats, share: float, by: float, spread: float) -> Floats:
    """A share of the tasks is longer by so many times."""
    short = log(1 / (1 - share + share * by))
    few = _lognormal(logs - short - log(by), max(spread, LONGER_VARY))
    return (1 - share) * _lognormal(logs - short, spread) + share * few
