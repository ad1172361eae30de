"""How large a sample must be for an interval to be narrow enough (BaTS thesis, section 4.3.2).

The intervals are those of `bounds`: Student's t for the mean, chi-square for the deviation. Of the
deviation the width is given as a share of the deviation itself, so that nothing need be known of
the tasks. Of the mean it is given as a share of the mean, which takes the coefficient of variation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bursar.beliefs.bounds import OfferBelief
from bursar.model.errors import InputError

FEWEST: Final = 2
"""A single task has no interval."""
MOST: Final = 10_000_000
"""No sample is larger."""


def size_for_deviation(width: float, confidence: float = 0.95) -> int:
    """The fewest tasks whose interval of the deviation is at most `width` deviations wide."""
    return _fewest(lambda size: deviation_width(size, confidence), width)


def size_for_mean(width: float, variation: float, confidence: float = 0.95) -> int:
    """The fewest tasks whose interval of the mean is at most `width` means wide.

    `variation` is the deviation over the mean, which somebody must know.
    """
    if variation <= 0:
        raise InputError(f"a coefficient of variation of {variation:g}; it must be above 0")
    return _fewest(lambda size: mean_width(size, variation, confidence), width)


def deviation_width(size: int, confidence: float = 0.95) -> float:
    """Width of the interval for the deviation, in deviations: it falls as the sample grows."""
    interval = OfferBelief(1.0, 1.0, size).deviation_interval(confidence)
    return interval.high - interval.low


def mean_width(size: int, variation: float, confidence: float = 0.95) -> float:
    """Width of the interval for the mean, in means."""
    interval = OfferBelief(1.0, variation, size).mean_interval(confidence)
    return interval.high - interval.low


def _fewest(width_of: Callable[[int], float], width: float) -> int:
    """The first size at which an interval is narrow enough."""
    if width <= 0:
        raise InputError(f"an interval of width {width:g}; it must be above 0")
    if width_of(FEWEST) <= width:
        return FEWEST
    wide, narrow = FEWEST, 2 * FEWEST
    while width_of(narrow) > width:
        wide, narrow = narrow, 2 * narrow
        if narrow > MOST:
            raise InputError(f"an interval of width {width:g} needs more than {MOST:,} tasks")
    while narrow - wide > 1:
        middle = (wide + narrow) // 2
        if width_of(middle) <= width:
            narrow = middle
        else:
            wide = middle
    return narrow
