"""When works arrive, and how busy they keep machines."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.dag import frozen
from bursar.model.errors import InputError
from bursar.model.time import SECOND
from bursar.model.workload_arrays import WorkloadArrays
from bursar.simulate.workloads.spec import Arrivals, Poisson, Traced

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]


def arrival_times(arrivals: Arrivals, totals: Floats, rng: np.random.Generator) -> Longs:
    """In microseconds, of works that take so many seconds in all; never falling."""
    count = len(totals)
    if isinstance(arrivals, Traced):
        if len(arrivals.at) < count:
            raise InputError(
                f"{len(arrivals.at):,} arrivals were recorded, but there are {count:,} works; use"
                " fewer"
            )
        recorded = np.sort(np.array(arrivals.at[:count]))
        return _whole((recorded - recorded[0]) * SECOND)
    if not isinstance(arrivals, Poisson):
        return np.zeros(count, dtype=np.int64)
    moments = np.cumsum(rng.exponential(size=count))
    if arrivals.rate is not None:
        span = moments[-1] / arrivals.rate
    else:
        span = totals.sum() / (arrivals.speed * float(arrivals.utilization or 1))
    return _whole(moments * (span / moments[-1] * SECOND))


def _whole(moments: NDArray[Any]) -> Longs:
    found: Longs = np.rint(moments).astype(np.int64)
    return found


def utilization_of(arrays: WorkloadArrays, speed: float) -> float:
    """The share of machines' time that all run times fill, from 0 to the last arrival.

    Infinite for works that arrive all at the begin. `speed` is that of all machines together.
    Transfers count as on machines of speed 1.
    """
    if not len(arrays.arrived) or not arrays.arrived[-1]:
        return float("inf")
    return float(arrays.taken.sum()) / (float(arrays.arrived[-1]) * speed)


def at_utilization(arrays: WorkloadArrays, utilization: float, speed: float) -> WorkloadArrays:
    """The same works with all gaps scaled, so that they impose this utilization."""
    now = utilization_of(arrays, speed)
    if not np.isfinite(now):
        raise InputError("works that arrive all at once have no utilization that can be imposed")
    arrived = _whole(arrays.arrived * (now / utilization))
    return msgspec.structs.replace(arrays, arrived=frozen(arrived, np.int64))
