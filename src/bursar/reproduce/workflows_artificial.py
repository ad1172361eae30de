"""One entry and one exit for every workflow: tasks that take a machine, but no time.

The workflow thesis adds them to workflows that have several entries or exits, and leaves open
whether they count where generations of eligible tasks are looked at.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bursar.model.dag import frozen, grouped
from bursar.model.workload_arrays import WorkloadArrays

Longs = NDArray[np.int64]


def with_artificial_tasks(arrays: WorkloadArrays) -> WorkloadArrays:
    """The same works; those with several entries begin with a new task, those with several exits
    end with one.
    """
    works = len(arrays.arrived)
    is_entry, is_exit = arrays.parents.counts() == 0, arrays.children.counts() == 0
    entered, left = (
        np.bincount(arrays.work[ends], minlength=works) > 1 for ends in (is_entry, is_exit)
    )
    sizes = np.diff(arrays.first) + entered + left
    first: Longs = np.concatenate(([0], np.cumsum(sizes)))
    count = int(first[-1])
    number = (
        np.arange(len(arrays)) - arrays.first[arrays.work] + (first[:-1] + entered)[arrays.work]
    )
    edges = [(number[arrays.parents.rows()], number[arrays.parents.items])]
    below = np.flatnonzero(is_entry & entered[arrays.work])
    edges.append((number[below], first[arrays.work[below]]))
    above = np.flatnonzero(is_exit & left[arrays.work])
    edges.append((first[arrays.work[above] + 1] - 1, number[above]))
    children, parents = (np.concatenate(side) for side in zip(*edges, strict=True))
    return WorkloadArrays(
        arrived=arrays.arrived,
        first=frozen(first, np.int64),
        work=frozen(np.repeat(np.arange(works), sizes), np.int32),
        runtimes=frozen(_spread(arrays.runtimes, number, count), np.int64),
        transfers=frozen(_spread(arrays.transfers, number, count), np.int64),
        parents=grouped(children, parents, count, count),
        children=grouped(parents, children, count, count),
    )


def _spread(values: Longs, number: Longs, count: int) -> Longs:
    """By task of the new numbering; 0 for new tasks."""
    found = np.zeros(count, np.int64)
    found[number] = values
    return found
