"""How many tasks a machine of each offer finishes in an interval (workload thesis, 5.3.3).

What PFA knows of machines, without any estimate of run times. Offers are compared by their
throughput, which is smoothed over intervals in one of two ways.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from math import ceil, inf
from operator import truediv
from typing import Final, Protocol

LOOK_BACK: Final = 10
"""Intervals before the last one that count in a moving average, as in most published runs."""
SMOOTHING: Final = 0.7
"""The weight of what was known before in an exponentially weighted one."""

Rates = Mapping[str, float]
"""By offer, tasks done for each machine in an interval."""


def rates_of(done: Mapping[str, int], machines: Mapping[str, float]) -> dict[str, float]:
    """Equation 5.1: 0 where an offer has no machine."""
    return {name: done.get(name, 0) / count if count else 0.0 for name, count in machines.items()}


class Throughput(Protocol):
    """What is believed after each interval."""

    def saw(self, rates: Rates) -> None:
        """An interval has ended with these rates, for every offer."""
        ...

    def after(self, rates: Rates) -> Throughput:
        """What would be believed if an interval ended with these rates."""
        ...

    @property
    def shares(self) -> Mapping[str, float]:
        """By offer, its part of all throughput; equal where one of them has none yet."""
        ...

    @property
    def depth(self) -> float:
        """Generations of tasks that a machine can do in an interval; without end: not known."""
        ...

    @property
    def mean(self) -> float:
        """Tasks of an interval for each machine, over all offers; 0: not known."""
        ...


class MovingAverage:
    """Equations 5.3, 5.4, 5.9 and 5.10: intervals in which nothing was done do not count.

    Where an offer has no throughput yet, all get equal shares, as the text says; equation 5.4 gives
    an equal share to that offer alone.
    """

    def __init__(self, offers: Sequence[str], look_back: int = LOOK_BACK) -> None:
        self._offers = tuple(offers)
        self._past: deque[tuple[float, ...]] = deque(maxlen=look_back + 1)
        """rates of the last intervals, also of those without throughput, in the order of offers"""

    def saw(self, rates: Rates) -> None:
        self._past.append(tuple(rates.get(name, 0.0) for name in self._offers))

    def after(self, rates: Rates) -> MovingAverage:
        found = MovingAverage(self._offers)
        found._past = self._past.copy()
        found.saw(rates)
        return found

    @property
    def _counted(self) -> list[tuple[float, ...]]:
        return [rates for rates in self._past if any(rates)]

    @property
    def shares(self) -> dict[str, float]:
        counted = self._counted
        equal = dict.fromkeys(self._offers, 1 / len(self._offers))
        if not counted:
            return equal
        sums = [sum(rates) for rates in counted]
        found = {
            name: sum(map(truediv, column, sums)) / len(counted)
            for name, column in zip(self._offers, zip(*counted, strict=True), strict=True)
        }
        return found if all(found.values()) else equal

    @property
    def mean(self) -> float:
        every = [rate for rates in self._counted for rate in rates]
        return sum(every) / len(every) if every else 0.0

    @property
    def depth(self) -> float:
        return ceil(self.mean) or inf


class Ewma:
    """Equations 5.5 and 5.12: what was known fades; demand counts the last interval only (5.13).

    A depth without end is no number to fade from: it begins again with that of the interval.
    """

    def __init__(self, offers: Sequence[str], smoothing: float = SMOOTHING) -> None:
        self._offers = tuple(offers)
        self._smoothing = smoothing
        self.shares: Mapping[str, float] = dict.fromkeys(self._offers, 1 / len(self._offers))
        self.depth: float = inf
        self.mean = 0.0

    def after(self, rates: Rates) -> Ewma:
        found = Ewma(self._offers, self._smoothing)
        found.shares, found.depth = self.shares, self.depth
        found.saw(rates)
        return found

    def saw(self, rates: Rates) -> None:
        total, before = sum(rates.get(name, 0.0) for name in self._offers), self._smoothing
        self.mean = total / len(self._offers)
        if all(rates.get(name, 0.0) > 0 for name in self._offers):
            self.shares = {
                name: before * self.shares[name] + (1 - before) * rates[name] / total
                for name in self._offers
            }
        else:
            self.shares = dict.fromkeys(self._offers, 1 / len(self._offers))
        if not total:
            self.depth = inf
        elif self.depth == inf:
            self.depth = ceil(self.mean)
        else:
            self.depth = ceil(before * self.depth + (1 - before) * self.mean)
