"""The ready tasks of workflows, by the offer that each is meant for, the most urgent first.

Urgent is what has the higher priority; then what has the longer way to the end of its workflow, as
in HEFT, by the run times that were told; then what was given first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from bursar import events as ev
from bursar.model.assigned import Assigned
from bursar.model.flow import Flow
from bursar.model.work import Bag
from bursar.state import RunState


class AssignedWork:
    """Follows a run's events; holds exactly the ready tasks."""

    def __init__(self) -> None:
        self.assigned: Assigned | None = None
        """None: any task may go to any machine"""
        self._place: list[int] = [0]
        """by task, where it stands in the order of its workflow"""
        self._queues: dict[str | None, list[tuple[int, int]]] = {}
        """heaps of (place, task) by offer; None: for any offer"""
        self._queued = 0

    def saw(self, event: ev.AnyEvent, state: RunState) -> None:
        match event:
            case ev.AttemptEnded():
                task = state.log.task[event.attempt]
                touched = (task, *state.precedence.children(task))
                self._add(one for one in touched if one in state.ready)
            case ev.AttemptStarted():
                if self._queued > len(state.ready):
                    self._drop(event.task)
            case ev.WorkArrived() | ev.WorkflowArrived():
                work: Bag | Flow = state.work[-1][1]
                self._place += urgency(work) if isinstance(work, Flow) else range(work.count)
                self._sort_anew(state)
            case ev.PlanChosen() | ev.AssignmentChanged():
                self.assigned = event.assigned
                self._sort_anew(state)
            case ev.MachineDown() | ev.RetryRequested():
                if self._queued != len(state.ready):
                    self._sort_anew(state)

    def offers(self) -> Iterable[str | None]:
        """Those that have ready tasks."""
        return [offer for offer, queue in self._queues.items() if queue]

    def count(self, offer: str | None) -> int:
        return len(self._queues.get(offer, ()))

    def take(self, offer: str | None) -> int:
        """The most urgent task; it is to be started."""
        self._queued -= 1
        return heappop(self._queues[offer])[1]

    def move(self, offer: str, other: str) -> None:
        """What is ready for one offer is for another from now on."""
        for place, task in self._queues.pop(offer, ()):
            heappush(self._queues.setdefault(other, []), (place, task))

    def _add(self, tasks: Iterable[int]) -> None:
        for task in tasks:
            self._queued += 1
            heappush(self._queues.setdefault(self._meant_for(task), []), (self._place[task], task))

    def _drop(self, task: int) -> None:
        """It was started, but not taken here: by another placer, or before a run was resumed.

        What was taken as here stands first in its queue.
        """
        self._queued -= 1
        for queue in self._queues.values():
            if queue and queue[0][1] == task:
                heappop(queue)
                return
        for queue in self._queues.values():
            kept = [entry for entry in queue if entry[1] != task]
            if len(kept) < len(queue):
                queue[:] = kept
                heapify(queue)

    def _sort_anew(self, state: RunState) -> None:
        self._queues = {}
        self._queued = len(state.ready)
        for task in state.ready:
            queue = self._queues.setdefault(self._meant_for(task), [])
            queue.append((self._place[task], task))
        for queue in self._queues.values():
            heapify(queue)

    def _meant_for(self, task: int) -> str | None:
        return None if self.assigned is None else self.assigned.of(task)


def urgency(flow: Flow) -> list[int]:
    """By task, its place in the order in which tasks that are ready together begin."""
    ranks = _upward_ranks(flow)
    urgent = flow.priorities or (0,) * flow.count
    ordered = sorted(range(flow.count), key=lambda task: (-urgent[task], -ranks[task], task))
    places = [0] * flow.count
    for place, task in enumerate(ordered):
        places[task] = place
    return places


def _upward_ranks(flow: Flow) -> list[float]:
    """The longest way from the begin of each task to the end, in run times that were told.

    Where one is not known, all count as one, since a sum over some would look like one over all.
    """
    known = [time for time in flow.runtimes if time is not None]
    times: Sequence[float] = known if len(known) == flow.count else [1.0] * flow.count
    missing = [0] * flow.count
    for parents in flow.parents:
        for parent in parents:
            missing[parent] += 1
    ranks = list(times)
    free = [task for task in range(flow.count) if not missing[task]]
    while free:
        task = free.pop()
        for parent in flow.parents[task]:
            ranks[parent] = max(ranks[parent], times[parent] + ranks[task])
            missing[parent] -= 1
            if not missing[parent]:
                free.append(parent)
    return ranks
