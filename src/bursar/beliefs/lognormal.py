"""A factor of mean 1 that is never near zero, however much it varies."""

from __future__ import annotations

import math

import numpy as np

from bursar.beliefs.histogram import BINS, Histogram
from bursar.model.errors import InputError


def lognormal(deviation: float, bins: int = BINS) -> Histogram:
    """The lognormal distribution of mean 1 with this coefficient of variation.

    Disturbances of a run time multiply rather than add. A gamma distribution that varies as much
    as its mean, or more, would have most tasks take next to no time; a normal one, less than none.
    Every bin is the exact mean of what lies in it.
    """
    from scipy.special import ndtr, ndtri

    if not 0 <= deviation < math.inf:
        raise InputError(f"a deviation of {deviation:g}; use 0 or more, such as 0.3 for 30 %")
    if deviation == 0:
        return Histogram.constant(1.0, bins)
    spread = math.sqrt(math.log1p(deviation**2))
    edges = ndtri(np.arange(bins + 1) / bins)
    # The mean of what lies below an edge is a normal probability, too, with the edge moved.
    growth = np.diff(ndtr(edges - spread))
    return Histogram(np.maximum.accumulate(growth * bins))
