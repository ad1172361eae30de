"""Sentences for people about a sample that cannot carry a promise."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

FEW_TASKS: Final = 7
"""Fewer do not even suffice for a regression (thesis, section 3.1.3)."""
LARGE_SHARE: Final = 0.25
"""One task of a sample of ten or more should not take more of its time."""
LONG_TASK: Final = 10
"""Times the median: the longest task of a sample is a sign of a heavy tail."""


def sample_cautions(offer: str, runtimes: NDArray[np.int64]) -> list[str]:
    """Why bounds from this sample may not hold; nothing if it is sound."""
    count = len(runtimes)
    if count < FEW_TASKS:
        timed = "one task was" if count == 1 else f"{count} tasks were"
        return [f"Only {timed} timed on {offer}: the bounds rest on very little."]
    longest, total = int(runtimes.max()), int(runtimes.sum())
    if longest == int(runtimes.min()):
        return []
    share = longest / total
    times = longest / float(np.median(runtimes))
    if count >= 10 and share > LARGE_SHARE:
        return [
            f"One of {count} tasks on {offer} took {share:.0%} of their time: a few long tasks"
            " decide when the bag ends, and the bounds may not hold."
        ]
    if times > LONG_TASK:
        return [
            f"The longest of {count} tasks on {offer} took {times:.0f} times the median:"
            " longer ones are likely, and the bounds may not hold."
        ]
    return []
