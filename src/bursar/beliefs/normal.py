"""The normal distribution in arrays, without scipy: a plan is made many times in a run."""

from __future__ import annotations

from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_P: Final = 0.3275911
_A: Final = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
"""Abramowitz and Stegun, 7.1.26: the error is below 1.5e-7 of one."""
_FAR: Final = -4.0
"""Below, the tail's own series is the better one."""


def _upper(z: Floats) -> Floats:
    """The chance of more than z, for z of zero and above."""
    x = z / sqrt(2.0)
    t = 1.0 / (1.0 + _P * x)
    *others, highest = _A
    found: Floats = highest * t
    for factor in others[:0:-1]:  # in place: arrays are large, and this is asked for often
        found += factor
        found *= t
    found += others[0]
    found *= 0.5
    found *= t
    found *= np.exp(-x * x)
    return found


def below(z: Floats) -> Floats:
    """The chance of at most z."""
    tail = _upper(np.abs(z))
    return np.where(z >= 0, 1.0 - tail, tail)


def log_below(z: Floats) -> Floats:
    """Its logarithm, also where the chance itself would be nothing."""
    if z.min(initial=0.0) >= _FAR:
        return np.log(below(z))
    near = np.maximum(z, _FAR)
    far = np.minimum(z, _FAR)
    series = -0.5 * far * far - np.log(-far * sqrt(2 * np.pi)) + np.log1p(-1.0 / (far * far))
    return np.where(z >= _FAR, np.log(below(near)), series)
