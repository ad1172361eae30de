"""Which tasks wait for which, as arrays: a workflow as the compiled parts of planning take it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.dag import Csr, Dag, topological_order
from bursar.model.errors import InputError

Integers = NDArray[np.int64]


class Graph(msgspec.Struct, frozen=True, eq=False):
    """Tasks numbered from 0, each with its parents; edges are numbered child by child.

    The parents of a task are `parents[parents_start[task] : parents_start[task + 1]]`. In `order`
    every task comes after its parents.
    """

    parents_start: Integers
    parents: Integers
    order: Integers

    def __post_init__(self) -> None:
        for name in ("parents_start", "parents", "order"):
            row = np.ascontiguousarray(getattr(self, name), dtype=np.int64)
            msgspec.structs.force_setattr(self, name, row)
        _check(self)

    @property
    def tasks(self) -> int:
        return len(self.order)

    @property
    def edges(self) -> int:
        return len(self.parents)

    @classmethod
    def of_dag(cls, dag: Dag) -> Graph:
        parents, order = dag.parents.items.astype(np.int64), dag.order.astype(np.int64)
        return cls(dag.parents.starts, parents, order)

    @classmethod
    def of(cls, parents: Sequence[Sequence[int]]) -> Graph:
        """From the parents of each task; the order is found, and a cycle is refused."""
        counts = np.array([len(row) for row in parents], dtype=np.int64)
        start = np.concatenate([[0], np.cumsum(counts)])
        flat = np.array([parent for row in parents for parent in row], dtype=np.int64)
        if len(flat) and not (flat.min() >= 0 and flat.max() < len(parents)):
            raise InputError("a task waits for one that is not in the workflow; add it")
        return cls(start, flat, _sorted(counts, flat))


def _sorted(counts: Integers, flat: Integers) -> Integers:
    """A topological order: those that wait for none first, by number."""
    tasks = len(counts)
    ends = np.concatenate([[0], np.cumsum(np.bincount(flat, minlength=tasks))])
    waits = np.repeat(np.arange(tasks), counts)[np.argsort(flat, kind="stable")]
    order = topological_order(Csr(ends, waits.astype(np.int32)), counts)
    if len(order) < tasks:
        stuck = np.setdiff1d(np.arange(tasks), order)[0]
        raise InputError(f"task {stuck} waits for itself, perhaps through others; break the cycle")
    return order.astype(np.int64)


def _check(graph: Graph) -> None:
    tasks, edges = len(graph.order), len(graph.parents)
    start = graph.parents_start
    if len(start) != tasks + 1 or start[0] != 0 or start[-1] != edges or np.any(np.diff(start) < 0):
        raise InputError("where the parents of each task start must ascend from 0 to their number")
    if edges and not (graph.parents.min() >= 0 and graph.parents.max() < tasks):
        raise InputError("a task waits for one that is not in the workflow; add it")
    if not np.array_equal(np.sort(graph.order), np.arange(tasks)):
        raise InputError("the order must name every task once")
    place = np.empty(tasks, dtype=np.int64)
    place[graph.order] = np.arange(tasks)
    if np.any(place[graph.parents] >= np.repeat(place, np.diff(start))):
        raise InputError("in the order a task comes before one that it waits for")
