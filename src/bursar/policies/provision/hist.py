"""`hist`: what the load of this hour of the day was nearly always below (workload thesis, 4.4.1).

The rule of Urgaonkar et al.: a histogram of loads for each hour of the day. A high percentile of
the hour is wanted, and what the last five decisions lacked in the mean. Where more than half of the
last ten were too low, the load and a twentieth are wanted instead, if that is more.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Sequence
from math import ceil
from typing import Final

from bursar.model.errors import InputError
from bursar.model.fleet import Fleet
from bursar.model.market import Market
from bursar.model.time import HOUR, MINUTE, Time
from bursar.policies.autoscaling import INTERVAL, Leaving
from bursar.policies.load import LoadAutoscaler, LoadKind
from bursar.state import events as ev

PERCENTILE: Final = 0.99
"""Chosen because the published row comes out with it, and not with 0.9; the thesis tells none."""
DAY: Final = 24 * 60
"""minutes"""
KEPT: Final = 730
"""Loads of an hour of the day that are kept."""
CORRECTED: Final = 5
"""decisions whose mean lack is added"""
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

    def __init__(
        self,
        market: Market,
        fleet: Fleet | None = None,
        interval: Time = INTERVAL,
        *,
        rate: float = 1.0,
        load: LoadKind = "demand",
        release: Leaving = "paid",
        begun: int = 0,
    ) -> None:
        if not 0 <= begun < DAY:
            raise InputError(
                f"begun of the provisioner 'hist' is a minute of the day, 0 to {DAY - 1},"
                f" not {begun}"
            )
        super().__init__(market, fleet, interval, rate=rate, load=load, release=release)
        self._begun = begun * MINUTE
        """the time of the day at which the run began"""

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
        return self._hours.setdefault((account, (self._begun + at) // HOUR % 24), _HourOfDay())

    def slots(
        self, load: int, supply: int, past: Sequence[tuple[Time, int]], now: Time, account: str
    ) -> tuple[int, str]:
        errors = [max(0, error) for error in self._errors.get(account, ())]
        lacked = ceil(sum(errors[-CORRECTED:]) / CORRECTED)
        usual = self._hour(account, now).percentile(PERCENTILE, load) + lacked
        too_low = sum(error > 0 for error in errors)
        lately = ceil(HEADROOM * load)
        if too_low > TOO_OFTEN and lately > usual:
            return lately, f"too low in {too_low} of the last {WATCHED} intervals"
        reason = f"{PERCENTILE:.0%} of the loads of this hour of the day are not above it"
        return usual, f"{reason}, and {lacked} for what it lacked lately" if lacked else reason
