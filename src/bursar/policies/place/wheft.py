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
from collections.abc import Iterable, Sequence
from random import Random
from typing import Final, Literal

import numpy as np

from bursar.model.time import Time
from bursar.plan.workflow.workload_heft import ToPlan, plan_workload
from bursar.policies.place_by_account import AccountPlacer
from bursar.state.actions import Start
from bursar.state.fleet_counts import ChangedMachines
from bursar.state.ranked_works import RankedWork, RankedWorks
from bursar.state.view import Machine, View

NOWHERE: Final = 0
"""No machine has this number."""


class WheftPlacer(AccountPlacer):
    def __init__(self, plan: Literal["arrival", "idle"] = "arrival") -> None:
        self.on_arrival = plan == "arrival"
        self._account: str | None = None
        """whose machines alone count; None: all"""
        self._works = RankedWorks(ranked=True)
        self._lines: dict[int, deque[int]] = {}
        """by machine: the tasks that are planned for it"""
        self._machine_of: dict[int, int] = {}
        """by task that is planned and was not started, its machine; `NOWHERE` without machines"""
        self._taken: list[int] = []
        """tasks that were to be started the last time; those that still wait were refused"""
        self._works_planned: int | None = None
        """works that had arrived when the plan was made; None: there is none"""
        self._changed = ChangedMachines()
        self._ready_seen = 0
        """the place in what became ready from which on it is not known yet"""

    def serve(self, account: str) -> None:
        self._account = self._works.account = account

    def _is_served(self, machine: Machine) -> bool:
        return self._account in (None, machine.account)

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        self._works.look(view)
        machines, ready = self._changed.take(view), self._became_ready(view)
        if machines is None or ready is None or self._is_old(view, machines, ready):
            self._plan(view, now)
            some = set(self._lines)
        else:
            some = {*machines, *(self._machine_of.get(task, NOWHERE) for task in ready)}
        return self._starts(view, sorted(number for number in some if number in view.idle))

    def _starts(self, view: View, idle: Iterable[int]) -> list[Start]:
        """What machines begin with that have a free slot."""
        starts: list[Start] = []
        self._taken = []
        for number in idle:
            machine, line = view.machines[number], self._lines.get(number, deque())
            free = machine.offer.slots - len(machine.attempts)
            while free and line and line[0] in view.ready:
                task = line.popleft()
                del self._machine_of[task]
                self._taken.append(task)
                starts.append(Start(task, number))
                free -= 1
        return starts

    def _became_ready(self, view: View) -> Sequence[int] | None:
        """Tasks that did since the last time; None: too many."""
        before, self._ready_seen = self._ready_seen, view.changes.ready.end
        return view.changes.ready.since(before)

    def _is_old(self, view: View, machines: Iterable[int], ready: Iterable[int]) -> bool:
        """Whether the plan does not fit what changed."""
        if self._works_planned != len(view.work):
            return True
        if any(task in view.ready for task in self._taken):
            return True
        if any(self._is_open(number, view) != (number in self._lines) for number in machines):
            return True
        fresh = (task for task in ready if task in view.ready and task not in self._machine_of)
        return any(self._works.of(task, view) is not None for task in fresh)

    def _is_open(self, number: int, view: View) -> bool:
        """Whether a machine gets tasks here."""
        machine = view.machines.get(number)
        return machine is not None and machine.is_open and self._is_served(machine)

    def _plan(self, view: View, now: Time) -> None:
        self._works_planned = len(view.work)
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
        self._lines = {number: deque() for number, _ in lanes}
        self._machine_of = dict.fromkeys(tasks, NOWHERE)
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
            self._machine_of.update(dict.fromkeys(self._lines[number], number))

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
