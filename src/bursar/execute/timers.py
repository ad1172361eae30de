"""When something is due: one time per key, changed or forgotten at will."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

    Key: TypeAlias = tuple[str, int]


class Timers:
    """A heap whose outdated entries are dropped when met, or when they outnumber the others."""

    def __init__(self) -> None:
        self._when: dict[Key, int] = {}
        self._heap: list[tuple[int, Key]] = []

    def set(self, key: Key, when: int) -> None:
        """`key` is due at `when`, and no longer at another time."""
        self._when[key] = when
        if len(self._heap) > 64 + 2 * len(self._when):
            self._heap = [(time, name) for name, time in self._when.items()]
            heapify(self._heap)
        else:
            heappush(self._heap, (when, key))

    def discard(self, key: Key) -> None:
        self._when.pop(key, None)

    def next(self) -> int | None:
        """When the next key is due."""
        heap = self._heap
        while heap and self._when.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def due(self, now: int) -> list[Key]:
        """Keys whose time has come, earliest first; they are forgotten."""
        found: list[Key] = []
        when = self.next()
        while when is not None and when <= now:
            key = heappop(self._heap)[1]
            del self._when[key]
            found.append(key)
            when = self.next()
        return found
