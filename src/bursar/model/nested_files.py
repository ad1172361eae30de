"""Files that lie within a directory which is a file of the same workflow: `d/x` within `d`.

Who reads `d/x` waits for who writes `d`, unless somebody writes `d/x`; who reads `d` waits for all
that write within it, unless it writes there itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from posixpath import dirname
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bursar.model.dag import Files, Longs


def plain_name(name: str) -> str:
    """The one way to write the name of a file: without `./`, a doubled `/`, or one at its end.

    URLs stay as they are.
    """
    if "://" in name:
        return name
    if "./" not in name and "//" not in name and name[-1:] not in "/.":
        return name
    parts = [part for part in name.split("/") if part not in ("", ".")]
    root = "/" if name.startswith("/") else ""
    return root + "/".join(parts) or "."


def around(name: str) -> Iterator[str]:
    """The directories that a file lies in, from the nearest one."""
    while (above := dirname(name)) not in ("", name):
        yield above
        name = above


def nested(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Places of a directory, and of what lies within it; the nearest directory comes first."""
    deep = [place for place, name in enumerate(names) if "/" in name]
    known = {name: place for place, name in enumerate(names)} if deep else {}
    for inner in deep:
        for outer in around(names[inner]):
            if outer in known:
                yield known[outer], inner


def made_by(names: Sequence[str], written: AbstractSet[int]) -> set[int]:
    """Places of the files that are there once those of these places were written."""
    made = set(written)
    for outer, inner in nested(names):
        if outer in written:
            made.add(inner)
        if inner in written:
            made.add(outer)
    return made


def nested_edges(files: Files, writer: Longs) -> Iterator[tuple[int, int]]:
    """Who writes, and who reads; `writer` has the task that writes each file, if one does."""
    pairs = list(nested(files.names))
    if not pairs:
        return
    readers = _by_file(files.read.rows().tolist(), files.read.items.tolist())
    within = defaultdict[int, set[int]](set)
    """who writes in each directory"""
    made = set[int]()
    for outer, inner in pairs:
        if writer[inner] >= 0:
            within[outer].add(int(writer[inner]))
        elif writer[outer] >= 0 and inner not in made:
            made.add(inner)
            yield from _edges([int(writer[outer])], readers[inner])
    for outer, writers in within.items():
        own = writers | {int(writer[outer])}
        yield from _edges(writers, [task for task in readers[outer] if task not in own])


def _by_file(tasks: list[int], files: list[int]) -> defaultdict[int, list[int]]:
    found = defaultdict[int, list[int]](list)
    for task, file in zip(tasks, files, strict=True):
        found[file].append(task)
    return found


def _edges(writers: Iterable[int], readers: Iterable[int]) -> Iterator[tuple[int, int]]:
    return ((one, other) for one in writers for other in readers if one != other)
