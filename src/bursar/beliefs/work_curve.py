"""The chance that a task takes longer than any given work: a form, corrected by what was seen.

Between logarithmic edges, the share of the tasks that end of those that come so far is estimated
from what ended and what runs, and so many imagined tasks of a lognormal form (the mean of a beta
process; Walker and Muliere, Annals of Statistics 25, 1997). Where many tasks were seen this is the
product-limit estimate of Kaplan and Meier, whatever their form; beyond the longest of them it goes
on as the form does. Its variance is Greenwood's.
"""

from __future__ import annotations

from math import floor, log, log1p, sqrt
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.normal import below

Floats = NDArray[np.float64]

WIDTH: Final = 0.06
"""The width of a bin, in logarithms of work."""
SHORTEST: Final = 1e-3
BINS: Final = 420
"""From the shortest work, in seconds, to 26 years."""
EDGES: Final = SHORTEST * np.exp(WIDTH * np.arange(BINS + 1))
HEAVY: Final = 0.1
"""Share of the form that varies much more: no task is so old that it must be about to end."""
DEVIATIONS: Final = 5.0
"""How far the form goes above its middle."""


def bin_of(work: float) -> int:
    return min(BINS - 1, max(0, floor(log(max(work, SHORTEST) / SHORTEST) / WIDTH)))


def shifted(bins: Floats, speed: float) -> Floats:
    """Numbers by work at speed 1, of those by time at some speed; none is lost at the ends."""
    if speed == 1:
        return bins
    move = log(speed) / WIDTH
    whole = floor(move)
    part = move - whole
    some = bins.nonzero()[0]
    counts, places, found = bins[some], some + whole, np.zeros(BINS)
    if not len(places) or 0 <= places[0] <= places[-1] < BINS - 1:
        found[places] = (1 - part) * counts
        found[places + 1] += part * counts
    else:
        np.add.at(found, np.clip(places, 0, BINS - 1), (1 - part) * counts)
        np.add.at(found, np.clip(places + 1, 0, BINS - 1), part * counts)
    return found


def lognormal_alive(mean: float, *spreads: float) -> list[Floats]:
    """For each spread, the chance to be longer than each edge."""
    sigmas = [sqrt(log1p(spread**2)) for spread in spreads]
    logs = np.log(EDGES / mean)
    return [below(-(logs + sigma * sigma / 2) / sigma) for sigma in sigmas]


class WorkCurve(msgspec.Struct, frozen=True, eq=False):
    """The chance to take longer than each of some ascending points, the first of which is zero."""

    points: Floats
    alive: Floats
    after: Floats
    """what is done from each point on, on average, of a task that has just begun"""

    @classmethod
    def of(cls, alive: Floats, first: int, last: int) -> WorkCurve:
        """From the chances at all edges, of which some tell all."""
        points = np.concatenate([[0.0], EDGES[first : last + 1]])
        chances = np.concatenate([[1.0], alive[first : last + 1]])
        areas = (chances[1:] + chances[:-1]) / 2 * (points[1:] - points[:-1])
        after = np.zeros(len(points))
        after[:-1] = areas[::-1].cumsum()[::-1]
        return cls(points, chances, after)

    @classmethod
    def lognormal(cls, mean: float, spread: float) -> WorkCurve:
        (alive,) = lognormal_alive(mean, max(spread, 0.02))
        return cls.of(alive, *_reach(mean, max(spread, 0.02)))

    @property
    def mean(self) -> float:
        return float(self.after[0])

    @property
    def spread(self) -> float:
        """The deviation over the mean."""
        middles = (self.points[1:] + self.points[:-1]) / 2
        areas = (self.alive[1:] + self.alive[:-1]) / 2 * (self.points[1:] - self.points[:-1])
        return sqrt(max(0.0, 2 * float(middles @ areas) / self.mean**2 - 1))

    def rest(self, work: Floats) -> Floats:
        """Work that is left on average of attempts that have done so much."""
        alive = np.interp(work, self.points, self.alive)
        left = np.interp(work, self.points, self.after) / np.maximum(alive, 1e-9)
        # Where the curve ends, nothing is known but that it goes on.
        return np.where(alive > 1e-6, left, 0.1 * work)

    def rest_within(self, work: Floats, chance: Floats) -> Floats:
        """Work that is left at most, with these chances, of attempts that have done so much."""
        wanted = np.interp(work, self.points, self.alive) * (1 - chance)
        end = np.interp(-wanted, -self.alive, self.points)
        return np.maximum(end - work, 0.0)


class CurveEstimate(msgspec.Struct, frozen=True, eq=False):
    curve: WorkCurve
    doubt: float
    """deviation of its mean, as a share of it"""


def estimate(
    ended: Floats,
    running: Floats,
    mean: float,
    spread: float,
    imagined: float,
) -> CurveEstimate:
    """The curve of tasks that ended in each bin, and that run and have done so much.

    `mean` and `spread` are those of the form, `imagined` the tasks that it counts for.
    """
    light, heavy = lognormal_alive(mean, spread, 2 * spread + 0.2)
    form = (1 - HEAVY) * light + HEAVY * heavy
    return corrected(ended, running, form, _reach(mean, 2 * spread + 0.2), imagined)


def corrected(
    ended: Floats,
    running: Floats,
    form: Floats,
    reach: tuple[int, int],
    imagined: float,
) -> CurveEstimate:
    """The same of any form: the chance to be longer than each edge, and the edges that matter."""
    ages = np.bincount(bins_of(running), minlength=BINS).astype(np.float64)
    both = ended + ages
    reached = both[::-1].cumsum()[::-1]
    at_risk = reached - ages / 2 + imagined * form[:-1]
    ends = ended + imagined * (form[:-1] - form[1:])
    hazard = np.where(at_risk > 1e-9, np.minimum(1.0, ends / np.maximum(at_risk, 1e-9)), 1.0)
    alive = np.ones(BINS + 1)
    alive[1:] = (1 - hazard).cumprod()
    seen = both.nonzero()[0]
    first, last = reach
    if len(seen):
        first, last = min(first, int(seen[0])), max(last, int(seen[-1]) + 1)
    curve = WorkCurve.of(alive, first, last)
    after = np.zeros(BINS)
    after[first:last] = curve.after[2:]
    some = slice(first, last)
    terms = hazard[some] / np.maximum(1e-6, 1 - hazard[some]) / (at_risk[some] + 1)
    doubt = sqrt(float((np.square(after[some]) * terms).sum())) / max(curve.mean, 1e-9)
    return CurveEstimate(curve, doubt)


def bins_of(work: Floats) -> NDArray[np.int64]:
    places = np.floor(np.log(np.maximum(work, SHORTEST) / SHORTEST) / WIDTH)
    return np.minimum(np.maximum(places, 0), BINS - 1).astype(np.int64)


def _reach(mean: float, spread: float) -> tuple[int, int]:
    """Edges below and above which the form has next to nothing."""
    sigma = sqrt(log1p(spread**2))
    middle = log(mean / SHORTEST) - sigma * sigma / 2
    first = floor((middle - DEVIATIONS * sigma) / WIDTH)
    last = floor((middle + DEVIATIONS * sigma) / WIDTH) + 1
    return min(max(0, first), BINS - 2), max(2, min(BINS, last))
