"""Path binding: paths of one length become a path whose nodes are several tasks (Prob, 4.1).

Where two paths of L nodes have different nodes at k positions, binding them saves L - k - 1
operations: L - 1 additions are done once instead of twice, and k maxima come instead. The pair with
the best gain goes first. Two paths that meet can change over to each other there, and what comes of
it is a path as well; so the paths closest to each other differ in one run of positions only. Those
that have all before and all behind a run in common are found by sorting, and bound together. Bound
paths can no longer change over in all ways, so what is left is compared pair by pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

Node = tuple[int, ...]
"""tasks in ascending order; the node takes as long as the longest of them"""

MOST_COMPARED: Final = 2000
"""more paths are not compared pair by pair"""


class Nodes:
    """The nodes of paths, numbered, each kept once."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.tasks: list[Node] = []
        self._numbers: dict[Node, int] = {}
        for node in nodes:
            self.number(node)

    def number(self, node: Node) -> int:
        if node not in self._numbers:
            self._numbers[node] = len(self.tasks)
            self.tasks.append(node)
        return self._numbers[node]

    def bind(self, numbers: Sequence[int]) -> int:
        """The node of all tasks of these nodes."""
        if len(numbers) == 1:
            return numbers[0]
        return self.number(tuple(sorted(set().union(*(self.tasks[one] for one in numbers)))))


def bind(paths: Integers, nodes: Nodes, most: int | None = None) -> Integers:
    """Bind paths, [path, position], the best gain first; at most so many times, a pair a time.

    After any binding the closest paths are looked for again, since bound nodes may have become the
    same.
    """
    length = paths.shape[1]
    left = len(paths) if most is None else most
    run = 1
    while run <= length - 2 and left > 0 and len(paths) > 1:
        bound = _bind_runs(paths, nodes, run, left)
        if len(bound) == len(paths) and run == length - 2 and len(paths) <= MOST_COMPARED:
            bound = _bind_closest(paths, nodes)
        left -= len(paths) - len(bound)
        run = run + 1 if len(bound) == len(paths) else 1
        paths = bound
    return paths


def _bind_closest(paths: Integers, nodes: Nodes) -> Integers:
    """Bind the two paths that differ at the fewest positions, if that is a gain."""
    length = paths.shape[1]
    differ = np.zeros((len(paths), len(paths)), dtype=np.int64)
    for column in paths.T:
        differ += column[:, None] != column
    np.fill_diagonal(differ, length)
    pair = np.array(np.unravel_index(differ.argmin(), differ.shape), dtype=np.int64)
    if length - differ.min() - 1 <= 0:
        return paths
    return _bind_groups(paths, nodes, [pair], slice(0, length), 1)


def _bind_runs(paths: Integers, nodes: Nodes, run: int, most: int) -> Integers:
    """Bind paths that differ in one run of positions, at the first place where there are any."""
    before, behind = _beginnings(paths), _beginnings(paths[:, ::-1])[::-1]
    for first in range(paths.shape[1] - run + 1):
        alike = before[first] * len(paths) + behind[first + run]
        _, group, counts = np.unique(alike, return_inverse=True, return_counts=True)
        if counts.max() > 1:
            members = np.split(np.argsort(group, kind="stable"), np.cumsum(counts)[:-1])
            shared = [rows for rows in members if len(rows) > 1]
            return _bind_groups(paths, nodes, shared, slice(first, first + run), most)
    return paths


def _beginnings(paths: Integers) -> list[Integers]:
    """For 0, 1, ... positions: a number for each path, the same where the path begins the same."""
    numbers = [np.zeros(len(paths), dtype=np.int64)]
    for column in paths.T:
        _, place = np.unique(column, return_inverse=True)
        joined = numbers[-1] * len(paths) + place
        numbers.append(np.unique(joined, return_inverse=True)[1].astype(np.int64))
    return numbers


def _bind_groups(
    paths: Integers, nodes: Nodes, groups: list[Integers], where: slice, most: int
) -> Integers:
    """Each group of paths as one, while bindings are left."""
    bound, is_kept = paths.copy(), np.ones(len(paths), dtype=np.bool_)
    for rows in groups:
        joined = rows[: most + 1]
        for position in range(where.start, where.stop):
            bound[joined[0], position] = nodes.bind(np.unique(paths[joined, position]).tolist())
        is_kept[joined[1:]] = False
        most -= len(joined) - 1
        if most == 0:
            break
    return bound[is_kept]
