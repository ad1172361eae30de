"""One histogram of run times over all offers (BaTS thesis, section 5.1).

Finished run times are converted to a canonical offer by a line through the origin for each offer,
and kept sorted. What a running task will take in all is the mean of those that are longer than it
has run: E[T | T > t]. Where none is longer, nothing is known but that it has run so long.

All arithmetic is on integers: a compiled kernel finds the same figures.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.model.time import HOUR, Time
from bursar.state import events as ev
from bursar.state.view import View

Integers = NDArray[np.int64]

MILLION: Final = 1_000_000
LARGEST_BUCKET: Final = 512
RENEWAL: Final = 10
"""Lines are drawn again when the finished tasks have grown by one part in so many."""
FEW: Final = 64
"""Times that may be missing from the arrays, or one part in `RENEWAL` of all."""


class SortedTimes:
    """Times in ascending order, in buckets with their sums: both calls take about sqrt(n)."""

    def __init__(self) -> None:
        self._buckets: list[list[Time]] = []
        self._least: list[Time] = []
        """of each bucket"""
        self._sums: list[int] = []
        self._all = _Arrays(())
        """all times but the latest"""
        self._latest: list[Time] | None = None
        """those that came since, ascending; None: nobody asked for arrays yet"""

    @classmethod
    def of(cls, times: Iterable[Time]) -> SortedTimes:
        """Many at once."""
        found, ordered, size = cls(), sorted(times), LARGEST_BUCKET // 2
        found._buckets = [ordered[at : at + size] for at in range(0, len(ordered), size)]
        found._least = [bucket[0] for bucket in found._buckets]
        found._sums = [sum(bucket) for bucket in found._buckets]
        return found

    def add(self, time: Time) -> None:
        if self._latest is not None:
            insort(self._latest, time)
        if not self._buckets:
            self._buckets, self._least, self._sums = [[time]], [time], [time]
            return
        at = max(0, bisect_right(self._least, time) - 1)
        bucket = self._buckets[at]
        insort(bucket, time)
        self._least[at] = bucket[0]
        self._sums[at] += time
        if len(bucket) > LARGEST_BUCKET:
            upper = bucket[len(bucket) // 2 :]
            del bucket[len(bucket) // 2 :]
            self._buckets.insert(at + 1, upper)
            self._least.insert(at + 1, upper[0])
            self._sums[at : at + 1] = [sum(bucket), sum(upper)]

    def mean_above(self, bound: Time) -> Time | None:
        """The mean of the times that are longer, rounded down; None: none is."""
        at = max(0, bisect_right(self._least, bound) - 1)
        longer = self._buckets[at][bisect_right(self._buckets[at], bound) :] if self._least else []
        count = len(longer) + sum(map(len, self._buckets[at + 1 :]))
        return (sum(longer) + sum(self._sums[at + 1 :])) // count if count else None

    def means_above(self, bounds: Integers) -> Integers:
        """`mean_above` of each bound; where none is longer, the bound itself."""
        latest = self._latest
        if latest is None or len(latest) > max(FEW, len(self._all) // RENEWAL):
            self._all = _Arrays([time for bucket in self._buckets for time in bucket])
            latest = self._latest = []
        counts, sums = self._all.above(bounds)
        if latest:
            more, much = _Arrays(latest).above(bounds)
            counts, sums = counts + more, sums + much
        return np.where(counts > 0, sums // np.maximum(counts, 1), bounds)


class _Arrays:
    """Ascending times, and the sum from each place to the end."""

    def __init__(self, times: Sequence[Time]) -> None:
        self._times = np.array(times, dtype=np.int64)
        self._sums = np.zeros(len(times) + 1, dtype=np.int64)
        self._sums[:-1] = np.cumsum(self._times[::-1])[::-1]

    def __len__(self) -> int:
        return len(self._times)

    def above(self, bounds: Integers) -> tuple[Integers, Integers]:
        """How many are longer than each bound, and their sum."""
        places = np.searchsorted(self._times, bounds, side="right")
        return len(self._times) - places, self._sums[places]


class UnifiedRuntimes:
    """Learns from finished tasks; an observer of the engine.

    `slopes` are millionths: a run time on an offer times its slope is that on the canonical one.
    An offer without a given slope gets the ratio of the mean run times, once both are known.
    """

    def __init__(self, slopes: Mapping[str, int] | None = None) -> None:
        self._given = dict(slopes or {})
        self._slopes = dict(self._given)
        self._finished: dict[str, list[Time]] = {}
        self._times = SortedTimes()
        self._count = 0
        self._drawn = 0
        """finished tasks when the lines were last drawn"""

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        if not isinstance(event, ev.AttemptEnded) or event.outcome != "success":
            return
        if state.winners[state.log.task[event.attempt]] == event.attempt:
            machine = state.machines[state.log.machine[event.attempt]]
            self.learn(machine.offer.name, event.runtime)

    def learn(self, offer: str, runtime: Time) -> None:
        self._finished.setdefault(offer, []).append(runtime)
        self._count += 1
        slope = self._slopes.get(offer)
        if slope is None or (
            offer not in self._given and self._count > self._drawn + self._drawn // RENEWAL
        ):
            self._draw_lines()
        else:
            self._times.add(runtime * slope // MILLION)

    def expected_total(self, offer: str, elapsed: Time, on: str | None = None) -> Time | None:
        """What a task takes in all that has run for `elapsed` on an offer: there, or on another.

        None where an offer's line is not known yet.
        """
        source, target = self._slopes.get(offer), self._slopes.get(on or offer)
        if source is None or target is None:
            return None
        so_far = elapsed * source // MILLION
        mean = self._times.mean_above(so_far)
        return (so_far if mean is None else mean) * MILLION // target

    def canonical_totals(self, elapsed: Integers, slopes: Integers) -> Integers:
        """What tasks take in all on the canonical offer that ran so long where slopes are these.

        With `of_canonical` it is what `expected_total` says of each.
        """
        # In two parts, as a product of years and millionths may not fit in an integer.
        whole, rest = np.divmod(elapsed, MILLION)
        return self._times.means_above(whole * slopes + rest * slopes // MILLION)

    def slopes(self, offers: Sequence[str]) -> Integers:
        """A value for each offer; 0 where its line is not known yet."""
        return np.array([self._slopes.get(offer, 0) for offer in offers], dtype=np.int64)

    def convert(self, time: Time, source: str, target: str) -> Time | None:
        """The run time on one offer of what takes `time` on another."""
        from_slope, to_slope = self._slopes.get(source), self._slopes.get(target)
        if from_slope is None or to_slope is None:
            return None
        return time * from_slope // to_slope

    def pace(self, offer: str) -> Time | None:
        """How long it takes here what takes an hour on the canonical offer."""
        slope = self._slopes.get(offer)
        return None if slope is None else HOUR * MILLION // slope

    @staticmethod
    def of_canonical(totals: Integers, slopes: Integers | int) -> Integers:
        """The same times on offers that have these slopes, which are known."""
        whole: Integers = totals // slopes
        rest: Integers = totals % slopes
        return whole * MILLION + rest * MILLION // slopes

    def _draw_lines(self) -> None:
        """Ratios of means for offers that have no given line, and a new histogram."""
        sums = {name: sum(times) for name, times in self._finished.items()}
        known = next((name for name in self._finished if name in self._given), None)
        anchor = known or next(iter(self._finished))
        height = self._given.get(anchor, MILLION) * sums[anchor]
        for name, times in self._finished.items():
            if name not in self._given and sums[name]:
                scaled = height * len(times) // (len(self._finished[anchor]) * sums[name])
                self._slopes[name] = max(1, scaled)
        self._times = SortedTimes.of(
            time * slope // MILLION
            for name, slope in self._slopes.items()
            for time in self._finished.get(name, ())
        )
        self._drawn = self._count
