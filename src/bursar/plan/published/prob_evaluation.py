"""What an assignment costs and how long it takes, by the paths of a workflow (Algorithm 1 of Prob).

A state gives an offer to each group of tasks. What was computed for one state is kept for others:
the time of a node, or of tasks bundled, with the same offers, and the sum of a path's first nodes.

The makespan found is too long, for two reasons, and that is how it was published. The maximum over
paths takes them as independent, though they share tasks. And a bound path goes through the longest
task of every node, though these may be on no path together; so it is too long even where no time
varies. Where the makespan itself matters, it is to be sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from bursar.plan.published.prob_operations import Piece, Techniques, bundle, can_be_bundled, cluster
from bursar.plan.published.prob_paths import Paths
from bursar.plan.published.prob_problem import Problem
from bursar.plan.published.prob_times import T, Times

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

State = tuple[int, ...]
"""an offer for each group"""
Chosen = tuple[int, State]
"""a node, and the offers of its groups"""
Bundle = tuple[Chosen, ...]

K = TypeVar("K")


class Evaluation(Generic[T]):
    """One problem, computed with one kind of times."""

    def __init__(
        self,
        problem: Problem,
        times: Times[T],
        paths: Paths,
        groups: Integers,
        techniques: Techniques,
    ) -> None:
        self.times, self.paths, self.techniques = times, paths.paths, techniques
        self.groups = groups
        self._profiles = problem.rows()
        self._expected = times.expected(self._profiles)
        self._classes = np.unique(
            np.column_stack([problem.levels(), problem.kinds]), axis=0, return_inverse=True
        )[1].reshape(-1)
        self._tasks = [np.array(node, dtype=np.int64) for node in paths.nodes]
        self._pipelined = {pair for path in self.paths for pair in pairwise(path)}
        self._groups_of = [tuple(np.unique(groups[node]).tolist()) for node in self._tasks]
        self.costs = np.zeros((int(groups.max()) + 1, problem.offers))
        np.add.at(self.costs, groups, self._expected * problem.prices_per_second)
        self.network_cost = float(problem.network_costs.sum())
        self._pieces: dict[Chosen, Piece] = {}
        self._generated: dict[Bundle, T] = {}
        self._sums: dict[tuple[Bundle, ...], T] = {}
        self._full: dict[State, T] = {}
        self._offers = range(problem.offers)

    def bound(self) -> LongestPath:
        """What bounds makespans from below; it takes a time for each node and each offer."""
        return LongestPath(self.paths, self._groups_of, self._means)

    def cost(self, state: State) -> float:
        """The expected cost (equation 2)."""
        return float(self.costs[np.arange(len(state)), state].sum()) + self.network_cost

    def makespan(self, state: State) -> T:
        """The longest of all paths."""
        if state not in self._full:
            self.times.tally.evaluated_fully += 1
            self._keep(self._full, state, self._longest(self.paths, state))
        return self._full[state]

    def is_longer(self, one: State, other: State) -> bool:
        """Whether the makespan of `one` exceeds that of `other` with a probability above 1/2."""
        first, second = (
            self.partial_eval(one, other)
            if self.techniques.partial
            else (self.makespan(one), self.makespan(other))
        )
        return self.times.is_greater(first, second, bounds=self.techniques.bounds)

    def partial_eval(self, one: State, other: State) -> tuple[T, T]:
        """What differs between two states, to be compared instead of the whole (section 4.3).

        Only nodes with other offers are evaluated, on the paths that have any; where half of all
        nodes differ, everything is. Lemma 2 says that the comparison comes out the same, since
        X > Y implies X + Z > Y + Z and max(X, Z) > max(Y, Z). It is not so in general. A maximum
        with a large Z is Z for both, and neither is greater. Sums are compared as independent, each
        with a Z of its own, and the spread of those can turn P > 1/2 round. And where several paths
        differ, each has lost another Z.
        """
        differing = {
            node
            for node, groups in enumerate(self._groups_of)
            if any(one[group] != other[group] for group in groups)
        }
        if not differing or 2 * len(differing) >= len(self._tasks):
            return self.makespan(one), self.makespan(other)
        cut = (tuple(node for node in path if node in differing) for path in self.paths)
        parts = [path for path in dict.fromkeys(cut) if path]
        self.times.tally.evaluated_partly += 2
        return self._longest(parts, one), self._longest(parts, other)

    def _keep(self, known: dict[K, T], key: K, time: T) -> None:
        """When too many are kept, all are forgotten, to be computed again when they are wanted."""
        if len(known) >= self.times.most_kept:
            known.clear()
        known[key] = time

    def _longest(self, paths: Iterable[tuple[int, ...]], state: State) -> T:
        return self.times.maximum([self._length(path, state) for path in paths])

    def _length(self, path: tuple[int, ...], state: State) -> T:
        """The sum of the nodes of a path, of which the first may be known."""
        parts = self._bundles(path, state)
        length = self._time(parts[0])
        for count in range(2, len(parts) + 1):
            first = tuple(parts[:count])
            if first not in self._sums:
                added = self.times.add(length, self._time(parts[count - 1]))
                self._keep(self._sums, first, added)
            length = self._sums[first]
        return length

    def _bundles(self, path: tuple[int, ...], state: State) -> list[Bundle]:
        """The nodes of a path, those together that are bundled."""
        bundles: list[Bundle] = []
        for node in path:
            chosen = (node, tuple(state[group] for group in self._groups_of[node]))
            if (
                self.techniques.bundle
                and bundles
                and (bundles[-1][-1][0], node) in self._pipelined
                and can_be_bundled(self._piece(bundles[-1][-1]), self._piece(chosen))
            ):
                bundles[-1] = (*bundles[-1], chosen)
            else:
                bundles.append((chosen,))
        return bundles

    def _time(self, parts: Bundle) -> T:
        if parts not in self._generated:
            pieces = [self._piece(part) for part in parts]
            whole = pieces[0] if len(pieces) == 1 else bundle(pieces, self.times.tally)
            self._keep(self._generated, parts, self.times.generate(whole))
        return self._generated[parts]

    def _piece(self, chosen: Chosen) -> Piece:
        if chosen not in self._pieces:
            node, of_groups = chosen
            tasks = self._tasks[node]
            place = np.searchsorted(self._groups_of[node], self.groups[tasks])
            self._pieces[chosen] = self._clustered(tasks, np.array(of_groups)[place])
        return self._pieces[chosen]

    def _clustered(self, tasks: Integers, offers: Integers) -> Piece:
        return cluster(
            Piece(self._profiles[tasks], offers),
            self._expected[tasks, offers],
            self._classes[tasks],
            self.techniques.cluster,
            self.times.tally,
        )

    def _means(self, node: int, group: int) -> list[float]:
        """By offer: what is expected until the last task of this group in this node has ended."""
        tasks = self._tasks[node]
        if self._groups_of[node] == (group,):
            return [self.times.mean(self._time(((node, (offer,)),))) for offer in self._offers]
        members = tasks[self.groups[tasks] == group]
        pieces = (self._clustered(members, np.full(len(members), one)) for one in self._offers)
        return [self.times.mean(self.times.generate(piece)) for piece in pieces]


class LongestPath:
    """The longest path, by the expected times of nodes: no expected makespan is shorter (Lemma 1).

    No distributions are added for it, so it is what the order of a search goes by.
    """

    def __init__(
        self,
        paths: Sequence[tuple[int, ...]],
        groups_of: Sequence[tuple[int, ...]],
        means: Callable[[int, int], list[float]],
    ) -> None:
        entries = [(node, group) for node, groups in enumerate(groups_of) for group in groups]
        self._means = np.array([means(node, group) for node, group in entries])
        self._owners = np.array([group for _, group in entries])
        self._firsts = _begins(groups_of)
        self._on_paths = np.array([node for path in paths for node in path])
        self._begins = _begins(paths)

    def lengths(self, allowed: NDArray[np.bool_]) -> Floats:
        """[state]: where each group has the best of the offers it is allowed.

        `allowed[state, group, offer]`, at least one for each group.
        """
        times = np.where(allowed[:, self._owners], self._means, np.inf).min(axis=2)
        nodes = np.maximum.reduceat(times, self._firsts, axis=1)
        paths = np.add.reduceat(nodes[:, self._on_paths], self._begins, axis=1)
        longest: Floats = paths.max(axis=1)
        return longest


def _begins(rows: Sequence[tuple[int, ...]]) -> Integers:
    """Where each row begins, all being put one behind the other."""
    return np.cumsum([0, *(len(row) for row in rows[:-1])])
