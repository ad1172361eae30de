"""The bags and workflows of a run, of which those that are done need no room.

A service runs for months. What its works were is in the journal: once all tasks of one are done, it
is forgotten here, and read again if somebody asks for it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import overload

from msgspec.structs import replace

from bursar.model.time import Time
from bursar.model.work import Work

Arrived = tuple[int, Work]
"""The number before its first task, and the work."""


class Works(Sequence[Arrived]):
    """In the order of arrival. Tasks are numbered as in the run, from 1."""

    def __init__(self) -> None:
        self.events = array("q")
        """per work, the number of the event it came with"""
        self._arrived = array("q")
        """per work, the time of that event; ascending"""
        self._before = array("q")
        """per work, the number before its first task; ascending"""
        self._left = array("q")
        """per work, its tasks that are not done"""
        self._kept: dict[int, Work] = {}
        """by place, all that are not forgotten"""
        self._priorities: dict[int, int] = {}
        """by place, those that are not as a work arrived with"""
        self.have_owners = False
        """whether any that was not done when it was added has one"""
        self._latest: tuple[int, Work] | None = None
        """the one that was forgotten or recalled last: what has just ended is asked for most"""
        self.recall: Callable[[int], Work] | None = None
        """what came with the event of this number; None: nothing is forgotten"""

    def add(self, before: int, work: Work, event: int, arrived: Time) -> None:
        self._kept[len(self.events)] = work
        self.have_owners = self.have_owners or bool(work.owner)
        self._add(before, event, arrived, work.count)

    def add_forgotten(self, before: int, event: int, arrived: Time) -> None:
        """One whose tasks are all done."""
        self._add(before, event, arrived, 0)

    def _add(self, before: int, event: int, arrived: Time, left: int) -> None:
        self.events.append(event)
        self._arrived.append(arrived)
        self._before.append(before)
        self._left.append(left)

    def change_priority(self, place: int, priority: int) -> None:
        """Give a work another priority, also when it is recalled."""
        self._priorities[place] = priority
        if place in self._kept:
            self._kept[place] = replace(self._kept[place], priority=priority)

    def place_of(self, task: int) -> int:
        """Where the work stands that a task belongs to."""
        return bisect_left(self._before, task) - 1

    def arrived_with(self, event: int) -> int | None:
        """The number of the work that came with this event; None: none did."""
        place = bisect_left(self.events, event)
        is_there = place < len(self.events) and self.events[place] == event
        return place + 1 if is_there else None

    def owner_of(self, task: int) -> str:
        """Whose a task is that is not done."""
        return self._kept[self.place_of(task)].owner if self.have_owners else ""

    def before(self, place: int) -> int:
        return self._before[place]

    def left(self, place: int) -> int:
        """Tasks of a work that are not done."""
        return self._left[place]

    def arrived(self, place: int) -> Time:
        return self._arrived[place]

    def arrived_since(self, moment: Time) -> range:
        """Places of the works that arrived at a moment or later."""
        return range(bisect_left(self._arrived, moment), len(self))

    def done(self, task: int) -> range | None:
        """Tell that a task is done; gives all tasks of its work if that is forgotten now."""
        place = bisect_left(self._before, task) - 1
        self._left[place] -= 1
        return None if self._left[place] else self._forget(place)

    def count_left(self, place: int, left: int) -> None:
        """Say how many tasks of a work that was added are not done."""
        self._left[place] = left

    def _forget(self, place: int) -> range | None:
        if self.recall is None:
            return None
        work = self._kept.pop(place)
        self._latest = (place, work)
        first = self._before[place] + 1
        return range(first, first + work.count)

    def __len__(self) -> int:
        return len(self.events)

    @overload
    def __getitem__(self, place: int) -> Arrived: ...
    @overload
    def __getitem__(self, place: slice) -> list[Arrived]: ...
    def __getitem__(self, place: int | slice) -> Arrived | list[Arrived]:
        if isinstance(place, slice):
            return [self._at(one) for one in range(*place.indices(len(self)))]
        return self._at(range(len(self))[place])

    def __iter__(self) -> Iterator[Arrived]:
        return map(self._at, range(len(self)))

    def _at(self, place: int) -> Arrived:
        work = self._kept.get(place)
        if work is None:
            work = self._recalled(place)
        return self._before[place], work

    def _recalled(self, place: int) -> Work:
        if self._latest is None or self._latest[0] != place:
            assert self.recall is not None  # noqa: S101
            work = self.recall(self.events[place])
            if place in self._priorities:
                work = replace(work, priority=self._priorities[place])
            self._latest = (place, work)
        return self._latest[1]
