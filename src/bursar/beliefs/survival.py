"""Run times where some attempts are still under way: the estimate of Kaplan and Meier (1958).

The tasks that have ended so far are the short ones more often than not. An attempt under way tells
that its task takes longer than it has run; the estimate counts it among those at risk until then.
Beyond all that ended nothing is known but the ages of what still runs; there tasks go on by half a
deviation on average, as the tails of bell curves do.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.model.time import Time

Floats = NDArray[np.float64]

TAIL: Final = 0.5
"""Deviations by which an attempt older than all that ended goes on."""


class Survival:
    """How long tasks take, and how much longer one takes that has run for a while.

    `ended` are run times, ascending, each of which stands for `weight` tasks; `ages` are those of
    attempts under way. At least one has ended.
    """

    def __init__(
        self, ended: Sequence[Time], ages: Sequence[Time], weight: float, deviation: float
    ) -> None:
        times = np.array(ended, dtype=np.float64)
        running = np.sort(np.array(ages, dtype=np.float64))
        older = len(running) - np.searchsorted(running, times)
        at_risk = weight * np.arange(len(times), 0, -1) + older
        share: Floats = np.cumprod(1 - weight / at_risk)
        share = np.concatenate([[1.0], np.maximum(share, 0.0)])
        beyond = running[running > times[-1]]
        self._tail = max(1.0, TAIL * deviation)
        last = self._tail + (float(np.mean(beyond)) - float(times[-1]) if len(beyond) else 0.0)
        steps = share[:-1] * np.diff(times, prepend=0.0)
        rest = np.cumsum(np.append(steps, share[-1] * last)[::-1])[::-1]
        self._times: list[float] = times.tolist()
        self._share: list[float] = share.tolist()
        self._after: list[float] = rest[1:].tolist()
        """by run time that ended, the area under the curve beyond it"""
        self.mean = float(rest[0])

    def rest(self, age: Time) -> Time:
        """What is left on average of an attempt that has run for so long; at least one."""
        place = bisect_right(self._times, age)
        share = self._share[place]
        if place == len(self._times) or share <= 0:
            return round(self._tail)
        area = share * (self._times[place] - age) + self._after[place]
        return max(1, round(area / share))
