"""Works with their tasks by status, without looking at all tasks at every event."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Final

from bursar.model.time import Time
from bursar.model.work import Work
from bursar.state.task_status import READY, RUNNING, WAITING, TaskStatus
from bursar.state.view import View

_STATUSES: Final = tuple(TaskStatus)


class CountedWork:
    """A bag or workflow, and how many of its tasks have each status. Not to be changed."""

    __slots__ = ("_counts", "_status", "arrived", "number", "tasks", "work")

    def __init__(
        self, number: int, work: Work, tasks: range, arrived: Time, status: bytearray
    ) -> None:
        self.number = number
        """works count from 1, in the order of arrival"""
        self.work = work
        self.tasks = tasks
        """their numbers in the run"""
        self.arrived = arrived
        self._status = status
        """of all tasks of the run"""
        self._counts = [status.count(one, tasks.start, tasks.stop) for one in _STATUSES]

    @property
    def owner(self) -> str:
        return self.work.owner

    @property
    def priority(self) -> int:
        return self.work.priority

    @property
    def deadline(self) -> Time | None:
        """In the time of the run."""
        return None if self.work.deadline is None else self.arrived + self.work.deadline

    def count(self, status: int) -> int:
        """Its tasks with this `TaskStatus`."""
        return self._counts[status]

    @property
    def unsettled(self) -> int:
        """Tasks that are ready, run, or wait for others."""
        counts = self._counts
        return counts[READY] + counts[RUNNING] + counts[WAITING]

    def having(self, status: int) -> Iterator[int]:
        """Its tasks with this status, ascending.

        Looks for them in a byte a task, so that a work of a million takes some 50 us even if only
        its last task is one; who wants the first by some other order keeps a `ReadyQueue`.
        """
        place = self.tasks.start
        for _ in range(self._counts[status]):
            place = self._status.find(status, place, self.tasks.stop)
            yield place
            place += 1

    def move(self, task: int, new: int) -> None:
        """One of its tasks has got another status; only the index does this."""
        self._counts[self._status[task]] -= 1
        self._counts[new] += 1
        self._status[task] = new


class WorkIndex:
    """Follows what changed: `look` first. What is settled takes no room here."""

    def __init__(self) -> None:
        self._works = 0
        """that had arrived at the last look"""
        self._status = bytearray()
        """of every task, as it was at the last look"""
        self._unsettled: dict[int, CountedWork] = {}
        """by number, ascending: exactly those that have tasks which are not settled"""
        self._seen: tuple[int, int, int, int] | None = None
        """the places in what changed from which on it is not known yet; None: nothing is"""

    def look(self, view: View) -> Collection[int] | None:
        """Follow what changed: numbers of the works whose tasks or priority did; None: any may."""
        seen = self._seen
        tasks = self._changed(view)
        if tasks is None:
            self._works, self._status, self._unsettled = 0, bytearray(), {}
        known, arrived = len(self._status), range(self._works, len(view.work))
        self._status += view.status[known:]
        self._works = arrived.stop
        for place in arrived:
            if view.work.left(place):
                self._keep(self._counted(place, view))
        changed = {place + 1 for place in arrived}
        for number in self._with_new_priority(view, seen):
            if number in self._unsettled:
                self._unsettled[number].work = view.work[number - 1][1]
                changed.add(number)
        if tasks is None:
            return None
        self._move_all(tasks, view, changed)
        return changed

    def _move_all(self, tasks: Iterable[int], view: View, changed: set[int]) -> None:
        """Count tasks as what they are now, and note their works."""
        before, status = self._status, view.status
        work: CountedWork | None = None
        for task in tasks:
            new = status[task]
            if before[task] == new:
                continue
            if work is None or task not in work.tasks:  # many of one work change together
                number = view.work.place_of(task) + 1
                changed.add(number)
                work = self._unsettled.get(number)
                if work is None:  # it was settled, and is not any more
                    work = self._counted(number - 1, view)
            work.move(task, new)
            if not work.unsettled:
                self._unsettled.pop(work.number, None)
            elif work.number not in self._unsettled:
                self._keep(work)

    def _changed(self, view: View) -> Iterable[int] | None:
        """Tasks whose status may be another one; None: all."""
        changes = view.changes
        before = self._seen
        self._seen = (
            changes.ready.end,
            changes.blocked.end,
            changes.attempts.end,
            changes.works.end,
        )
        if before is None:
            return None
        ready, blocked = changes.ready.since(before[0]), changes.blocked.since(before[1])
        attempts = changes.attempts.since(before[2])
        if ready is None or blocked is None or attempts is None:
            return None
        return chain(ready, blocked, map(view.log.task.__getitem__, attempts))

    def _with_new_priority(
        self, view: View, seen: tuple[int, int, int, int] | None
    ) -> Iterable[int]:
        """Numbers of works whose priority may be another one."""
        changed = None if seen is None else view.changes.works.since(seen[3])
        return tuple(self._unsettled) if changed is None else changed

    def _keep(self, work: CountedWork) -> None:
        if work.number not in self._unsettled and work.unsettled:
            is_last = not self._unsettled or next(reversed(self._unsettled)) < work.number
            self._unsettled[work.number] = work
            if not is_last:
                self._unsettled = dict(sorted(self._unsettled.items()))

    def _counted(self, place: int, view: View) -> CountedWork:
        before, work = view.work[place]
        tasks = range(before + 1, before + 1 + work.count)
        return CountedWork(place + 1, work, tasks, view.work.arrived(place), self._status)

    # --- reading ---------------------------------------------------------------------------------

    def unsettled(self) -> Collection[CountedWork]:
        """Works that have tasks which are ready, run, or wait, in the order of arrival."""
        return self._unsettled.values()

    def is_settled(self, number: int) -> bool:
        """Whether nothing more of a work that has arrived will run."""
        return number not in self._unsettled

    def of(self, number: int, view: View) -> CountedWork:
        """Any work; one that is settled is counted when asked for."""
        return self._unsettled.get(number) or self._counted(number - 1, view)
