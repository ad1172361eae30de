"""What users and operators see of a simulated workload (workflow thesis, sections 2.2, 3.2, 4.3).

For each work: the wait (arrival to first start), the makespan (first start to last end), the
response (both) and the slowdown, which is the response by

- the makespan of the work alone on the same machines (chapter 2),
- its critical path, by true run times on a machine of mean speed (chapters 3 and 5), or
- its response to the same workload where all machines are always up (chapter 4: elastic).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.dag import frozen, topological_order
from bursar.model.time import SECOND
from bursar.model.workload_arrays import WorkloadArrays
from bursar.simulate.placing import place_workload
from bursar.simulate.workload_schedule import WorkloadSchedule

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]


class WorkTimes(msgspec.Struct, frozen=True, eq=False):
    """By work, in seconds; NaN where the work was not finished."""

    wait: Floats
    makespan: Floats
    response: Floats
    completed: Longs
    """moments in microseconds; -1: not finished"""


def work_times(arrays: WorkloadArrays, schedule: WorkloadSchedule) -> WorkTimes:
    begins = arrays.first[:-1]
    unstarted = np.add.reduceat(schedule.end < 0, begins) > 0
    started = np.minimum.reduceat(schedule.start, begins)
    ended = np.maximum.reduceat(schedule.end, begins)

    def seconds(moments: Longs) -> Floats:
        found: Floats = np.where(unstarted, np.nan, moments / SECOND)
        return found

    return WorkTimes(
        wait=seconds(started - arrays.arrived),
        makespan=seconds(ended - started),
        response=seconds(ended - arrays.arrived),
        completed=np.where(unstarted, -1, ended),
    )


# --- what a response is compared with ------------------------------------------------------------


def critical_paths(arrays: WorkloadArrays, speed: float = 1.0) -> Floats:
    """By work, the longest path on machines of this speed, in seconds, with transfers of files."""
    order = topological_order(arrays.children, arrays.parents.counts()).tolist()
    starts, parents = arrays.parents.starts.tolist(), arrays.parents.items.tolist()
    ends = (arrays.runtimes + arrays.transfers * speed).tolist()
    for task in order:
        ends[task] += max(
            (ends[one] for one in parents[starts[task] : starts[task + 1]]), default=0
        )
    longest = np.maximum.reduceat(np.array(ends), arrays.first[:-1])
    found: Floats = longest / (SECOND * speed)
    return found


def alone_makespans(arrays: WorkloadArrays, speeds: Sequence[float], seed: int = 0) -> Floats:
    """By work, its makespan in an empty system with the placer `backfill`, in seconds.

    All are simulated one after the other: each arrives when the ones before have surely ended.
    """
    held = arrays.runtimes / min(speeds) + arrays.transfers
    lasting = np.ceil(np.add.reduceat(held, arrays.first[:-1])).astype(np.int64) + len(arrays)
    arrived = np.concatenate(([0], np.cumsum(lasting)[:-1]))
    apart = msgspec.structs.replace(arrays, arrived=frozen(arrived, np.int64))
    return work_times(apart, place_workload(apart, speeds, "backfill", seed=seed)).makespan


# --- which works count ---------------------------------------------------------------------------


def steady_middle(works: int, left_out: int | None = None) -> Flags:
    """Without so many works at the begin and at the end (chapter 3): by default a third each."""
    skipped = works // 3 if left_out is None else left_out
    numbers = np.arange(works)
    found: Flags = (numbers >= skipped) & (numbers < works - skipped)
    return found


def steady_finished(arrays: WorkloadArrays, times: WorkTimes, left_out: int | None = None) -> Flags:
    """Without so many at the begin, and without those that the last arrival still found there.

    Chapter 2; by default a third is left out at the begin.
    """
    works = len(arrays.arrived)
    skipped = works // 3 if left_out is None else left_out
    done = (times.completed >= 0) & (times.completed <= arrays.arrived[-1])
    found: Flags = done & (np.arange(works) >= skipped)
    return found


# --- sums ----------------------------------------------------------------------------------------


class OverWorks(msgspec.Struct, frozen=True):
    """A figure over works: quantiles, mean, standard deviation; how many works count."""

    count: int
    p50: float
    p90: float
    mean: float
    deviation: float
    most: float
    jain: float
    """Jain's index of fairness: (sum x)^2 / (n sum x^2), 1 where all are alike, 1/n at worst"""
    spread: float
    """P90 by P10"""

    @classmethod
    def of(cls, values: Floats) -> OverWorks:
        """NaNs do not count; without any value all figures are NaN."""
        known = values[~np.isnan(values)]
        if not len(known):
            return cls(0, *[float("nan")] * 7)
        p10, p50, p90 = np.quantile(known, (0.1, 0.5, 0.9)).tolist()
        squares = float((known**2).sum())
        return cls(
            count=len(known),
            p50=p50,
            p90=p90,
            mean=float(known.mean()),
            deviation=float(known.std()),
            most=float(known.max()),
            jain=float(known.sum()) ** 2 / (len(known) * squares) if squares else 1.0,
            spread=p90 / p10 if p10 else float("inf"),
        )


def measured_utilization(schedule: WorkloadSchedule, machines: int, begin: int, end: int) -> float:
    """The share of machines' time from begin to end (microseconds) in which tasks ran."""
    ran = schedule.end >= 0
    busy = np.clip(schedule.end[ran], begin, end) - np.clip(schedule.start[ran], begin, end)
    return float(busy.sum()) / (machines * (end - begin))


def maximal_utilization(steps: Sequence[float], stable: Sequence[bool]) -> float | None:
    """The highest step up to which all are stable; None: not even the first."""
    best = None
    for step, is_stable in sorted(zip(steps, stable, strict=True)):
        if not is_stable:
            break
        best = step
    return best
