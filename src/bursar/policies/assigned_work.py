"""The ready tasks of workflows, by the offer that each is meant for, the most urgent first.

Urgent is what has the higher priority; then what has the longer way to the end of its workflow, as
in HEFT, by the run times that were given; then what was given first.
"""

from __future__ import annotations

from bisect import bisect_left

from bursar.model.assigned import Assigned
from bursar.model.workflow import Workflow
from bursar.plan.workflow.urgency import urgency
from bursar.policies.idle_machines import IdleMachines
from bursar.state import events as ev
from bursar.state.ready_queue import ReadyQueue
from bursar.state.view import View


class AssignedWork:
    """Follows a run: `look` first."""

    def __init__(self) -> None:
        self._assigned: dict[int, Assigned] = {}
        """by the number of a work; of others, any task may go to any machine"""
        self._place: list[int] = [0]
        """by task, where it stands in the order of its workflow"""
        self._before: list[int] = []
        """by work whose tasks have a place, the number before its first task"""
        self.ready: ReadyQueue[str | None] = ReadyQueue(self._place_of, self._meant_for)
        """by the offer that they are meant for; None: any"""
        self._has_moved = False
        """some tasks are for another offer than they were meant for"""
        self.idle = IdleMachines()
        """who may take them"""

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        match event:
            case ev.PlanChosen() | ev.AssignmentChanged():
                self._assign(event.work, event.assigned)
                self.ready.forget()
            case ev.MachineDown() | ev.RetryRequested() if self._has_moved:
                self._has_moved = False
                self.ready.forget()
            case ev.AttemptEnded(outcome="success") if self._assigned:
                place = state.work.place_of(state.log.task[event.attempt])
                if not state.work.left(place):
                    self._assigned.pop(place + 1, None)

    def saw_before(self, view: View) -> None:
        """Learn what happened before anybody watched."""
        for place in range(len(view.work)):
            plan = view.plan_of(place + 1)
            if plan is not None and view.work.left(place):
                self._assign(place + 1, plan.assigned)

    def look(self, view: View) -> None:
        """Follow what changed."""
        for before, work in view.work[len(self._before) :]:
            tasks = work.tasks
            self._place += urgency(tasks) if isinstance(tasks, Workflow) else range(tasks.count)
            self._before.append(before)
        self.ready.look(view)
        self.idle.look(view)

    def move(self, offer: str, other: str) -> None:
        """What is ready for one offer is for another until a machine is down."""
        self._has_moved = True
        self.ready.move(offer, other)

    def _assign(self, work: int, assigned: Assigned | None) -> None:
        if assigned is None:
            self._assigned.pop(work, None)
        else:
            self._assigned[work] = assigned

    def _place_of(self, task: int) -> int:
        return self._place[task]

    def _meant_for(self, task: int) -> str | None:
        if not self._assigned:
            return None
        work = bisect_left(self._before, task)
        assigned = self._assigned.get(work)
        return None if assigned is None else assigned.of(task - self._before[work - 1])
