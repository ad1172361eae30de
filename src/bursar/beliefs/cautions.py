"""Sentences for people about a sample that cannot carry a promise."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.model.time import format_duration

FEW_TASKS: Final = 7
"""Fewer do not even suffice for a regression (thesis, section 3.1.3)."""
LARGE_SHARE: Final = 0.25
"""One task of a sample of ten or more should not take more of its time."""
LONG_TASK: Final = 10
"""Times the median: the longest task of a sample is a sign of a heavy tail."""

SPREAD: Final = 0.4
"""Deviation relative to the mean from which tasks are called different."""
FEW_LENGTHS: Final = 4
"""An execution shorter than so many of its longest tasks is decided by them."""


def sample_cautions(offer: str, runtimes: NDArray[np.int64]) -> list[str]:
    """Why bounds from this sample may not hold; nothing if it is sound."""
    count = len(runtimes)
    if count < FEW_TASKS:
        timed = "one task was" if count == 1 else f"{count} tasks were"
        return [f"Only {timed} timed on {offer}: the bounds are based on very little."]
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


def ending_caution(offer: str, runtimes: NDArray[np.int64], makespan: float) -> str | None:
    """A warning where the longest tasks on the slowest offer decide when the bag ends."""
    longest = float(runtimes.max())
    if float(runtimes.std()) < SPREAD * float(runtimes.mean()) or makespan > FEW_LENGTHS * longest:
        return None
    return (
        f"The longest task timed on {offer} took {format_duration(round(longest))}, the whole bag"
        f" will take about {format_duration(round(makespan))}: when it ends depends on tasks that"
        " may be longer still."
    )
