"""What became of a simulated workload: when and where each task ran."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray


class WorkloadSchedule(msgspec.Struct, frozen=True, eq=False):
    """When and where each task ran; -1: it was not started, as the simulation was stopped."""

    start: NDArray[np.int64]
    """by task, in microseconds"""
    end: NDArray[np.int64]
    machine: NDArray[np.int32]
    """by task, numbered from 0 in the order of the speeds that were given"""
    is_whole: bool
    """whether all tasks have ended"""
