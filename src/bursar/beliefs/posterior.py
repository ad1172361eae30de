"""What a small sample leaves possible: many distributions of run times instead of one.

Each draw is a distribution that could have given the sample. Three things are uncertain and vary
from draw to draw:

- the mean: Student's t with Hall's correction for skewness (Hall 1992, On the removal of skewness
  by transformation), because a sample of a skewed bag that misses long tasks has too small a mean
  and too small a deviation at once;
- the shape: a bootstrap resample, stretched to have the drawn mean;
- the tail: the next task is longer than all `n` seen with a chance near 1/(n+1), whatever the
  distribution. How much longer, no sample tells; `_excess` holds the assumption.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.model.errors import InputError

Floats = NDArray[np.float64]

MOST_ATOMS: Final = 512
"""Larger samples are represented by so many of their quantiles."""
LEAST_STRETCH: Final = 0.05
"""No draw makes tasks shorter than this share of what was seen."""

MOST_STEPS: Final = 60
"""of Newton's method; it takes some ten"""
LEAST_CHANCE: Final = 1e-12
MOST_LONGEST: Final = 64
"""Longest atoms of a row that are looked at for many tasks."""
PRECISE: Final = 1_000_000.0
"""Microseconds within which the longest task of a very large fleet is found."""

ALIKE: Final = 1e-9
"""Tasks whose run times deviate by no more than this share of their mean are all alike."""


class PossibleRuntimes:
    """Distributions of the run times on one offer, one a row, all equally likely.

    With chance `unseen` a task is longer than `longest`, by an exponential time of mean `excess`;
    else it is one of the row's `atoms`.
    """

    def __init__(self, atoms: Floats, unseen: Floats, longest: float, excess: Floats) -> None:
        self.atoms = atoms
        self.unseen = unseen
        self._longest = longest
        self._excess = excess

    def mean(self) -> Floats:
        """The mean of each row."""
        seen: Floats = self.atoms.mean(axis=1)
        return (1 - self.unseen) * seen + self.unseen * (self._longest + self._excess)

    def variance(self) -> Floats:
        """The variance of each row."""
        seen: Floats = np.square(self.atoms).mean(axis=1)
        longer = self._longest**2 + 2 * self._longest * self._excess + 2 * self._excess**2
        square = (1 - self.unseen) * seen + self.unseen * longer
        return np.maximum(square - np.square(self.mean()), 0.0)

    def draw(self, rng: np.random.Generator, rows: slice, count: int) -> Floats:
        """Run times of `count` tasks for each of the rows, in whole microseconds."""
        atoms, unseen = self.atoms[rows], self.unseen[rows, None]
        kinds = atoms.shape[1]
        chance = rng.random((len(atoms), count))
        place = ((chance - unseen) * (kinds / (1 - unseen))).astype(np.int32)
        runtimes = np.take_along_axis(atoms, np.clip(place, 0, kinds - 1), axis=1)
        is_longer = chance < unseen
        excess = self._excess[rows][np.nonzero(is_longer)[0]]
        runtimes[is_longer] = self._longest + excess * rng.standard_exponential(len(excess))
        return np.maximum(np.rint(runtimes), 1.0)

    def draw_residuals(self, rng: np.random.Generator, count: int) -> Floats:
        """For each row, what is left of tasks met at a random instant of a long execution.

        Long tasks are met more often, in proportion to their length, and at a uniform point.
        """
        atoms = self.atoms
        rows, kinds = atoms.shape
        heap = np.cumsum(atoms, axis=1)
        total = heap[:, -1:]
        steps = (heap / total + np.arange(rows)[:, None]).ravel()
        wanted = rng.random((rows, count)) + np.arange(rows)[:, None]
        place = np.searchsorted(steps, wanted.ravel(), side="right").reshape(rows, count)
        place -= np.arange(rows)[:, None] * kinds
        met = np.take_along_axis(atoms, np.clip(place, 0, kinds - 1), axis=1)
        longer = self._longest + self._excess
        share = self.unseen * longer / self.mean()
        is_longer = rng.random((rows, count)) < share[:, None]
        row = np.nonzero(is_longer)[0]
        shape = 1.0 + (rng.random(len(row)) * longer[row] >= self._longest)
        met[is_longer] = self._longest + self._excess[row] * rng.standard_gamma(shape)
        return met * rng.random((rows, count))

    def draw_longest_residual(self, rng: np.random.Generator, count: int) -> Floats:
        """For each row, the longest that is left of so many tasks met at a random instant.

        More than x is left with chance E[(T - x)+] / E[T]. That is convex in x: Newton's method
        from zero rises to where it is the chance that was drawn, and never beyond.
        """
        chance = -np.expm1(np.log1p(-rng.random(len(self.atoms))) / count)
        return self._left_with(chance, np.zeros(len(self.atoms)), self.atoms, 1.0)

    def longest_residuals(self, chance: Floats, counts: Sequence[int]) -> Floats:
        """The same for large counts, one a column, each at the quantile that a row has drawn.

        Only the longest atoms are looked at: the others are shorter than what is searched.
        """
        kinds = self.atoms.shape[1]
        ranks = min(kinds, MOST_LONGEST)
        atoms = np.partition(self.atoms, kinds - ranks, axis=1)[:, kinds - ranks :]
        least = atoms.min(axis=1) if ranks < kinds else np.zeros(len(atoms))
        columns = []
        for count in counts:
            beyond = -np.expm1(np.log1p(-chance) / count)
            columns.append(self._left_with(beyond, least, atoms, PRECISE))
        return np.stack(columns, axis=1)

    def _left_with(self, chance: Floats, least: Floats, atoms: Floats, precision: float) -> Floats:
        """What is exceeded with this chance by what is left of a task; not below the least."""
        wanted = chance * self.mean()
        left = least.copy()
        for _ in range(MOST_STEPS):
            beyond, longer = self._beyond(left, atoms)
            step = np.maximum(beyond - wanted, 0.0) / np.maximum(longer, LEAST_CHANCE)
            left += step
            if (step < precision).all():
                break
        return left

    def _beyond(self, bound: Floats, atoms: Floats) -> tuple[Floats, Floats]:
        """E[(T - bound)+] and P(T > bound), of each row; other atoms are below the bound."""
        share = (1 - self.unseen) / self.atoms.shape[1]
        above = atoms - bound[:, None]
        is_above = above > 0
        excess = np.maximum(self._excess, 1.0)
        unseen = self.unseen * np.exp(-np.maximum(bound - self._longest, 0.0) / excess)
        seen = share * np.where(is_above, above, 0.0).sum(axis=1)
        expected = seen + unseen * (np.maximum(self._longest - bound, 0.0) + excess)
        return expected, share * is_above.sum(axis=1) + unseen


def possible_runtimes(
    samples: Sequence[NDArray[np.int64]], draws: int, rng: np.random.Generator
) -> list[PossibleRuntimes]:
    """For samples of the same tasks on several offers, task by task: what each leaves possible.

    A row tells the same story for all offers: where it takes the mean for too low on one, it does
    so on the others.
    """
    size = len(samples[0])
    if size == 0 or any(len(sample) != size for sample in samples):
        raise InputError("each offer of a shared sample needs the run time of the same tasks")
    values = np.array([np.asarray(sample, dtype=np.float64) for sample in samples])
    chance = rng.standard_t(max(1, size - 1), draws)
    unseen = rng.beta(1.0, size, draws)
    shown = _thinned(values)
    choice = rng.integers(0, shown.shape[1], (draws, shown.shape[1]))
    # The resamples with the longer tasks go with the higher means; then the rows are mixed, so
    # that those of another sample are independent of them.
    choice = choice[np.argsort(shown[0][choice].mean(axis=1), kind="stable")]
    rising = np.argsort(_means(values[0], chance, unseen), kind="stable")
    mixed = rng.permutation(draws)
    choice, chance, unseen = choice[mixed], chance[rising][mixed], unseen[rising][mixed]
    surprise = rng.standard_exponential(draws)
    return [
        _possible(whole, atoms[choice], _means(whole, chance, unseen), unseen, surprise)
        for whole, atoms in zip(values, shown, strict=True)
    ]


def _thinned(values: Floats) -> Floats:
    """At most `MOST_ATOMS` tasks that stand for all: evenly spaced in rank on the first offer."""
    size = values.shape[1]
    if size <= MOST_ATOMS:
        return values
    ranks = ((np.arange(MOST_ATOMS) + 0.5) * size / MOST_ATOMS).astype(np.int64)
    return values[:, np.argsort(values[0], kind="stable")[ranks]]


def _means(sample: Floats, chance: Floats, unseen: Floats) -> Floats:
    """What the mean may be, for each draw of Student's t and of the chance of unseen tasks.

    Hall's cubic transformation of t has an explicit inverse. A sample errs most where it misses
    the longest tasks; their chance times their excess is added to the mean.
    """
    size, mean = len(sample), float(sample.mean())
    deviation = _deviation(sample)
    pull = _skewness(sample) / size**0.5
    t = chance if abs(pull) < 1e-6 else 3 / pull * (np.cbrt(1 + pull * (chance - pull / 6)) - 1)
    means: Floats = mean - deviation / size**0.5 * t + unseen * _excess(sample)
    return np.maximum(means, LEAST_STRETCH * mean)


def _possible(
    sample: Floats, atoms: Floats, means: Floats, unseen: Floats, surprise: Floats
) -> PossibleRuntimes:
    """Stretch the atoms of each row so that, with the unseen tasks, the row has its mean."""
    longest, excess = float(sample.max()), _excess(sample) * surprise
    left = means - unseen * (longest + excess)
    stretch = np.maximum(left / ((1 - unseen) * atoms.mean(axis=1)), LEAST_STRETCH)
    return PossibleRuntimes(atoms * stretch[:, None], unseen, longest, excess)


def _excess(sample: Floats) -> float:
    """By how much a task longer than all seen exceeds them, on average: an assumption.

    Tasks of nearly equal length are of one kind, and its tail goes on as it was seen. Where tasks
    differ widely, a sample with a tail (high kurtosis) has shown what there is, but one without
    is flat or has several humps: there are several kinds of tasks, and one more, longer, may not
    have been met. The numbers were chosen such that bounds hold about as often as they say for
    the bags of the thesis's chapter 4.
    """
    deviation, mean = _deviation(sample), float(sample.mean())
    if deviation <= ALIKE * mean:
        return 0.0
    kurtosis = float(np.mean(((sample - mean) / sample.std()) ** 4))
    among_many = min(3.2, max(0.5, 4.8 - 1.28 * kurtosis))
    variety = min(1.0, deviation / (0.6 * mean))
    return (variety * among_many + (1 - variety) * 0.7) * deviation


def _deviation(sample: Floats) -> float:
    return float(sample.std(ddof=1)) if len(sample) > 1 else 0.0


def _skewness(sample: Floats) -> float:
    """Adjusted for the size of the sample; 0 where it is not known."""
    size, deviation = len(sample), float(sample.std())
    if size < 3 or deviation <= ALIKE * float(sample.mean()):
        return 0.0
    third = float(np.mean(((sample - sample.mean()) / deviation) ** 3))
    adjustment: float = (size * (size - 1)) ** 0.5 / (size - 2)
    return third * adjustment
