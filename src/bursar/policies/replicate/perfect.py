"""`perfect`: replicas by true run times, which only a simulation knows (BaTS thesis, section 5.2).

The best that choosing tasks for replicas can do: a mark to measure the others by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

import numpy as np

from bursar.engine.roles import Replicator
from bursar.model.time import Time
from bursar.policies.columns import Integers
from bursar.policies.idle_machines import IdleMachines
from bursar.policies.live_attempts import is_live
from bursar.policies.replicate.tail import Longest, replicas
from bursar.policies.running_attempts import Rows, RunningAttempts
from bursar.state.actions import Cancel, Start, Wake
from bursar.state.view import Machine, View

Runtimes = Callable[[int, Machine], Time]
"""How long a task takes on a machine."""


class Perfect(Replicator):
    def __init__(self, runtimes: Runtimes) -> None:
        self._runtimes = runtimes
        self.live = RunningAttempts(is_live)
        self.idle = IdleMachines()

    def replicate(self, view: View, now: Time, rng: Random) -> Iterable[Start | Cancel | Wake]:
        self.live.look(view)
        self.idle.look(view)
        pick = Longest(self.live, TrueTimes(self.live, self._runtimes, view, now), view)
        return list(replicas(self.idle, pick, lambda offer: -offer.speed, view))


class TrueTimes:
    """What is expected by true run times, each asked for one by one."""

    def __init__(self, live: RunningAttempts, runtimes: Runtimes, view: View, now: Time) -> None:
        self._tasks = live.tasks.tolist()
        self._runtimes = runtimes
        machines = [view.machines[number] for number in live.machines.tolist()]
        here = map(runtimes, self._tasks, machines)
        self._left: Integers = live.started + np.fromiter(here, np.int64, len(machines)) - now

    def left_of(self, rows: Rows) -> Integers:
        found: Integers = self._left[rows]
        return found

    def later_than_on(self, machine: Machine) -> Integers:
        rows: Integers = np.arange(len(self._tasks))
        left = self._left
        found: Integers = rows[(left > 0) & (left > self.needed(machine, rows))]
        return found

    def needed(self, machine: Machine, rows: Integers) -> Integers:
        there = (self._runtimes(self._tasks[row], machine) for row in rows.tolist())
        return np.fromiter(there, np.int64, len(rows))
