"""How the longest tasks of a bag are distributed, as far as a small sample tells.

Beyond a high threshold, run times of nearly every kind follow a generalised Pareto distribution
(Balkema and de Haan 1974, Pickands 1975): its shape is below zero where there is a longest possible
task, near zero for normal and exponential tails, and above it for heavy ones. Some ten excesses
leave many shapes possible. Each draw has one of them, by its likelihood, and by what the whole
sample says of the tails: its L-kurtosis (Hosking 1990).

Where tasks are of several kinds, only the longest kind makes the tail: thresholds beyond which the
distribution does not fit count little.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SHAPES: Final = np.arange(-0.95, 0.8, 0.1)
"""Shapes that are thought possible; none is 0 or 1/2, where formulas have another form."""
SCALES: Final = np.geomspace(0.08, 9.0, 40)
"""Scales that are thought possible, by the mean excess."""
HEAVY: Final = 0.6
"""A sample that missed the longest tasks looks lighter than its bag. So its L-kurtosis is not
believed outright: the usual shape lies a part of the way from there to this one ..."""
DOUBTED: Final = 1 / 3
"""... a third of a small sample's, ..."""
SMALL: Final = 60
"""... of at most so many tasks; less of larger ones, by the root of their size ..."""
SHAPE_DEVIATION: Final = 0.1
"""... and the true one deviates from it by this much, ..."""
SHAPE_NOISE: Final = 1.2
"""... and by this over the root of the sample's size."""
THRESHOLDS: Final = (1 / 8, 1 / 6, 1 / 4, 1 / 3, 1 / 2)
"""Shares of the sample that may count as its longest tasks."""
MOST_EXCESSES: Final = 60
"""More tell hardly more."""
DISTANCE_WEIGHT: Final = 4.0
"""How much a distance between the tail and its fit counts."""
FARTHEST: Final = 1e-4
"""Beyond what so few of the longest tasks exceed, nothing is expected."""
FEWEST_RANKED: Final = 5
"""Tasks without which there is no L-kurtosis."""
EXPONENTIAL_KURTOSIS: Final = 1 / 6


class TailShapes(msgspec.Struct, frozen=True):
    """What is possible: `[draw]` each."""

    longest: Integers
    """tasks of the sample that are beyond the threshold; 0: there is no tail"""
    shape: Floats
    scale: Floats
    """by the mean excess of these tasks"""


def draw_tails(sample: Floats, draws: int, rng: np.random.Generator) -> TailShapes:
    """What the longest tasks of a sample (ascending) leave possible."""
    counts = threshold_counts(len(sample))
    if not counts or sample[-1] <= sample[0]:
        return TailShapes(np.zeros(draws, np.int64), np.zeros(draws), np.zeros(draws))
    spread = np.hypot(SHAPE_DEVIATION, SHAPE_NOISE / len(sample) ** 0.5)
    prior = -0.5 * np.square((SHAPES - usual_shape(sample)) / spread)
    fits = [_fit(sample[-count:] - sample[-count - 1], prior) for count in counts]
    weight = np.array([one for one, _ in fits])
    which = rng.choice(len(counts), draws, p=weight / weight.sum())
    longest, shape, scale = np.array(counts)[which], np.empty(draws), np.empty(draws)
    for place, (_, chance) in enumerate(fits):
        rows = np.flatnonzero(which == place)
        steps = np.cumsum(chance.ravel())
        cell = np.searchsorted(steps, rng.random(len(rows)) * steps[-1], side="right")
        cell = np.minimum(cell, chance.size - 1)
        shape[rows] = SHAPES[cell // len(SCALES)]
        scale[rows] = SCALES[cell % len(SCALES)]
    return TailShapes(longest, shape, scale)


def threshold_counts(size: int) -> list[int]:
    """How many tasks of a sample may count as its longest."""
    counts = {min(max(1, round(share * size)), MOST_EXCESSES, size - 1) for share in THRESHOLDS}
    return sorted(counts) if size > 1 else []


def usual_shape(sample: Floats) -> float:
    """About the shape of a generalised Pareto distribution with the L-kurtosis of the sample.

    The L-kurtosis t of shape x is (1 + x)(2 + x) / ((3 - x)(4 - x)).
    """
    t = l_kurtosis(sample)
    a, b, c = 1 - t, 3 + 7 * t, 2 - 12 * t
    shown = float((-b + np.sqrt(max(b * b - 4 * a * c, 0.0))) / (2 * a))
    doubted: float = DOUBTED * min(1.0, (SMALL / len(sample)) ** 0.5)
    return (1 - doubted) * shown + doubted * HEAVY


def l_kurtosis(sample: Floats) -> float:
    """The ratio of the fourth to the second L-moment of an ascending sample."""
    size = len(sample)
    if size < FEWEST_RANKED:
        return EXPONENTIAL_KURTOSIS
    rank = np.arange(size)
    first, weight = float(sample.mean()), np.ones(size)
    moments = []
    for order in range(1, 4):
        weight = weight * (rank - order + 1) / (size - order)
        moments.append(float((weight * sample).mean()))
    second = 2 * moments[0] - first
    fourth = 20 * moments[2] - 30 * moments[1] + 12 * moments[0] - first
    return min(max(fourth / second, -0.2), 0.9) if second > 0 else EXPONENTIAL_KURTOSIS


def _fit(excesses: Floats, prior: Floats) -> tuple[float, Floats]:
    """How well the distribution fits, by Kolmogorov's distance, and the posterior on the grid."""
    weight = _log_likelihood(excesses) + prior[:, None]
    chance: Floats = np.exp(weight - weight.max())
    best = int(np.argmax(chance))
    shape, scale = SHAPES[best // len(SCALES)], SCALES[best % len(SCALES)]
    mean, count = max(float(excesses.mean()), 1e-12), len(excesses)
    below = 1 - np.maximum(1 + shape * excesses / mean / scale, 0.0) ** (-1 / shape)
    ranks = np.arange(count + 1) / count
    distance = max(float((below - ranks[:-1]).max()), float((ranks[1:] - below).max()))
    return float(np.exp(-DISTANCE_WEIGHT * count * distance**2)), chance


def _log_likelihood(excesses: Floats) -> Floats:
    """The logarithm of the likelihood: [shape, scale]."""
    mean = float(excesses.mean())
    if mean <= 0:  # all as long as the threshold
        only = np.full((len(SHAPES), len(SCALES)), -np.inf)
        only[:, 0] = 0.0
        return only
    ratio = SHAPES[:, None, None] * (excesses / mean) / SCALES[None, :, None]
    logs = np.log1p(np.maximum(ratio, -1 + 1e-12)).sum(axis=2)
    found: Floats = -len(excesses) * np.log(SCALES)[None, :] - (1 + 1 / SHAPES)[:, None] * logs
    found[(ratio <= -1).any(axis=2)] = -np.inf
    return found
