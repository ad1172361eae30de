"""Workflows as people write them: task by task, then checked and built.

    flow = WorkflowBuilder("variants")
    split = flow.task("split", run=["./split", "in.fa"], writes=["a.fa"])
    flow.task("align", run=["./align", "a.fa"], reads=["a.fa"], needs=[split], runtime=60)
    dag = flow.build()

A task needs what it names, and the writers of the files that it reads. Tasks may be given in any
order; what they need is looked up by `build`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from heapq import nlargest
from itertools import islice, takewhile
from operator import eq
from typing import TYPE_CHECKING, Final

import numpy as np

from bursar.model.dag import (
    PARTS,
    UNKNOWN,
    Csr,
    Dag,
    Files,
    Floats,
    Ints,
    Longs,
    frozen,
    grouped,
    topological_order,
)
from bursar.model.errors import InputError, shown
from bursar.model.file_edges import file_edges
from bursar.model.time import Time
from bursar.model.workflow_checks import (
    Duration,
    FilesGiven,
    checked_command,
    checked_deadline,
    checked_files,
    checked_kind,
    checked_outputs,
    checked_priority,
    checked_profile,
    checked_size,
    checked_words,
    reason,
)

LARGEST_WORKFLOW: Final = 10_000_000
"""the most tasks in one workflow"""
_LONGEST_SHOWN: Final = 12
"""names of a cycle that a message shows; of a longer one, the middle is left out"""
_BEFORE_NUMBERS: Final = " _.:#/-"
_COMPARED: Final = 500
"""names that are compared letter by letter with one that is not known"""


class WorkflowBuilder:
    """A workflow being written; `build` checks it and gives it in a form that cannot change."""

    def __init__(
        self,
        name: str = "workflow",
        *,
        owner: str = "",
        priority: int = 0,
        deadline: Time | str | None = None,
    ) -> None:
        """`deadline` is in microseconds from the arrival, or a text such as `2h`."""
        self.name = checked_words(name, "name")
        self.owner = checked_words(owner, "owner") if owner else ""
        self.priority = checked_priority(priority)
        self.deadline = None if deadline is None else checked_deadline(deadline)
        self._index: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        self._kind_of = array("i")
        self._commands: list[tuple[str, ...]] = []
        self._runtimes = array("d")
        self._parts: dict[int, tuple[float, ...]] = {}
        self._priorities: dict[int, int] = {}
        self._volumes: dict[int, tuple[int, int]] = {}
        self._needs: list[str] = []
        self._need_counts = array("i")
        self._files: dict[str, int] = {}
        self._sizes = array("q")
        self._reads, self._read_counts = array("q"), array("i")
        self._writes, self._write_counts = array("q"), array("i")
        self._cautions: list[str] = []

    def __len__(self) -> int:
        return len(self._index)

    def task(
        self,
        name: str,
        *,
        run: str | Sequence[str] = (),
        needs: str | Iterable[str] = (),
        reads: FilesGiven = (),
        writes: FilesGiven = (),
        runtime: Duration | Mapping[str, Duration] | None = None,
        kind: str | None = None,
        priority: int = 0,
        volume: tuple[int | None, int | None] | None = None,
    ) -> str:
        """Add a task, and give its name, for the `needs` of others.

        `run` is a list of words, or a text for /bin/sh; without it the task can only be simulated.
        `runtime` is in seconds at speed 1, or a text with its unit, or such for each of `cpu`,
        `io` and `network`. `kind` is the type of the task: by default its name without a number
        at the end. `volume` is bytes read and written, as measured.
        """
        number = len(self._index)
        if not isinstance(name, str) or not name or not name.isprintable():
            raise InputError(f"task {number + 1:,}: the name {reason(name)}")
        if name in self._index:
            raise InputError(f"two tasks are named {shown(name)}; rename one")
        try:
            command = checked_command(run) if run else ()
            time, parts = checked_profile(runtime)
            needed = (needs,) if isinstance(needs, str) else tuple(needs)
            read = checked_files(reads) if reads else None
            written = checked_outputs(writes) if writes else None
            urgency = checked_priority(priority) if priority else 0
            moved = None if volume is None else (checked_size(volume[0]), checked_size(volume[1]))
            label = kind_of(name) if kind is None else checked_kind(kind)
        except InputError as error:
            raise InputError(f"task {shown(name)}: {error}") from None
        # Nothing below can fail: a task that was refused leaves no trace.
        self._index[name] = number
        self._kind_of.append(self._kinds.setdefault(label, len(self._kinds)))
        self._commands.append(command)
        self._runtimes.append(time)
        self._needs.extend(needed)
        self._need_counts.append(len(needed))
        self._read_counts.append(self._add(self._reads, read) if read else 0)
        self._write_counts.append(self._add(self._writes, written) if written else 0)
        if parts is not None:
            self._parts[number] = parts
        if urgency:
            self._priorities[number] = urgency
        if moved is not None and moved != (UNKNOWN, UNKNOWN):
            self._volumes[number] = moved
        return name

    def file(self, name: str, size: int) -> None:
        """Tell the bytes of a file; of several sizes the largest counts."""
        for file, known in checked_files({name: size}).items():
            self._number(file, known)

    def _add(self, numbers: array[int], files: Mapping[str, int]) -> int:
        numbers.extend(self._number(file, size) for file, size in files.items())
        return len(files)

    def _number(self, file: str, size: int) -> int:
        number = self._files.setdefault(file, len(self._sizes))
        if number == len(self._sizes):
            self._sizes.append(size)
        elif size > self._sizes[number]:
            self._sizes[number] = size
        return number

    # --- building --------------------------------------------------------------------------------

    def caution(self, text: str) -> None:
        """Something odd that is no mistake, in one line, for the user."""
        self._cautions.append(text)

    if TYPE_CHECKING:

        def svg(self) -> str:
            """Its tasks in levels, as a picture; `bursar.report.notebook` has how it is drawn."""

    def build(self, *, given_edges_count: bool = False) -> Dag:
        """The workflow, checked: what is needed is there, nothing needs itself, by no detour.

        With `given_edges_count`, as of formats that have edges of their own, files that are at odds
        with the needs given are a caution; else they are refused.
        """
        count = len(self._index)
        if not count:
            raise InputError("the workflow has no tasks; give it at least one")
        if count > LARGEST_WORKFLOW:
            raise InputError(f"too many tasks: a workflow has at most {LARGEST_WORKFLOW:,}")
        names = tuple(self._index)
        files = self._built_files()
        needed, tasks = self._needed(names)
        edges_given = given_edges_count and len(needed) > 0
        made = file_edges(files, names, edges_given=edges_given)
        self._cautions += made.cautions
        parents, children, order = _connected(
            np.concatenate((needed, made.parents)), np.concatenate((tasks, made.children)), count
        )
        if len(order) < count and edges_given and len(made.parents):
            cycle = _cycle_text(names, parents, order)
            parents, children, order = _connected(needed, tasks, count)
            self._cautions.append(f"by their files {cycle}, against the given edges, which count")
        if len(order) < count:
            cycle = _cycle_text(names, parents, order)
            raise InputError(f"{cycle}; remove one of these needs")
        return Dag(
            name=self.name,
            owner=self.owner,
            priority=self.priority,
            deadline=self.deadline,
            names=names,
            kind_names=tuple(self._kinds),
            kinds=frozen(np.array(self._kind_of), np.int32),
            commands=tuple(self._commands) if any(self._commands) else (),
            runtimes=frozen(np.array(self._runtimes), np.float64),
            parts=self._built_parts(count),
            priorities=self._built_priorities(count),
            volumes=self._built_volumes(count),
            parents=parents,
            children=children,
            order=frozen(order, np.int32),
            files=files,
            cautions=tuple(dict.fromkeys(self._cautions)),
        )

    def _needed(self, names: tuple[str, ...]) -> tuple[Longs, Longs]:
        """The edges that tasks ask for by name."""
        tasks = np.repeat(np.arange(len(names)), np.array(self._need_counts))
        try:
            needed = np.fromiter(
                map(self._index.__getitem__, self._needs), np.int64, len(self._needs)
            )
        except (KeyError, TypeError):
            raise InputError(self._unknown_text(names, tasks)) from None
        selfish = tasks[needed == tasks]
        if len(selfish):
            name = shown(names[selfish[0]])
            raise InputError(f"task {name} needs itself; remove {name} from its needs")
        return needed, tasks

    def _unknown_text(self, names: tuple[str, ...], tasks: Longs) -> str:
        task, unknown = next(
            (task, need)
            for task, need in zip(tasks, self._needs, strict=True)
            if not isinstance(need, str) or need not in self._index
        )
        wrong = f"task {shown(names[task])} needs {shown(unknown)}, which is not a task"
        close = _closest(str(unknown), names)
        return (
            f"{wrong}; did you mean {shown(close)}?" if close else f"{wrong}; add it, or correct it"
        )

    def _built_files(self) -> Files:
        count, width = len(self._index), len(self._files)
        sorted_names = sorted(self._files)
        place = np.empty(width, dtype=np.int64)
        place[np.fromiter(map(self._files.__getitem__, sorted_names), np.int64, width)] = np.arange(
            width
        )
        sizes = np.empty(width, dtype=np.int64)
        sizes[place] = np.array(self._sizes)
        tasks = np.arange(count)
        read = grouped(
            np.repeat(tasks, np.array(self._read_counts)),
            place[np.array(self._reads)],
            count,
            width,
        )
        written = grouped(
            np.repeat(tasks, np.array(self._write_counts)),
            place[np.array(self._writes)],
            count,
            width,
        )
        return Files(tuple(sorted_names), frozen(sizes, np.int64), read, written)

    def _built_parts(self, count: int) -> Floats | None:
        if not self._parts:
            return None
        parts = np.full((count, len(PARTS)), np.nan)
        for task, given in self._parts.items():
            parts[task] = given
        return frozen(parts, np.float64)

    def _built_priorities(self, count: int) -> Longs:
        priorities = np.zeros(count, dtype=np.int64)
        for task, given in self._priorities.items():
            priorities[task] = given
        return frozen(priorities, np.int64)

    def _built_volumes(self, count: int) -> Longs | None:
        if not self._volumes:
            return None
        volumes = np.full((count, 2), UNKNOWN, dtype=np.int64)
        for task, given in self._volumes.items():
            volumes[task] = given
        return frozen(volumes, np.int64)


def _connected(from_: Longs, to: Longs, count: int) -> tuple[Csr, Csr, Ints]:
    """Parents, children, and the tasks in an order; those on a cycle, or behind one, lack in it."""
    parents = grouped(to, from_, count, count)
    children = grouped(parents.items.astype(np.int64), parents.rows(), count, count)
    return parents, children, topological_order(children, parents.counts())


def _cycle_text(names: tuple[str, ...], parents: Csr, order: Ints) -> str:
    """One whole cycle among the tasks that could not be put in order.

    Each of these has a parent among them: going from parent to parent, one comes around.
    """
    stuck = np.ones(len(names), dtype=bool)
    stuck[order] = False
    task = int(np.flatnonzero(stuck)[0])
    seen: dict[int, int] = {}
    while task not in seen:
        seen[task] = len(seen)
        task = next(int(parent) for parent in parents.of(task) if stuck[parent])
    cycle = [task, *reversed(list(islice(seen, seen[task] + 1, None))), task]
    listed = [one_name(names[number]) for number in cycle]
    if len(listed) > _LONGEST_SHOWN:
        half = _LONGEST_SHOWN // 2
        listed[half:-half] = [f"({len(listed) - 2 * half:,} more)"]
    return f"the tasks wait for each other: {' -> '.join(listed)}"


def one_name(name: str) -> str:
    """A name without quotes, not the whole of a long one."""
    return shown(name)[1:-1]


def _closest(unknown: str, names: Sequence[str]) -> str | None:
    """The nearest name; of very many, only those that begin and end most alike are compared."""
    asked = unknown[:200]
    near = names
    if len(names) > _COMPARED:
        near = nlargest(_COMPARED, names, key=lambda name: _ends_alike(name, asked))
    close = get_close_matches(asked, near, n=1)
    return close[0] if close else None


def _ends_alike(one: str, other: str) -> int:
    """Letters that are the same from the beginning, and from the end."""
    begin: int = sum(takewhile(bool, map(eq, one, other)))
    end: int = sum(takewhile(bool, map(eq, reversed(one), reversed(other))))
    return begin + end


def kind_of(name: str) -> str:
    """The type of a task by its name: without `7`, `_7`, `-007` or `_ID007` at its end."""
    bare = name.rstrip("0123456789")
    if bare == name:
        return name
    return bare.removesuffix("ID").rstrip(_BEFORE_NUMBERS) or name
