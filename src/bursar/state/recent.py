"""What changed lately, so that nobody who keeps an index has to look at everything again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

KEPT: Final = 20_000
"""Numbers that are kept at least, once there were so many."""


class Recent:
    """The numbers of what changed, in order; each has a place in the order of all that ever did."""

    __slots__ = ("_items", "end")

    def __init__(self) -> None:
        self.end = 0
        """the place of the next change: a reader that has seen all of them continues from here"""
        self._items: list[int] = []
        """the last of them"""

    def note(self, number: int) -> None:
        self.end += 1
        self._items.append(number)
        if len(self._items) > 2 * KEPT:
            del self._items[:KEPT]

    def note_all(self, numbers: range) -> None:
        """So many that they need not be kept: it is faster to look at everything again."""
        if len(numbers) > KEPT:
            self.end += len(numbers)
            self._items.clear()
        else:
            for number in numbers:
                self.note(number)

    def since(self, place: int) -> Sequence[int] | None:
        """What changed from a place on, perhaps several times; None: too much, look at all."""
        first = self.end - len(self._items)
        return None if place < first else self._items[place - first :]


class Changes:
    """What changed lately, by kind. What each number is now, the state tells."""

    __slots__ = ("attempts", "blocked", "machines", "ready", "works")

    def __init__(self) -> None:
        self.attempts = Recent()
        """attempts that were started, began, are being cancelled, ended, or whose machine is being
        released"""
        self.blocked = Recent()
        """tasks that became BLOCKED, or WAITING again, or CANCELLED"""
        self.machines = Recent()
        """machines in any other way than by their attempts: rented, up, extended, leaving, down"""
        self.ready = Recent()
        """tasks that became ready; what is started meanwhile is found among the attempts"""
        self.works = Recent()
        """works that have got another priority"""
