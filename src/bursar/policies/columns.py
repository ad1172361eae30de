"""Rows of whole numbers in arrays that grow: what must be looked at all at once, at every event."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Truths = NDArray[np.bool_]


class Columns:
    """Each row belongs to a number, which is its first value; rows are in the order of these.

    Numbers that are given in the order of time keep times sorted, and to look sorted times up among
    others is several times as fast.
    """

    def __init__(self, width: int) -> None:
        self._table = np.zeros((width, 16), dtype=np.int64)
        self._begin = 0
        self._end = 0
        """rows stand from `_begin` to here; there is room on both sides"""

    def __len__(self) -> int:
        return self._end - self._begin

    def __getitem__(self, column: int) -> Integers:
        return self._table[column, self._begin : self._end]

    def row_of(self, number: int) -> int | None:
        numbers = self[0]
        row = int(numbers.searchsorted(number))
        return row if row < len(numbers) and numbers[row] == number else None

    def put(self, values: tuple[int, ...]) -> None:
        """A new row, or new values of one."""
        if self._end == self._table.shape[1]:
            self._make_room()
        table, number = self._table, values[0]
        at = self._end
        if len(self) and number <= table[0, at - 1]:
            at = self._begin + int(self[0].searchsorted(number))
            if table[0, at] != number:
                table[:, at + 1 : self._end + 1] = table[:, at : self._end]
                self._end += 1
        else:
            self._end += 1
        table[:, at] = values

    def fill(self, rows: Sequence[tuple[int, ...]]) -> None:
        """These rows, which are in order, in place of all others."""
        self.clear()
        if rows:
            if len(rows) > self._table.shape[1]:
                self._table = np.zeros((len(self._table), 2 * len(rows)), dtype=np.int64)
            self._table[:, : len(rows)] = np.array(rows, dtype=np.int64).T
            self._end = len(rows)

    def change(self, number: int, column: int, value: int) -> None:
        """One value of a row that is there."""
        self[column][self.row_of(number)] = value

    def drop(self, number: int) -> None:
        """Close the gap from the side that has fewer rows."""
        row = self.row_of(number)
        if row is None:
            return
        table, begin, at, end = self._table, self._begin, self._begin + row, self._end
        if row < len(self) // 2:
            table[:, begin + 1 : at + 1] = table[:, begin:at]
            self._begin += 1
        else:
            table[:, at : end - 1] = table[:, at + 1 : end]
            self._end -= 1

    def clear(self) -> None:
        self._begin = self._end = 0

    def _make_room(self) -> None:
        """Behind the last row: half of the table is free then."""
        rows = self._table[:, self._begin : self._end]
        self._table = np.zeros((len(rows), 2 * max(8, len(self))), dtype=np.int64)
        self._table[:, : len(self)] = rows
        self._begin, self._end = 0, len(self)
