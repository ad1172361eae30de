"""L-moments: what a small sample tells of the form of its distribution (Hosking 1990).

They are means of sorted values with weights by rank. One very long task moves them much less than
it moves the usual skewness and kurtosis.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEWEST_RANKED: Final = 5
"""Values without which the ratios below say nothing."""
EXPONENTIAL_KURTOSIS: Final = 1 / 6


def l_skewness(sample: Floats) -> float:
    """The ratio of the third to the second L-moment of an ascending sample; 0: symmetric."""
    if len(sample) < FEWEST_RANKED:
        return 0.0
    first, second, third, _ = _weighted_means(sample)
    scale = 2 * second - first
    return float((6 * third - 6 * second + first) / scale) if scale > 0 else 0.0


def l_kurtosis(sample: Floats) -> float:
    """The ratio of the fourth to the second L-moment of an ascending sample."""
    if len(sample) < FEWEST_RANKED:
        return EXPONENTIAL_KURTOSIS
    first, second, third, fourth = _weighted_means(sample)
    scale = 2 * second - first
    if scale <= 0:
        return EXPONENTIAL_KURTOSIS
    ratio = (20 * fourth - 30 * third + 12 * second - first) / scale
    return float(min(max(ratio, -0.2), 0.9))


def _weighted_means(sample: Floats) -> list[float]:
    """Probability-weighted moments of order 0 to 3 (Greenwood et al. 1979), without bias."""
    size, rank = len(sample), np.arange(len(sample))
    weight, means = np.ones(size), [float(sample.mean())]
    for order in range(1, 4):
        weight = weight * (rank - order + 1) / (size - order)
        means.append(float((weight * sample).mean()))
    return means
