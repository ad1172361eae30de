"""What waits for a machine of either pool, and when tasks are due for another instance.

For `policies.two_pools`, which decides what is queued when.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from bursar.model.time import Time


class PoolQueues:
    """Tasks that wait for the unreliable pool and for the reliable one, in each at most once."""

    def __init__(self, settled: bytearray, work_of: Callable[[int], int]) -> None:
        self._settled = settled
        """by task; of who made this, and made longer there"""
        self._work_of = work_of
        """the number of the work that a task belongs to"""
        self._of_work: Counter[int] = Counter()
        """by work, its tasks in `unreliable`"""
        self._first = 0
        """how many of `unreliable` go before all that is added"""
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
        self._of_work.clear()
        self._settled_waiting = self._first = 0

    def settle(self, task: int) -> bool:
        """It has a result, or will get none; whether that is new."""
        if self._settled[task]:
            return False
        self._settled_waiting += task in self._waiting_reliably
        self._settled[task] = 1
        return True

    def is_settled(self, task: int) -> bool:
        return bool(self._settled[task])

    def add(self, task: int) -> None:
        """Last, for the unreliable pool."""
        if task not in self._waiting:
            self._enter(task)
            self.unreliable.append(task)

    def add_first(self, task: int) -> None:
        """Before all others but those that were added so."""
        if task not in self._waiting:
            self._enter(task)
            self.unreliable.insert(self._first, task)
            self._first += 1

    def _enter(self, task: int) -> None:
        self._waiting.add(task)
        self._of_work[self._work_of(task)] += 1

    def _leave(self, task: int) -> int:
        self._waiting.discard(task)
        self._of_work[self._work_of(task)] -= 1
        return task

    def has_work(self, work: int) -> bool:
        """Whether any task of a work waits for the unreliable pool."""
        return self._of_work[work] > 0

    def add_reliable(self, task: int) -> None:
        if task not in self._waiting_reliably:
            self._waiting_reliably.add(task)
            self._settled_waiting += self._settled[task]
            self.reliable.append(task)

    def take(self) -> int:
        """The first that waits for the unreliable pool."""
        self._first = max(0, self._first - 1)
        return self._leave(self.unreliable.popleft())

    def take_last(self) -> int:
        """The last that waits for the unreliable pool."""
        task = self._leave(self.unreliable.pop())
        self._first = min(self._first, len(self.unreliable))
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
