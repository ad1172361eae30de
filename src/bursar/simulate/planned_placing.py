"""A workload on a fixed set of machines by plans: the placer `wheft`, without the engine."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from bursar.kernels.graph import levels_of, ranks_of
from bursar.model.dag import topological_order
from bursar.model.workload_arrays import WorkloadArrays
from bursar.plan.workflow.workload_heft import ToPlan, plan_workload

Longs = NDArray[np.int64]


class PlannedPlacement:
    """One event after the other in plain Python; the plans are compiled."""

    def __init__(self, arrays: WorkloadArrays, speeds: Sequence[float], estimates: Longs) -> None:
        self._arrays, self._speeds = arrays, list(speeds)
        self._estimates = np.array(estimates, np.int64)
        order = topological_order(arrays.children, arrays.parents.counts())
        ranks = ranks_of(arrays.parents, order, self._estimates.astype(np.float64))
        self._ranks = ranks.astype(np.int64)
        self._levels = levels_of(arrays.children, order).astype(np.int64)
        self._missing = arrays.parents.counts().tolist()
        self._children = arrays.children.items.tolist()
        self._starts = arrays.children.starts.tolist()
        tasks = len(arrays)
        self.start = np.full(tasks, -1, np.int64)
        self.end = np.full(tasks, -1, np.int64)
        self.machine = np.full(tasks, -1, np.int32)
        self._is_done = np.zeros(tasks, bool)
        self._expected = np.zeros(tasks, np.int64)
        """when tasks that run are expected to end"""
        self._left = np.diff(arrays.first)
        """by work: tasks that have not been started"""
        self._unstarted: list[int] = []
        """works that have arrived and have such tasks"""
        self._lines: list[list[int]] = [[] for _ in speeds]
        """by machine: the tasks that are planned, the last first"""
        self._events: list[tuple[int, int]] = []
        """heap of (end, task)"""
        self._idle = set(range(len(self._speeds)))
        self._eligible = 0
        """tasks that could be started"""

    def run(self, most_works: int) -> int:
        """Simulate to the end, or until too many works are there; how many are then not done."""
        arrived, first = self._arrays.arrived.tolist(), self._arrays.first.tolist()
        left, there, undone, is_old = np.diff(self._arrays.first).tolist(), 0, 0, False
        while self._events or there < len(arrived):
            moments = [self._events[0][0]] if self._events else []
            now = min(moments + arrived[there : there + 1])
            while self._events and self._events[0][0] == now:
                task = heappop(self._events)[1]
                work = int(self._arrays.work[task])
                left[work] -= 1
                undone -= not left[work]
                self._complete(task)
            while there < len(arrived) and arrived[there] == now:
                tasks = range(first[there], first[there + 1])
                undone += len(tasks) > 0
                self._unstarted.append(there)
                self._eligible += sum(not self._missing[task] for task in tasks)
                there, is_old = there + 1, True
            if most_works and undone > most_works:
                break
            if is_old and self._idle and self._eligible:
                self._plan(now)
                is_old = False
            self._follow(now)
        return undone + len(arrived) - there

    def plan_first(self) -> None:
        """Plan what arrives at 0, and start nothing, to see how long a plan takes."""
        self._unstarted = np.flatnonzero(self._arrays.arrived == 0).tolist()
        self._plan(0)

    def _complete(self, task: int) -> None:
        self._is_done[task] = True
        self._idle.add(int(self.machine[task]))
        for child in self._children[self._starts[task] : self._starts[task + 1]]:
            self._missing[child] -= 1
            self._eligible += not self._missing[child]

    def _follow(self, now: int) -> None:
        """Start the next task of each idle machine, if it is eligible."""
        for machine in sorted(self._idle):
            line = self._lines[machine]
            if not line or self._missing[line[-1]]:
                continue
            task, speed = line.pop(), self._speeds[machine]
            self.start[task], self.machine[task] = now, machine
            takes = round(int(self._arrays.runtimes[task]) / speed)
            end = now + takes + int(self._arrays.transfers[task])
            self.end[task] = end
            self._expected[task] = now + round(int(self._estimates[task]) / speed)
            self._left[self._arrays.work[task]] -= 1
            self._idle.remove(machine)
            self._eligible -= 1
            heappush(self._events, (end, task))

    def _plan(self, now: int) -> None:
        arrays, first = self._arrays, self._arrays.first
        self._unstarted = [work for work in self._unstarted if self._left[work]]
        tasks = np.concatenate([np.arange(first[w], first[w + 1]) for w in self._unstarted])
        tasks = tasks[self.start[tasks] < 0]
        number = np.full(len(arrays), -1, np.int64)
        number[tasks] = np.arange(len(tasks))
        counts = arrays.parents.counts()[tasks]
        rows = np.repeat(np.arange(len(tasks)), counts)
        offsets = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        parents = arrays.parents.items[np.repeat(arrays.parents.starts[tasks], counts) + offsets]
        ready = np.full(len(tasks), now, np.int64)
        runs = (self.start[parents] >= 0) & ~self._is_done[parents]
        np.maximum.at(ready, rows[runs], self._expected[parents[runs]])
        planned = number[parents] >= 0
        kept = np.bincount(rows[planned], minlength=len(tasks))
        free = [now] * len(self._speeds)
        for _, task in self._events:
            free[self.machine[task]] = max(now, int(self._expected[task]))
        given = ToPlan(
            rank=self._ranks[tasks],
            group=np.unique(arrays.work[tasks], return_inverse=True)[1].astype(np.int64),
            depth=self._levels[tasks],
            estimate=self._estimates[tasks],
            ready=ready,
            parents_start=np.concatenate(([0], np.cumsum(kept))),
            parents=number[parents[planned]],
        )
        plan = plan_workload(given, self._speeds, free)
        self._lines = [[int(tasks[one]) for one in reversed(line)] for line in plan.lines]
