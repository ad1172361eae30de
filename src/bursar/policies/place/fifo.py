"""`fifo`: ready tasks in the order of their numbers, which is that of their arrival.

For those who expect it, such as users of an executor. The first tasks are then no fair sample of
the bag: what learns from them wants `random`.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.engine.roles import Placer
from bursar.model.time import Time
from bursar.policies.ready_by_account import ReadyByAccount
from bursar.state.actions import Start
from bursar.state.view import View


class FifoPlacer(Placer):
    def __init__(self) -> None:
        self._queue = ReadyByAccount()

    def next_task(self, view: View, rng: Random) -> int | None:
        """None may wait where machines belong to several accounts."""
        if view.goal.accounts:
            return None
        self._queue.look(view)
        return self._queue.take("")

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        self._queue.look(view)
        starts: list[Start] = []
        for number in view.idle:
            if not self._queue:
                break
            machine = view.machines[number]
            starts += self._queue.starts(machine)
        return starts
