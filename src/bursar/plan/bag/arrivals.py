"""When the machines of a fleet come up, and when no task is ready any more.

Arrays are `[group, fleet]`: numbers of machines of each group, in many fleets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]


class Arrivals:
    """Groups in the order in which they come up."""

    def __init__(
        self, begin: Floats, rate: Floats, slots: Floats, running: Floats, rest: float
    ) -> None:
        """By group: when it comes up, and of each machine the work that it does in a second, its
        slots, and the work that runs there. `rest` is what is left on average of a task that runs.
        """
        order = np.argsort(begin, kind="stable")
        self._begins = begin[:, np.newaxis]
        self._begin = self._begins[order]
        self._following = np.append(self._begin[1:], [[np.inf]], axis=0)
        free = np.where(running > 0, 0.0, slots)
        each = np.array([rate, rate * begin - slots * rest, free])
        self._order, self._each = order, each[:, order, np.newaxis]
        """of each machine: work in a second, that which is not done when no task is ready any more,
        and slots that have nothing to do when they come up"""

    def queue_empty(
        self, counts: Floats, work: Floats | float, ready: int
    ) -> tuple[Floats, Truths, Truths | None]:
        """When no task is ready any more, which groups have come up by then, and whether at once.

        Slots end their tasks one by one, as renewals do; but where those that come up with nothing
        to do suffice for all that is ready, nobody waits for any end. None: they do nowhere.
        """
        rates, done, free = (counts[self._order] * self._each).cumsum(axis=1)
        until = np.where(rates > 0, (work + done) / np.maximum(rates, 1e-12), np.inf)
        empty = np.maximum(until, self._begin)
        last = np.where(empty <= self._following, empty, np.inf).min(axis=0)
        found = np.where(last < np.inf, last, 0.0)
        may_be_at_once = free[-1] >= ready
        if not may_be_at_once.any():
            return found, self._begins <= found, None
        suffices = np.where(free >= ready, self._begin, np.inf)
        at_once = suffices.min(axis=0)
        is_at_once = at_once < found
        found = np.where(is_at_once, at_once, found)
        return found, self._begins <= found, is_at_once
