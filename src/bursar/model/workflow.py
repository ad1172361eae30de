"""A workflow as it is journaled and executed: plain values, so that no array library is needed.

`Dag` is the same for planning, in arrays. Nothing is lost between the two but the owner, priority
and deadline that a file may tell: its `Work` has them.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bursar.model.errors import one_line, shown

if TYPE_CHECKING:
    from bursar.model.dag import Csr, Dag

Rows = tuple[tuple[int, ...], ...]
SHELL: Final = ("/bin/sh", "-c")


class WorkflowFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """All files of a workflow, and by task who reads and writes them, as indices of `names`."""

    names: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    """bytes; -1 where nobody gave them"""
    read: Rows = ()
    written: Rows = ()


class Workflow(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    kw_only=True,
    tag=True,
    dict=True,
):
    """Tasks with precedence, numbered from 0; see `Dag` for what each field means.

    Invariant: it was made of a `Dag`, so that no task waits for itself, by no detour.
    """

    name: str
    names: tuple[str, ...]
    parents: Rows
    kind_names: tuple[str, ...]
    kinds: tuple[int, ...]
    commands: tuple[tuple[str, ...], ...] = ()
    runtimes: tuple[float | None, ...]
    parts: tuple[tuple[float | None, ...], ...] | None = None
    priorities: tuple[int, ...] | None = None
    """None: all 0"""
    volumes: tuple[tuple[int, ...], ...] | None = None
    files: WorkflowFiles = WorkflowFiles()
    cautions: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len(self.names)

    def command(self, index: int) -> tuple[str, ...]:
        """The argument list; empty: a task that can only be simulated."""
        return self.commands[index] if self.commands else ()

    def describe(self, index: int) -> str:
        """One line for people."""
        name, typed = self.names[index], self.typed(index)
        return one_line(f"{name}: {typed}") if typed else name

    def typed(self, index: int) -> str:
        """The command as somebody would type it, character by character; empty: there is none."""
        command = self.command(index)
        is_script = command[:2] == SHELL and len(command) == len(SHELL) + 1
        return command[-1] if is_script else shlex.join(command)

    def reads(self, index: int) -> list[str]:
        return _named(self.files.names, self.files.read, index)

    def writes(self, index: int) -> list[str]:
        return _named(self.files.names, self.files.written, index)

    def clash(self) -> str | None:
        """A file that no run could be trusted with: several tasks write it, or one changes it."""
        writers: dict[int, int] = {}
        for task, row in enumerate(self.files.written):
            for file in row:
                other = writers.setdefault(file, task)
                if other != task or file in self.files.read[task]:
                    name, one, two = (
                        shown(name)
                        for name in (self.files.names[file], self.names[other], self.names[task])
                    )
                    if other != task:
                        return f"the file {name} is written by {one} and by {two}"
                    return f"task {one} reads and writes the file {name}"
        return None

    @classmethod
    def of(cls, dag: Dag) -> Workflow:
        made = cls(
            name=dag.name,
            names=dag.names,
            parents=_rows(dag.parents),
            kind_names=dag.kind_names,
            kinds=tuple(dag.kinds.tolist()),
            commands=dag.commands,
            runtimes=_known(dag.runtimes.tolist()),
            parts=None if dag.parts is None else tuple(map(_known, dag.parts.tolist())),
            priorities=tuple(dag.priorities.tolist()) if dag.priorities.any() else None,
            volumes=None if dag.volumes is None else tuple(map(tuple, dag.volumes.tolist())),
            files=WorkflowFiles(
                dag.files.names,
                tuple(dag.files.sizes.tolist()),
                _rows(dag.files.read),
                _rows(dag.files.written),
            )
            if dag.files.names
            else WorkflowFiles(),
            cautions=dag.cautions,
        )
        vars(made)["dag"] = dag
        return made

    @cached_property
    def children(self) -> tuple[list[int], ...]:
        """By task, those that need it, ascending; made once, not to be changed."""
        found: tuple[list[int], ...] = tuple([] for _ in self.parents)
        for child, row in enumerate(self.parents):
            for parent in row:
                found[parent].append(child)
        return found

    @cached_property
    def dag(self) -> Dag:
        """The same in arrays, which are made once."""
        import numpy as np

        from bursar.model.dag import Dag, Files, frozen, grouped, topological_order

        def arranged(rows: Rows, width: int) -> Csr:
            """All rows in one array; a workflow without files has none."""
            filled = rows or ((),) * self.count
            row = np.repeat(np.arange(self.count), [len(one) for one in filled])
            items = np.array([item for one in filled for item in one], dtype=np.int64)
            return grouped(row, items, self.count, width)

        parents = arranged(self.parents, self.count)
        children = grouped(parents.items.astype(np.int64), parents.rows(), self.count, self.count)
        files, width = self.files, len(self.files.names)
        priorities: Any = self.priorities or np.zeros(self.count)
        return Dag(
            name=self.name,
            names=self.names,
            kind_names=self.kind_names,
            kinds=frozen(np.array(self.kinds), np.int32),
            commands=self.commands,
            runtimes=frozen(np.array(self.runtimes, dtype=np.float64), np.float64),
            parts=None
            if self.parts is None
            else frozen(np.array(self.parts, dtype=np.float64), np.float64),
            priorities=frozen(np.array(priorities), np.int64),
            volumes=None if self.volumes is None else frozen(np.array(self.volumes), np.int64),
            parents=parents,
            children=children,
            order=frozen(topological_order(children, parents.counts()), np.int32),
            files=Files(
                files.names,
                frozen(np.array(files.sizes, dtype=np.int64), np.int64),
                arranged(files.read, width),
                arranged(files.written, width),
            ),
            cautions=self.cautions,
        )


def _named(names: Sequence[str], rows: Rows, index: int) -> list[str]:
    return [names[file] for file in rows[index]] if rows else []


def _known(values: Iterable[float]) -> tuple[float | None, ...]:
    """JSON has no word for what is not a number."""
    return tuple(None if math.isnan(value) else value for value in values)


def _rows(csr: Csr) -> Rows:
    items, starts = csr.items.tolist(), csr.starts.tolist()
    return tuple(tuple(items[a:b]) for a, b in pairwise(starts))
