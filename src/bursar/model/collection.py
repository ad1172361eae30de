"""A set of whole numbers with constant-time random choice, membership and removal."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    _Numbers = array[int]
else:
    _Numbers = array

_NOWHERE: Final = -1


class IndexedSet(_Numbers):
    """Numbers from 0 in an array, with the position of each in another.

    `set[i]` is some member for every `0 <= i < len(set)`, so a policy can pick one at random;
    removal moves the last member into the gap. The same calls give the same order.

    It is read several times at every event: as an array it tells its length and its members
    without a call of Python. It is changed by the methods below, and by no other of an array.
    Its numbers count something, so that positions in an array take less room and time than in a
    dictionary.
    """

    __slots__ = ("_where",)

    def __new__(cls, items: Iterable[int] = ()) -> Self:
        return super().__new__(cls, "q", dict.fromkeys(items))  # type: ignore[return-value]

    def __init__(self, items: Iterable[int] = ()) -> None:
        self._where = array("i", [_NOWHERE]) * (max(self, default=-1) + 1)
        """by number, its position, or `_NOWHERE`"""
        for place, item in enumerate(self):
            self._where[item] = place

    def add(self, item: int) -> None:
        where = self._where
        if item >= len(where):
            where.extend(array("i", [_NOWHERE]) * (item + 1 - len(where)))
        if where[item] == _NOWHERE:
            where[item] = len(self)
            self.append(item)

    def extend(self, items: range) -> None:  # type: ignore[override]
        """Add many numbers at once: new ones, each greater than all that ever were members."""
        where, start = self._where, len(self)
        if items.start < len(where):
            raise ValueError(f"{items.start} is not greater than all that ever were members")
        where.extend(array("i", [_NOWHERE]) * (items.start - len(where)))
        where.extend(range(start, start + len(items)))
        super().extend(items)

    def discard(self, item: int) -> None:
        where = self._where
        place = where[item] if item < len(where) else _NOWHERE
        if place == _NOWHERE:
            return
        where[item] = _NOWHERE
        last = self.pop()
        if last != item:
            self[place] = last
            where[last] = place

    def __contains__(self, item: Any) -> bool:
        try:
            return bool(self._where[item] != _NOWHERE and item >= 0)
        except (IndexError, TypeError):  # too large, or no number
            return False
