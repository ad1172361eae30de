"""What every task of a workflow takes on every offer, as one table of distributions (Prob, 2.1).

A task takes processor time, which a machine's speed divides, and moves bytes over disk and network,
at bandwidths that vary. A workflow tells that in one of two ways:

- `parts`: processor seconds at speed 1, and disk and network seconds at the reference bandwidths,
  that is, so many bytes;
- `runtime` alone is all of it: what the task's files take at the reference bandwidths is disk and
  network time, but never more than the run time, and the rest is the processor's. Bytes read and
  written go over the disk; bytes that another task has written come over the network, too.

With disk and network both random, the shape of their sum depends on the ratio of their spreads
alone. It is added up for a few ratios and interpolated in between, quantile by quantile, which
leaves the mean exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.calibrated import REFERENCE_DISK, REFERENCE_NETWORK
from bursar.beliefs.histogram import BINS, Histogram
from bursar.beliefs.lognormal import lognormal
from bursar.beliefs.performance import Performance
from bursar.model.dag import UNKNOWN, Csr, Dag
from bursar.model.errors import InputError, shown
from bursar.model.market import Offer
from bursar.model.text import counted

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

RATIOS: Final = 33
"""Shares of the disk in the spread of the time for moving, for which sums are computed. With so
many, every bin is within 1 % of the sum itself where bandwidths have one mode, also with heavy
tails, and within 3 % where they have two."""


MOST_CELLS: Final = 50_000_000
"""Most cells of a table, 400 MB: with more tasks, their distributions have fewer bins."""
_FEWER_BINS: Final = tuple(n for n in range(BINS, 0, -1) if BINS % n == 0)


class TaskTimes(NamedTuple):
    """Distributions of seconds, as `Histogram` has them; tasks that are alike share a row."""

    table: Floats
    """[row, bin]: ascending in a row"""
    rows: Integers
    """[task, offer]: a row of the table"""

    def of(self, task: int, offer: int) -> Histogram:
        return Histogram(self.table[self.rows[task, offer]])

    def means(self) -> Floats:
        """[task, offer]: the mean times."""
        means: Floats = self.table.mean(axis=1)[self.rows]
        return means


class Profiles(NamedTuple):
    """What tasks do on whatever machine, [task] each."""

    work: Floats
    """processor seconds at speed 1"""
    disk: Floats
    """bytes read and written"""
    network: Floats
    """bytes that another task has written"""


def workflow_times(
    dag: Dag,
    offers: Sequence[Offer],
    performances: Mapping[str, Performance],
    deviation: float = 0.0,
) -> TaskTimes:
    """The time of each task on each offer.

    Of an offer without a performance its speed is all that is known: whole run times are divided
    by it, and vary by the coefficient of variation `deviation` (`lognormal`). With a performance,
    what the processor takes varies so, for a machine that was measured does not make tasks sure;
    and it is long when disk and network are slow, which is the careful guess.
    """
    if not offers:
        raise InputError("no offer for the tasks; give at least one")
    distinct, alike = _distinct(profiles(dag))
    tasks, count = len(dag), len(distinct.work)
    bins = next(n for n in _FEWER_BINS if n * count * len(offers) <= MOST_CELLS or n == 1)
    table = np.empty((count * len(offers), bins))
    rows = np.empty((tasks, len(offers)), dtype=np.int64)
    for number, offer in enumerate(offers):
        part = table[number * count : (number + 1) * count]
        performance = performances.get(offer.name)
        if performance is None:
            places = _fill_by_speed(part, distinct, offer, deviation)
        else:
            places = _fill(part, distinct, performance, deviation)
        rows[:, number] = number * count + places[alike]
    return TaskTimes(table, rows)


# --- what tasks do -------------------------------------------------------------------------------


def profiles(dag: Dag) -> Profiles:
    """What the tasks of a workflow do, by its parts, or by run times and files."""
    _check_times(dag)
    disk, network = _moved(dag)
    seconds = disk / REFERENCE_DISK + network / REFERENCE_NETWORK
    kept = np.divide(dag.runtimes, seconds, out=np.ones(len(dag)), where=seconds > dag.runtimes)
    work, disk, network = dag.runtimes - seconds * kept, disk * kept, network * kept
    if dag.parts is not None:
        has_parts = ~np.isnan(dag.parts).any(axis=1)
        work[has_parts] = dag.parts[has_parts, 0]
        disk[has_parts] = dag.parts[has_parts, 1] * REFERENCE_DISK
        network[has_parts] = dag.parts[has_parts, 2] * REFERENCE_NETWORK
    return Profiles(np.maximum(work, 0.0), disk, network)


def _check_times(dag: Dag) -> None:
    untold = np.flatnonzero(np.isnan(dag.runtimes))
    if len(untold):
        others = len(untold) - 1
        more = f" (and {counted(others, 'more task')})" if others else ""
        raise InputError(
            f"task {shown(dag.names[untold[0]])}{more} has no run time; add runtime: 90s, or one"
            " for all under defaults:"
        )


def _moved(dag: Dag) -> tuple[Floats, Floats]:
    """Bytes over the disk and over the network; what nobody gave counts nothing."""
    files = dag.files
    sizes = np.where(files.sizes == UNKNOWN, 0, files.sizes).astype(np.float64)
    read, written = _sum_of(files.read, sizes), _sum_of(files.written, sizes)
    is_made = np.zeros(len(sizes), dtype=np.bool_)
    is_made[files.written.items] = True
    network = _sum_of(files.read, np.where(is_made, sizes, 0.0))
    if dag.volumes is not None:
        read = np.where(dag.volumes[:, 0] == UNKNOWN, read, dag.volumes[:, 0])
        written = np.where(dag.volumes[:, 1] == UNKNOWN, written, dag.volumes[:, 1])
    return read + written, network


def _sum_of(files: Csr, sizes: Floats) -> Floats:
    sums = np.bincount(files.rows(), sizes[files.items], minlength=len(files.starts) - 1)
    return sums.astype(np.float64)


def _distinct(found: Profiles) -> tuple[Profiles, Integers]:
    """Every profile once, and which of them each task has."""
    keys, alike = np.unique(np.column_stack(found), axis=0, return_inverse=True)
    return Profiles(*np.ascontiguousarray(keys.T)), alike.reshape(-1)


# --- what they take ------------------------------------------------------------------------------


def _fill_by_speed(part: Floats, tasks: Profiles, offer: Offer, deviation: float) -> Integers:
    """Rows of run times by the offer's speed; gives where each profile stands."""
    total = tasks.work + tasks.disk / REFERENCE_DISK + tasks.network / REFERENCE_NETWORK
    shape = _coarse(lognormal(deviation).values, part.shape[1])
    np.multiply.outer(total / offer.speed, shape, out=part)
    return np.arange(len(total))


def _fill(part: Floats, tasks: Profiles, performance: Performance, deviation: float) -> Integers:
    """Rows of run times by measured performance; gives where each profile stands.

    They are in the order of their ratios, so that those between the same two are one block.
    """
    _check(performance)
    shapes = _Shapes(performance, part.shape[1])
    disk, network = tasks.disk * shapes.disk_spread, tasks.network * shapes.network_spread
    spread = disk + network
    share = np.divide(disk, spread, out=np.zeros(len(disk)), where=spread > 0)
    below = np.clip(np.searchsorted(shapes.shares, share, side="right") - 1, 0, RATIOS - 2)
    way = (share - shapes.shares[below]) / np.diff(shapes.shares)[below]
    lower, upper = spread * (1 - way), spread * way
    work, luck = tasks.work / performance.speed, _coarse(lognormal(deviation).values, part.shape[1])
    fixed = tasks.disk * shapes.disk_fixed + tasks.network * shapes.network_fixed
    order = np.argsort(below, kind="stable")
    cuts = np.searchsorted(below[order], np.arange(RATIOS))
    for ratio in np.flatnonzero(np.diff(cuts)).tolist():
        block = part[cuts[ratio] : cuts[ratio + 1]]
        chosen = order[cuts[ratio] : cuts[ratio + 1]]
        np.multiply.outer(lower[chosen], shapes.at(ratio), out=block)
        if upper[chosen].any():
            block += np.multiply.outer(upper[chosen], shapes.at(ratio + 1))
        block += fixed[chosen][:, np.newaxis]
        block += np.multiply.outer(work[chosen], luck)
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places


def _check(performance: Performance) -> None:
    if not performance.speed > 0:
        raise InputError(f"a machine of speed {performance.speed:g}; it must be above 0")
    for histogram in (performance.disk, performance.network):
        if len(histogram.values) != BINS or histogram.least < 0:
            raise InputError(
                f"seconds for a byte must be {BINS} bins of 0 or more; calibrate again"
            )


class _Shapes:
    """Sums of disk and network time in which both have a spread of 1 in all; made when needed.

    The spread is the mean absolute deviation, which a single very slow moment does not rule. What
    does not vary at all has none, and is kept apart as seconds for a byte.
    """

    def __init__(self, performance: Performance, bins: int = BINS) -> None:
        self._bins = bins
        self.disk_spread, self.disk_fixed, self._disk = _split(performance.disk)
        self.network_spread, self.network_fixed, self._network = _split(performance.network)
        even = np.linspace(0, 1, RATIOS)
        self.shares = (even + (1 - np.cos(np.pi * even)) / 2) / 2
        """closer to each other at the ends, where one may have a tail that the other lacks"""
        self._known: dict[int, Floats] = {}

    def at(self, ratio: int) -> Floats:
        if ratio not in self._known:
            share = self.shares[ratio]
            both = self._disk.scaled(share) + self._network.scaled(1 - share)
            self._known[ratio] = _coarse(both.values, self._bins)
        return self._known[ratio]


def _coarse(values: Floats, bins: int) -> Floats:
    """Fewer, larger bins, each the mean of as many; the mean of all stays."""
    means: Floats = values.reshape(bins, -1).mean(axis=1)
    return means


def _split(per_byte: Histogram) -> tuple[float, float, Histogram]:
    """The spread, what is fixed, and the distribution by a spread of 1."""
    if per_byte.is_constant:
        return 0.0, per_byte.least, Histogram.constant(0.0)
    spread = float(np.abs(per_byte.values - per_byte.mean).mean())
    return spread, 0.0, Histogram(per_byte.values / spread)
