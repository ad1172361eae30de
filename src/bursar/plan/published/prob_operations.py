"""What Prob does with distributions, and what it leaves out: sections 4.2 and 4.3, each counted.

A task stands here as a row of a profile: seconds of processor at speed 1, bytes of disk, bytes of
network. Clustering and bundling work on such rows, before any distribution is made; so they are the
same for every way of reckoning with times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.histogram import Histogram
from bursar.kernels import sum_of_histograms as histogram_kernel
from bursar.kernels.compiling import compile_kept, let_kernels_call
from bursar.model.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NEGLIGIBLE: Final = 1e-9
"""a probability that no bin of a histogram would show"""
HARDLY_WIDE: Final = 1e-9
"""relative: what is narrower is not divided into cells"""
NARROWINGS: Final = 16
"""halvings of the range in which the greatest of many lies"""


class Techniques(msgspec.Struct, frozen=True):
    """The prunings of a search, each to be switched off; as published by default."""

    bundle: bool = True
    """tasks one after the other on one machine are one task"""
    cluster: int = 2
    """so many equivalent tasks share a machine, and take so many times as long; 1: none does"""
    partial: bool = True
    """of two solutions, only what differs is evaluated"""
    bounds: bool = True
    """comparisons are decided by the ends of distributions where that is enough"""

    def __post_init__(self) -> None:
        if self.cluster < 1:
            raise InputError(f"clusters of {self.cluster} tasks; use 1 or more")


PUBLISHED: Final = Techniques()
EXACT: Final = Techniques(bundle=False, cluster=1, partial=False, bounds=False)
"""nothing left out"""


class Tally(msgspec.Struct):
    """How much was done; binary operations, so that n distributions take n - 1 of them."""

    states: int = 0
    """assignments that were looked at"""
    generated: int = 0
    """distributions made from profiles"""
    adds: int = 0
    maxima: int = 0
    clustered: int = 0
    """tasks for which the time of another one stands"""
    bundled: int = 0
    """additions for which profiles were added instead"""
    compared_fully: int = 0
    compared_by_bounds: int = 0
    evaluated_fully: int = 0
    """solutions, each with all its paths"""
    evaluated_partly: int = 0
    """solutions, each with only what differs from another one"""

    @property
    def operations(self) -> int:
        return self.adds + self.maxima


class Piece(msgspec.Struct, frozen=True, eq=False):
    """One place on a path: tasks beside each other, [task, what] and [task]."""

    profiles: Floats
    offers: Integers


# --- on profiles ---------------------------------------------------------------------------------


def cluster(piece: Piece, lengths: Floats, classes: Integers, most: int, tally: Tally) -> Piece:
    """Equivalent tasks with the same offer by so many, each cluster as one task (section 4.2).

    Tasks of one class are equivalent: the same level and kind; in a bound node their predecessors
    are the same, too. One task stands for a cluster of m, with a time of m times its own, which is
    what the published f(x/2) means for two. It is the one of the greatest length, and tasks of
    like length are put together.
    """
    if most == 1 or len(piece.offers) == 1:
        return piece
    shown: list[Floats] = []
    chosen: list[int] = []
    for of_class, offer in np.unique(np.column_stack([classes, piece.offers]), axis=0).tolist():
        alike = np.flatnonzero((classes == of_class) & (piece.offers == offer))
        firsts = np.arange(0, len(alike), most)
        longest = alike[np.argsort(-lengths[alike], kind="stable")][firsts]
        sizes = np.minimum(most, len(alike) - firsts)
        shown.append(piece.profiles[longest] * sizes[:, None])
        chosen += [offer] * len(firsts)
        tally.clustered += len(alike) - len(firsts)
    return Piece(np.concatenate(shown), np.array(chosen, dtype=np.int64))


def bundle(pieces: Sequence[Piece], tally: Tally) -> Piece:
    """Tasks one after the other, all with one offer, as one task: their profiles, added up.

    One distribution is generated instead of two and an addition. It has the same mean, but a larger
    spread than the sum of independent times: the bandwidth stays what it is from the first to the
    last of the tasks.
    """
    tally.bundled += len(pieces) - 1
    return Piece(np.sum([piece.profiles for piece in pieces], axis=0), pieces[0].offers)


def can_be_bundled(one: Piece, following: Piece) -> bool:
    """Whether both are a single task, with the same offer."""
    alone = len(one.offers) == len(following.offers) == 1
    return alone and bool(one.offers[0] == following.offers[0])


# --- on distributions ----------------------------------------------------------------------------


def add(one: Histogram, other: Histogram, tally: Tally) -> Histogram:
    """ADD (equation 4): one after the other, independent."""
    tally.adds += 1
    least, most = one.least + other.least, one.most + other.most
    if one.is_constant or other.is_constant or most - least <= HARDLY_WIDE * abs(most):
        return one + other
    bins = max(len(one.values), len(other.values))
    return Histogram(compiled()(one.values, other.values, bins))


@cache
def compiled() -> Callable[..., Floats]:
    """The kernel; the first call imports numba and, once on a computer, compiles."""
    let_kernels_call(*histogram_kernel.PARTS)
    return compile_kept(histogram_kernel.add_values)


def maximum(rows: Floats, tally: Tally) -> Histogram:
    """MAX (equation 5) of any number of independents, [one, bin], all at once.

    It is what one MAX after the other gives, without the rounding to bins after each of them, and
    in a fraction of the time. Below a value that is exceeded almost surely nothing is looked at.
    """
    tally.maxima += len(rows) - 1
    count, bins = rows.shape
    if count == 1:
        return Histogram(rows[0])
    floor = _floor(rows)
    above = rows > floor
    if not above.any():
        return Histogram.constant(floor, bins)
    values = rows[above]
    order = np.argsort(values, kind="stable")
    rank = np.nonzero(above)[1][order]  # of a value in its own row, so many are below it
    reached = _log_reached(rows, floor) + np.cumsum(np.log((rank + 1) / rank))
    reached[-1] = 0.0
    reached = np.minimum(np.exp(reached), 1.0)
    begin = np.exp(_log_reached(rows, floor))
    return Histogram.from_cumulative(
        np.concatenate([[floor], values[order]]), np.concatenate([[begin], reached]), bins
    )


def _log_reached(rows: Floats, value: float) -> float:
    """The logarithm of the probability that none exceeds the value; every row begins below it."""
    return float(np.log((rows <= value).mean(axis=1)).sum())


def _floor(rows: Floats) -> float:
    """No less than the greatest least value, and exceeded but for a negligible probability."""
    low, high = float(rows[:, 0].max()), float(rows[:, -1].max())
    if len(rows) * rows.shape[1] < 2**14:
        return low
    bound = float(np.log(NEGLIGIBLE))
    for _ in range(NARROWINGS):
        middle = (low + high) / 2
        if _log_reached(rows, middle) <= bound:
            low = middle
        else:
            high = middle
    return low


def compare(one: Histogram, other: Histogram, tally: Tally, *, bounds: bool = True) -> bool:
    """Whether `one` is greater: P(one > other) > 1/2 (equation 6).

    With bounds it is not computed where the ends of `other` decide (equations 9 and 10).
    """
    if bounds:
        low, high = one.bounds_of_exceeding(other)
        if low > 0.5 or high <= 0.5:
            tally.compared_by_bounds += 1
            return low > 0.5
    tally.compared_fully += 1
    return one.chance_at_most(other) < 0.5
