"""The tasks of a workload in arrays, for kernels."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.dag import Csr, Dag, dag_of, frozen
from bursar.model.errors import InputError
from bursar.model.time import SECOND
from bursar.model.work import Bag
from bursar.model.workload import Workload


class WorkloadArrays(msgspec.Struct, frozen=True, eq=False):
    """Works and tasks are numbered from 0; the tasks of a work stand together.

    Invariants: `first[w]` to `first[w + 1]` are the tasks of work `w`; every edge is within a work;
    the arrays cannot be written.
    """

    arrived: NDArray[np.int64]
    """by work, in microseconds, never falling"""
    first: NDArray[np.int64]
    """by work, its first task; one more at the end: the number of tasks"""
    work: NDArray[np.int32]
    """by task, its work"""
    runtimes: NDArray[np.int64]
    """by task, in microseconds at speed 1"""
    transfers: NDArray[np.int64]
    """by task, microseconds for which a machine of any speed reads and writes its files"""
    parents: Csr
    children: Csr

    def __len__(self) -> int:
        return len(self.work)

    @property
    def taken(self) -> NDArray[np.int64]:
        """By task, microseconds for which it holds a machine of speed 1."""
        found: NDArray[np.int64] = self.runtimes + self.transfers
        return found


def arrays_of(workload: Workload) -> WorkloadArrays:
    """All tasks in one numbering; each must have a run time."""
    works = [arrival.work for arrival in workload.arrivals]
    dags = [
        work.workflow.dag if work.workflow is not None else dag_of([()] * work.count)
        for work in works
    ]
    counts = np.array([work.count for work in works], dtype=np.int64)
    first = np.concatenate(([0], np.cumsum(counts)))
    seconds = np.concatenate([dag.runtimes for dag in dags]) if dags else np.zeros(0)
    unknown = np.flatnonzero(np.isnan(seconds))
    if len(unknown):
        place = int(np.searchsorted(first, unknown[0], side="right")) - 1
        what = "bag" if isinstance(works[place].tasks, Bag) else "workflow"
        raise InputError(
            f"work {place + 1} of {workload.name}, a {what}, has tasks without a run time;"
            " give each task a runtime"
        )
    return WorkloadArrays(
        arrived=frozen(np.array([one.at for one in workload.arrivals], dtype=np.int64), np.int64),
        first=frozen(first, np.int64),
        work=frozen(np.repeat(np.arange(len(works)), counts), np.int32),
        runtimes=frozen(np.rint(seconds * SECOND), np.int64),
        transfers=frozen(_transfers(workload, dags), np.int64),
        parents=_joined([dag.parents for dag in dags], first),
        children=_joined([dag.children for dag in dags], first),
    )


def task_kinds(workload: Workload) -> NDArray[np.int32]:
    """By task, the number of its kind, from 0 on.

    Tasks whose kinds have one name in all workflows are of one kind; so are all tasks of bags.
    """
    numbers: dict[str, int] = {}
    found: list[int] = []
    for arrival in workload.arrivals:
        flow = arrival.work.workflow
        names = ("",) if flow is None else flow.kind_names
        known = [numbers.setdefault(name, len(numbers)) for name in names]
        kinds = [0] * arrival.work.count if flow is None else flow.kinds
        found += [known[kind] for kind in kinds]
    return np.array(found, np.int32)


def _transfers(workload: Workload, dags: list[Dag]) -> NDArray[np.float64]:
    """By task, how long its files take; of a file whose size nobody gave, no time."""
    moved = np.concatenate([_bytes_of(dag) for dag in dags]) if dags else np.zeros(0)
    if workload.bandwidth is None:
        return np.zeros(len(moved))
    if len(moved) and not moved.any():
        raise InputError(
            f"{workload.name} has a bandwidth, but no task with files of a known size; give sizes"
            " of files, or leave the bandwidth out"
        )
    return np.rint(moved * (SECOND / workload.bandwidth))


def _bytes_of(dag: Dag) -> NDArray[np.int64]:
    """By task, what it reads and writes: as measured, else by the sizes of its files."""
    found: NDArray[np.int64] = np.zeros(len(dag), dtype=np.int64)
    if dag.volumes is not None:
        found += np.maximum(dag.volumes, 0).sum(axis=1)
        return found
    sizes = np.maximum(dag.files.sizes, 0)
    for files in (dag.files.read, dag.files.written):
        np.add.at(found, files.rows(), sizes[files.items])
    return found


def _joined(parts: list[Csr], first: NDArray[np.int64]) -> Csr:
    """The rows of all parts, one after the other, with the tasks of all in one numbering."""
    edges = np.concatenate(([0], np.cumsum([len(part.items) for part in parts], dtype=np.int64)))
    starts: list[NDArray[np.int64]] = [
        part.starts[:-1] + edge for part, edge in zip(parts, edges[:-1], strict=True)
    ]
    items = [part.items + one for part, one in zip(parts, first[:-1], strict=True)]
    return Csr(
        frozen(np.concatenate([*starts, edges[-1:]]), np.int64),
        frozen(np.concatenate([*items, np.zeros(0, np.int64)]), np.int32),
    )
