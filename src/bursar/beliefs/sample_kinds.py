"""Kinds of tasks in a sample, and how likely it is that a kind of long tasks is missing from it.

No tail tells of a kind that the sample has missed altogether. Three things tell how likely that is:

- tasks of the sample that are like no other (Good 1953, after Turing: a sample with many species
  that were seen once has missed more of them);
- how far apart its run times are;
- a gap between them: run times that follow one smooth distribution lie close to each other, and
  those of several kinds leave gaps. A bag of several kinds may well have one more.
"""

from __future__ import annotations

from math import ceil, log
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SMALL: Final = 60
"""Samples of at most this many tasks are doubted; larger ones less, by the root of their size."""

SHARE_OF_KIND: Final = 0.1
"""A kind has at least this share of the sample ..."""
FEWEST_OF_KIND: Final = 3
"""... or this many tasks that are closer to each other than to all shorter ones, ..."""
KINDS_APART: Final = 2.0
"""... and takes at least this many times as long as the next shorter kind."""
LEAST_TIME: Final = 1e-12

ALONE: Final = 1.3
"""A task is like no other if its neighbours differ from it by more than this factor."""
FAR_APART: Final = 1.7
"""A deviation of the logarithms of run times that counts as one task like no other."""
LEAST_COUNTED: Final = 1e-3
"""of the mean: tasks that are shorter are alike."""
MOST_MISSING: Final = 0.3
"""Chance that a kind of long tasks is missing, where many tasks are like no other ..."""
HALF_MISSING: Final = 1.5
"""... and half of it where this many are."""
FEWEST_WITH_GAPS: Final = 10
"""Smaller samples have gaps of any size."""
TRIMMED: Final = 10
"""One task in ten at either end is left out when gaps are looked for: gaps are usual there."""
USUAL_GAP: Final = 3.5
"""The largest gap in samples of n tasks of one smooth kind is about this, times log(n) / n, in
deviations of the logarithms of run times."""
LEAST_GAP, MOST_GAP = 0.6, 1.6
"""Smaller and larger gaps, by the usual one, tell no more than these."""


def doubt_of_small(size: int) -> float:
    """How much a sample of this size is doubted: 1, or less if it is large."""
    return float(min(1.0, (SMALL / size) ** 0.5))


def longest_kind(sample: Floats) -> int:
    """How many tasks of a sample (ascending) are of the longest kind; all, if there is but one."""
    size = len(sample)
    few = max(1, ceil(SHARE_OF_KIND * size))
    logs = np.log(np.maximum(sample, LEAST_TIME))
    gaps = np.diff(logs)
    longer = size - 1 - np.arange(size - 1)  # tasks above each gap
    is_close = (longer >= FEWEST_OF_KIND) & (logs[-1] - logs[1:] < gaps)
    is_kind = ((longer >= few) | is_close) & (size - longer >= few)
    found = np.flatnonzero(is_kind & (gaps > log(KINDS_APART)))
    return int(longer[found[-1]]) if len(found) else size


def chance_of_missing(sample: Floats) -> float:
    """How likely it is that a sample (ascending) has missed a kind of long tasks."""
    logs = np.log(np.maximum(sample, LEAST_COUNTED * sample.mean()))
    is_far = np.concatenate(([True], np.diff(logs) > log(ALONE), [True]))
    alone = int((is_far[1:] & is_far[:-1]).sum()) + float(logs.std() / FAR_APART) ** 4
    chance = MOST_MISSING * alone / (alone + HALF_MISSING)
    doubt = doubt_of_small(len(sample))
    # gaps of a large sample tell less: rounded run times leave gaps there, too
    return float(doubt * chance * relative_gap(logs) ** doubt)


def relative_gap(logs: Floats) -> float:
    """The largest gap between logarithms of run times (ascending), by that of one smooth kind."""
    size, spread = len(logs), float(logs.std())
    if size < FEWEST_WITH_GAPS or spread == 0:
        return 1.0
    end = size // TRIMMED
    gap = float(np.diff(logs)[end:-end].max()) / spread
    return min(max(gap * size / (USUAL_GAP * log(size)), LEAST_GAP), MOST_GAP)
