"""`hist`: what the load of this hour of the day was nearly always below (workload thesis, 4.4.1).

The rule of Urgaonkar et al.: a histogram of loads for each hour of the day. A high percentile of
the hour is wanted. Where more than half of the last ten decisions were too low, the load and a
twentieth are wanted instead, if that is more.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Sequence
from math import ceil
from typing import Final

from bursar.model.time import HOUR, Time
from bursar.policies.load import LoadAutoscaler
from bursar.state import events as ev

PERCENTILE: Final = 0.99
"""Chosen because the published row comes out with it, and not with 0.9; the thesis tells none."""
KEPT: Final = 730
"""Loads of an hour of the day that are kept."""
WATCHED: Final = 10
TOO_OFTEN: Final = 5
HEADROOM: Final = 1.05


class _HourOfDay:
    """The loads of one hour of the day, as they came and sorted."""

    def __init__(self) -> None:
        self._loads: deque[int] = deque()
        self._sorted: list[int] = []

    def add(self, load: int) -> None:
        self._loads.append(load)
        insort(self._sorted, load)
        if len(self._loads) > KEPT:
            self._sorted.remove(self._loads.popleft())

    def percentile(self, share: float, load: int) -> int:
        """The least load that so many of them do not exceed, the one of now among them."""
        loads = self._sorted.copy()
        insort(loads, load)
        return loads[max(0, ceil(share * len(loads)) - 1)]


class Hist(LoadAutoscaler):
    """Follows the hour of the day."""

    def begin(self) -> None:
        self._hours: dict[tuple[str, int], _HourOfDay] = {}
        """by account and hour"""
        self._errors: dict[str, deque[int]] = {}
        """by account, what the last supplies lacked"""

    def decided(self, account: str, load: int, event: ev.ScaleDecided) -> None:
        errors = self._errors.setdefault(account, deque(maxlen=WATCHED))
        errors.append(load - event.supply)
        self._hour(account, event.at).add(load)

    def _hour(self, account: str, at: Time) -> _HourOfDay:
        """The hour of the day, of a run that began at midnight."""
        return self._hours.setdefault((account, at // HOUR % 24), _HourOfDay())

    def slots(
        self, load: int, supply: int, past: Sequence[tuple[Time, int]], now: Time, account: str
    ) -> tuple[int, str]:
        usual = self._hour(account, now).percentile(PERCENTILE, load)
        too_low = sum(error > 0 for error in self._errors.get(account, ()))
        lately = ceil(HEADROOM * load)
        if too_low > TOO_OFTEN and lately > usual:
            return lately, f"too low in {too_low} of the last {WATCHED} intervals"
        return usual, f"{PERCENTILE:.0%} of the loads of this hour of the day are not above it"
