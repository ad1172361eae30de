"""How the longest tasks of a bag are distributed, as far as a small sample tells.

Beyond a high threshold, run times of nearly every kind follow a generalised Pareto distribution
(Balkema and de Haan 1974, Pickands 1975): its shape is below zero where there is a longest possible
task, near zero for normal and exponential tails, and above it for heavy ones. Some ten excesses
leave many shapes possible. Each draw has one of them, by its likelihood, and by what the whole
sample says of the tails: its L-kurtosis, and the L-skewness of its logarithms (Hosking 1990).
Logarithms of run times with a power tail lean to the long side, those of Weibull and gamma ones to
the short side, also where the sample happens to have none of the longest tasks.

Where tasks are of several kinds, only the longest kind makes the tail: thresholds below it are not
looked at, and those beyond which the distribution does not fit count little. A rare kind may have
but a few tasks in the sample: what goes on beyond a threshold is never shorter, on average, than
what was seen there.

No tail tells of a kind of long tasks that the sample has missed altogether. How likely that is,
tasks of the sample that are like no other tell (Good 1953, after Turing: a sample with many species
that were seen once has missed more of them), and how far apart its run times are. A part of the
draws goes on beyond the longest task as if there were more, a larger one where the tail would
otherwise end with the sample.
"""

from __future__ import annotations

from math import ceil
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
HEAVY: Final = 1.0
"""A sample that missed the longest tasks looks lighter than its bag. So its L-kurtosis is not
believed outright: the usual shape lies a part of the way from there to this one ..."""
DOUBTED: Final = 0.2
"""... a fifth of a small sample's, ..."""
SMALL: Final = 60
"""... of at most so many tasks; less of larger ones, by the root of their size. It ..."""
SKEWED: Final = 0.6
"""... is moved by this, times the L-skewness of the logarithms of run times, ..."""
ENOUGH_FOR_SKEWNESS: Final = 20
"""... by less where there are fewer tasks ..."""
SHAPE_DEVIATION: Final = 0.1
"""... and the true one deviates from it by this much, ..."""
SHAPE_NOISE: Final = 1.2
"""... and by this over the root of the sample's size."""
THRESHOLDS: Final = (1 / 8, 1 / 6, 1 / 4, 1 / 3, 1 / 2)
"""Shares of the sample that may count as its longest tasks."""
FEW_LONGEST: Final = (1, 2, 3, 5)
"""Where several kinds make the longest tasks, as few as these may be of the longest."""
MOST_EXCESSES: Final = 60
"""More tell hardly more."""
DISTANCE_WEIGHT: Final = 4.0
"""How much a distance between the tail and its fit counts."""
FARTHEST: Final = 1e-4
"""Beyond what so few of the longest tasks exceed, nothing is expected."""
FEWEST_RANKED: Final = 5
"""Tasks without which there is no L-kurtosis and no L-skewness."""
EXPONENTIAL_KURTOSIS: Final = 1 / 6

SHARE_OF_KIND: Final = 0.1
"""A kind has at least this share of the sample ..."""
FEWEST_OF_KIND: Final = 3
"""... and so many tasks, to make the tail, ..."""
KINDS_APART: Final = 2.0
"""... and takes so many times as long as the next shorter one."""
LEAST_TIME: Final = 1e-12

ALONE: Final = 1.3
"""A task is like no other if the next ones take so many times as long, or as short."""
FAR_APART: Final = 1.7
"""A deviation of the logarithms of run times that counts as one task like no other."""
LEAST_COUNTED: Final = 1e-3
"""of the mean: tasks that are shorter are alike."""
MOST_MISSING: Final = 0.3
"""Chance that a kind of long tasks is missing, where many tasks are like no other ..."""
HALF_MISSING: Final = 1.5
"""... and half of it where so many are."""
SHORT_TAIL: Final = 0.1
"""Below this shape a tail makes no allowance for much longer tasks, ..."""
NEARLY_ENDS, ENDS = -0.3, -0.6
"""... and from the first of these to the second it ends with the sample: that no kind is missing is
then all that keeps tasks short, and it is doubted up to ..."""
MOST_DOUBTED: Final = 2.0
"""... so many times as much."""
FEW_TO_END: Final = 15
"""So few tasks do not tell that a tail ends, twice as many do."""
MISSING_SHAPE: Final = 0.55
"""Logarithms of missing run times are beyond that of the longest seen by this much on average."""


class TailShapes(msgspec.Struct, frozen=True):
    """What is possible: `[draw]` each."""

    longest: Integers
    """tasks of the sample that are beyond the threshold; 0: it is the longest task"""
    shape: Floats
    scale: Floats
    """by the mean excess of these tasks, or by the longest task; 0: there is no tail"""


def draw_tails(sample: Floats, draws: int, rng: np.random.Generator) -> TailShapes:
    """What the longest tasks of a sample (ascending) leave possible."""
    counts = threshold_counts(len(sample))
    if not counts or sample[-1] <= sample[0]:
        return TailShapes(np.zeros(draws, np.int64), np.zeros(draws), np.zeros(draws))
    alike = longest_kind(sample)
    if FEWEST_OF_KIND <= alike < len(sample):
        counts = [count for count in counts if count < alike] or [alike - 1]
    kind = sample[-alike:] if alike >= FEWEST_OF_KIND else sample
    spread = np.hypot(SHAPE_DEVIATION, SHAPE_NOISE / len(kind) ** 0.5)
    prior = -0.5 * np.square((SHAPES - likely_shape(kind)) / spread)
    fits = [_fit(sample[-count:] - sample[-count - 1], prior) for count in counts]
    weight = np.array([one for one, _ in fits]) * np.sqrt(counts)  # many excesses tell more
    which = rng.choice(len(counts), draws, p=weight / weight.sum())
    longest, shape, scale = np.array(counts)[which], np.empty(draws), np.empty(draws)
    for place, (_, chance) in enumerate(fits):
        rows = np.flatnonzero(which == place)
        steps = np.cumsum(chance.ravel())
        cell = np.searchsorted(steps, rng.random(len(rows)) * steps[-1], side="right")
        cell = np.minimum(cell, chance.size - 1)
        shape[rows] = SHAPES[cell // len(SCALES)]
        scale[rows] = SCALES[cell % len(SCALES)] * _lift(chance)
    has_more = rng.random(draws) < chance_of_missing(sample) * _doubt(sample)
    longest[has_more] = 0
    shape[has_more] = scale[has_more] = MISSING_SHAPE
    return TailShapes(longest, shape, scale)


def _lift(chance: Floats) -> float:
    """What tails are stretched by, so that on average they are no shorter than what was seen.

    Where the longest tasks are of two kinds, no distribution of this form fits both, and the one
    that fits best may be far too short for the longer kind.
    """
    means = SCALES[None, :] * ((1 - FARTHEST ** (1 - SHAPES)) / (1 - SHAPES))[:, None]
    return max(1.0, float(chance.sum() / (chance * means).sum()))


def threshold_counts(size: int) -> list[int]:
    """How many tasks of a sample may count as its longest."""
    counts = {min(max(1, round(share * size)), MOST_EXCESSES, size - 1) for share in THRESHOLDS}
    counts |= {few for few in FEW_LONGEST if few < size}
    return sorted(counts) if size > 1 else []


def longest_kind(sample: Floats) -> int:
    """How many tasks of a sample (ascending) are of the longest kind; all, if there is but one."""
    few = max(1, ceil(SHARE_OF_KIND * len(sample)))
    ratios = sample[few:] / np.maximum(sample[few - 1 : -1], LEAST_TIME)
    gaps = np.flatnonzero(ratios[: len(sample) + 1 - 2 * few] > KINDS_APART)
    return len(sample) - few - int(gaps[-1]) if len(gaps) else len(sample)


def chance_of_missing(sample: Floats) -> float:
    """How likely it is that a sample (ascending) has missed a kind of long tasks."""
    logs = _logarithms(sample)
    is_far = np.concatenate(([True], np.diff(logs) > np.log(ALONE), [True]))
    alone = int((is_far[1:] & is_far[:-1]).sum()) + float(logs.std() / FAR_APART) ** 4
    believed: float = min(1.0, (SMALL / len(sample)) ** 0.5)
    return believed * MOST_MISSING * alone / (alone + HALF_MISSING)


def _doubt(sample: Floats) -> float:
    """How many times as likely a kind is missing where the tail ends with the sample (ascending).

    Few tasks do not tell whether it does.
    """
    ended = min(max((NEARLY_ENDS - usual_shape(sample)) / (NEARLY_ENDS - ENDS), 0.0), 1.0)
    known = min(max(len(sample) / FEW_TO_END - 1, 0.0), 1.0)
    return 1 + (MOST_DOUBTED - 1) * ended * known


def likely_shape(sample: Floats) -> float:
    """The shape that tails usually have, of samples (ascending) with such L-moments.

    Logarithms that lean to the short side do not make a tail end that would not end otherwise.
    """
    usual = usual_shape(sample)
    believed = min(1.0, len(sample) / ENOUGH_FOR_SKEWNESS)
    moved = usual + SKEWED * believed * l_skewness(_logarithms(sample))
    return max(moved, min(usual, NEARLY_ENDS))


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
    if len(sample) < FEWEST_RANKED:
        return EXPONENTIAL_KURTOSIS
    zeroth, first, second, third = _weighted_means(sample)
    spread = 2 * first - zeroth
    if spread <= 0:
        return EXPONENTIAL_KURTOSIS
    return min(max((20 * third - 30 * second + 12 * first - zeroth) / spread, -0.2), 0.9)


def l_skewness(sample: Floats) -> float:
    """The ratio of the third to the second L-moment of an ascending sample; 0: symmetric."""
    if len(sample) < FEWEST_RANKED:
        return 0.0
    zeroth, first, second, _ = _weighted_means(sample)
    spread = 2 * first - zeroth
    return (6 * second - 6 * first + zeroth) / spread if spread > 0 else 0.0


def _weighted_means(sample: Floats) -> list[float]:
    """Means of an ascending sample by powers of the rank, without bias, of order 0 to 3."""
    size, rank = len(sample), np.arange(len(sample))
    weight, means = np.ones(size), [float(sample.mean())]
    for order in range(1, 4):
        weight = weight * (rank - order + 1) / (size - order)
        means.append(float((weight * sample).mean()))
    return means


def _logarithms(sample: Floats) -> Floats:
    logs: Floats = np.log(np.maximum(sample, LEAST_COUNTED * sample.mean()))
    return logs


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
