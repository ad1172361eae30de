"""The ready tasks of workflows, by the offer that each is meant for, the most urgent first.

Urgent is what has the higher priority; then what has the longer way to the end of its workflow, as
in HEFT, by the run times that were given; then what was given first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from bursar.model.assigned import Assigned
from bursar.model.flow import Flow
from bursar.model.work import Bag
from bursar.plan.workflow.urgency import urgency
from bursar.policies.idle_machines import IdleMachines
from bursar.state import events as ev
from bursar.state.view import View


class AssignedWork:
    """Follows a run's events; holds exactly the ready tasks."""

    def __init__(self) -> None:
        self.assigned: Assigned | None = None
        """None: any task may go to any machine"""
        self._place: list[int] = [0]
        """by task, where it stands in the order of its workflow"""
        self._meant: dict[int, str | None] = {}
        """exactly the ready tasks that were not taken, and the offer of each; None: any"""
        self._counts: Counter[str | None] = Counter()
        """how many of them each offer has"""
        self._queues: dict[str | None, list[tuple[int, int]]] = {}
        """heaps of (place, task) by offer; those that went elsewhere are dropped when met"""
        self.idle = IdleMachines()
        """who may take them"""

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        match event:
            case ev.AttemptEnded():
                for task in _made_ready(event, state):
                    self._add(task, self._meant_for(task))
            case ev.AttemptStarted():
                if event.task in self._meant:  # by another placer, or before a run was resumed
                    self._counts[self._meant.pop(event.task)] -= 1
            case ev.WorkArrived() | ev.WorkflowArrived():
                work: Bag | Flow = state.work[-1][1]
                self._place += urgency(work) if isinstance(work, Flow) else range(work.count)
                self._sort_anew(state)
            case ev.PlanChosen() | ev.AssignmentChanged():
                self.assigned = event.assigned
                self._sort_anew(state)
            case ev.MachineDown() | ev.RetryRequested():
                if len(self._meant) != len(state.ready):
                    self._sort_anew(state)

    def offers(self) -> Iterable[str | None]:
        """Those that have ready tasks."""
        return [offer for offer, count in self._counts.items() if count]

    def count(self, offer: str | None) -> int:
        return self._counts.get(offer, 0)

    def take(self, offer: str | None) -> int:
        """The most urgent task; it is to be started."""
        queue = self._queues[offer]
        while True:
            _, task = heappop(queue)
            if task in self._meant and self._meant[task] == offer:
                del self._meant[task]
                self._counts[offer] -= 1
                return task

    def move(self, offer: str, other: str) -> None:
        """What is ready for one offer is for another from now on."""
        for task in [task for _, task in self._queues.pop(offer, ())]:
            if self._meant.get(task) == offer:
                self._counts[offer] -= 1
                self._add(task, other)

    def _add(self, task: int, offer: str | None) -> None:
        self._meant[task] = offer
        self._counts[offer] += 1
        heappush(self._queues.setdefault(offer, []), (self._place[task], task))

    def _sort_anew(self, state: View) -> None:
        self._meant = {task: self._meant_for(task) for task in state.ready}
        self._counts = Counter(self._meant.values())
        self._queues = {}
        for task, offer in self._meant.items():
            self._queues.setdefault(offer, []).append((self._place[task], task))
        for queue in self._queues.values():
            heapify(queue)

    def _meant_for(self, task: int) -> str | None:
        return None if self.assigned is None else self.assigned.of(task)


def _made_ready(event: ev.AttemptEnded, state: View) -> Iterable[int]:
    """What the end of an attempt has made ready; that of a replica that lost frees nothing."""
    task = state.log.task[event.attempt]
    if state.winners[task] == event.attempt:
        return (child for child in state.precedence.children(task) if child in state.ready)
    return (task,) if task in state.ready else ()
