"""What a small sample leaves possible: many distributions of run times instead of one.

Each draw is a distribution that could have given the sample. What is uncertain varies from draw to
draw:

- the body: a bootstrap resample of the shorter tasks;
- the tail: which of the longest tasks belong to it, how often such a task comes (the share beyond
  the k-th longest of n has a Beta distribution, whatever the bag), how long it is then, and whether
  there is a kind of long tasks that the sample missed (`tail_shapes`);
- the mean: what the two make of it; its distance from that of the sample is stretched as Student's
  t is wider than a normal distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.tail_shapes import FARTHEST, TailShapes, draw_tails
from bursar.model.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

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
LEAST_SCALE: Final = 1e-3
"""of a tail, in microseconds"""


class TaskRanks(msgspec.Struct, frozen=True, eq=False):
    """How tasks stand among all of their row; the same on offers where as many are unusual."""

    places: Integers
    """`[row, task]`: which atom each one is, if it is not unusual; as places among those of all
    rows"""
    rare: Integers
    """places of unusual tasks among all, ..."""
    row: Integers
    """... their rows, ..."""
    rank: Floats
    """... and how each stands among those of its row, the longest first"""


class PossibleRuntimes:
    """Distributions of the run times on one offer, one a row, all equally likely.

    With chance `unusual` a task is longer than the row's `threshold`, by a generalised Pareto time
    that is cut at its `FARTHEST`; else it is one of the row's `atoms`, all of which are shorter.
    """

    def __init__(
        self, atoms: Floats, unusual: Floats, threshold: Floats, shape: Floats, scale: Floats
    ) -> None:
        self.atoms = atoms
        self.unusual = unusual
        self.threshold = threshold
        self._shape = np.where(shape == 0, -0.05, shape)
        self._scale = np.maximum(scale, LEAST_SCALE)
        self._most = self._scale / self._shape * np.expm1(-self._shape * np.log(FARTHEST))
        self._beyond_most = self._expected_beyond(self._most)
        self._excess = self._expected_beyond(np.zeros(len(atoms))) - self._beyond_most
        """of a task beyond the threshold, on average"""

    def mean(self) -> Floats:
        """The mean of each row."""
        seen: Floats = self.atoms.mean(axis=1)
        return (1 - self.unusual) * seen + self.unusual * (self.threshold + self._excess)

    def variance(self) -> Floats:
        """The variance of each row."""
        seen: Floats = np.square(self.atoms).mean(axis=1)
        longer = self.threshold**2 + 2 * self.threshold * self._excess + self._square()
        square = (1 - self.unusual) * seen + self.unusual * longer
        return np.maximum(square - np.square(self.mean()), 0.0)

    def scaled(self, factor: Floats) -> PossibleRuntimes:
        """The same with every run time so many times as long, by row."""
        return PossibleRuntimes(
            self.atoms * factor[:, None],
            self.unusual,
            self.threshold * factor,
            self._shape,
            self._scale * factor,
        )

    def draw(self, rng: np.random.Generator, rows: slice, count: int) -> Floats:
        """Run times of `count` tasks for each of the rows, in whole microseconds."""
        return self.at(rng.random((len(self.atoms[rows]), count)), rows)

    def at(self, chance: Floats, rows: slice = slice(None)) -> Floats:
        """The same where it was drawn how each task stands among all: the unusual ones first."""
        return self.of_ranks(self.ranks(chance, rows), rows)

    def ranks(self, chance: Floats, rows: slice = slice(None)) -> TaskRanks:
        """Which run times those are."""
        unusual, kinds = self.unusual[rows, None], self.atoms.shape[1]
        places = ((chance - unusual) * (kinds / (1 - unusual))).astype(np.int64)
        np.clip(places, 0, kinds - 1, out=places)
        places += kinds * np.arange(len(chance))[:, None]
        rare = np.flatnonzero(chance < unusual)
        row = rare // chance.shape[1]
        return TaskRanks(places, rare, row, chance.ravel()[rare] / unusual[row, 0])

    def of_ranks(self, ranks: TaskRanks, rows: slice = slice(None)) -> Floats:
        """Run times, in whole microseconds."""
        runtimes: Floats = np.take(self.atoms[rows], ranks.places)
        row = ranks.row
        shape, scale = self._shape[rows][row], self._scale[rows][row]
        excess = scale / shape * np.expm1(-shape * np.log(np.maximum(ranks.rank, FARTHEST)))
        runtimes.ravel()[ranks.rare] = self.threshold[rows][row] + excess
        np.rint(runtimes, out=runtimes)
        return np.maximum(runtimes, 1.0, out=runtimes)

    def draw_residuals(self, rng: np.random.Generator, count: int) -> Floats:
        """For each row, what is left of tasks met at a random instant of a long execution.

        Long tasks are met more often, in proportion to their length, and at a uniform point. What
        is left of a task beyond the threshold is uniform below it; above, it is as what is left of
        the excess, which is generalised Pareto again.
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
        left = met * rng.random((rows, count))
        chance = rng.random((rows, count)) * self.mean()[:, None]
        above = (self.unusual * self._excess)[:, None]
        below = above + (self.unusual * self.threshold)[:, None]
        row, column = np.nonzero((chance >= above) & (chance < below))
        left[row, column] = self.threshold[row] * rng.random(len(row))
        row, column = np.nonzero(chance < above)
        shape, scale = self._shape[row], self._scale[row]
        # from all of what is expected beyond the threshold down to what is beyond the most
        share = 1 + rng.random(len(row)) * (self._beyond_most / self._whole() - 1)[row]
        excess = scale / shape * np.expm1(-shape / (1 - shape) * np.log(share))
        left[row, column] = self.threshold[row] + excess
        return left

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
        share = (1 - self.unusual) / self.atoms.shape[1]
        above = atoms - bound[:, None]
        is_above = above > 0
        seen = share * np.maximum(above, 0.0).sum(axis=1)
        excess = np.minimum(np.maximum(bound - self.threshold, 0.0), self._most)
        longer = np.maximum(self.threshold - bound, 0.0)
        longer += self._expected_beyond(excess) - self._beyond_most
        chance = np.where(excess < self._most, self._survival(excess), 0.0)
        expected = seen + self.unusual * longer
        return expected, share * is_above.sum(axis=1) + self.unusual * chance

    # --- the tail, were it not cut ---------------------------------------------------------------

    def _stretch(self, excess: Floats) -> Floats:
        ratio: Floats = np.maximum(1 + self._shape * excess / self._scale, 0.0)
        return ratio

    def _survival(self, excess: Floats) -> Floats:
        """P(Y > excess)."""
        chance: Floats = self._stretch(excess) ** (-1 / self._shape)
        return chance

    def _whole(self) -> Floats:
        """E[Y]."""
        mean: Floats = self._scale / (1 - self._shape)
        return mean

    def _expected_beyond(self, excess: Floats) -> Floats:
        """E[(Y - excess)+]."""
        return self._whole() * self._stretch(excess) ** (1 - 1 / self._shape)

    def _square(self) -> Floats:
        """E[Y^2], of the tail as it is cut."""
        power, last = 1 / self._shape, self._stretch(self._most)
        top = last ** (2 - power) / (2 - power) - last ** (1 - power) / (1 - power)
        low = 1 / (2 - power) - 1 / (1 - power)
        found: Floats = 2 * np.square(self._scale / self._shape) * (top - low)
        return found


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
    usual = (values / values.mean(axis=1, keepdims=True)).mean(axis=0)
    values = values[:, np.argsort(usual, kind="stable")]
    tails = draw_tails(np.sort(usual), draws, rng)
    unusual = rng.beta(np.maximum(tails.longest, 1), size + 1 - tails.longest)
    unusual[tails.scale == 0] = 0.0
    body = size - tails.longest
    chance = rng.random((draws, min(size, MOST_ATOMS)))
    if size > MOST_ATOMS:  # evenly spaced in rank: fewer tasks must not vary more
        chance = (np.arange(MOST_ATOMS) + chance) / MOST_ATOMS
    choice = (chance * body[:, None]).astype(np.int64)
    wider = np.sqrt(size / rng.chisquare(max(1, size - 1), draws))
    luck = rng.standard_normal(draws) / size**0.5 if size > MOST_ATOMS else np.zeros(draws)
    return [_possible(whole, choice, unusual, tails, wider, luck) for whole in values]


def possible_of_known(
    samples: Sequence[NDArray[np.int64]], tasks: float, draws: int, rng: np.random.Generator
) -> list[PossibleRuntimes]:
    """For quantiles of run times that so many tasks tell, the same quantiles on each offer.

    Nothing was missed that matters: only their mean is in doubt, as that of so many tasks is.
    """
    size = len(samples[0])
    chance = (np.arange(MOST_ATOMS) + rng.random((draws, MOST_ATOMS))) / MOST_ATOMS
    choice = (chance * size).astype(np.int64)
    luck = rng.standard_normal(draws) / tasks**0.5
    found = []
    for sample in samples:
        ranked = np.sort(np.asarray(sample, dtype=np.float64))
        none = np.zeros(draws)
        rows = PossibleRuntimes(ranked[choice], none, np.full(draws, ranked[-1]), none, none)
        mean = float(ranked.mean())
        wanted = np.maximum(mean + luck * float(ranked.std()), LEAST_STRETCH * mean)
        found.append(rows.scaled(wanted / rows.mean()))
    return found


def _possible(
    sample: Floats,
    choice: Integers,
    unusual: Floats,
    tails: TailShapes,
    wider: Floats,
    luck: Floats,
) -> PossibleRuntimes:
    """The rows of one offer; the sample has its tasks from short to long.

    `luck` is what a resample would vary by that stands for a larger sample.
    """
    size, ranked = len(sample), np.sort(sample)
    threshold = ranked[size - 1 - tails.longest]
    above = np.concatenate(([0.0], np.cumsum(ranked[::-1])))
    excess = above[tails.longest] / np.maximum(tails.longest, 1) - threshold
    excess[tails.longest == 0] = ranked[-1]
    found = PossibleRuntimes(
        sample[choice], unusual, threshold, tails.shape, tails.scale * np.maximum(excess, 0.0)
    )
    mean, means = float(sample.mean()), found.mean()
    apart = means - mean + luck * float(sample.std())
    wanted = np.maximum(mean + apart * wider, LEAST_STRETCH * mean)
    return found.scaled(wanted / means)
