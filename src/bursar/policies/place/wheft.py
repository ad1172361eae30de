"""`wheft`: follow one plan for all works, made again whenever one arrives.

Workload HEFT, section 3.3.8 of the thesis on workloads of workflows. Tasks that run stay where they
are, and are expected to end as estimated, or now if that has passed. Between arrivals each idle
machine gets the next task that is planned for it, once that is ready; nothing moves to another. The
plan is also made again when machines come or go, or a task has to be done again.

With `plan=idle` it is made later: when a task can be started for the first time after an arrival.
With right estimates that is the same. With wrong ones the later plan knows more, as tasks that
should have ended, and have not, are expected to end later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from random import Random
from typing import Literal

import numpy as np

from bursar.model.time import Time
from bursar.plan.workflow.workload_heft import ToPlan, plan_workload
from bursar.policies.place_by_account import AccountPlacer
from bursar.state.actions import Start
from bursar.state.ranked_works import RankedWork, RankedWorks
from bursar.state.view import Machine, View


class WheftPlacer(AccountPlacer):
    def __init__(self, plan: Literal["arrival", "idle"] = "arrival") -> None:
        self.on_arrival = plan == "arrival"
        self._account: str | None = None
        """whose machines alone count; None: all"""
        self._works = RankedWorks(ranked=True)
        self._lines: dict[int, deque[int]] = {}
        """by machine: the tasks that are planned for it"""
        self._planned: set[int] = set()
        """tasks that are planned and were not started"""
        self._taken: list[int] = []
        """tasks that were to be started the last time; those that still wait were refused"""
        self._seen: tuple[int, int] | None = None
        """works and changes of machines when the plan was made"""

    def serve(self, account: str) -> None:
        self._account = self._works.account = account

    def _is_served(self, machine: Machine) -> bool:
        return self._account in (None, machine.account)

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        changed, _ = self._works.look(view)
        if self._is_old(view, changed):
            self._plan(view, now)
        starts: list[Start] = []
        self._taken = []
        for number in sorted(view.idle):
            machine, line = view.machines[number], self._lines.get(number, deque())
            free = machine.offer.slots - len(machine.attempts)
            while free and line and line[0] in view.ready:
                task = line.popleft()
                self._planned.discard(task)
                self._taken.append(task)
                starts.append(Start(task, number))
                free -= 1
        return starts

    def _is_old(self, view: View, changed: Iterable[RankedWork]) -> bool:
        if self._seen is None or self._seen[0] != len(view.work):
            return True
        if any(task in view.ready for task in self._taken):
            return True
        if self._seen[1] != view.changes.machines.end:
            self._seen = (self._seen[0], view.changes.machines.end)
            served = filter(self._is_served, view.machines.values())
            if {one.id for one in served if one.is_open} != set(self._lines):
                return True
        return any(
            task in view.ready and task not in self._planned
            for work in changed
            for task in work.unstarted()
        )

    def _plan(self, view: View, now: Time) -> None:
        self._seen = (len(view.work), view.changes.machines.end)
        lanes: list[tuple[int, float]] = []
        free: list[Time] = []
        ends: dict[int, Time] = {}
        served = filter(self._is_served, view.machines.values())
        for machine in sorted(served, key=lambda one: one.id):
            running = [*machine.attempts, *machine.waiting]
            for number in running:
                attempt = view.attempts[number]
                takes = round(self._estimate(attempt.task, view) / machine.offer.speed)
                ends[attempt.task] = max(now, attempt.started + takes)
            if machine.is_open:
                for slot in range(machine.offer.slots):
                    lanes.append((machine.id, machine.offer.speed))
                    there = slot < len(running)
                    free.append(ends[view.attempts[running[slot]].task] if there else now)
        works = self._works.unsettled()
        tasks = [task for work in works for task in work.unstarted()]
        self._planned = set(tasks)
        self._lines = {number: deque() for number, _ in lanes}
        if not lanes or not tasks:
            return
        plan = plan_workload(_to_plan(works, tasks, ends, view, now), [s for _, s in lanes], free)
        planned: dict[int, list[tuple[Time, int, int]]] = {}
        for (number, _), line in zip(lanes, plan.lines(), strict=True):
            found = planned.setdefault(number, [])
            found += [(begin, one, tasks[one]) for begin, one in line]
        for number, found in planned.items():
            is_one = view.machines[number].offer.slots == 1
            self._lines[number] = deque(task for *_, task in (found if is_one else sorted(found)))

    def _estimate(self, task: int, view: View) -> float:
        work = self._works.of(task, view)
        return 0.0 if work is None else work.estimate_of(task)


def _to_plan(
    works: list[RankedWork], tasks: list[int], ends: dict[int, Time], view: View, now: Time
) -> ToPlan:
    number = {task: place for place, task in enumerate(tasks)}
    parents: list[list[int]] = []
    ready: list[Time] = []
    for task in tasks:
        needed = view.precedence.parents(task)
        parents.append([number[one] for one in needed if one in number])
        ready.append(max([now, *(ends[one] for one in needed if one in ends)]))
    owned = [(place, work, task) for place, work in enumerate(works) for task in work.unstarted()]
    return ToPlan(
        rank=np.array([work.rank_of(task) for _, work, task in owned], np.float64),
        group=np.array([place for place, *_ in owned], np.int64),
        depth=np.array([work.depth_of(task, view) for _, work, task in owned], np.int64),
        estimate=np.array([work.estimate_of(task) for _, work, task in owned], np.float64),
        ready=np.array(ready, np.int64),
        parents_start=np.concatenate(([0], np.cumsum([len(one) for one in parents]))),
        parents=np.array([one for some in parents for one in some], np.int64),
    )
