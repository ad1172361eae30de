"""Sentences for people about a sample that cannot carry a promise."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.tail_shapes import SHORT_TAIL, chance_of_missing, usual_shape

FEW_TASKS: Final = 7
"""Fewer do not even suffice for a regression (thesis, section 3.1.3)."""
LARGE_SHARE: Final = 0.25
"""One task of a sample of ten or more should not take more of its time."""
LONG_TASK: Final = 10
"""Times the median: the longest task of a sample is a sign of a heavy tail."""

MISSED: Final = 0.1
"""With this chance a sample misses a kind of tasks that a list says may be missing."""
MAY_FAIL: Final = "and the bounds would not hold"
"""In every sentence about bounds that hold less often than they say."""


def sample_cautions(offer: str, runtimes: NDArray[np.int64]) -> list[str]:
    """Why bounds from this sample are wide or may not hold; nothing if it is sound."""
    count = len(runtimes)
    if count < FEW_TASKS:
        timed = "one task was" if count == 1 else f"{count} tasks were"
        return [f"Only {timed} timed on {offer}: the bounds are based on very little."]
    longest, total = int(runtimes.max()), int(runtimes.sum())
    if longest == int(runtimes.min()):
        return []
    return [*_missing(offer, runtimes), *_long_tasks(offer, runtimes, longest / total)]


def _missing(offer: str, runtimes: NDArray[np.int64]) -> list[str]:
    if not may_miss_long_tasks(runtimes):
        return []
    return [
        f"The tasks timed on {offer} are unlike each other, but none is much longer than the rest:"
        f" a kind of long tasks, rarer than one in {rarest_seen(len(runtimes))}, may be missing,"
        f" {MAY_FAIL}."
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


def may_miss_long_tasks(runtimes: NDArray[np.int64]) -> bool:
    """Whether much is likely to be missing of which the longest tasks of a sample show nothing."""
    ordered = np.sort(np.maximum(runtimes, 1).astype(np.float64))
    return chance_of_missing(ordered) > MISSED and usual_shape(ordered) < SHORT_TAIL


def rarest_seen(sampled: int) -> int:
    """A kind to which one task in so many belongs is in nine of ten samples of this size."""
    return max(2, round(1 / (1 - float(MISSED ** (1 / sampled)))))
