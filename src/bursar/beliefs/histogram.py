"""Distributions as histograms of equally likely bins, and how they are added and compared (Prob).

The bins are not equally wide but equally likely (section 5 of the paper, 200 of them): where values
are likely, they are kept in finer bins. A bin is kept as the mean of what lies in it, not as
two edges. So a mean stays exact under every sum, and with it the expected cost of a task; the last
bin of a heavy tail has the weight that it should; a constant is a constant; and nothing is put
into a gap between two values. Bounds of bins would be wrong in all four.

What it costs: a probability is off by up to one bin in each operand and in the result, and the
variance within bins is lost, little by little, in long chains of sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar.model.errors import InputError

Floats = NDArray[np.float64]

BINS: Final = 200
"""As the paper has it, from its study of accuracy against effort."""
CELLS: Final = 20
"""Two distributions are compared by so many parts of both together; with more, a part has so few
bins that chance tells equals apart."""


class Histogram(msgspec.Struct, frozen=True, eq=False):
    """A random variable: each of the values stands for a bin, and all bins are equally likely.

    The values are finite and ascending, and cannot be changed.
    """

    values: Floats

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        if values.ndim != 1 or len(values) == 0:
            raise InputError("a histogram needs at least one value, in one row")
        if not np.all(np.isfinite(values)):
            raise InputError("a histogram of values that are not all finite; leave those out")
        if np.any(np.diff(values) < 0):
            raise InputError("the bins of a histogram must be ascending; give samples instead")
        values.flags.writeable = False
        msgspec.structs.force_setattr(self, "values", values)

    @classmethod
    def constant(cls, value: float, bins: int = BINS) -> Histogram:
        return cls(np.full(bins, value, dtype=np.float64))

    @classmethod
    def from_samples(cls, samples: ArrayLike, bins: int = BINS) -> Histogram:
        """The distribution of what was seen, each equally often."""
        seen = np.sort(np.asarray(samples, dtype=np.float64), axis=None)
        if len(seen) == 0:
            raise InputError("a histogram of no samples; give at least one")
        if not np.all(np.isfinite(seen)):
            raise InputError("a histogram of samples that are not all finite; leave those out")
        return cls(_gather_evenly(seen, bins))

    @classmethod
    def from_bandwidths(
        cls, bandwidths: ArrayLike, volume: float = 1.0, bins: int = BINS
    ) -> Histogram:
        """The time that a volume takes at the bandwidths that were seen (section 2.2).

        The mean is that of the times, which is longer than the volume by the mean bandwidth.
        """
        seen = np.asarray(bandwidths, dtype=np.float64)
        if not np.all(seen > 0):
            raise InputError("a bandwidth of 0 or less moves nothing; leave it out")
        if not 0 <= volume < math.inf:
            raise InputError(f"a volume of {volume:g}; it must be finite and not negative")
        return cls.from_samples(volume / seen, bins)

    @classmethod
    def from_cumulative(cls, values: Floats, reached: Floats, bins: int = BINS) -> Histogram:
        """From ascending values, each with the probability of it or less; the last is 1."""
        return cls(_gather(values, reached, bins))

    # --- what it tells ---------------------------------------------------------------------------

    @property
    def least(self) -> float:
        return float(self.values[0])

    @property
    def most(self) -> float:
        return float(self.values[-1])

    @property
    def mean(self) -> float:
        if self.is_constant:
            return self.least
        return float(np.mean(self.values))

    @property
    def is_constant(self) -> bool:
        return self.least == self.most

    def cdf(self, value: float) -> float:
        """P(X <= value), in whole bins."""
        return int(np.searchsorted(self.values, value, side="right")) / len(self.values)

    def quantile(self, share: float) -> float:
        """What X does not exceed with this probability, interpolated between middles of bins."""
        if not 0 <= share <= 1:
            raise InputError(f"a quantile at {share:g}; use 0 to 1")
        middles = (np.arange(len(self.values)) + 0.5) / len(self.values)
        return float(np.interp(share, middles, self.values))

    def truncated_mean(self, low: float = 0.0, high: float = 1.0) -> float:
        """The mean of what lies between two shares: the least and the greatest left out."""
        if not 0 <= low < high <= 1:
            raise InputError(f"a mean from {low:g} to {high:g}; use shares, the lower one first")
        bins = len(self.values)
        edges = np.arange(bins + 1) / bins
        kept = np.diff(np.clip(edges, low, high))
        mean = float(kept @ self.values) / float(kept.sum())
        return min(max(mean, self.least), self.most)

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """So many independent draws, each a bin's value."""
        return self.values[rng.integers(0, len(self.values), count)]

    # --- arithmetic ------------------------------------------------------------------------------

    def scaled(self, factor: float) -> Histogram:
        """The distribution of X times a factor that is not negative."""
        if not factor >= 0:
            raise InputError(f"a histogram scaled by {factor:g}; use 0 or more")
        return Histogram(self.values * factor)

    def shifted(self, by: float) -> Histogram:
        """The distribution of X plus a constant."""
        return Histogram(self.values + by)

    def __add__(self, other: Histogram) -> Histogram:
        """ADD: the distribution of the sum, where the two are independent (equation 4)."""
        if other.is_constant:
            return self.shifted(other.least)
        if self.is_constant:
            return other.shifted(self.least)
        # "stable" merges rows that are ascending already, in two thirds of the time.
        sums = np.sort(np.add.outer(self.values, other.values), axis=None, kind="stable")
        return Histogram(_gather_evenly(sums, max(len(self.values), len(other.values))))

    def maximum(self, other: Histogram) -> Histogram:
        """MAX: the distribution of the greater, where the two are independent (equation 5)."""
        return greatest([self, other])

    # --- comparison ------------------------------------------------------------------------------

    def chance_at_most(self, other: Histogram) -> float:
        """P(X <= Y), where the two are independent; bins of the same value count (equation 6)."""
        pairs = len(self.values) * len(other.values)
        return int(_counts(self.values, other.values).sum()) / pairs

    def bounds_of_exceeding(self, other: Histogram) -> tuple[float, float]:
        """A lower and an upper bound of P(X > Y), by the ends of Y alone (equations 9 and 10)."""
        return 1 - self.cdf(other.most), 1 - self.cdf(other.least)

    def exceeds(self, other: Histogram) -> bool:
        """Whether P(X > Y) > 1/2; most pairs are decided by the bounds (section 4.3)."""
        low, high = self.bounds_of_exceeding(other)
        if low > 0.5 or high <= 0.5:
            return low > 0.5
        return self.chance_at_most(other) < 0.5

    def distance(self, other: Histogram) -> float:
        """The distance of Bhattacharyya: 0 for equals, infinite where nothing is in common.

        It is taken over parts into which both together are split evenly, so that it does not change
        when both are measured in another unit, or as times instead of bandwidths.
        """
        both = np.sort(np.concatenate([self.values, other.values]))
        ends = np.unique(both[_ends(len(both), CELLS)])
        counts = [
            np.bincount(np.searchsorted(ends, one.values), minlength=len(ends))
            for one in (self, other)
        ]
        in_common = float(np.sqrt(counts[0] * counts[1]).sum())
        in_common /= math.sqrt(len(self.values) * len(other.values))
        return max(0.0, -math.log(in_common)) if in_common > 0 else math.inf

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash(tuple(self.values.tolist()))


def greatest(histograms: Sequence[Histogram]) -> Histogram:
    """MAX of any number of independents: their cumulative distributions, multiplied."""
    if not histograms:
        raise InputError("the greatest of no histograms; give at least one")
    bins = max(len(one.values) for one in histograms)
    floor = max(one.least for one in histograms)
    rivals = [one for one in histograms if one.most > floor]
    if not rivals:
        return Histogram.constant(floor, bins)
    if len(rivals) == 1 and rivals[0].least == floor:
        return rivals[0]
    rows = [np.maximum(one.values, floor) for one in rivals]
    values = np.unique(np.concatenate(rows))
    reached = np.prod([_counts(row, values) / len(row) for row in rows], axis=0)
    return Histogram(_gather(values, reached, bins))


def _counts(row: Floats, values: Floats) -> NDArray[np.int64]:
    """How many of an ascending row are at or below each value."""
    return np.searchsorted(row, values, side="right")


def _ends(count: int, parts: int) -> NDArray[np.int64]:
    """Where each of the parts ends, in a row of so many; every part has at least one."""
    parts = min(parts, count)
    return np.arange(1, parts + 1) * count // parts - 1


def _gather_evenly(values: Floats, bins: int) -> Floats:
    """The means of equally likely bins of ascending values that are equally likely."""
    if bins < 1:
        raise InputError(f"a histogram of {bins} bins; it needs at least 1")
    if len(values) % bins:
        return _gather(values, np.arange(1, len(values) + 1) / len(values), bins)
    rows = values.reshape(bins, -1)
    means: Floats = np.clip(rows.mean(axis=1), rows[:, 0], rows[:, -1])
    return means


def _gather(values: Floats, reached: Floats, bins: int) -> Floats:
    """The means of equally likely bins of ascending values with this cumulative distribution.

    The integral of the quantiles is linear between values; a bin's mean is its growth. It stays
    between the first and the last value in the bin, where rounding could take it beyond.
    """
    weights = np.diff(reached, prepend=0.0)
    has_weight = weights > 0
    values, reached, weights = values[has_weight], reached[has_weight], weights[has_weight]
    integral = np.concatenate([[0.0], np.cumsum(values * weights)])
    edges = np.arange(bins + 1) / bins
    growth = np.diff(np.interp(edges, np.concatenate([[0.0], reached]), integral))
    first = np.searchsorted(reached, edges[:-1], side="right")
    last = np.minimum(np.searchsorted(reached, edges[1:]), len(values) - 1)
    means: Floats = np.clip(growth * bins, values[np.minimum(first, last)], values[last])
    return means
