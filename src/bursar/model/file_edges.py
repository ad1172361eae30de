"""Edges from files: a task that reads a file waits for the task that writes it, or its directory.

Where a format gives the edges by themselves (DAX, WfFormat), files of which nobody can say who
makes them are no mistake: the given edges count, and what is odd becomes a caution.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from bursar.model.dag import Files, Longs
from bursar.model.errors import InputError, shown
from bursar.model.nested_files import nested_edges
from bursar.model.text import counted

_NOBODY: Final = -1
_MANY: Final = -2


class FileEdges(NamedTuple):
    """The edges from who writes to who reads, and what is odd."""

    parents: Longs
    children: Longs
    cautions: tuple[str, ...] = ()


def file_edges(files: Files, names: tuple[str, ...], *, edges_given: bool) -> FileEdges:
    """With `edges_given`, a file of several writers makes no edge; without, it is refused.

    The same holds for a task that reads and writes one file.
    """
    tasks, written = files.written.rows(), files.written.items
    writer = np.full(len(files.names), _NOBODY, dtype=np.int64)
    writer[written] = tasks
    others = np.flatnonzero(writer[written] != tasks)
    cautions = []
    if len(others):
        file = written[others[0]]
        first, second = names[tasks[others[0]]], names[writer[file]]
        example = f"{shown(files.names[file])} is written by {shown(first)} and by {shown(second)}"
        if not edges_given:
            raise InputError(f"the file {example}; a file has one writer")
        cautions.append(_several(len(np.unique(written[others])), example))
        writer[written[others]] = _MANY
    readers = files.read.rows()
    both = _reads_and_writes(files, readers, writer)
    if len(both):
        file = files.read.items[both[0]]
        example = f"{shown(names[readers[both[0]]])} reads and writes the file"
        example = f"{example} {shown(files.names[file])}"
        if not edges_given:
            raise InputError(f"task {example}; give what it writes another name")
        cautions.append(_in_place(len(both), example))
    writers = writer[files.read.items]
    is_edge = (writers >= 0) & (writers != readers)
    parents, children = writers[is_edge], readers[is_edge]
    if not edges_given and (within := list(nested_edges(files, writer))):
        parents = np.append(parents, [one for one, _ in within])
        children = np.append(children, [other for _, other in within])
    return FileEdges(parents, children, tuple(cautions))


def _reads_and_writes(files: Files, readers: Longs, writer: Longs) -> Longs:
    """Places among what is read where the task writes the same file."""
    writers = writer[files.read.items]
    alone = np.flatnonzero(writers == readers)
    many = np.flatnonzero(writers == _MANY)
    if not len(many):
        return alone
    width = len(files.names)
    written = files.written.rows() * width + files.written.items
    read = readers[many] * width + files.read.items[many]
    return np.sort(np.concatenate((alone, many[np.isin(read, written)])))


def _several(count: int, example: str) -> str:
    return (
        f"{counted(count, 'file')} with several writers ({example}): the given edges alone tell who"
        " waits for them"
    )


def _in_place(count: int, example: str) -> str:
    return f"{counted(count, 'file')} changed in place ({example})"
