"""A workflow as it is planned, simulated and run: checked, unchangeable, and in arrays.

Tasks are numbered from 0 in the order in which they were given. What belongs to all tasks is one
array each, so that a million of them fit; `task` gives everything of one, for people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.errors import InputError
from bursar.model.time import Time

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

PARTS: Final = ("cpu", "io", "network")
"""what a run time may be made of, in the order of `Dag.parts`"""
UNKNOWN: Final = -1
"""stands for a number of bytes that nobody gave"""


class Csr(msgspec.Struct, frozen=True, eq=False):  # noqa: PLW1641 -- arrays have no hash
    """For each row some numbers: those of row r are `items[starts[r]:starts[r + 1]]`, ascending."""

    starts: Longs
    items: Ints

    def of(self, row: int) -> Ints:
        return self.items[self.starts[row] : self.starts[row + 1]]

    def counts(self) -> Longs:
        """How many numbers each row has."""
        return np.diff(self.starts)

    def rows(self) -> Longs:
        """The row of each item."""
        return np.repeat(np.arange(len(self.starts) - 1), self.counts())

    def __eq__(self, other: object) -> bool:
        return same_fields(self, other)


class Files(msgspec.Struct, frozen=True, eq=False):  # noqa: PLW1641 -- arrays have no hash
    """All files of a workflow, sorted by name, and who reads and writes them.

    A file has at most one writer, which does not read it, but for files of formats that give the
    edges by themselves.
    """

    names: tuple[str, ...]
    sizes: Longs
    """bytes; UNKNOWN where nobody gave them"""
    read: Csr
    """by task"""
    written: Csr
    """by task"""

    def __eq__(self, other: object) -> bool:
        return same_fields(self, other)


class DagTask(msgspec.Struct, frozen=True):
    """Everything that is known of one task."""

    name: str
    kind: str
    command: tuple[str, ...]
    needs: tuple[str, ...]
    reads: Mapping[str, int | None]
    """files, with their bytes where they are known"""
    writes: Mapping[str, int | None]
    runtime: float | None
    """seconds at speed 1"""
    parts: Mapping[str, float] | None
    """the same by PARTS, where they were given"""
    priority: int


class Dag(msgspec.Struct, frozen=True, eq=False, kw_only=True):  # noqa: PLW1641 -- arrays have no hash
    """Tasks with precedence; perhaps with an owner, a priority and a deadline for their `Work`.

    Invariants: names are unique; `order` has every task once, and each
    after all its parents; `parents` and `children` hold the same edges, each once; the arrays
    cannot be written.
    """

    name: str
    owner: str = ""
    priority: int = 0
    """of the whole workflow among others; larger is more urgent"""
    deadline: Time | None = None
    """for all of it, from its arrival"""
    names: tuple[str, ...]
    kind_names: tuple[str, ...]
    """the types of tasks, in the order of their first task"""
    kinds: Ints
    """by task, an index of `kind_names`"""
    commands: tuple[tuple[str, ...], ...]
    """argument lists by task; empty: no task has one"""
    runtimes: Floats
    """seconds at speed 1; NaN where nobody gave them"""
    parts: Floats | None
    """[task, part] in seconds, see PARTS; their sum is the run time; None: no task has them"""
    priorities: Longs
    """of tasks within the workflow; larger is more urgent"""
    volumes: Longs | None
    """[task, 0 or 1]: bytes read and written, as measured; None: of no task"""
    parents: Csr
    children: Csr
    order: Ints
    """topological; what is ready together stays in the order of the tasks"""
    files: Files
    cautions: tuple[str, ...] = ()
    """what is odd in the file that it was read from; equal workflows may differ in it"""

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dag):
            return False
        return same_fields(self, msgspec.structs.replace(other, cautions=self.cautions))

    @property
    def edges(self) -> int:
        return len(self.parents.items)

    def command(self, task: int) -> tuple[str, ...]:
        """The argument list; empty: a task that can only be simulated."""
        return self.commands[task] if self.commands else ()

    def kind(self, task: int) -> str:
        return self.kind_names[int(self.kinds[task])]

    def task(self, task: int) -> DagTask:
        runtime = float(self.runtimes[task])
        return DagTask(
            name=self.names[task],
            kind=self.kind(task),
            command=self.command(task),
            needs=tuple(self.names[parent] for parent in self.parents.of(task)),
            reads=self._sizes(self.files.read.of(task)),
            writes=self._sizes(self.files.written.of(task)),
            runtime=None if np.isnan(runtime) else runtime,
            parts=self._parts(task),
            priority=int(self.priorities[task]),
        )

    def _sizes(self, files: Ints) -> dict[str, int | None]:
        sizes = ((self.files.names[file], int(self.files.sizes[file])) for file in files)
        return {name: None if size == UNKNOWN else size for name, size in sizes}

    def _parts(self, task: int) -> dict[str, float] | None:
        if self.parts is None or np.isnan(self.parts[task]).any():
            return None
        return dict(zip(PARTS, self.parts[task].tolist(), strict=True))


def dag_of(parents: Sequence[Sequence[int]]) -> Dag:
    """A workflow of which nothing is known but the parents of each task; a cycle is refused.

    Edges are numbered child by child, and within a child by the number of the parent.
    """
    count = len(parents)
    row = np.repeat(np.arange(count), [len(one) for one in parents])
    items = np.array([parent for one in parents for parent in one], dtype=np.int64)
    if len(items) and not (items.min() >= 0 and items.max() < count):
        raise InputError("a task waits for one that is not in the workflow; add it")
    return dag_of_edges(grouped(row, items, count, count))


def dag_of_edges(parents: Csr) -> Dag:
    """The same, with the parents as they stand in a `Dag`."""
    count = len(parents.starts) - 1
    children = grouped(parents.items.astype(np.int64), parents.rows(), count, count)
    order = topological_order(children, parents.counts())
    if len(order) < count:
        stuck = np.setdiff1d(np.arange(count), order)[0]
        raise InputError(f"task {stuck} waits for itself, perhaps through others; break the cycle")
    none = grouped(np.zeros(0, np.int64), np.zeros(0, np.int64), count, 0)
    return Dag(
        name="workflow",
        names=tuple(map(str, range(count))),
        kind_names=("task",),
        kinds=frozen(np.zeros(count), np.int32),
        commands=(),
        runtimes=frozen(np.full(count, np.nan), np.float64),
        parts=None,
        priorities=frozen(np.zeros(count), np.int64),
        volumes=None,
        parents=parents,
        children=children,
        order=frozen(order, np.int32),
        files=Files((), frozen(np.zeros(0), np.int64), none, none),
    )


def same_fields(one: msgspec.Struct, other: object) -> bool:
    """Whether two values of one type hold the same; unknown times are alike."""
    if type(one) is not type(other):
        return False
    return all(_same(getattr(one, key), getattr(other, key)) for key in one.__struct_fields__)


def _same(one: Any, other: Any) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return type(one) is type(other) and bool(one == other)
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def frozen(array: NDArray[Any], kind: type) -> NDArray[Any]:
    """The array in this type, and never to be written again."""
    result: NDArray[Any] = np.ascontiguousarray(array, dtype=kind)
    result.setflags(write=False)
    return result


def grouped(rows: Longs, items: Longs, count: int, width: int) -> Csr:
    """Pairs of a row (of `count`) and an item (below `width`), each kept once."""
    keys = np.sort(rows * width + items)
    keys = keys[np.diff(keys, prepend=-1) > 0]
    starts = np.searchsorted(keys, np.arange(count + 1, dtype=np.int64) * width)
    return Csr(frozen(starts, np.int64), frozen(keys % max(width, 1), np.int32))


def topological_order(children: Csr, parent_counts: Longs) -> Ints:
    """The tasks, each after its parents; shorter than the graph if there is a cycle.

    Those that are ready together stay in the order of their numbers. A plain loop over lists: a
    chain has as many steps as tasks, which arrays cannot shorten.
    """
    starts, items = children.starts.tolist(), children.items.tolist()
    waiting = parent_counts.tolist()
    order = [task for task, count in enumerate(waiting) if not count]
    for task in order:  # which grows meanwhile
        for child in items[starts[task] : starts[task + 1]]:
            waiting[child] -= 1
            if not waiting[child]:
                order.append(child)
    return np.array(order, dtype=np.int32)
