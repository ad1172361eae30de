"""How long a workflow takes, as a distribution, with one offer for each task and no machine scarce.

Paths of a workflow share tasks, so that their lengths are not independent, and the maximum of
independent paths (Prob, section 4.1) is too long: by 46 % at the median for a Montage of 10,568
tasks whose times deviate by 30 %. Here whole executions are drawn, in which a shared task takes the
same time for all that wait for it.

The same seed gives every task the same luck, sample by sample, on whatever offer it or any other
runs: that two assignments differ is seen in far fewer samples than it takes to know either.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar.beliefs.histogram import Histogram
from bursar.kernels import bag as bag_kernel
from bursar.kernels import makespan as makespan_kernel
from bursar.kernels.compiling import compile_kept, let_kernels_call, stamp_of
from bursar.kernels.makespan import LANES
from bursar.model.dag import Dag
from bursar.model.errors import InputError
from bursar.plan.bag.executions import share_out

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SAMPLES: Final = 1000


class WorkflowTimes:
    """A workflow, and the distribution of every task's time on every offer.

    `times[task][offer]`; all histograms have as many bins, and one that stands for several tasks
    is kept once. `moves[edge]`, in the order of the dag's edges, is what passes between the end
    of a parent and the begin of a child; nothing unless given.
    """

    def __init__(
        self,
        dag: Dag,
        times: Sequence[Sequence[Histogram]],
        moves: ArrayLike | None = None,
    ) -> None:
        offers = len(times[0]) if times else 0
        if len(times) != len(dag) or any(len(row) != offers for row in times):
            raise InputError(f"{len(dag)} tasks need a time each on each of the same offers")
        self._lay(dag, *_lay_table(times, offers), moves)

    @classmethod
    def from_table(
        cls, dag: Dag, table: ArrayLike, rows: ArrayLike, moves: ArrayLike | None = None
    ) -> Self:
        """From equally likely, ascending times `table[row]`; `rows[task, offer]` names the row."""
        made = cls.__new__(cls)
        times = np.ascontiguousarray(table, dtype=np.float64)
        named = np.ascontiguousarray(rows, dtype=np.int64)
        if times.ndim != 2 or times.size == 0:
            raise InputError("a table without times; give one row for each distribution")
        if not np.all(np.isfinite(times)) or np.any(np.diff(times, axis=1) < 0):
            raise InputError("every row of a table of times must be finite and ascending")
        if times[:, 0].min() < 0:
            raise InputError("a task that may take less than no time; check its distribution")
        if named.ndim != 2 or len(named) != len(dag):
            raise InputError(f"{len(dag)} tasks need a time each on each of the same offers")
        if named.size and not (named.min() >= 0 and named.max() < len(times)):
            raise InputError(f"a row that is not in the table; use 0 to {len(times) - 1}")
        made._lay(dag, times, named, moves)
        return made

    def _lay(self, dag: Dag, table: Floats, rows: Integers, moves: ArrayLike | None) -> None:
        self.dag, self.table, self.rows = dag, table, rows
        self.offers = rows.shape[1]
        if len(dag) == 0:
            raise InputError("a workflow without tasks; give it at least one")
        if self.offers == 0:
            raise InputError("no offer for the tasks; give a time on at least one")
        self.moves: Floats = np.zeros(dag.edges)
        if moves is not None:
            self.moves = np.ascontiguousarray(moves, dtype=np.float64)
        if self.moves.shape != (dag.edges,):
            raise InputError(f"{len(self.moves)} moves for {dag.edges} edges; give one for each")
        if not np.all((self.moves >= 0) & np.isfinite(self.moves)):
            raise InputError("every move must be finite and not negative")
        self.is_last = np.ones(len(dag), dtype=np.bool_)
        self.is_last[dag.parents.items] = False

    def rows_of(self, offers: ArrayLike) -> Integers:
        """[task]: where in the table its times with `offers[task]` stand."""
        chosen = np.asarray(offers, dtype=np.int64)
        if chosen.shape != (len(self.dag),):
            raise InputError(f"{chosen.size} offers for {len(self.dag)} tasks; give one for each")
        if not (chosen.min() >= 0 and chosen.max() < self.offers):
            raise InputError(f"an offer that is not known; use 0 to {self.offers - 1}")
        rows: Integers = self.rows[np.arange(len(self.dag)), chosen]
        return rows

    def bounds(self) -> tuple[Floats, Floats]:
        """[task] each: the shortest and the longest time on any offer."""
        return self.table[:, 0][self.rows].min(axis=1), self.table[:, -1][self.rows].max(axis=1)

    def sample(
        self, offers: ArrayLike, samples: int = SAMPLES, *, seed: int = 0, threads: int = 1
    ) -> Floats:
        """So many makespans with `offers[task]`; the first are the same however many there are."""
        if samples < 1:
            raise InputError(f"a distribution of {samples} samples; it needs at least 1")
        rows = self.rows_of(offers)
        blocks = -(-samples // LANES)
        makespans = np.empty((blocks, LANES))
        kernel, dag, begin = compiled(), self.dag, np.uint64(seed)

        def work(first: int, last: int) -> None:
            kernel(
                dag.parents.starts,
                dag.parents.items,
                self.moves,
                dag.order,
                self.is_last,
                self.table,
                rows,
                begin,
                first,
                last,
                makespans,
            )

        share_out(work, blocks, threads)
        return makespans.ravel()[:samples]

    def makespan(
        self, offers: ArrayLike, samples: int = SAMPLES, *, seed: int = 0, threads: int = 1
    ) -> Histogram:
        """The distribution of the makespan, from so many samples."""
        return Histogram.from_samples(self.sample(offers, samples, seed=seed, threads=threads))


def _lay_table(times: Sequence[Sequence[Histogram]], offers: int) -> tuple[Floats, Integers]:
    """[row, bin]: every histogram once; and [task, offer]: its row."""
    known: dict[int, int] = {}
    kept: list[Floats] = []
    rows = np.zeros((len(times), offers), dtype=np.int64)
    for task, by_offer in enumerate(times):
        for offer, one in enumerate(by_offer):
            if id(one) not in known:
                known[id(one)] = len(kept)
                kept.append(one.values)
            rows[task, offer] = known[id(one)]
    if not kept:
        return np.empty((0, 0)), rows
    if any(len(one) != len(kept[0]) for one in kept):
        raise InputError("histograms of different numbers of bins; make them with the same")
    if any(one[0] < 0 for one in kept):
        raise InputError("a task that may take less than no time; check its distribution")
    return np.array(kept, dtype=np.float64), rows


@cache
def compiled() -> Callable[..., Any]:
    """The kernel; the first call imports numba and, once on a computer, compiles."""
    let_kernels_call(bag_kernel.splitmix, bag_kernel.scaled, *makespan_kernel.PARTS)
    stamp = stamp_of(map(inspect.getsource, (bag_kernel, makespan_kernel)))
    return compile_kept(makespan_kernel.sample_blocks, stamp)
