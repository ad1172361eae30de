"""A workload simulated with several placers at several utilizations, all on the same works.

    study = study_workload(workload, StudySetting(placers=("backfill", "fwp"), utilizations=(0.9,)))

Works at the begin and at the end do not count, a third each, so that figures hold for a
system in its steady state. A simulation stops once a third of all works is unfinished at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from bursar.model.errors import InputError
from bursar.model.time import SECOND
from bursar.model.workload import Workload
from bursar.model.workload_arrays import WorkloadArrays, task_kinds
from bursar.simulate.estimate_errors import EstimateError
from bursar.simulate.placing import place_workload
from bursar.simulate.stability import Stability, in_system, stability
from bursar.simulate.workload_metrics import (
    OverWorks,
    alone_makespans,
    critical_paths,
    maximal_utilization,
    measured_utilization,
    steady_middle,
    work_times,
)
from bursar.simulate.workloads.arrivals import at_utilization, utilization_of

LEAST_WORKS: Final = 3
"""below that there is no middle"""
LEAST_CUT: Final = 30
"""unfinished works at which no simulation is stopped yet"""


class StudySetting(msgspec.Struct, frozen=True):
    """What is tried."""

    placers: tuple[str, ...] = ("backfill",)
    utilizations: tuple[float | None, ...] = (None,)
    """imposed; None: arrivals as they are"""
    speeds: tuple[float, ...] = (1.0,) * 100
    """of the machines"""
    error: EstimateError = EstimateError()
    """of the run times that placers know, if they know any"""
    alone: bool = False
    """slowdowns by the makespan in an empty system, not by the critical path"""
    seed: int = 0


class PlacedWorkload(msgspec.Struct, frozen=True):
    """One placer at one utilization."""

    placer: str
    imposed: float
    """utilization: run times by the machines' time up to the last arrival"""
    slowdown: OverWorks
    wait: OverWorks
    """in seconds, as makespans and responses are"""
    makespan: OverWorks
    response: OverWorks
    utilization: float
    """measured, between the first and the last arrival that count"""
    in_system: float
    """works that have arrived and are not done, on average over the same time"""
    stability: Stability


class StudyEstimates(msgspec.Struct, frozen=True, eq=False):
    """What placers know of run times, as `place_workload` wants it."""

    estimates: np.ndarray | None
    """by task; None: the true run times"""
    kinds: np.ndarray | None
    """by task, where run times are learned"""

    @classmethod
    def of(cls, workload: Workload, setting: StudySetting) -> StudyEstimates:
        error = setting.error
        if error.is_learned:
            return cls(None, task_kinds(workload))
        if error.kind == "none":
            return cls(None, None)
        rng = np.random.default_rng(setting.seed)
        return cls(error.estimates(workload.arrays, rng), None)


class WorkloadStudy(msgspec.Struct, frozen=True):
    """All of them, placer by placer, each from the lowest utilization to the highest."""

    works: int
    tasks: int
    machines: int
    speed: float
    """of all machines together"""
    runs: tuple[PlacedWorkload, ...]

    def of(self, placer: str) -> list[PlacedWorkload]:
        return [run for run in self.runs if run.placer == placer]

    def maximal(self, placer: str) -> float | None:
        """The highest utilization up to which all are stable."""
        runs = self.of(placer)
        steps = [run.imposed for run in runs]
        return maximal_utilization(steps, [run.stability.is_stable for run in runs])


def study_workload(
    workload: Workload,
    setting: StudySetting,
    watched: Callable[
        [Sequence[tuple[str, float | None]]], Iterator[tuple[str, float | None]]
    ] = iter,
) -> WorkloadStudy:
    """Simulate all; `watched` gives the pairs of placer and utilization, and sees how it goes."""
    arrays = workload.arrays
    if len(arrays.arrived) < LEAST_WORKS:
        raise InputError(
            f"{workload.name} has {len(arrays.arrived)} works; a study needs {LEAST_WORKS} or more"
        )
    if any(arrival.times for arrival in workload.arrivals):
        raise InputError(
            f"{workload.name} has run times by offer, which machines of given speeds do not have;"
            " simulate it with a provisioner and a market"
        )
    speed = sum(setting.speeds)
    compared = _compared_with(arrays, setting)
    known = StudyEstimates.of(workload, setting)
    pairs = [(placer, one) for placer in setting.placers for one in setting.utilizations]
    runs = []
    for placer, utilization in watched(pairs):
        scaled = arrays if utilization is None else at_utilization(arrays, utilization, speed)
        runs.append(_placed(placer, scaled, compared, known, setting))
    return WorkloadStudy(len(arrays.arrived), len(arrays), len(setting.speeds), speed, tuple(runs))


def _compared_with(arrays: WorkloadArrays, setting: StudySetting) -> np.ndarray:
    """By work, what a response is compared with for the slowdown, in seconds."""
    if setting.alone:
        return alone_makespans(arrays, setting.speeds, setting.seed)
    return critical_paths(arrays, sum(setting.speeds) / len(setting.speeds))


def _placed(
    placer: str,
    arrays: WorkloadArrays,
    compared: np.ndarray,
    known: StudyEstimates,
    setting: StudySetting,
) -> PlacedWorkload:
    works = len(arrays.arrived)
    most = max(LEAST_CUT, works // 3) if arrays.arrived[-1] else 0
    schedule = place_workload(
        arrays,
        setting.speeds,
        placer,
        known.estimates,
        setting.seed,
        kinds=known.kinds,
        most_works=most,
    )
    times = work_times(arrays, schedule)
    counted = steady_middle(works) if arrays.arrived[-1] else np.ones(works, dtype=bool)
    until = int(arrays.arrived[-1]) or int(schedule.end.max())
    begin, end = _window(arrays, counted, until)
    system = in_system(arrays.arrived, times.completed)
    with np.errstate(divide="ignore", invalid="ignore"):
        slowdown = times.response / compared
    return PlacedWorkload(
        placer=placer,
        imposed=utilization_of(arrays, sum(setting.speeds)),
        slowdown=OverWorks.of(slowdown[counted]),
        wait=OverWorks.of(times.wait[counted]),
        makespan=OverWorks.of(times.makespan[counted]),
        response=OverWorks.of(times.response[counted]),
        utilization=measured_utilization(schedule, len(setting.speeds), begin, end),
        in_system=system.mean(begin, end),
        stability=stability(system, until, is_cut=not schedule.is_whole),
    )


def _window(arrays: WorkloadArrays, counted: np.ndarray, until: int) -> tuple[int, int]:
    """From the first to the last arrival that counts; for works that arrive at once, all time."""
    moments = arrays.arrived[counted]
    if moments[-1] > moments[0]:
        return int(moments[0]), int(moments[-1])
    return 0, max(until, SECOND)
