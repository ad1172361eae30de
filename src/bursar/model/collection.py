"""A set of whole numbers with constant-time random choice, membership and removal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class IndexedSet:
    """Numbers in a list, with each number's position in a dictionary.

    `set[i]` is some member for every `0 <= i < len(set)`, so a policy can pick one at random;
    removal moves the last member into the gap. The same calls give the same order.
    """

    __slots__ = ("_items", "_where")

    def __init__(self, items: Iterable[int] = ()) -> None:
        self._items: list[int] = list(dict.fromkeys(items))
        self._where: dict[int, int] = {item: i for i, item in enumerate(self._items)}

    def add(self, item: int) -> None:
        if item not in self._where:
            self._where[item] = len(self._items)
            self._items.append(item)

    def extend(self, items: range) -> None:
        """Add many numbers that are not members yet."""
        start = len(self._items)
        self._items.extend(items)
        self._where.update(zip(items, range(start, len(self._items)), strict=True))

    def discard(self, item: int) -> None:
        where = self._where.pop(item, None)
        if where is None:
            return
        last = self._items.pop()
        if last != item:
            self._items[where] = last
            self._where[last] = where

    def __getitem__(self, index: int) -> int:
        return self._items[index]

    def __contains__(self, item: object) -> bool:
        return item in self._where

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[int]:
        return iter(self._items)
