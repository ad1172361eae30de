"""What was learned about run times: on each offer, and on all of them together.

A `RuntimeBelief` is about one offer. It learns in constant time and keeps a bounded, fair choice of
what it saw, so a million tasks fit. `Runtimes` keeps one for each offer and, once there are lines
between offers, one more in which all run times are converted to a canonical offer: the unified
histogram of the thesis (section 5.1), kept as values instead of bins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf, sqrt
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.regression import Regression
from bursar.model.errors import InputError
from bursar.model.time import Time

KEPT: Final = 4096
"""Run times kept of each offer; beyond that a fair choice of all seen (reservoir sampling)."""
STALENESS: Final = 200
"""Sorted values may lag behind by one observation in so many."""


class RuntimeBelief:
    """Run times of finished tasks on one offer.

    Invariant: the values kept are a random choice of all `count` learned, or all of them.
    """

    def __init__(self, rng: Random, keep: int = KEPT) -> None:
        self.count = 0
        self.mean = 0.0
        self._squares = 0.0
        """sum of the squared distances to the mean (Welford)"""
        self._rng = rng
        self._keep = keep
        self._kept: list[float] = []
        self._sorted: NDArray[np.float64] = np.empty(0)
        self._sums_above: NDArray[np.float64] = np.zeros(1)
        """sum of the sorted values from each place on"""
        self._sorted_at = 0
        """the count when they were sorted"""

    def learn(self, runtime: float) -> None:
        self.count += 1
        distance = runtime - self.mean
        self.mean += distance / self.count
        self._squares += distance * (runtime - self.mean)
        if len(self._kept) < self._keep:
            self._kept.append(runtime)
            return
        place = self._rng.randrange(self.count)
        if place < self._keep:
            self._kept[place] = runtime

    # --- what is believed ------------------------------------------------------------------------

    @property
    def deviation(self) -> float:
        """Of the run times, unbiased in its square; 0 while fewer than two are known."""
        return sqrt(self._squares / (self.count - 1)) if self.count > 1 else 0.0

    @property
    def speed(self) -> float:
        """Tasks that a slot finishes in a microsecond."""
        self._require()
        return 1 / self.mean if self.mean > 0 else inf

    @property
    def kept(self) -> Sequence[float]:
        """Run times, in no particular order."""
        return self._kept

    def quantile(self, share: float) -> float:
        """The run time that this share of the tasks does not exceed."""
        return float(np.quantile(self._ordered(), share))

    def expected(self, elapsed: float = 0.0) -> float:
        """The total run time to expect of a task that has run so long: E[T | T > elapsed].

        A task that has run longer than all that were seen is expected to need as much more as the
        longest tenth of them exceeds the others, or as it is late already.
        """
        values = self._ordered()
        place = int(np.searchsorted(values, elapsed, side="right"))
        if place < len(values):
            return float(self._sums_above[place]) / (len(values) - place)
        return elapsed + max(self.tail_excess(), elapsed - float(values[-1]))

    def remaining(self, elapsed: float) -> float:
        """The time a task that has run so long is expected to need yet."""
        return self.expected(elapsed) - elapsed

    def tail_excess(self) -> float:
        """By how much the longest tenth exceeds the longest of the others, on average."""
        values = self._ordered()
        tail = max(1, len(values) // 10)
        return float(values[-tail:].mean()) - float(values[-tail - 1] if len(values) > tail else 0)

    def sample(self, running: Iterable[float] = ()) -> NDArray[np.int64]:
        """Run times that stand for the bag; `running` are the elapsed times of unfinished tasks.

        Without the unfinished tasks a sample in the making favours short ones.
        """
        elapsed = np.fromiter(running, dtype=np.float64)
        values = self._ordered() if not len(elapsed) else self._completed(elapsed)
        return np.maximum(np.rint(values), 1).astype(np.int64)

    def mean_with(self, running: Iterable[float]) -> float:
        """The mean run time, where unfinished tasks count as what they tell: at least so long."""
        elapsed = np.fromiter(running, dtype=np.float64)
        return float(self._completed(elapsed).mean()) if len(elapsed) else self.mean

    def average(self, running: Iterable[float] = ()) -> float:
        """The published moving average T_i (thesis, section 2.2.1).

        Unfinished tasks count with what those seen that took longer took on average.
        """
        expected = [self.expected(elapsed) for elapsed in running]
        total = self.mean * self.count + sum(expected)
        self._require()
        return total / (self.count + len(expected))

    def _completed(self, elapsed: NDArray[np.float64]) -> NDArray[np.float64]:
        """One value a task, finished or not, spread as Kaplan and Meier estimate."""
        values = self._ordered()
        times = np.concatenate([values, elapsed])
        is_end = np.concatenate([np.ones(len(values)), np.zeros(len(elapsed))])
        order = np.lexsort((1 - is_end, times))
        times, is_end = times[order], is_end[order]
        alive = np.cumprod(1 - is_end / np.arange(len(times), 0, -1))
        mass = np.append(-np.diff(alive, prepend=1.0), alive[-1])
        times = np.append(times, times[-1] + self.tail_excess())
        wanted = (np.arange(len(order)) + 0.5) / len(order)
        place = np.searchsorted(np.cumsum(mass), wanted)
        return np.asarray(times[np.minimum(place, len(times) - 1)])

    def _ordered(self) -> NDArray[np.float64]:
        """The values kept, ascending; resorted when enough was learned since."""
        self._require()
        if self.count - self._sorted_at > self._sorted_at // STALENESS:
            self._sorted = np.sort(np.array(self._kept))
            self._sums_above = np.cumsum(self._sorted[::-1])[::-1]
            self._sorted_at = self.count
        return self._sorted

    def _require(self) -> None:
        if not self.count:
            raise InputError("no run time is known yet; let at least one task finish")


class Runtimes:
    """Run times on all offers, and how they are related."""

    def __init__(self, rng: Random, keep: int = KEPT) -> None:
        self._rng = rng
        self._keep = keep
        self.offers: dict[str, RuntimeBelief] = {}
        self.regression: Regression | None = None
        self._unified = RuntimeBelief(rng, keep)
        """on the canonical offer, all run times of offers with a line"""

    def learn(self, offer: str, runtime: Time) -> None:
        """A task finished."""
        belief = self.offers.get(offer)
        if belief is None:
            belief = self.offers[offer] = RuntimeBelief(self._rng, self._keep)
        belief.learn(runtime)
        if self.regression is not None and self.regression.knows(offer):
            self._unified.learn(self.regression.to_canonical(offer, runtime))

    def adopt(self, regression: Regression) -> None:
        """From now on convert between offers by these lines, also what was learned before."""
        self.regression = regression
        self._unified = RuntimeBelief(self._rng, self._keep)
        for offer, belief in self.offers.items():
            if regression.knows(offer):
                for runtime in belief.kept:
                    self._unified.learn(regression.to_canonical(offer, runtime))

    # --- one offer -------------------------------------------------------------------------------

    def knows(self, offer: str) -> bool:
        """Whether anything can be said about run times there."""
        return self._shares(offer) or (offer in self.offers and self.offers[offer].count > 0)

    def mean(self, offer: str) -> float:
        """From the run times of all offers, where a line leads from them to this one."""
        if self._shares(offer):
            return self._lines.from_canonical(offer, self._unified.mean)
        return self._own(offer).mean

    def expected(self, offer: str, elapsed: float = 0.0) -> float:
        """The total run time to expect of a task that has run so long on this offer."""
        if not self._shares(offer):
            return self._own(offer).expected(elapsed)
        canonical = self._unified.expected(self._lines.to_canonical(offer, elapsed))
        return max(elapsed, self._lines.from_canonical(offer, canonical))

    def remaining(self, offer: str, elapsed: float) -> float:
        return self.expected(offer, elapsed) - elapsed

    def expected_elsewhere(self, source: str, elapsed: float, target: str) -> float:
        """How long a task that has run so long on `source` would take on `target`, from its start.

        Without lines between the two, what any task takes there.
        """
        if not (self._shares(source) and self._shares(target)):
            return self.expected(target)
        canonical = self._unified.expected(self._lines.to_canonical(source, elapsed))
        return self._lines.from_canonical(target, canonical)

    def quantile(self, offer: str, share: float) -> float:
        if self._shares(offer):
            return self._lines.from_canonical(offer, self._unified.quantile(share))
        return self._own(offer).quantile(share)

    # --- samples for planning --------------------------------------------------------------------

    def sample(
        self, offer: str, running: Mapping[str, Iterable[float]] | None = None
    ) -> tuple[NDArray[np.int64], str]:
        """Run times on the offer that stand for the bag, and the name of the sample they are from.

        Samples of the same name hold the same tasks in the same order. `running` are the elapsed
        times of unfinished tasks, by offer.
        """
        elapsed = running or {}
        if not self._shares(offer):
            return self._own(offer).sample(elapsed.get(offer, ())), ""
        lines = self._lines
        everywhere = [
            lines.to_canonical(name, time)
            for name, times in elapsed.items()
            if lines.knows(name)
            for time in times
        ]
        canonical = self._unified.sample(everywhere)
        line = lines.lines[offer]
        here = np.rint(line.intercept + line.slope * canonical)
        return np.maximum(here, 1).astype(np.int64), lines.canonical

    # --- helpers ---------------------------------------------------------------------------------

    @property
    def _lines(self) -> Regression:
        if self.regression is None:
            raise InputError("there are no lines between offers yet")
        return self.regression

    def _shares(self, offer: str) -> bool:
        """Whether the unified run times speak for this offer."""
        known = self.regression is not None and self.regression.knows(offer)
        return known and self._unified.count > 0

    def _own(self, offer: str) -> RuntimeBelief:
        if offer not in self.offers:
            raise InputError(f"no task has finished on '{offer}' yet; time at least one there")
        return self.offers[offer]
