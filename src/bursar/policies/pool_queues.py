"""What waits for a machine of either pool, and when tasks are due for another instance.

For `policies.two_pools`, which decides what is queued when.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush

from bursar.model.time import Time


class PoolQueues:
    """Tasks that wait for the unreliable pool and for the reliable one, in each at most once."""

    def __init__(self, settled: bytearray) -> None:
        self._settled = settled
        """by task; of who made this, and kept up to date there"""
        self.unreliable: deque[int] = deque()
        """what was sent before, and came back, is last"""
        self.reliable: deque[int] = deque()
        self._waiting: set[int] = set()
        self._waiting_reliably: set[int] = set()
        """tasks in `unreliable`, and in `reliable`"""
        self._settled_waiting = 0
        """those of the latter that are settled"""

    def clear(self) -> None:
        for one in (self.unreliable, self.reliable, self._waiting, self._waiting_reliably):
            one.clear()
        self._settled_waiting = 0

    def settle(self, task: int) -> None:
        """It has a result, or will get none."""
        self._settled_waiting += not self._settled[task] and task in self._waiting_reliably
        self._settled[task] = 1

    def add(self, task: int) -> None:
        if task not in self._waiting:
            self._waiting.add(task)
            self.unreliable.append(task)

    def add_reliable(self, task: int) -> None:
        if task not in self._waiting_reliably:
            self._waiting_reliably.add(task)
            self._settled_waiting += self._settled[task]
            self.reliable.append(task)

    def take(self) -> int:
        """The first that waits for the unreliable pool."""
        task = self.unreliable.popleft()
        self._waiting.discard(task)
        return task

    def take_last(self) -> int:
        """The last that waits for the unreliable pool."""
        task = self.unreliable.pop()
        self._waiting.discard(task)
        return task

    def take_reliable(self) -> int:
        task = self.reliable.popleft()
        self._waiting_reliably.discard(task)
        self._settled_waiting -= self._settled[task]
        return task

    def has(self, task: int) -> bool:
        """Whether it waits for the unreliable pool."""
        return task in self._waiting

    def has_reliable(self, task: int) -> bool:
        return task in self._waiting_reliably

    @property
    def unsettled_reliable(self) -> int:
        """Tasks that wait for a reliable machine, and have no result."""
        return len(self._waiting_reliably) - self._settled_waiting


class TaskDues:
    """When tasks get their next instance; the last moment that was set for a task counts."""

    def __init__(self) -> None:
        self._heap: list[tuple[Time, int]] = []
        """outdated entries are passed over"""
        self._due: dict[int, Time] = {}
        """by task, its entry in the heap that counts"""

    def clear(self) -> None:
        self._heap.clear()
        self._due.clear()

    def set(self, task: int, moment: Time) -> None:
        self._due[task] = moment
        heappush(self._heap, (moment, task))

    def drop(self, task: int) -> None:
        """It gets no other."""
        self._due.pop(task, None)

    def take(self, now: Time) -> Iterator[int]:
        """Tasks whose moment has come, each once."""
        while self._heap and self._heap[0][0] <= now:
            moment, task = heappop(self._heap)
            if self._due.get(task) == moment:
                del self._due[task]
                yield task

    def until(self, moment: Time) -> list[int]:
        """Tasks that are due by then."""
        return [task for task, due in self._due.items() if due <= moment]

    @property
    def next(self) -> Time | None:
        """When to look; perhaps at an outdated entry."""
        return self._heap[0][0] if self._heap else None
