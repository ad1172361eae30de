"""How late a loop wakes, learned from how late it was."""

from __future__ import annotations

import math
from typing import Final

from bursar.model.time import MINUTE, SECOND, Time

HALF_LIFE: Final[Time] = 2 * MINUTE
"""what was seen counts half after this time"""
MARGIN: Final = 2
"""It may be so many times as late as it was."""
MOST: Final[Time] = 15 * SECOND
"""more is not lateness: the process was stopped, or the computer asleep"""


class Lateness:
    """The worst that was seen, which fades with time. A pure value: times are given."""

    def __init__(self) -> None:
        self._worst: Time = 0
        self._seen: Time = 0

    def learn(self, late: Time, now: Time) -> None:
        """It was that late, now."""
        late = min(late, MOST)
        if late >= self._faded(now):
            self._worst, self._seen = late, now

    def expected(self, now: Time) -> Time:
        """How late it may be next."""
        return min(MOST, MARGIN * self._faded(now))

    def _faded(self, now: Time) -> Time:
        return round(self._worst * math.exp2((self._seen - now) / HALF_LIFE))
