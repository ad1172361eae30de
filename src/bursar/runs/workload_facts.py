"""What a workload holds, in a few figures."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from bursar.model.time import SECOND, Time
from bursar.model.workload import Workload
from bursar.simulate.workloads.arrivals import utilization_of


class WorkloadFacts(msgspec.Struct, frozen=True):
    """Sizes are tasks of a workflow; totals are seconds on machines of speed 1, with transfers."""

    works: int
    tasks: int
    last_arrival: Time
    utilization: float
    """of so many machines of speed 1 as it was asked for"""
    size_p50: float
    size_p90: float
    total_mean_s: float

    def values(self) -> dict[str, Any]:
        """For programs, with times in seconds."""
        found: dict[str, Any] = msgspec.structs.asdict(self)
        found["last_arrival_s"] = found.pop("last_arrival") / SECOND
        return found


def facts_of(workload: Workload, speed: float) -> WorkloadFacts:
    arrays = workload.arrays
    sizes = np.diff(arrays.first)
    p50, p90 = np.quantile(sizes, (0.5, 0.9)).tolist()
    return WorkloadFacts(
        works=len(sizes),
        tasks=len(arrays),
        last_arrival=int(arrays.arrived[-1]),
        utilization=utilization_of(arrays, speed),
        size_p50=p50,
        size_p90=p90,
        total_mean_s=float(arrays.taken.sum()) / SECOND / len(sizes),
    )
