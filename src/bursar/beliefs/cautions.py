"""Sentences for people about a sample that cannot carry a promise."""

from __future__ import annotations

from math import ceil
from typing import Final

import numpy as np
from numpy.typing import NDArray

FEW_TASKS: Final = 7
"""Fewer do not even suffice for a regression (thesis, section 3.1.3)."""
LARGE_SHARE: Final = 0.25
"""One task of a sample of ten or more should not take more of its time."""
LONG_TASK: Final = 10
"""Times the median: the longest task of a sample is a sign of a heavy tail."""

APART: Final = 3.0
"""A kind of tasks takes so many times as long as the next shorter one ..."""
SHARE_OF_KIND: Final = 0.1
"""... where at least this share of the sample is on either side."""
MISSED: Final = 0.1
"""With this chance a sample misses a kind of tasks that a list says may be missing."""


def sample_cautions(offer: str, runtimes: NDArray[np.int64]) -> list[str]:
    """Why bounds from this sample are wide or may not hold; nothing if it is sound."""
    count = len(runtimes)
    if count < FEW_TASKS:
        timed = "one task was" if count == 1 else f"{count} tasks were"
        return [f"Only {timed} timed on {offer}: the bounds are based on very little."]
    longest, total = int(runtimes.max()), int(runtimes.sum())
    if longest == int(runtimes.min()):
        return []
    return [*_kinds(offer, runtimes), *_long_tasks(offer, runtimes, longest / total)]


def _kinds(offer: str, runtimes: NDArray[np.int64]) -> list[str]:
    if not has_kinds(runtimes):
        return []
    return [
        f"The tasks timed on {offer} are of several kinds: one more, rarer than one task in"
        f" {rarest_seen(len(runtimes))}, may be missing, and the bounds would not hold."
    ]


def _long_tasks(offer: str, runtimes: NDArray[np.int64], share: float) -> list[str]:
    count, longest = len(runtimes), int(runtimes.max())
    times = longest / float(np.median(runtimes))
    if count >= 10 and share > LARGE_SHARE:
        return [
            f"One of {count} tasks on {offer} took {share:.0%} of their time: a few long tasks"
            " decide when the bag ends, and the bounds are wide."
        ]
    if times > LONG_TASK:
        return [
            f"The longest of {count} tasks on {offer} took {times:.0f} times the median:"
            " longer ones are likely, and the bounds are wide."
        ]
    return []


def has_kinds(runtimes: NDArray[np.int64]) -> bool:
    """Whether the tasks are clearly of several kinds: hardly any is between short and long ones."""
    ordered = np.sort(np.maximum(runtimes, 1))
    few = max(1, ceil(SHARE_OF_KIND * len(ordered)))
    ratios = ordered[1:] / ordered[:-1]
    return bool((ratios[few - 1 : len(ratios) + 1 - few] > APART).any())


def rarest_seen(sampled: int) -> int:
    """A kind to which one task in so many belongs is in nine of ten samples of this size."""
    return max(2, round(1 / (1 - float(MISSED ** (1 / sampled)))))
