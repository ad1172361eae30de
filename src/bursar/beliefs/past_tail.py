"""How the longest of earlier tasks fall off: what to expect of one older than nearly all of them.

That no earlier task took longer than a running one has by now says little of when it ends: of
thousands, a few tell the very end of a distribution. The longest part of them tells its form.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec
import numpy as np

from bursar.model.past_runtimes import PastRuntimes
from bursar.model.time import SECOND

LONGEST: Final = 0.02
"""The share of earlier tasks that are the longest ..."""
FEWEST: Final = 8
"""... and no fewer tell how they fall off."""
LEAST_EXCESS: Final = 0.01
"""By how much they exceed the first of them at least, as a logarithm: they may all be alike."""


class PastTail(msgspec.Struct, frozen=True):
    """Run times beyond some seconds at speed 1 are Pareto with this exponent."""

    begin: float
    exponent: float


@lru_cache(maxsize=16)
def tail_of(past: PastRuntimes) -> PastTail | None:
    """By Hill's estimate; None where too few are known. A run has one: it is made once."""
    longest = np.array(past.times[-max(1, round(LONGEST * len(past.times))) :]) / SECOND
    if len(longest) < FEWEST:
        return None
    excess = float(np.log(longest[1:] / longest[0]).mean())
    return PastTail(float(longest[0]), 1 / max(excess, LEAST_EXCESS))
