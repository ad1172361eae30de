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
from bursar.kernels import placing_keys, placing_state, tokens
from bursar.kernels.compiling import compile_kept, let_kernels_call, stamp_of
from bursar.model.errors import InputError
from bursar.model.workload_arrays import WorkloadArrays
from bursar.policies.registry import find
from bursar.policies.workload_placer import CompiledRule, WorkloadPlacer

FOREVER: Final = 1 << 62


class WorkloadSchedule(msgspec.Struct, frozen=True, eq=False):
    """When and where each task ran; -1: it was not started, as the simulation was stopped."""

    start: NDArray[np.int64]
    """by task, in microseconds"""
    end: NDArray[np.int64]
    machine: NDArray[np.int32]
    """by task, numbered from 0 in the order of the speeds that were given"""
    is_whole: bool
    """whether all tasks have ended"""


RULES: Final = (
    "backfill",
    "cpp",
    "owm",
    "owm:order=highest",
    "fdws",
    "hr",
    "fwp",
    "stretch",
    "sr",
    "slop",
    "fes",
)
"""Placers for workloads by name; `rule_of` takes names with parameters, too."""


def rule_of(placer: str) -> CompiledRule:
    """What a placer is compiled to; a name or parameters that do not exist are refused."""
    if placer.partition(":")[0] not in RULES:
        raise InputError(f"no placer '{placer}' for workloads; there are {', '.join(RULES)}")
    made: WorkloadPlacer = find("placer", placer)()
    return made.compiled


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
    rule = rule_of(placer)
    if not len(speeds):
        raise InputError("no machine: give the speed of at least one")
    machines = _machines_of(speeds)
    groups = int(machines.group.max()) + 1
    state = placing_state.make_state(
        len(arrays), len(arrays.arrived), len(speeds), groups, rule.remembered
    )
    _add_all(state, machines)
    options = _options_of(rule, seed, most_works)
    left = compiled()(rule.rule, _works_of(arrays, estimates), machines, state, FOREVER, options)
    return WorkloadSchedule(state.start, state.end, state.machine, left == 0)


def _options_of(rule: CompiledRule, seed: int, most_works: int) -> NDArray[np.int64]:
    options = np.zeros(placing_state.OPTIONS, np.int64)
    options[placing_state.SEED] = seed
    options[placing_state.POWER] = rule.power
    options[placing_state.MOST_WORKS] = most_works
    options[placing_state.READING] = rule.reading
    options[placing_state.DEPTH] = rule.depth
    options[placing_state.SHARE] = rule.share
    options[placing_state.LAZY] = rule.lazy
    return options


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
    modules = (placing_keys, tokens, placing_state, placing_kernel)
    let_kernels_call(*placing_keys.KEYS, *tokens.PARTS, inline=True)
    let_kernels_call(*placing_state.PARTS, *placing_kernel.PARTS, inline=True)
    return compile_kept(placing_kernel.advance, stamp_of(map(inspect.getsource, modules)))
