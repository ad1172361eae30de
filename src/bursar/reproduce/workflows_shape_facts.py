"""What can be compared of drawn workflows: sizes, widths, edges, moments of run times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.dag import Dag

Floats = NDArray[np.float64]


class Moments(msgspec.Struct, frozen=True):
    """Run times of one kind of tasks, in seconds."""

    count: int
    mean: float
    deviation: float


class ShapeFacts(msgspec.Struct, frozen=True, eq=False):
    """Each array has an entry for each workflow."""

    sizes: Floats
    widths: Floats
    """the largest generation: the level of parallelism by tokens"""
    edges: Floats
    paths: Floats
    """the longest path of tasks, in tasks"""
    parallelism: Floats
    """all run times by those of the critical path"""
    moments: Mapping[str, Moments]
    """by the kind of a task"""

    @property
    def width_share(self) -> float:
        """Tasks in the largest generation by all tasks, in the mean."""
        return float(np.mean(self.widths / self.sizes))

    @property
    def branching(self) -> float:
        """Edges by tasks, in the mean."""
        return float(np.mean(self.edges / self.sizes))


def generations(dag: Dag) -> list[int]:
    """By task, how many generations must complete before it becomes eligible."""
    level = [0] * len(dag)
    parents = [dag.parents.of(task).tolist() for task in range(len(dag))]
    for task in dag.order.tolist():
        level[task] = 1 + max((level[parent] for parent in parents[task]), default=-1)
    return level


def critical_path(dag: Dag) -> float:
    """The longest path of run times, in seconds."""
    times = dag.runtimes.tolist()
    ends = [0.0] * len(dag)
    for task in dag.order.tolist():
        parents = dag.parents.of(task).tolist()
        ends[task] = times[task] + max((ends[parent] for parent in parents), default=0.0)
    return max(ends)


def shape_facts(dags: Iterable[Dag]) -> ShapeFacts:
    rows, times = [], defaultdict[str, list[Floats]](list)
    for dag in dags:
        levels = generations(dag)
        width = int(np.bincount(levels).max())
        total = float(dag.runtimes.sum())
        path = critical_path(dag)
        rows.append((len(dag), width, dag.edges, max(levels) + 1, total / path if path else 1.0))
        for number, kind in enumerate(dag.kind_names):
            times[kind].append(dag.runtimes[dag.kinds == number])
    sizes, widths, edges, paths, parallelism = np.array(rows, dtype=np.float64).T
    moments = {}
    for kind, parts in times.items():
        every = np.concatenate(parts)
        moments[kind] = Moments(len(every), float(every.mean()), float(every.std()))
    return ShapeFacts(sizes, widths, edges, paths, parallelism, moments)
