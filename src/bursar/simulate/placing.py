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

import numpy as np
from numpy.typing import NDArray

from bursar.kernels import placing as placing_kernel
from bursar.kernels import placing_keys, placing_learning, placing_state, tokens
from bursar.kernels import placing_rows as row
from bursar.kernels.compiling import compile_kept, let_kernels_call, stamp_of
from bursar.model import learning, picking
from bursar.model.errors import InputError
from bursar.model.workload_arrays import WorkloadArrays
from bursar.policies.registry import find
from bursar.policies.workload_placer import CompiledRule, WorkloadPlacer
from bursar.simulate.workload_schedule import WorkloadSchedule

FOREVER: Final = 1 << 62


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


def rule_of(placer: str) -> CompiledRule | None:
    """What a placer is compiled to; a name or parameters that do not exist are refused.

    None: it has no rule but follows plans (`wheft`).
    """
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
    that it knows, by task in microseconds at speed 1, with transfers of files; None: the true ones.
    With `kinds`, which has the kind of each task from 0 on, run times are not known but learned
    from tasks of the same kind that have ended, and corrected by the work's own
    (`bursar.beliefs.learned.LearnedRunTimes`).
    """
    if rule_of(placer) is None:
        from bursar.simulate.planned_placing import place_by_plans  # late: few want it

        known = _known(arrays, estimates)
        is_early = find("placer", placer)().on_arrival
        return place_by_plans(
            arrays, _speeds_of(speeds), known, kinds, most_works, on_arrival=is_early
        )
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
        placer: str | CompiledRule = "backfill",
        estimates: NDArray[np.int64] | None = None,
        seed: int = 0,
        *,
        kinds: NDArray[np.int32] | None = None,
        most_works: int = 0,
    ) -> None:
        rule = rule_of(placer) if isinstance(placer, str) else placer
        if rule is None:
            raise InputError(f"the placer '{placer}' plans for machines that stay; choose another")
        self._rule = rule.rule
        self._speed = _speeds_of(speeds)
        self._state = placing_state.make_state(
            arrays,
            self._speed,
            _known(arrays, estimates),
            np.zeros(0, np.int64) if kinds is None else np.array(kinds, np.int64),
            {
                placing_state.HISTORY: rule.history,
                placing_state.REMEMBERED: rule.remembered,
                placing_state.SEED: seed,
                placing_state.POWER: rule.power,
                placing_state.MOST_WORKS: most_works,
                placing_state.READING: rule.reading,
                placing_state.DEPTH: rule.depth,
                placing_state.SHARE: rule.share,
                placing_state.LAZY: rule.lazy,
                placing_state.FORGETS_OVERDUE: rule.forgets_overdue,
            },
        )
        self._tasks = len(arrays)
        self._there: set[int] = set()
        """machines that were added and not taken away"""

    @property
    def now(self) -> int:
        """Time of the last event."""
        return int(self._state.numbers[placing_state.NOW])

    @property
    def idle(self) -> list[int]:
        """Machines that are there and run nothing, ascending."""
        count = self._state.numbers[placing_state.IDLE]
        return sorted(self._state.table[row.IDLE, :count].tolist())

    @property
    def running(self) -> int:
        """Tasks that run."""
        return int(self._state.numbers[placing_state.RUNNING])

    @property
    def waiting(self) -> int:
        """Tasks that wait for a machine."""
        return int(self._state.table[row.WAITING].sum())

    @property
    def reserved(self) -> int:
        """Idle machines that `sr`, `slop` or `fes` keep for works."""
        return int(self._state.numbers[placing_state.HELD])

    def advance(self, until: int) -> int:
        """Go on to a moment, which is included; how many works are then there and not done."""
        left = compiled()(self._rule, self._state, until)
        numbers = self._state.numbers
        numbers[placing_state.AT_ONCE] = 0
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
        self._state.numbers[placing_state.AT_ONCE] = 1

    def release_machines(self, machines: Iterable[int]) -> None:
        """Machines that are idle are there no longer."""
        gone, idle = set(machines), set(self.idle)
        if gone - idle:
            raise InputError(f"machine {min(gone - idle)} is not idle; release one that is")
        self._there -= gone
        self._put_idle(sorted(idle - gone))

    def _put_idle(self, idle: Sequence[int]) -> None:
        numbers, table, machines = self._state.numbers, self._state.table, len(self._speed)
        table[row.IDLE, : len(idle)] = sorted(idle, key=lambda one: (table[row.ORDER, one], one))
        idle_of = np.bincount(table[row.GROUP, idle], minlength=machines)
        table[row.IDLE_OF, :machines] = idle_of
        numbers[placing_state.IDLE] = len(idle)
        numbers[placing_state.SPEEDS] = np.count_nonzero(idle_of)
        there = self._speed[sorted(self._there)] if self._there else self._speed
        self._state.ratio[row.MEAN, 0] = there.sum() / len(there)

    def schedule(self) -> WorkloadSchedule:
        """What has been started so far."""
        numbers, table = self._state.numbers, self._state.table
        has_all = numbers[placing_state.ARRIVED] == numbers[placing_state.WORKS]
        is_whole = bool(has_all and numbers[placing_state.UNDONE] == 0)
        start, end = (table[which, : self._tasks].copy() for which in (row.START, row.END))
        machine = table[row.MACHINE, : self._tasks].astype(np.int32)
        return WorkloadSchedule(start, end, machine, is_whole)


def _known(arrays: WorkloadArrays, estimates: NDArray[np.int64] | None) -> NDArray[np.int64]:
    if estimates is None:
        return arrays.taken
    if len(estimates) != len(arrays):
        raise InputError(f"{len(estimates)} estimates for {len(arrays)} tasks; give one for each")
    return np.array(estimates, np.int64)


def _speeds_of(speeds: Sequence[float]) -> NDArray[np.float64]:
    if not len(speeds):
        raise InputError("no machine: give the speed of at least one")
    speed = np.array(speeds, np.float64)
    if not (np.isfinite(speed).all() and (speed > 0).all()):
        raise InputError("a machine's speed must be a number above 0")
    return speed


@cache
def compiled() -> Callable[..., Any]:
    """The event loop; the first call imports numba and, once on a computer, compiles."""
    modules = (
        learning,
        picking,
        placing_keys,
        tokens,
        row,
        placing_state,
        placing_learning,
        placing_kernel,
    )
    let_kernels_call(*picking.PARTS, *placing_kernel.FOR_EACH_TASK, inline=True)
    let_kernels_call(
        *learning.PARTS,
        *placing_keys.KEYS,
        *tokens.PARTS,
        *placing_state.PARTS,
        *placing_learning.PARTS,
        *placing_kernel.PARTS,
        makes_arrays=False,
    )
    return compile_kept(placing_kernel.advance, stamp_of(map(inspect.getsource, modules)))
