"""How late a loop wakes, learned from how late it was."""

from __future__ import annotations

import math
from typing import Final

from bursar.model.time import MINUTE, SECOND, Time

HALF_LIFE: Final[Time] = 2 * MINUTE
"""what was seen counts half after this time, in which the loop was less late"""
MARGIN: Final = 2
"""It may be so many times as late as it was."""
MOST: Final[Time] = 15 * SECOND
"""more is not lateness: the process was stopped, or the computer asleep"""


class Lateness:
    """The worst that was seen, which fades as the loop is seen to be in time.

    Time alone proves nothing: a loop that looks up once in minutes may be as late each time.
    """

    def __init__(self) -> None:
        self._worst = 0.0
        self._seen: Time = 0

    def learn(self, late: Time, now: Time) -> None:
        """It was that late, now."""
        faded = self._worst * math.exp2((self._seen - now) / HALF_LIFE)
        self._worst, self._seen = max(faded, min(late, MOST)), now

    def expected(self) -> Time:
        """How late it may be next."""
        return min(MOST, round(MARGIN * self._worst))
