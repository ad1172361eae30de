"""A workload on machines that come and go, placed by the compiled loop up to any moment.

Who calls decides about machines where it stops: first the events of that moment come, then machines
may change, then tasks are placed, as in the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.kernels import placing_rows as row
from bursar.kernels import placing_state as ps
from bursar.model.time import Time
from bursar.model.workload_arrays import WorkloadArrays
from bursar.policies.workload_placer import CompiledRule
from bursar.simulate.placing import WorkloadPlacement, compiled

MOST_LOGGED: Final = 8_000
"""Starts and ends before it stops: fewer than readers of a run's state may miss."""
ROOM: Final = 1_024
"""for machines, at first"""
NOTHING_YET: Final = -1
"""before all moments: up to then, only what is to be placed at once is placed"""


class ChangingFleet(WorkloadPlacement):
    """Machines are numbered from 0 in the order in which they are rented, without an end."""

    def __init__(
        self,
        arrays: WorkloadArrays,
        speeds: Sequence[float],
        rule: CompiledRule,
        estimates: NDArray[np.int64] | None = None,
        *,
        kinds: NDArray[np.int32] | None = None,
    ) -> None:
        """`speeds` are those that machines may have."""
        self._speeds = sorted(set(speeds))
        room = np.resize(self._speeds, max(ROOM, len(self._speeds))).tolist()
        super().__init__(arrays, room, rule, estimates, kinds=kinds)
        self._state.numbers[ps.MOST_LOGGED] = MOST_LOGGED

    @property
    def is_over(self) -> bool:
        """Whether all works have arrived and are done."""
        numbers = self._state.numbers
        return bool(numbers[ps.ARRIVED] == numbers[ps.WORKS] and numbers[ps.UNDONE] == 0)

    def next_event(self) -> Time | None:
        """When a task ends or a work arrives next."""
        numbers, table = self._state.numbers, self._state.table
        found: list[int] = []
        if numbers[ps.RUNNING]:
            found.append(int(table[row.END, table[row.RUNNING, 0]]))
        if numbers[ps.ARRIVED] < numbers[ps.WORKS]:
            found.append(int(table[row.ARRIVED, numbers[ps.ARRIVED]]))
        return min(found, default=None)

    def draw_by(self, seed: int) -> None:
        """What is picked at random depends on this."""
        self._state.numbers[ps.SEED] = seed

    def put_idle(self, speeds: Mapping[int, float], mean: float) -> None:
        """Exactly these machines are idle; `mean` is the speed of all that are there."""
        self._make_room(max(speeds, default=0) + 1)
        table, groups = self._state.table, len(self._speeds)
        for machine, speed in speeds.items():
            group = self._speeds.index(speed)
            table[row.GROUP, machine], table[row.ORDER, machine] = group, groups - 1 - group
            self._state.ratio[row.SPEED, machine] = speed
        self._put_idle(list(speeds))
        self._state.ratio[row.MEAN, 0] = mean

    def _make_room(self, machines: int) -> None:
        """Expected ends are kept together with machines, and are written again."""
        table, ratio, numbers = self._state.table, self._state.ratio, self._state.numbers
        before = int(numbers[ps.MACHINES])
        if machines <= before:
            return
        now = 2 * machines
        due = table[row.DUE, : numbers[ps.DUE]]
        ends, where = np.divmod(table[row.DUE_KEY, due], before)
        table[row.DUE_KEY, due] = ends * now + where
        numbers[ps.MACHINES] = now
        self._state = self._state._replace(
            table=_widened(table, now, 0), ratio=_widened(ratio, now, 1)
        )

    def stop_at(self, until: Time) -> Time:
        """Go on to a moment, or not as far if much happens; nothing is placed where it stops.

        Where everything ends before, it stops there.
        """
        numbers, was_over = self._state.numbers, self.is_over
        compiled()(self._rule, self._state, until)
        if not numbers[ps.PAUSED] and (was_over or not self.is_over):
            numbers[ps.NOW] = max(until, numbers[ps.NOW])
        return self.now

    def place(self) -> list[tuple[int, int]]:
        """Place tasks now: each with its machine, in order."""
        numbers, table = self._state.numbers, self._state.table
        numbers[ps.AT_ONCE] = 1
        compiled()(self._rule, self._state, NOTHING_YET)
        numbers[ps.AT_ONCE] = 0
        started = self._read_log()
        return list(zip(started.tolist(), table[row.MACHINE, started].tolist(), strict=True))

    def happened(self) -> list[tuple[Time, int, int]]:
        """What has happened since, in order: time, task and machine of a start, or time, complement
        of the task and how long it took.
        """
        log, table = self._read_log(), self._state.table
        has_ended = log < 0
        tasks = np.where(has_ended, ~log, log)
        starts, ends = table[row.START, tasks], table[row.END, tasks]
        times = np.where(has_ended, ends, starts)
        rest = np.where(has_ended, ends - starts, table[row.MACHINE, tasks])
        return list(zip(times.tolist(), log.tolist(), rest.tolist(), strict=True))

    def _read_log(self) -> NDArray[np.int64]:
        table, numbers = self._state.table, self._state.numbers
        count = int(numbers[ps.LOGGED])
        pairs = table[[row.LOG, row.LOG_REST], : (count + 1) // 2].T
        log: NDArray[np.int64] = pairs.reshape(-1)[:count]
        numbers[ps.LOGGED] = 0
        return log


def _widened(rows: NDArray[np.generic], columns: int, filling: int) -> NDArray[np.generic]:
    missing = max(0, columns - rows.shape[1])
    return np.pad(rows, ((0, 0), (0, missing)), constant_values=filling)
