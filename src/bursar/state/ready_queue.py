"""The ready tasks in the order in which a placer wants them, without looking at all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from heapq import heapify, heappop, heappush
from typing import Any, Generic, TypeVar

from bursar.state.view import View

Group = TypeVar("Group", bound=Hashable)


class ReadyQueue(Generic[Group]):
    """Follows what changed: `look` first, then it holds exactly the ready tasks.

    What was taken but is still ready at the next look is there again: a start that was refused
    forgets no task.
    """

    def __init__(self, key: Callable[[int], Any], group: Callable[[int], Group]) -> None:
        self._key = key
        """by this tasks are ordered within their group"""
        self._group = group
        self._group_of: dict[int, Group] = {}
        """exactly the tasks that are here, and the group of each"""
        self._counts: Counter[Group] = Counter()
        """how many of them each group has"""
        self._heaps: dict[Group, list[tuple[Any, int]]] = {}
        """by group, (key, task); those that went elsewhere are dropped when met"""
        self._taken: list[int] = []
        """since the last look"""
        self._seen: tuple[int, int, int] | None = None
        """the places in what changed from which on it is not known yet; None: nothing is"""

    def look(self, view: View) -> None:
        """Follow what changed."""
        changes, ready = view.changes, view.ready
        before, self._seen = (
            self._seen,
            (
                changes.ready.end,
                changes.attempts.end,
                changes.blocked.end,
            ),
        )
        taken, self._taken = self._taken, []
        fresh = None if before is None else changes.ready.since(before[0])
        begun = None if before is None else changes.attempts.since(before[1])
        cancelled = None if before is None else changes.blocked.since(before[2])
        if fresh is None or begun is None or cancelled is None:
            self._begin(view)
            return
        for task in (*taken, *fresh):
            if task in ready and task not in self._group_of:
                self._add(task, self._group(task))
        task_of = view.log.task
        for task in (*(task_of[attempt] for attempt in begun), *cancelled):
            if task in self._group_of and task not in ready:  # started by somebody else
                self._counts[self._group_of.pop(task)] -= 1

    def _begin(self, view: View) -> None:
        self._group_of = {task: self._group(task) for task in view.ready}
        self._counts = Counter(self._group_of.values())
        self._heaps = {}
        for task, group in self._group_of.items():
            self._heaps.setdefault(group, []).append((self._key(task), task))
        for heap in self._heaps.values():
            heapify(heap)

    def forget(self) -> None:
        """Keys or groups have changed: sort all tasks again at the next look."""
        self._seen = None

    def groups(self) -> Iterable[Group]:
        """Those that have tasks."""
        return [group for group, count in self._counts.items() if count]

    def __len__(self) -> int:
        return len(self._group_of)

    def count(self, group: Group) -> int:
        return self._counts.get(group, 0)

    def take(self, group: Group) -> int | None:
        """The first task of a group, to be started; None: there is none."""
        heap = self._heaps.get(group)
        while heap:
            _, task = heappop(heap)
            if self._group_of.get(task, _NONE) == group:
                del self._group_of[task]
                self._counts[group] -= 1
                self._taken.append(task)
                return task
        return None

    def move(self, group: Group, other: Group) -> None:
        """What is in one group is in another, until it is started or all is sorted again."""
        for _, task in self._heaps.pop(group, ()):
            if self._group_of.get(task, _NONE) == group:
                self._counts[group] -= 1
                self._add(task, other)

    def _add(self, task: int, group: Group) -> None:
        self._group_of[task] = group
        self._counts[group] += 1
        heappush(self._heaps.setdefault(group, []), (self._key(task), task))


_NONE: Any = object()
"""The group of a task that is not here."""
