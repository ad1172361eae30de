"""One histogram of run times over all offers (BaTS thesis, section 5.1).

Finished run times are converted to a canonical offer by a line through the origin for each offer,
and kept sorted. What a running task will take in all is the mean of those that are longer than it
has run: E[T | T > t]. Where none is longer, nothing is known but that it has run so long.

All arithmetic is on integers: a compiled kernel finds the same figures.
"""

from __future__ import annotations

import inspect
from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final

import numpy as np

from bursar.beliefs.ascending import AscendingTimes, Integers
from bursar.beliefs.past import past_successes
from bursar.kernels import conditional_means
from bursar.kernels.compiling import compile_kept, is_loaded, let_kernels_call, stamp_of
from bursar.kernels.conditional_means import MILLION
from bursar.model.time import HOUR, Time
from bursar.state import events as ev
from bursar.state.run_times import Elsewhere, RunTimes
from bursar.state.view import View

LARGEST_BUCKET: Final = 512
RENEWAL: Final = 10
"""Lines are drawn again when the finished tasks have grown by one part in so many."""
LARGEST: Final = 2**63 - 1
FEW: Final = 512
"""Times that come one by one before they are put among all."""


class SortedTimes:
    """Times in ascending order, in buckets with their sums: both calls take about sqrt(n)."""

    def __init__(self) -> None:
        self._buckets: list[list[Time]] = []
        self._least: list[Time] = []
        """of each bucket"""
        self._sums: list[int] = []
        self._all = AscendingTimes.of(())
        """all times but the latest"""
        self._latest: AscendingTimes | None = None
        """those that came since; None: nobody asked for arrays yet"""

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
            self._latest = self._latest.with_one(time)
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

    @property
    def longest(self) -> Time:
        """0 where there is none."""
        return self._buckets[-1][-1] if self._buckets else 0

    def mean_above(self, bound: Time) -> Time | None:
        """The mean of the times that are longer, rounded down; None: none is."""
        at = max(0, bisect_right(self._least, bound) - 1)
        longer = self._buckets[at][bisect_right(self._buckets[at], bound) :] if self._least else []
        count = len(longer) + sum(map(len, self._buckets[at + 1 :]))
        return (sum(longer) + sum(self._sums[at + 1 :])) // count if count else None

    def means_above(self, bounds: Integers) -> Integers:
        """`mean_above` of each bound; where none is longer, the bound itself."""
        earlier, latest = self.ascending()
        counts, sums = earlier.above(bounds)
        if len(latest):
            more, much = latest.above(bounds)
            counts, sums = counts + more, sums + much
        return np.where(counts > 0, sums // np.maximum(counts, 1), bounds)

    def ascending(self) -> tuple[AscendingTimes, AscendingTimes]:
        """All times but the latest, and these."""
        if self._latest is None:
            self._all = AscendingTimes.of([time for bucket in self._buckets for time in bucket])
            self._latest = AscendingTimes.of(())
        elif len(self._latest) > FEW:
            self._all, self._latest = self._all.with_all(self._latest), AscendingTimes.of(())
        return self._all, self._latest


class UnifiedRuntimes(RunTimes):
    """Learns from finished tasks; an observer of the engine.

    `slopes` are millionths: a run time on an offer times its slope is that on the canonical one.
    An offer without a given slope gets the ratio of the mean run times, once both are known.
    """

    def __init__(self, slopes: Mapping[str, int] | None = None) -> None:
        self._given = dict(slopes or {})
        self._slopes = dict(self._given)
        self._finished: dict[str, list[Time]] = {}
        self._times: SortedTimes | None = SortedTimes()
        """None: lines were drawn, and nobody has asked since"""
        self._count = 0
        self._drawn = 0
        """finished tasks when the lines were last drawn"""

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        if type(event) is not ev.AttemptEnded or event.outcome != "success":
            return
        if state.winners[state.log.task[event.attempt]] == event.attempt:
            machine = state.machines[state.log.machine[event.attempt]]
            self.learn(machine.offer.name, event.runtime)

    def saw_before(self, view: View) -> None:
        """Learn what happened before anybody watched."""
        for past in past_successes(view):
            times = past.runtimes[past.are_results].tolist()
            if times:
                self._finished[past.offer] = times
        self._count = sum(map(len, self._finished.values()))
        if self._count:
            self._draw_lines()

    def learn(self, offer: str, runtime: Time) -> None:
        self._finished.setdefault(offer, []).append(runtime)
        self._count += 1
        slope = self._slopes.get(offer)
        if slope is None or (
            offer not in self._given and self._count > self._drawn + self._drawn // RENEWAL
        ):
            self._draw_lines()
        elif self._times is not None:
            self._times.add(runtime * slope // MILLION)

    def expected(self, offer: str, elapsed: Time = 0, task: int = 0) -> Time | None:
        return self.expected_total(offer, elapsed)

    def moved(self, source: str, elapsed: Time, offer: str, task: int = 0) -> Time | None:
        return self.expected_total(source, elapsed, on=offer)

    def may_end_sooner(self, sources: Iterable[str], offer: str) -> bool:
        slopes = [known for name in sources if (known := self.slope(name))]
        return bool(slopes) and self.slope(offer) > min(slopes)

    def elsewhere(
        self, offers: Sequence[str], sources: Integers, elapsed: Integers, tasks: Integers
    ) -> Elsewhere:
        return _Converted(self, offers, sources, elapsed)

    def longest(self, offer: str, elapsed: Time) -> Time | None:
        """A mean of those that took longer is at most the longest of all."""
        slope = self._slopes.get(offer)
        if slope is None:
            return None
        return max(elapsed * slope // MILLION, self.histogram().longest) * MILLION // slope

    def expected_total(self, offer: str, elapsed: Time, on: str | None = None) -> Time | None:
        """What a task takes in all that has run for `elapsed` on an offer: there, or on another.

        None where an offer's line is not known yet.
        """
        source, target = self._slopes.get(offer), self._slopes.get(on or offer)
        if source is None or target is None:
            return None
        so_far = elapsed * source // MILLION
        mean = self.histogram().mean_above(so_far)
        return (so_far if mean is None else mean) * MILLION // target

    def canonical_totals(self, elapsed: Integers, slope: Integers | int) -> Integers:
        """What tasks take in all on the canonical offer that ran so long where slopes are these.

        With `_Converted` it is what `expected_total` says of each.
        """
        most = slope if isinstance(slope, int) else int(slope.max(initial=1))
        is_small = int(elapsed.max(initial=0)) <= LARGEST // most
        return self.histogram().means_above(_scaled(elapsed, slope, MILLION, is_small=is_small))

    def slope(self, offer: str) -> int:
        """In millionths, the higher the faster; 0 where its line is not known yet."""
        return self._slopes.get(offer, 0)

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

    def histogram(self) -> SortedTimes:
        """What finished, as on the canonical offer; sorted when somebody asks, as few do."""
        if self._times is None:
            self._times = SortedTimes.of(
                time * slope // MILLION
                for name, slope in self._slopes.items()
                for time in self._finished.get(name, ())
            )
        return self._times

    def _draw_lines(self) -> None:
        """Ratios of means for offers that have no given line; the histogram is another then."""
        sums = {name: sum(times) for name, times in self._finished.items()}
        known = next((name for name in self._finished if name in self._given), None)
        anchor = known or next(iter(self._finished))
        height = self._given.get(anchor, MILLION) * sums[anchor]
        for name, times in self._finished.items():
            if name not in self._given and sums[name]:
                scaled = height * len(times) // (len(self._finished[anchor]) * sums[name])
                self._slopes[name] = max(1, scaled)
        self._times = None
        self._drawn = self._count


def _scaled(
    times: Integers, by: Integers | int, over: Integers | int, *, is_small: bool
) -> Integers:
    """Each time as many times as long, rounded down; whether the product fits in an integer."""
    if is_small:
        return times * by // over
    whole: Integers = times // over  # in two parts
    rest: Integers = times - whole * over
    return whole * by + rest * by // over


class _Converted:
    """What running tasks take in all, each converted to the canonical offer once."""

    def __init__(
        self, runtimes: UnifiedRuntimes, offers: Sequence[str], sources: Integers, elapsed: Integers
    ) -> None:
        self._slopes = {name: runtimes.slope(name) for name in offers}
        slopes = np.array([*self._slopes.values()], np.int64)
        if is_loaded():
            self._totals, self.here = _compiled_totals(runtimes, slopes, sources, elapsed)
            return
        known = slopes[sources]
        self._totals = runtimes.canonical_totals(elapsed, known)
        """what each one takes on the canonical offer; 0 where nothing is known"""
        if not known.all():
            self._totals, known = self._totals * (known > 0), np.maximum(known, 1)
        self.here = self._with(known)

    def on(self, offer: str) -> Integers:
        slope = self._slopes[offer]
        if not slope:
            return np.zeros_like(self._totals)
        return self._with(slope)

    def _with(self, slope: Integers | int) -> Integers:
        """The same times on offers that have these slopes, which are known."""
        is_small = int(self._totals.max(initial=0)) <= LARGEST // MILLION
        return _scaled(self._totals, MILLION, slope, is_small=is_small)


def _compiled_totals(
    runtimes: UnifiedRuntimes, slopes: Integers, sources: Integers, elapsed: Integers
) -> tuple[Integers, Integers]:
    """The same whole numbers, for less: as on the canonical offer, and where each runs."""
    earlier, latest = runtimes.histogram().ascending()
    totals, here = np.empty((2, len(elapsed)), np.int64)
    _kernel()(
        *(np.array(elapsed, np.int64), np.array(sources, np.int64), slopes),
        *(earlier.times, earlier.sums, latest.times, latest.sums, totals, here),
    )
    return totals, here


@cache
def _kernel() -> Callable[..., None]:
    let_kernels_call(*conditional_means.PARTS, makes_arrays=False)
    stamp = stamp_of([inspect.getsource(conditional_means)])
    return compile_kept(conditional_means.convert_totals, stamp)
