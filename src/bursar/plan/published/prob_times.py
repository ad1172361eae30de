"""Four ways to compute with times of tasks, for one search: Prob's, and those it is compared to.

- `Distributions` is Prob: times are histograms, made from what disks and networks do.
- `Scalars` is a static method. Average takes the mean bandwidth (section 2.2), and with it times
  that are too short; Worst-case the 99th percentile of what a byte takes (section 6.1).
- `Samples` is the Monte-Carlo reference (section 3.3): M draws for every operation.

Each also says what it expects of a task, which is what the budget is compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.histogram import BINS, Histogram
from bursar.beliefs.performance import Performance
from bursar.model.errors import InputError
from bursar.plan.published.prob_operations import Piece, Tally, add, compare, maximum

Floats = NDArray[np.float64]

WORST: Final = 0.99
STEPS_PER_OCTAVE: Final = 128
"""Tasks whose ratios of network to disk differ by less than such a step, half a per cent, share the
shape of their times, though not the mean."""
SAMPLES: Final = 10_000
KEPT_BYTES: Final = 2**27
"""of times that are kept because they may be wanted again"""

T = TypeVar("T")


class Times(Protocol[T]):
    """How times are made, put together and compared; `tally` counts what it took."""

    tally: Tally
    most_kept: int
    """times that may be kept in memory"""

    def expected(self, profiles: Floats) -> Floats:
        """[task, offer]: the seconds that each task is expected to take on each offer."""

    def generate(self, piece: Piece) -> T:
        """The time of tasks that run beside each other: of the last to end."""

    def add(self, one: T, other: T) -> T: ...

    def maximum(self, times: Sequence[T]) -> T:
        """The latest of any number, at least one."""

    def is_greater(self, one: T, other: T, *, bounds: bool) -> bool: ...

    def mean(self, time: T) -> float: ...

    def distribution(self, time: T) -> Histogram: ...


class Distributions:
    """Prob: histograms, and the operations on them."""

    def __init__(self, performances: Sequence[Performance]) -> None:
        self.tally = Tally()
        self.most_kept = KEPT_BYTES // (8 * BINS)
        self.performances = _checked(performances)
        self._speeds = np.array([one.speed for one in performances])
        self._disk = np.array([one.disk.mean for one in performances])
        self._network = np.array([one.network.mean for one in performances])
        self._shapes: dict[tuple[int, float], Floats] = {}

    def expected(self, profiles: Floats) -> Floats:
        return _linear(profiles, self._speeds, self._disk, self._network)

    def generate(self, piece: Piece) -> Histogram:
        self.tally.generated += len(piece.offers)
        parts = [
            self._rows(piece.profiles[piece.offers == offer], offer)
            for offer in np.unique(piece.offers).tolist()
        ]
        return maximum(np.concatenate(parts), self.tally)

    def add(self, one: Histogram, other: Histogram) -> Histogram:
        return add(one, other, self.tally)

    def maximum(self, times: Sequence[Histogram]) -> Histogram:
        return maximum(np.array([one.values for one in times]), self.tally)

    def is_greater(self, one: Histogram, other: Histogram, *, bounds: bool) -> bool:
        return compare(one, other, self.tally, bounds=bounds)

    def mean(self, time: Histogram) -> float:
        return time.mean

    def distribution(self, time: Histogram) -> Histogram:
        return time

    def _rows(self, profiles: Floats, offer: int) -> Floats:
        """[task, bin] on one offer: a shape of mean 1, as long as the moving is, and the work."""
        moving = profiles[:, 1] * self._disk[offer] + profiles[:, 2] * self._network[offer]
        ratios = _steps_of(profiles[:, 1], profiles[:, 2])
        rows = np.empty((len(profiles), len(self.performances[offer].disk.values)))
        for step in np.unique(ratios).tolist():
            alike = ratios == step
            rows[alike] = np.multiply.outer(moving[alike], self._shape(offer, step))
        rows += (profiles[:, 0] / self._speeds[offer])[:, None]
        return rows

    def _shape(self, offer: int, step: float) -> Floats:
        """What disk and network take together, relative to the mean."""
        if (offer, step) not in self._shapes:
            whole = _moving(self.performances[offer], step)
            self._shapes[offer, step] = whole.values / (whole.mean or 1.0)
        return self._shapes[offer, step]


def _steps_of(disk: Floats, network: Floats) -> Floats:
    """The ratio of network to disk in steps; without bound where one of them is nothing."""
    with np.errstate(divide="ignore"):
        octaves = np.log2(network) - np.log2(np.where(disk > 0, disk, 1.0))
    steps = np.rint(octaves * STEPS_PER_OCTAVE)
    return np.where((disk > 0) | (network <= 0), steps, np.inf)


def _moving(performance: Performance, step: float) -> Histogram:
    """A byte of disk, and as many of network as the step says; network alone beyond all steps."""
    if step == np.inf:
        return performance.network
    if step == -np.inf:
        return performance.disk
    network = performance.network.scaled(2.0 ** (step / STEPS_PER_OCTAVE))
    return add(performance.disk, network, Tally())  # a part of making a time, so not counted


class Scalars:
    """A static method: one number for a time, of `paces[offer]`: seconds a byte, disk, network."""

    def __init__(self, performances: Sequence[Performance], paces: Floats) -> None:
        self.tally = Tally()
        self.most_kept = KEPT_BYTES // 64
        self._speeds = np.array([one.speed for one in _checked(performances)])
        self._paces = paces

    @classmethod
    def average(cls, performances: Sequence[Performance]) -> Scalars:
        """By the mean bandwidth, which is not the mean time of a byte but less."""
        paces = [
            [_pace_of_mean_bandwidth(one.disk), _pace_of_mean_bandwidth(one.network)]
            for one in performances
        ]
        return cls(performances, np.array(paces))

    @classmethod
    def worst(cls, performances: Sequence[Performance], share: float = WORST) -> Scalars:
        """By what a byte does not exceed with this probability."""
        paces = [[one.disk.quantile(share), one.network.quantile(share)] for one in performances]
        return cls(performances, np.array(paces))

    def expected(self, profiles: Floats) -> Floats:
        return _linear(profiles, self._speeds, self._paces[:, 0], self._paces[:, 1])

    def generate(self, piece: Piece) -> float:
        self.tally.generated += len(piece.offers)
        self.tally.maxima += len(piece.offers) - 1
        on_all = self.expected(piece.profiles)
        return float(on_all[np.arange(len(on_all)), piece.offers].max())

    def add(self, one: float, other: float) -> float:
        self.tally.adds += 1
        return one + other

    def maximum(self, times: Sequence[float]) -> float:
        self.tally.maxima += len(times) - 1
        return max(times)

    def is_greater(self, one: float, other: float, *, bounds: bool) -> bool:
        self.tally.compared_fully += 1
        return one > other

    def mean(self, time: float) -> float:
        return time

    def distribution(self, time: float) -> Histogram:
        return Histogram.constant(time)


def _pace_of_mean_bandwidth(pace: Histogram) -> float:
    if pace.least <= 0:
        return 0.0  # what takes no time has a bandwidth without bound, and so has the mean
    return 1.0 / float(np.mean(1.0 / pace.values))


class Samples:
    """The Monte-Carlo reference: a time is M draws, and every operation draws from its operands."""

    def __init__(
        self,
        performances: Sequence[Performance],
        rng: np.random.Generator,
        samples: int = SAMPLES,
    ) -> None:
        if samples < 1:
            raise InputError(f"a distribution of {samples} samples; it needs at least 1")
        self.tally = Tally()
        self.performances = _checked(performances)
        self.samples = samples
        self.most_kept = max(1, KEPT_BYTES // (8 * samples))
        self._rng = rng
        self._means = Distributions(performances)

    def expected(self, profiles: Floats) -> Floats:
        return self._means.expected(profiles)

    def generate(self, piece: Piece) -> Floats:
        drawn = (
            self._draw(row, self.performances[offer])
            for row, offer in zip(piece.profiles.tolist(), piece.offers.tolist(), strict=True)
        )
        self.tally.maxima += len(piece.offers) - 1
        return reduce(np.maximum, drawn)

    def add(self, one: Floats, other: Floats) -> Floats:
        self.tally.adds += 1
        return self._again(one) + self._again(other)

    def maximum(self, times: Sequence[Floats]) -> Floats:
        self.tally.maxima += len(times) - 1
        return reduce(np.maximum, map(self._again, times))

    def is_greater(self, one: Floats, other: Floats, *, bounds: bool) -> bool:
        """By all pairs of draws; they are counted by sorting, so M * M of them take M log M."""
        self.tally.compared_fully += 1
        at_most = np.searchsorted(np.sort(one), other, side="right").sum()
        return int(at_most) < 0.5 * len(one) * len(other)

    def mean(self, time: Floats) -> float:
        return float(time.mean())

    def distribution(self, time: Floats) -> Histogram:
        return Histogram.from_samples(time)

    def _draw(self, profile: list[float], on: Performance) -> Floats:
        work, disk, network = profile
        self.tally.generated += 1
        moving = np.full(self.samples, work / on.speed)
        if disk > 0:
            moving += disk * on.disk.sample(self._rng, self.samples)
        if network > 0:
            moving += network * on.network.sample(self._rng, self.samples)
        return moving

    def _again(self, time: Floats) -> Floats:
        """As many draws from the draws, so that what was used before is independent again."""
        return time[self._rng.integers(0, len(time), self.samples)]


def _linear(profiles: Floats, speeds: Floats, disk: Floats, network: Floats) -> Floats:
    work = np.divide.outer(profiles[:, 0], speeds)
    moving = np.multiply.outer(profiles[:, 1], disk) + np.multiply.outer(profiles[:, 2], network)
    result: Floats = work + moving
    return result


def _checked(performances: Sequence[Performance]) -> tuple[Performance, ...]:
    if not performances:
        raise InputError("no offer for the tasks; give the performance of at least one")
    if len({len(row.values) for one in performances for row in (one.disk, one.network)}) > 1:
        raise InputError("histograms of different numbers of bins; make them with the same")
    for one in performances:
        if not one.speed > 0:
            raise InputError(f"a machine of speed {one.speed:g}; it must be above 0")
    return tuple(performances)
