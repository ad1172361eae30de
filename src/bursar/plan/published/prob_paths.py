"""Pre-processing: a workflow as the paths of which one is the critical one (Prob, section 4.1).

Entry and exit are virtual and take no time, so they are on no path here: paths lead from tasks
without parents to tasks without children.

A path can be left out where another one has all its tasks and more. That is so exactly where one
of its edges can be gone round, from the same parent to the same child by other tasks. So critical
path pruning is the removal of such edges, and no path needs to be written down for it. Tasks that
have the same parents and the same children lie at the same place of paths that differ in nothing
else; they are bound before paths are written down, too. For a Montage this is the difference
between millions of paths and some thousand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.dag import Csr, Dag, grouped
from bursar.model.errors import InputError
from bursar.plan.published.prob_binding import Node, Nodes, bind

Integers = NDArray[np.int64]
Lists = list[list[int]]

MOST_PATHS: Final = 2_000_000
"""more are not written down"""
AT_ONCE: Final = 8192
"""ancestors that are looked for in one pass: it bounds the memory"""


class Operations(msgspec.Struct, frozen=True):
    """What it takes to evaluate the paths one by one: binary operations on distributions."""

    paths: int
    adds: int
    maxima: int

    @property
    def total(self) -> int:
        return self.adds + self.maxima


class Paths(msgspec.Struct, frozen=True):
    """All that may be the critical path, and what each step of the pre-processing saved."""

    nodes: tuple[Node, ...]
    """each with its tasks; no two are the same"""
    paths: tuple[tuple[int, ...], ...]
    """each with its nodes, first to last"""
    enumerated: Operations
    """with all paths of the workflow"""
    pruned: Operations
    """without those that cannot be critical"""
    bound: Operations
    """as they are here"""


def preprocess(
    dag: Dag,
    *,
    prune: bool = True,
    binding: bool = True,
    most_bindings: int | None = None,
    most_paths: int = MOST_PATHS,
) -> Paths:
    """The paths of a workflow, without those that cannot be critical, bound while that is a gain.

    A limit on bindings is one on pairs of paths that are bound, so tasks are not bound in advance
    then.
    """
    if len(dag) == 0:
        raise InputError("a workflow without tasks has no path; give it at least one")
    whole = _Web.of(dag)
    pruned = whole.without_detours() if prune else whole
    web = pruned.with_twins_bound() if binding and most_bindings is None else pruned
    if (count := web.operations().paths) > most_paths:
        raise InputError(
            f"the workflow has {count:,} paths to evaluate, more than {most_paths:,}; "
            "estimate its makespan by sampling instead"
        )
    nodes = Nodes(web.nodes)
    left, found = most_bindings, []
    for rows in web.enumerate():
        bound = bind(rows, nodes, left) if binding else rows
        left = None if left is None else left - (len(rows) - len(bound))
        found += [tuple(row) for row in bound.tolist()]
    return _result(nodes, found, whole.operations(), pruned.operations())


def _result(
    nodes: Nodes, found: list[tuple[int, ...]], whole: Operations, pruned: Operations
) -> Paths:
    used = sorted({node for path in found for node in path})
    number = {node: place for place, node in enumerate(used)}
    paths = tuple(tuple(number[node] for node in path) for path in found)
    kept = tuple(nodes.tasks[node] for node in used)
    within = sum(len(kept[node]) - 1 for path in paths for node in path)
    adds = sum(len(path) - 1 for path in paths)
    bound = Operations(len(paths), adds, len(paths) - 1 + within)
    return Paths(kept, paths, whole, pruned, bound)


class _Web(msgspec.Struct, frozen=True):
    """Nodes of tasks and the edges between them; nodes come after their parents."""

    nodes: list[Node]
    parents: Lists
    children: Lists
    order: list[int]

    @classmethod
    def of(cls, dag: Dag) -> _Web:
        child = np.repeat(np.arange(len(dag)), np.diff(dag.parents.starts))
        nodes: list[Node] = [(task,) for task in range(len(dag))]
        return _web(nodes, dag.parents.items.astype(np.int64), child, dag.order.tolist())

    def without_detours(self) -> _Web:
        """Without the edges that can be gone round."""
        level = [0] * len(self.nodes)
        for node in self.order:
            level[node] = max((level[one] + 1 for one in self.parents[node]), default=0)
        asked = [
            (parent, node)
            for node, parents in enumerate(self.parents)
            for parent in parents
            if level[node] - level[parent] > 1
        ]
        starts = sorted({parent for parent, _ in asked})
        spare = set[tuple[int, int]]()
        for first in range(0, len(starts), AT_ONCE):
            bits = {node: 1 << place for place, node in enumerate(starts[first : first + AT_ONCE])}
            above = self._ancestors(bits)
            for parent, node in asked:
                if parent in bits and _above_any(above, self.parents[node]) & bits[parent]:
                    spare.add((parent, node))
        kept = [
            (parent, node)
            for node, parents in enumerate(self.parents)
            for parent in parents
            if (parent, node) not in spare
        ]
        pairs = np.array(kept, dtype=np.int64).reshape(-1, 2)
        return _web(self.nodes, pairs[:, 0], pairs[:, 1], self.order)

    def _ancestors(self, bits: dict[int, int]) -> list[int]:
        """For each node, those of the given nodes that come before it, as a set of bits."""
        above = [0] * len(self.nodes)
        for node in self.order:
            for parent in self.parents[node]:
                above[node] |= above[parent] | bits.get(parent, 0)
        return above

    def with_twins_bound(self) -> _Web:
        """Nodes with the same parents and the same children as one, where that is a gain.

        On a path of two nodes it is none (L - k - 1 = 0), nor on one of a single node.
        """
        web = self
        while True:
            long = web._on_long_paths()
            twins: dict[tuple[object, ...], list[int]] = {}
            for node in web.order:
                same = (tuple(web.parents[node]), tuple(web.children[node]))
                twins.setdefault(same if long[node] else (node,), []).append(node)
            if len(twins) == len(web.nodes):
                return web
            web = web._merged(list(twins.values()))

    def _on_long_paths(self) -> list[bool]:
        """For each node, whether every path through it has three nodes or more."""
        before, behind = [1] * len(self.nodes), [1] * len(self.nodes)
        for node in self.order:
            before[node] += min((before[one] for one in self.parents[node]), default=0)
        for node in reversed(self.order):
            behind[node] += min((behind[one] for one in self.children[node]), default=0)
        return [one + other - 1 >= 3 for one, other in zip(before, behind, strict=True)]

    def _merged(self, groups: Lists) -> _Web:
        number = np.empty(len(self.nodes), dtype=np.int64)
        for place, group in enumerate(groups):
            number[group] = place
        edges = [(p, node) for node, parents in enumerate(self.parents) for p in parents]
        pairs = number[np.array(edges, dtype=np.int64).reshape(-1, 2)]
        nodes = [
            tuple(sorted(task for one in group for task in self.nodes[one])) for group in groups
        ]
        return _web(nodes, pairs[:, 0], pairs[:, 1], list(range(len(groups))))

    def operations(self) -> Operations:
        """With all paths written down: counted, not written."""
        count, total = [0] * len(self.nodes), [0] * len(self.nodes)
        paths = adds = 0
        for node in self.order:
            parents = self.parents[node]
            count[node] = sum(count[one] for one in parents) if parents else 1
            total[node] = sum(total[one] for one in parents) + count[node] if parents else 0
            if not self.children[node]:
                paths, adds = paths + count[node], adds + total[node]
        return Operations(paths, adds, paths - 1)

    def enumerate(self) -> Iterator[Integers]:
        """All paths, [path, position], those of one length together."""
        children = _csr(self.children)
        degrees = children.counts()
        rows = np.array([[node] for node in self.order if not self.parents[node]], dtype=np.int64)
        while len(rows):
            ways = degrees[rows[:, -1]]
            if np.any(ways == 0):
                yield rows[ways == 0]
            source = np.repeat(np.arange(len(rows)), ways)
            place = np.arange(len(source)) - np.repeat(np.cumsum(ways) - ways, ways)
            step = children.items[children.starts[rows[source, -1]] + place]
            rows = np.column_stack([rows[source], step])


def _above_any(above: list[int], parents: list[int]) -> int:
    """The bits of what comes before any of these."""
    found = 0
    for parent in parents:
        found |= above[parent]
    return found


def _web(nodes: list[Node], parent: Integers, child: Integers, order: list[int]) -> _Web:
    count = len(nodes)
    parents, children = (
        _lists(grouped(rows, items, count, count))
        for rows, items in ((child, parent), (parent, child))
    )
    return _Web(nodes, parents, children, order)


def _lists(rows: Csr) -> Lists:
    items, starts = rows.items.tolist(), rows.starts.tolist()
    return [items[starts[row] : starts[row + 1]] for row in range(len(starts) - 1)]


def _csr(lists: Lists) -> Csr:
    counts = np.array([len(row) for row in lists], dtype=np.int64)
    items = np.array([item for row in lists for item in row], dtype=np.int32)
    return Csr(np.concatenate([[0], np.cumsum(counts)]), items)
