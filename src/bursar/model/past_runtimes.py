"""Run times of tasks like those of a bag, as somebody has them from before."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Final

import msgspec

from bursar.model.time import Time

MOST: Final = 2_000
"""More run times are represented by so many quantiles: a run's journal holds them."""


class PastRuntimes(msgspec.Struct, frozen=True):
    """Run times at speed 1, from short to long."""

    times: tuple[Time, ...]
    """all of them; of many the averages of equal parts, so that the mean stays"""
    count: int
    """tasks that they are of"""

    @classmethod
    def of(cls, times: Iterable[Time]) -> PastRuntimes:
        """Takes those of at least one task, in any order."""
        ranked = sorted(max(1, time) for time in times)
        count, parts = len(ranked), min(len(ranked), MOST)
        edges = [part * count // parts for part in range(parts + 1)]
        averages = (round(fmean(ranked[first:last])) for first, last in pairwise(edges))
        return cls(tuple(averages), count)

    @property
    def mean(self) -> Time:
        return max(1, round(fmean(self.times)))

    @property
    def deviation(self) -> Time:
        return round(pstdev(self.times))
