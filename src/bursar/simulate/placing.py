"""A workload on a fixed set of machines, placed by name: who ran what, where and when.

    schedule = place_workload(workload.arrays, speeds=[1.0] * 100, placer="fdws")

It decides as the engine does with the same placer, but without money, faults and journal, and runs
compiled: hundreds of thousands of tasks take a fraction of a second.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.kernels import placing as placing_kernel
from bursar.kernels import placing_keys, placing_learning, placing_state, tokens
from bursar.kernels.compiling import compile_kept, let_kernels_call, stamp_of
from bursar.model import learning
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
    "wheft",
)
"""Placers for workloads by name; `rule_of` takes names with parameters, too."""


PLANNED: Final = "wheft"
"""The placer that has no rule but follows plans."""


def rule_of(placer: str) -> CompiledRule | None:
    """What a placer is compiled to; a name or parameters that do not exist are refused."""
    if placer.partition(":")[0] not in RULES:
        raise InputError(f"no placer '{placer}' for workloads; there are {', '.join(RULES)}")
    made = find("placer", placer)()
    return made.compiled if isinstance(made, WorkloadPlacer) else None


def place_workload(
    arrays: WorkloadArrays,
    speeds: Sequence[float],
    placer: str = "backfill",
    estimates: NDArray[np.int64] | None = None,
    seed: int = 0,
    *,
    kinds: NDArray[np.int32] | None = None,
    most_works: int = 0,
) -> WorkloadSchedule:
    """Simulate to the end, or until more works than `most_works` (0: any number) are unfinished.

    `placer` is a name, perhaps with parameters: `owm:order=highest`. `estimates` are the run times
    that it knows, by task in microseconds at speed 1; None: the true ones. With `kinds`, which has
    the kind of each task from 0 on, run times are not known but learned from tasks of the same kind
    that have ended, and corrected by the work's own (`bursar.beliefs.learned.LearnedRunTimes`).
    """
    if placer == PLANNED:
        if kinds is not None:
            raise InputError("the placer 'wheft' learns nothing here; give estimates, or none")
        return _place_by_plans(arrays, speeds, estimates, most_works)
    placement = WorkloadPlacement(
        arrays, speeds, placer, estimates, seed, kinds=kinds, most_works=most_works
    )
    placement.add_machines(range(len(speeds)))
    placement.advance(FOREVER)
    return placement.schedule()


class WorkloadPlacement:
    """A simulation that goes on to a moment, where machines may be added or taken away.

    For who decides every now and then how many machines there are: at first there are none.
    `speeds` are those of all machines that there may ever be, and what `place_workload` says holds
    for the other arguments.
    """

    def __init__(
        self,
        arrays: WorkloadArrays,
        speeds: Sequence[float],
        placer: str = "backfill",
        estimates: NDArray[np.int64] | None = None,
        seed: int = 0,
        *,
        kinds: NDArray[np.int32] | None = None,
        most_works: int = 0,
    ) -> None:
        rule = rule_of(placer)
        if rule is None:
            raise InputError(f"the placer '{placer}' plans for machines that stay; choose another")
        self._rule = rule
        self._machines = _machines_of(speeds)
        self._state = placing_state.make_state(
            len(arrays),
            len(arrays.arrived),
            len(speeds),
            int(self._machines.group.max()) + 1,
            self._rule.remembered,
            self._rule.history,
            0 if kinds is None else int(kinds.max(initial=0)) + 1,
        )
        self._works = _works_of(arrays, estimates, kinds)
        self._options = _options_of(self._rule, seed, most_works)
        self._there: set[int] = set()
        """machines that were added and not taken away"""

    @property
    def now(self) -> int:
        """Time of the last event."""
        return int(self._state.numbers[placing_state.NOW])

    @property
    def idle(self) -> list[int]:
        """Machines that are there and run nothing, ascending."""
        return sorted(self._state.idle[: self._state.numbers[placing_state.IDLE]].tolist())

    @property
    def running(self) -> int:
        """Tasks that run."""
        return int(self._state.numbers[placing_state.RUNNING])

    @property
    def waiting(self) -> int:
        """Tasks that wait for a machine."""
        return int(self._state.waiting.sum())

    def advance(self, until: int) -> int:
        """Go on to a moment, which is included; how many works are then there and not done."""
        left = compiled()(
            self._rule.rule, self._works, self._machines, self._state, until, self._options
        )
        self._options[placing_state.AT_ONCE] = 0
        numbers = self._state.numbers
        if until < FOREVER:
            numbers[placing_state.NOW] = max(until, numbers[placing_state.NOW])
        return int(left)

    def add_machines(self, machines: Iterable[int]) -> None:
        """They are there from now on, and get tasks at once if some wait."""
        fresh = set(machines)
        if fresh & self._there:
            raise InputError(f"machine {min(fresh & self._there)} is there already; add another")
        self._there |= fresh
        self._put_idle([*self.idle, *fresh])
        self._options[placing_state.AT_ONCE] = 1

    def release_machines(self, machines: Iterable[int]) -> None:
        """Machines that are idle are there no longer."""
        gone, idle = set(machines), set(self.idle)
        if gone - idle:
            raise InputError(f"machine {min(gone - idle)} is not idle; release one that is")
        self._there -= gone
        self._put_idle(sorted(idle - gone))

    def _put_idle(self, idle: Sequence[int]) -> None:
        state, machines = self._state, self._machines
        state.idle[: len(idle)] = sorted(idle, key=machines.order.__getitem__)
        state.idle_of[:] = np.bincount(
            machines.group[np.array(idle, np.int64)], minlength=len(state.idle_of)
        )
        state.numbers[placing_state.IDLE] = len(idle)
        state.numbers[placing_state.SPEEDS] = np.count_nonzero(state.idle_of)
        speeds = machines.speed[sorted(self._there)] if self._there else machines.speed
        self._machines = machines._replace(mean=float(speeds.sum() / len(speeds)))

    def schedule(self) -> WorkloadSchedule:
        """What has been started so far."""
        state = self._state
        done = state.numbers[placing_state.UNDONE] == 0
        is_whole = bool(done and state.numbers[placing_state.ARRIVED] == len(self._works.arrived))
        return WorkloadSchedule(state.start, state.end, state.machine, is_whole)


def _place_by_plans(
    arrays: WorkloadArrays,
    speeds: Sequence[float],
    estimates: NDArray[np.int64] | None,
    most_works: int,
) -> WorkloadSchedule:
    from bursar.simulate.planned_placing import PlannedPlacement  # late: few want it

    _machines_of(speeds)  # which refuses wrong ones
    known = _works_of(arrays, estimates, None).estimates
    placement = PlannedPlacement(arrays, speeds, known)
    left = placement.run(most_works)
    return WorkloadSchedule(placement.start, placement.end, placement.machine, left == 0)


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
    arrays: WorkloadArrays, estimates: NDArray[np.int64] | None, kinds: NDArray[np.int32] | None
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
        kinds=np.zeros(0, np.int32) if kinds is None else np.array(kinds, np.int32),
    )


def _machines_of(speeds: Sequence[float]) -> placing_state.PlacedMachines:
    if not len(speeds):
        raise InputError("no machine: give the speed of at least one")
    speed = np.array(speeds, np.float64)
    if not (np.isfinite(speed).all() and (speed > 0).all()):
        raise InputError("a machine's speed must be a number above 0")
    order = np.empty(len(speed), np.int64)
    order[np.lexsort((np.arange(len(speed)), -speed))] = np.arange(len(speed))
    group = np.unique(speed, return_inverse=True)[1].astype(np.int64)
    return placing_state.PlacedMachines(speed, order, group, float(speed.sum() / len(speed)))


@cache
def compiled() -> Callable[..., Any]:
    """The event loop; the first call imports numba and, once on a computer, compiles."""
    modules = (
        learning,
        placing_keys,
        tokens,
        placing_state,
        placing_learning,
        placing_kernel,
    )
    let_kernels_call(*learning.PARTS, *placing_keys.KEYS, *tokens.PARTS, inline=True)
    let_kernels_call(*placing_state.PARTS, *placing_learning.PARTS, inline=True)
    let_kernels_call(*placing_kernel.PARTS, inline=True)
    return compile_kept(placing_kernel.advance, stamp_of(map(inspect.getsource, modules)))
