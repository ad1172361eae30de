"""A workload on a fixed set of machines, placed by name: who ran what, where and when.

    schedule = place_workload(workload.arrays, speeds=[1.0] * 100, placer="fdws")

It decides as the engine does with the same placer, but without money, faults and journal, and runs
compiled: hundreds of thousands of tasks take a fraction of a second.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.kernels import placing as placing_kernel
from bursar.kernels import placing_keys, placing_state
from bursar.kernels.compiling import compile_kept, let_kernels_call, stamp_of
from bursar.model.errors import InputError
from bursar.model.workload_arrays import WorkloadArrays

FOREVER: Final = 1 << 62
REMEMBERED: Final = 1000
"""Tasks that ended last, of which `fwp` knows what they took (M in section 3.3.7)."""
POWER: Final = 4
"""To which `stretch` raises the slowdown."""


class WorkloadSchedule(msgspec.Struct, frozen=True, eq=False):
    """When and where each task ran; -1: it was not started, as the simulation was stopped."""

    start: NDArray[np.int64]
    """by task, in microseconds"""
    end: NDArray[np.int64]
    machine: NDArray[np.int32]
    """by task, numbered from 0 in the order of the speeds that were given"""
    is_whole: bool
    """whether all tasks have ended"""


RULES: Final = {
    "backfill": placing_keys.BACKFILL,
    "cpp": placing_keys.CPP,
    "owm": placing_keys.OWM,
    "owm:order=highest": placing_keys.OWM_HIGHEST,
    "fdws": placing_keys.FDWS,
    "hr": placing_keys.HR,
    "fwp": placing_keys.FWP,
    "stretch": placing_keys.STRETCH,
}


def place_workload(
    arrays: WorkloadArrays,
    speeds: Sequence[float],
    placer: str = "backfill",
    estimates: NDArray[np.int64] | None = None,
    seed: int = 0,
    *,
    most_works: int = 0,
) -> WorkloadSchedule:
    """Simulate to the end, or until more works than `most_works` (0: any number) are unfinished.

    `placer` is a name, perhaps with parameters: `owm:order=highest`. `estimates` are the run times
    that it knows, by task in microseconds at speed 1; None: the true ones.
    """
    if placer not in RULES:
        raise InputError(f"no placer '{placer}' for workloads; there are {', '.join(RULES)}")
    if not len(speeds):
        raise InputError("no machine: give the speed of at least one")
    rule = RULES[placer]
    machines = _machines_of(speeds)
    groups = int(machines.group.max()) + 1
    kept = REMEMBERED if rule in (placing_keys.FWP, placing_keys.STRETCH) else 0
    state = placing_state.make_state(len(arrays), len(arrays.arrived), len(speeds), groups, kept)
    _add_all(state, machines)
    options = np.array([seed, POWER, most_works, 0], np.int64)
    left = compiled()(rule, _works_of(arrays, estimates), machines, state, FOREVER, options)
    return WorkloadSchedule(state.start, state.end, state.machine, left == 0)


def _works_of(
    arrays: WorkloadArrays, estimates: NDArray[np.int64] | None
) -> placing_state.PlacedWorks:
    if estimates is None:
        estimates = arrays.runtimes
    if len(estimates) != len(arrays):
        raise InputError(f"{len(estimates)} estimates for {len(arrays)} tasks; give one for each")
    return placing_state.PlacedWorks(
        arrived=arrays.arrived,
        first=arrays.first,
        work=arrays.work,
        runtimes=arrays.runtimes,
        estimates=np.array(estimates, np.int64),
        parents_start=arrays.parents.starts,
        parents=arrays.parents.items,
        children_start=arrays.children.starts,
        children=arrays.children.items,
    )


def _machines_of(speeds: Sequence[float]) -> placing_state.PlacedMachines:
    speed = np.array(speeds, np.float64)
    if not (np.isfinite(speed).all() and (speed > 0).all()):
        raise InputError("a machine's speed must be a number above 0")
    order = np.empty(len(speed), np.int64)
    order[np.lexsort((np.arange(len(speed)), -speed))] = np.arange(len(speed))
    group = np.unique(speed, return_inverse=True)[1].astype(np.int64)
    return placing_state.PlacedMachines(speed, order, group, float(speed.sum() / len(speed)))


def _add_all(state: placing_state.PlacingState, machines: placing_state.PlacedMachines) -> None:
    """All machines are idle."""
    numbers, count = state.numbers, len(machines.speed)
    state.idle[:] = np.argsort(machines.order)
    state.idle_of[:] = np.bincount(machines.group)
    numbers[placing_state.IDLE] = count
    numbers[placing_state.SPEEDS] = len(state.idle_of)


@cache
def compiled() -> Callable[..., Any]:
    """The event loop; the first call imports numba and, once on a computer, compiles."""
    let_kernels_call(*placing_keys.KEYS, *placing_state.PARTS, *placing_kernel.PARTS, inline=True)
    modules = (placing_keys, placing_state, placing_kernel)
    return compile_kept(placing_kernel.advance, stamp_of(map(inspect.getsource, modules)))
