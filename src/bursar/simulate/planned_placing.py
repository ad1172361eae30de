"""A workload on a fixed set of machines by plans: the placer `wheft`, without the engine."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from bursar.kernels.graph import levels_of
from bursar.model.workload_arrays import WorkloadArrays
from bursar.plan.workflow.workload_heft import ToPlan, plan_workload
from bursar.simulate.planned_estimates import LearnedEstimates, PlannedEstimates
from bursar.simulate.workload_schedule import WorkloadSchedule

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


def place_by_plans(
    arrays: WorkloadArrays,
    speeds: Floats,
    estimates: Longs,
    kinds: NDArray[np.int32] | None = None,
    most_works: int = 0,
    *,
    on_arrival: bool = True,
) -> WorkloadSchedule:
    """Simulate to the end, or until more works than `most_works` (0: any number) are unfinished.

    With `kinds` run times are learned instead. Plans are made when works arrive, or else when a
    machine is idle and a task could be started for the first time after that.
    """
    known = PlannedEstimates(arrays, estimates)
    if kinds is not None:
        known = LearnedEstimates(arrays, kinds)
    placement = PlannedPlacement(arrays, speeds, known, on_arrival=on_arrival)
    left = placement.run(most_works)
    return WorkloadSchedule(placement.start, placement.end, placement.machine, left == 0)


class PlannedPlacement:
    """One event after the other in plain Python; the plans are compiled."""

    def __init__(
        self,
        arrays: WorkloadArrays,
        speeds: Floats,
        estimates: PlannedEstimates,
        *,
        on_arrival: bool = True,
    ) -> None:
        self._arrays, self._speeds = arrays, speeds.tolist()
        self._estimates, self._on_arrival = estimates, on_arrival
        self._levels = levels_of(arrays.children, estimates.order).astype(np.int64)
        self._missing = arrays.parents.counts().tolist()
        self._children = arrays.children.items.tolist()
        self._starts = arrays.children.starts.tolist()
        tasks = len(arrays)
        self.start = np.full(tasks, -1, np.int64)
        self.end = np.full(tasks, -1, np.int64)
        self.machine = np.full(tasks, -1, np.int32)
        self._is_done = np.zeros(tasks, bool)
        self._left = np.diff(arrays.first)
        """by work: tasks that have not been started"""
        self._unstarted: list[int] = []
        """works that have arrived and have such tasks"""
        self._planned: list[int] = []
        """tasks that are planned, machine by machine, in the order in which they are to run"""
        self._next = [0] * len(self._speeds)
        """by machine, the place of its next task there ..."""
        self._stop = [0] * len(self._speeds)
        """... and the place behind its last one"""
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
                self._arrive(there, tasks)
                there, is_old = there + 1, True
            if most_works and undone > most_works:
                break
            if is_old and (self._on_arrival or (self._idle and self._eligible)):
                self._plan(now)
                is_old = False
            self._follow(now)
        return undone + len(arrived) - there

    def plan_first(self) -> None:
        """Plan what arrives at 0, and start nothing, to see how long a plan takes."""
        self._unstarted = np.flatnonzero(self._arrays.arrived == 0).tolist()
        self._plan(0)

    def _arrive(self, work: int, tasks: range) -> None:
        self._unstarted.append(work)
        self._eligible += sum(not self._missing[task] for task in tasks)
        self._estimates.arrive(work)

    def _complete(self, task: int) -> None:
        self._is_done[task] = True
        machine = int(self.machine[task])
        self._idle.add(machine)
        took = int(self.end[task] - self.start[task])
        self._estimates.complete(task, round(took * self._speeds[machine]))
        for child in self._children[self._starts[task] : self._starts[task + 1]]:
            self._missing[child] -= 1
            self._eligible += not self._missing[child]

    def _follow(self, now: int) -> None:
        """Start the next task of each idle machine, if it is eligible."""
        for machine in sorted(self._idle):
            place = self._next[machine]
            if place == self._stop[machine] or self._missing[self._planned[place]]:
                continue
            self._next[machine] += 1
            task, speed = self._planned[place], self._speeds[machine]
            self.start[task], self.machine[task] = now, machine
            takes = round(int(self._arrays.runtimes[task]) / speed)
            end = now + takes + int(self._arrays.transfers[task])
            self.end[task] = end
            self._left[self._arrays.work[task]] -= 1
            self._idle.remove(machine)
            self._eligible -= 1
            heappush(self._events, (end, task))

    def _plan(self, now: int) -> None:
        arrays, first = self._arrays, self._arrays.first
        self._unstarted = [work for work in self._unstarted if self._left[work]]
        if not self._unstarted:
            return
        tasks = np.concatenate([np.arange(first[w], first[w + 1]) for w in self._unstarted])
        tasks = tasks[self.start[tasks] < 0]
        number = np.full(len(arrays), -1, np.int64)
        number[tasks] = np.arange(len(tasks))
        counts = arrays.parents.counts()[tasks]
        rows = np.repeat(np.arange(len(tasks)), counts)
        offsets = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        parents = arrays.parents.items[np.repeat(arrays.parents.starts[tasks], counts) + offsets]
        ready = np.full(len(tasks), now, np.int64)
        ends = self._expected_ends(now)
        runs = (self.start[parents] >= 0) & ~self._is_done[parents]
        np.maximum.at(ready, rows[runs], [ends[one] for one in parents[runs].tolist()])
        planned = number[parents] >= 0
        kept = np.bincount(rows[planned], minlength=len(tasks))
        free = [now] * len(self._speeds)
        for task, end in ends.items():
            free[self.machine[task]] = end
        given = ToPlan(
            rank=self._estimates.ranked(tasks),
            group=np.unique(arrays.work[tasks], return_inverse=True)[1].astype(np.int64),
            depth=self._levels[tasks],
            estimate=self._estimates.corrected(tasks),
            ready=ready,
            parents_start=np.concatenate(([0], np.cumsum(kept))),
            parents=number[parents[planned]],
        )
        plan = plan_workload(given, self._speeds, free)
        self._planned = tasks[plan.tasks].tolist()
        self._next, self._stop = plan.bounds[:-1].tolist(), plan.bounds[1:].tolist()

    def _expected_ends(self, now: int) -> dict[int, int]:
        """By task that runs: when it is expected to end, now at the soonest."""
        running = np.array([task for _, task in self._events], np.int64)
        speeds = np.array(self._speeds)[self.machine[running]]
        takes = np.rint(self._estimates.corrected(running) / speeds).astype(np.int64)
        ends = np.maximum(now, self.start[running] + takes)
        return dict(zip(running.tolist(), ends.tolist(), strict=True))
