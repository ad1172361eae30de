"""`fifo`: ready tasks in the order of their numbers, which is that of their arrival.

For those who expect it, such as users of an executor. The first tasks are then no fair sample of
the bag: what learns from them wants `random`.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.engine.roles import Placer
from bursar.model.time import Time
from bursar.state.actions import Start
from bursar.state.ready_queue import ReadyQueue
from bursar.state.view import View


class FifoPlacer(Placer):
    def __init__(self) -> None:
        self._queue = ReadyQueue(key=_number, group=_all)

    def next_task(self, view: View, rng: Random) -> int | None:
        self._queue.look(view)
        return self._queue.take(None)

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        self._queue.look(view)
        starts: list[Start] = []
        for number in view.idle:
            machine = view.machines[number]
            for _ in range(machine.offer.slots - len(machine.attempts)):
                task = self._queue.take(None)
                if task is None:
                    return starts
                starts.append(Start(task, number))
        return starts


def _number(task: int) -> int:
    return task


def _all(task: int) -> None:
    """One group for all tasks."""
