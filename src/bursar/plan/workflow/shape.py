"""The shape of a workflow: levels, ranks, the critical path, and how much can be done at once.

With `weights` the caller says what each task takes; otherwise it is the run time where all are
known, and 1 where any is not, since a sum over some tasks would look like one over all.
"""

from __future__ import annotations

import msgspec
import numpy as np

from bursar.kernels.graph import levels_of, ranks_of
from bursar.model.dag import Dag, Floats, Ints


class Shape(msgspec.Struct, frozen=True, eq=False):
    """What is known of a workflow before it runs."""

    levels: Ints
    """by task, from 0: the most edges on a way to it"""
    depth: int
    """number of levels"""
    width: int
    """tasks on the fullest level"""
    work_s: float | None
    """all run times together, in seconds; None: not all are known"""
    critical_path_s: float | None
    """no number of machines is faster; None: not all run times are known"""
    critical_path: tuple[int, ...]
    """its tasks, first to last; where times are not known, the one with most tasks"""
    lop: float
    """level of parallelism: the work, spread over the length of the critical path"""


def levels(dag: Dag) -> Ints:
    """By task: 0 without parents, else one more than the deepest parent."""
    return levels_of(dag.children, dag.order)


def upward_ranks(dag: Dag, weights: Floats | None = None) -> Floats:
    """By task, the longest way from its start to the end of the workflow."""
    return ranks_of(dag.parents, dag.order, _weights(dag) if weights is None else weights)


def critical_path(dag: Dag, weights: Floats | None = None) -> tuple[int, ...]:
    """The tasks on the longest way; of several, the one whose tasks come first."""
    return _path(dag, upward_ranks(dag, weights))


def shape(dag: Dag) -> Shape:
    weights, is_timed = _weights(dag), not np.isnan(dag.runtimes).any()
    ranks, of_task = upward_ranks(dag, weights), levels(dag)
    work, longest, depth = float(weights.sum()), float(ranks.max()), int(of_task.max()) + 1
    return Shape(
        levels=of_task,
        depth=depth,
        width=int(np.bincount(of_task).max()),
        work_s=work if is_timed else None,
        critical_path_s=longest if is_timed else None,
        critical_path=_path(dag, ranks),
        lop=work / longest if longest else len(dag) / depth,
    )


def _weights(dag: Dag) -> Floats:
    return np.ones(len(dag)) if np.isnan(dag.runtimes).any() else dag.runtimes


def _path(dag: Dag, ranks: Floats) -> tuple[int, ...]:
    task = int(ranks.argmax())
    path = [task]
    while len(below := dag.children.of(task)):
        task = int(below[ranks[below].argmax()])
        path.append(task)
    return tuple(path)
