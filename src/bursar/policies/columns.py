"""Rows of whole numbers in arrays that grow: what must be looked at all at once, at every event."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Truths = NDArray[np.bool_]


class Columns:
    """Each row belongs to a number. Rows have no order: the last one fills a gap."""

    def __init__(self, width: int) -> None:
        self._table = np.zeros((width, 16), dtype=np.int64)
        self.row_of: dict[int, int] = {}
        """where each number stands"""
        self._number_at: list[int] = []
        """the same the other way round"""

    def __len__(self) -> int:
        return len(self._number_at)

    def __contains__(self, number: int) -> bool:
        return number in self.row_of

    def __getitem__(self, column: int) -> Integers:
        return self._table[column, : len(self._number_at)]

    def put(self, number: int, values: tuple[int, ...]) -> None:
        row = self.row_of.get(number)
        if row is None:
            row = self.row_of[number] = len(self._number_at)
            self._number_at.append(number)
            if row == self._table.shape[1]:
                self._table = np.concatenate([self._table, np.zeros_like(self._table)], axis=1)
        self._table[:, row] = values

    def drop(self, number: int) -> None:
        row = self.row_of.pop(number, None)
        if row is None:
            return
        last = self._number_at.pop()
        if last != number:
            self._table[:, row] = self._table[:, len(self._number_at)]
            self._number_at[row], self.row_of[last] = last, row

    def clear(self) -> None:
        self.row_of.clear()
        self._number_at.clear()
