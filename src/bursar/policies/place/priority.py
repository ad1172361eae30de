"""`priority`: ready tasks of the work with the highest priority first, then as they arrived.

A work that gets another priority meanwhile goes to its new place; what runs is not stopped.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.engine.roles import Placer
from bursar.model.time import Time
from bursar.policies.ready_by_account import ReadyByAccount
from bursar.state.actions import Start
from bursar.state.view import View


class PriorityPlacer(Placer):
    def __init__(self) -> None:
        self._view: View | None = None
        """what tasks are looked up in; as of the last look"""
        self._queue = ReadyByAccount(self._key)
        self._seen: int | None = None
        """the place in what changed up to which priorities are known"""

    def _key(self, task: int) -> tuple[int, int]:
        assert self._view is not None  # noqa: S101
        work = self._view.work[self._view.work.place_of(task)][1]
        return -work.priority, task

    def _look(self, view: View) -> None:
        self._view = view
        if self._seen != view.changes.works.end:
            self._queue.forget()
        self._seen = view.changes.works.end
        self._queue.look(view)

    def next_task(self, view: View, rng: Random) -> int | None:
        """None may wait: a more urgent work may arrive before its turn."""
        return None

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        self._look(view)
        starts: list[Start] = []
        for number in view.idle:
            if not self._queue:
                break
            starts += self._queue.starts(view.machines[number])
        return starts
