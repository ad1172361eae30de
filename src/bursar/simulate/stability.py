"""Whether a system keeps up with the works that arrive, by two tests (thesis, section 3.4.3).

- Wieland and others: the works in the system, averaged over ten batches of time. The last batch may
  exceed the second one by no more than chance allows. Equation 3.9 is misprinted: its root is over
  sigma, too, and its sense is reversed; the sentence below it has the rule that is used here.
- Lyapunov drift: the mean step of half the squared number of works, by the second. It telescopes,
  so that it bounds the works that are left at the end and nothing else.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.time import SECOND, Time

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]

BATCHES: Final = 10
QUANTILE: Final = 1.8595
"""of Student's distribution with 8 degrees of freedom, at 0.95"""
MOST_DRIFT: Final = 1.0
"""mean step of half the squared number of works, in a second"""


class InSystem(msgspec.Struct, frozen=True, eq=False):
    """How many works have arrived and are not done: `counts[i]` from `moments[i]` to the next."""

    moments: Longs
    counts: Longs

    def at(self, moment: Time) -> int:
        place = int(np.searchsorted(self.moments, moment, side="right")) - 1
        return int(self.counts[place]) if place >= 0 else 0

    def mean(self, begin: Time, end: Time) -> float:
        """The average over the time from begin to end."""
        inner = self.moments[(self.moments > begin) & (self.moments < end)]
        edges = np.concatenate(([begin], inner, [end]))
        places = np.searchsorted(self.moments, edges[:-1], side="right") - 1
        held = np.where(places >= 0, self.counts[np.maximum(places, 0)], 0)
        return float((held * np.diff(edges)).sum() / (end - begin))


def in_system(arrived: Longs, completed: Longs) -> InSystem:
    """From arrivals and completions in microseconds; a completion of -1 never came."""
    done = np.sort(completed[completed >= 0])
    moments = np.concatenate((arrived, done))
    steps = np.concatenate((np.ones(len(arrived)), -np.ones(len(done)))).astype(np.int64)
    order = np.argsort(moments, kind="stable")
    moments, counts = moments[order], np.cumsum(steps[order])
    last = np.append(np.diff(moments) > 0, True)  # of several events of an instant
    return InSystem(moments[last], counts[last])


class Stability(msgspec.Struct, frozen=True):
    """What both tests say, and by what."""

    batches: tuple[float, ...]
    """works in the system in the second to the last batch, on average"""
    growth: float
    """of the last batch over the second, in works"""
    most_growth: float
    """what chance allows"""
    drift: float
    is_cut: bool = False
    """the simulation was stopped, as too many works were unfinished"""

    @property
    def by_wieland(self) -> bool:
        return not self.is_cut and self.growth <= self.most_growth

    @property
    def by_drift(self) -> bool:
        return not self.is_cut and self.drift <= MOST_DRIFT

    @property
    def is_stable(self) -> bool:
        """Both say so."""
        return self.by_wieland and self.by_drift


def stability(system: InSystem, until: Time, *, is_cut: bool = False) -> Stability:
    """Over the time from 0 to `until`, which is that of the last arrival."""
    edges = np.linspace(0, until, BATCHES + 1)
    means = [system.mean(round(begin), round(end)) for begin, end in pairwise(edges.tolist())][1:]
    deviation = float(np.std(means, ddof=1))
    squared = system.at(until) ** 2 / 2
    return Stability(
        batches=tuple(means),
        growth=means[-1] - means[0],
        most_growth=QUANTILE * 2**0.5 * deviation,
        drift=squared / (until / SECOND),
        is_cut=is_cut,
    )
