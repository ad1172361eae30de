"""`fifo`: ready tasks in the order of their numbers, which is that of their arrival.

For those who expect it, such as users of an executor. The first tasks are then no fair sample of
the bag: what learns from them wants `random`.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from random import Random

from bursar.engine.roles import Placer
from bursar.model.time import Time
from bursar.state.actions import Start
from bursar.state.events import (
    AnyEvent,
    AttemptEnded,
    MachineDown,
    RetryRequested,
    WorkArrived,
    WorkflowArrived,
)
from bursar.state.view import View


class FifoPlacer(Placer):
    def __init__(self) -> None:
        self._queue: list[int] = []
        """heap that holds every ready task; those that are not ready any more are passed over.
        Empty in a run that began before this object was made."""

    def saw(self, event: AnyEvent, state: View) -> None:
        if isinstance(event, WorkArrived):
            # Higher than all numbers before, and ascending: the list stays a heap.
            self._queue.extend(range(state.total - event.bag.count + 1, state.total + 1))
        elif isinstance(event, AttemptEnded):
            task = state.log.task[event.attempt]
            for one in (task, *state.precedence.children(task)):
                if one in state.ready:
                    heappush(self._queue, one)
        elif isinstance(event, MachineDown | RetryRequested | WorkflowArrived):
            self._queue = sorted(state.ready)

    def next_task(self, view: View, rng: Random) -> int:
        self._queue = self._queue or sorted(view.ready)
        task = self._next(view)
        assert task is not None  # noqa: S101
        return task

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        self._queue = self._queue or sorted(view.ready)
        starts: list[Start] = []
        for number in view.idle:
            machine = view.machines[number]
            for _ in range(machine.offer.slots - len(machine.attempts)):
                task = self._next(view)
                if task is None:
                    return starts
                starts.append(Start(task, number))
        return starts

    def _next(self, view: View) -> int | None:
        while self._queue:
            task = heappop(self._queue)
            if task in view.ready:
                return task
        return None
