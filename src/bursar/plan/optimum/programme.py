"""A mixed programme that is written down column by column and row by row, and solved by HiGHS."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final

import numpy as np

SOLVED: Final = 0
INFEASIBLE: Final = 2
"""What scipy calls how a search ended."""


class Programme:
    """Columns from 0 up, of which some are whole, rows between bounds, and what is minimised."""

    def __init__(self) -> None:
        self._most: list[float] = []
        self._cost: list[float] = []
        self._whole: list[bool] = []
        self._rows: list[int] = []
        self._columns: list[int] = []
        self._values: list[float] = []
        self._low: list[float] = []
        self._high: list[float] = []

    def column(self, *, most: float = 1.0, is_whole: bool = False, cost: float = 0.0) -> int:
        """Its number."""
        self._most.append(most)
        self._whole.append(is_whole)
        self._cost.append(cost)
        return len(self._most) - 1

    def row(self, terms: Sequence[tuple[int, float]], low: float, high: float) -> None:
        """The sum of columns, each by a factor, is between these."""
        for column, value in terms:
            self._rows.append(len(self._low))
            self._columns.append(column)
            self._values.append(value)
        self._low.append(low)
        self._high.append(high)

    def least(self, seconds: float) -> float:
        """What it costs at least, as far as that is known by then; infinite: it has no solution."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # late: it takes a while
        from scipy.sparse import coo_array

        if not self._most or seconds <= 0:
            return 0.0
        shape = len(self._low), len(self._most)
        matrix = coo_array((self._values, (self._rows, self._columns)), shape=shape).tocsr()
        found = milp(
            np.array(self._cost),
            constraints=LinearConstraint(matrix, self._low, self._high),
            bounds=Bounds(0.0, np.array(self._most)),
            integrality=np.array(self._whole, dtype=int),
            options={"time_limit": seconds},
        )
        if found.status == INFEASIBLE:
            return inf
        bound = found.get("mip_dual_bound")
        if bound is None or not np.isfinite(bound):  # it has no whole columns, or no time was left
            bound = found.fun if found.status == SOLVED else 0.0
        return float(bound)
