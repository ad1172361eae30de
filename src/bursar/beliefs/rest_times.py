"""Run times as they may turn out: equally likely curves, given what ended and what still runs.

Work is the time of a task at speed 1. It may be lognormal, Weibull or normal, with a mean and a
deviation on a grid; what ended counts by its density, what runs by the chance to be as old as it
is. A form is drawn by how likely it is, and corrected by what was seen (`work_curve`): it counts
for a few tasks, and beyond the longest that was seen. One that errs on the safe side, as plans need
it, is in `bag_times`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gamma, log1p, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.normal import below
from bursar.beliefs.work_curve import BINS, EDGES, CurveEstimate, bin_of, corrected

Floats = NDArray[np.float64]

SPREADS: Final = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 1.3, 1.7)
"""deviations over the mean that are thought possible"""
USUAL: Final = 0.5
"""a deviation of so much is half as plausible, before anything was seen, as a small one"""
MOST_NORMAL: Final = 0.5
"""more than that would be less than nothing too often"""
MEANS: Final = 48
LOWEST, HIGHEST = 0.5, 2.0
"""means that are thought possible: from half the mean of what ended to twice all work by ends"""
IMAGINED: Final = 6.0
"""tasks that a form counts for, beside those that were seen"""
NEGLIGIBLE: Final = 0.05
"""work below so much of the mean tells no more than that it is short"""
LEAST: Final = 1e-12
MOST_LOG: Final = 50.0

Form = Callable[[Floats, Floats, float], Floats]
"""the chance of more than some work, by mean and deviation over the mean"""


def lognormal_beyond(edges: Floats, mean: Floats, spread: float) -> Floats:
    sigma = sqrt(log1p(spread**2))
    return below(-(np.log(edges / mean) + sigma * sigma / 2) / sigma)


def weibull_beyond(edges: Floats, mean: Floats, spread: float) -> Floats:
    """The shape of a deviation: Justus et al., Journal of Applied Meteorology 17, 1978."""
    shape = spread**-1.086
    logs = np.minimum(shape * np.log(edges / mean * gamma(1 + 1 / shape)), MOST_LOG)
    beyond: Floats = np.exp(-np.exp(logs))
    return beyond


def normal_beyond(edges: Floats, mean: Floats, spread: float) -> Floats:
    return below((mean - edges) / (spread * mean))


class PossibleCurves:
    """What is possible, and how likely; `ended` by bin, `running` the work done so far."""

    def __init__(self, ended: Floats, running: Floats) -> None:
        self._ended, self._running = ended, running
        middles = np.sqrt(EDGES[1:] * EDGES[:-1])
        total = float(ended @ middles)
        mean = total / ended.sum()
        most = max(HIGHEST * (total + float(running.sum())) / ended.sum(), 4 * LOWEST * mean)
        self._means = np.geomspace(LOWEST * mean, most, MEANS)[:, np.newaxis]
        self._forms = [
            (form, spread)
            for spread in SPREADS
            for form in (lognormal_beyond, weibull_beyond, normal_beyond)
            if form is not normal_beyond or spread <= MOST_NORMAL
        ]
        logs = np.stack([self._likelihood(form, spread, mean) for form, spread in self._forms])
        chances = np.exp(logs - logs.max())
        self._chances = chances / chances.sum()

    def _likelihood(self, form: Form, spread: float, seen_mean: float) -> Floats:
        """By mean, the logarithm of the chance of what was seen."""
        least = bin_of(NEGLIGIBLE * seen_mean)
        places = np.flatnonzero(self._ended)
        short, places = places[places <= least], places[places > least]
        found = np.full(MEANS, -log1p((spread / USUAL) ** 2))
        if len(short):
            within = 1 - form(EDGES[least + 1 : least + 2], self._means, spread)[:, 0]
            found += self._ended[short].sum() * np.log(np.maximum(within, LEAST))
        if len(places):
            chance = form(EDGES[places], self._means, spread)
            chance = chance - form(EDGES[places + 1], self._means, spread)
            found += np.log(np.maximum(chance, LEAST)) @ self._ended[places]
        if len(self._running):
            alive = form(np.maximum(self._running, EDGES[0]), self._means, spread)
            found += np.log(np.maximum(alive, LEAST)).sum(axis=1)
        return found

    def draw(self, rng: np.random.Generator) -> CurveEstimate:
        place = int(rng.choice(self._chances.size, p=self._chances.ravel()))
        which, row = divmod(place, MEANS)
        form, spread = self._forms[which]
        step = float(self._means[1, 0] / self._means[0, 0])
        mean = float(self._means[row, 0]) * step ** (float(rng.random()) - 0.5)
        alive = form(EDGES, np.array([[mean]]), spread).ravel()
        some = np.flatnonzero((alive > LEAST) & (alive < 1 - LEAST))
        first, last = (int(some[0]), int(some[-1])) if len(some) else (bin_of(mean), 0)
        reach = min(first, BINS - 2), max(first + 2, min(BINS, last + 1))
        return corrected(self._ended, self._running, alive, reach, IMAGINED)


class PossibleWork:
    """One curve, moved by as much as its mean is in doubt."""

    def __init__(self, found: CurveEstimate, rng: np.random.Generator) -> None:
        self._curve = found.curve
        form = log1p(found.doubt**2)
        self.factor = float(np.exp(rng.normal(-form / 2, sqrt(form))))
        """by which tasks are longer than the curve has it"""

    def draw(self, done: Floats, rng: np.random.Generator) -> Floats:
        """The work of tasks of which so much was done, and that go on; zero: not begun."""
        some = done / self.factor
        return (some + self._curve.rest_within(some, rng.random(len(some)))) * self.factor

    def alive(self, done: float) -> float:
        """The chance of more work than this."""
        curve = self._curve
        return float(np.interp(done / self.factor, curve.points, curve.alive))
