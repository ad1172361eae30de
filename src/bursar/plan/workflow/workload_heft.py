"""Workload HEFT: one plan for all works that are there (section 3.3.8, thesis on workloads).

Works alternate: all tasks are sorted by falling upward rank and split into levels of independent
tasks; in a level each work gives one task in turn, in the order of arrival. In that order each
goes to the machine on which it ends first, with insertion into gaps, as HEFT does it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.kernels import heft as heft_kernel
from bursar.kernels import wheft as wheft_kernel
from bursar.kernels.compiling import compile_kept, let_kernels_call, stamp_of
from bursar.model.time import Time

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


class ToPlan(msgspec.Struct, frozen=True, eq=False):
    """Tasks that have not been started, by work and number, numbered from 0 here."""

    rank: Floats
    """upward, at speed 1"""
    group: Longs
    """the works that they belong to, in the order of arrival"""
    depth: Longs
    """edges on the longest way to it, so that parents of the same rank come first"""
    estimate: Floats
    """at speed 1"""
    ready: Longs
    """when the parents are done that run already, now at the soonest"""
    parents_start: Longs
    parents: Longs
    """those that are to be planned, too"""


class WorkloadPlan(msgspec.Struct, frozen=True, eq=False):
    """All tasks, machine by machine, in the order in which they are to run there."""

    tasks: Longs
    begins: Longs
    """when each of these is to begin"""
    bounds: Longs
    """by machine, where its tasks begin; those of the next machine follow"""

    def lines(self) -> Iterator[list[tuple[Time, int]]]:
        """By machine: when tasks are to begin there, and which."""
        for begin, end in pairwise(self.bounds.tolist()):
            times, tasks = self.begins[begin:end].tolist(), self.tasks[begin:end].tolist()
            yield list(zip(times, tasks, strict=True))


def plan_workload(given: ToPlan, speeds: Sequence[float], free: Sequence[Time]) -> WorkloadPlan:
    """Plan all tasks on machines that are free at some times."""
    count = len(given.rank)
    loops = compiled()
    by_rank = np.lexsort((given.depth, given.group, -given.rank))
    level, turn = np.full(count, -1), np.zeros(count, np.int64)
    works = int(given.group.max(initial=-1)) + 1
    loops.assign_levels(
        by_rank,
        given.parents_start,
        given.parents,
        given.group,
        level,
        turn,
        np.full(works, -1),
        np.zeros(works, np.int64),
    )
    chosen, begins, ends = np.zeros(count, np.int64), np.zeros(count), np.zeros(count)
    order = np.lexsort((given.group, turn, level))
    loops.plan_tasks(
        order,
        given.parents_start,
        given.parents,
        given.ready.astype(np.float64),
        given.estimate,
        np.array(speeds, np.float64),
        np.array(free, np.float64),
        chosen,
        begins,
        ends,
    )
    sequence = np.empty(count, np.int64)
    sequence[order] = np.arange(count)
    in_line = np.lexsort((sequence, begins, chosen))
    bounds = np.searchsorted(chosen[in_line], np.arange(len(speeds) + 1))
    return WorkloadPlan(in_line, begins[in_line].astype(np.int64), bounds)


class WorkloadHeftLoops(msgspec.Struct, frozen=True):
    assign_levels: Callable[..., Any]
    plan_tasks: Callable[..., Any]


@cache
def compiled() -> WorkloadHeftLoops:
    """The first call imports numba and, once on a computer, compiles."""
    let_kernels_call(*wheft_kernel.PARTS)
    stamp = stamp_of(map(inspect.getsource, (heft_kernel, wheft_kernel)))
    return WorkloadHeftLoops(
        compile_kept(wheft_kernel.assign_levels, stamp),
        compile_kept(wheft_kernel.plan_tasks, stamp),
    )
