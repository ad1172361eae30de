"""`adapt`: up at once, down slowly (workload thesis, 4.4.1).

The hybrid controller of Ali-Eldin, Tordsson and Elmroth (NOMS 2012): reactive upwards, proactive
downwards. As it goes up at once and down slowly, its supply is the envelope of the load, and how
far the load is from it is the slope that counts. What the load exceeds the supply by is rented at
once. What the supply exceeds the load by is released at a rate: the surplus, times the supply of
now over the mean supply so far, damped. Parts of a slot add up until they are whole; no slot that
the load needs is released. This is what the public code of its authors does.

The port of that code by the group of the thesis counts the mean supply in seconds and the rest in
intervals. Its rate is 30 / 15 = 2 times the surplus: all goes at once, as with `damping=0.5`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bursar.model.errors import InputError
from bursar.model.fleet import Fleet
from bursar.model.market import Market
from bursar.model.time import Time
from bursar.policies.autoscaling import INTERVAL, Leaving
from bursar.policies.load import LoadAutoscaler, LoadKind
from bursar.state import events as ev

DAMPING: Final = 4.0
"""The rate of releasing is divided by this, as in the public code of its authors."""


class Adapt(LoadAutoscaler):
    """Follows the load up at once, and down by a damped rate."""

    def __init__(
        self,
        market: Market,
        fleet: Fleet | None = None,
        interval: Time = INTERVAL,
        *,
        rate: float = 1.0,
        load: LoadKind = "demand",
        damping: float = DAMPING,
        release: Leaving = "paid",
    ) -> None:
        if not damping > 0:
            raise InputError(f"adapt needs a damping above 0, not {damping}")
        self._damping = damping
        super().__init__(market, fleet, interval, rate=rate, load=load, release=release)

    def begin(self) -> None:
        self._supplies: dict[str, tuple[int, int]] = {}
        """by account, the sum of all supplies so far, and how many they are"""
        self._parts: dict[str, float] = {}
        """by account, what is to be released of a slot and was not, as it is no whole one"""

    def decided(self, account: str, load: int, event: ev.ScaleDecided) -> None:
        if load >= event.supply:
            self._parts[account] = 0.0
        else:
            self._parts[account] = self._leaving(account, load, event.supply) % 1.0
        supplies, count = self._supplies.get(account, (0, 0))
        self._supplies[account] = supplies + event.supply, count + 1

    def _leaving(self, account: str, load: int, supply: int) -> float:
        """Slots to release now, with what is left over from before."""
        supplies, count = self._supplies.get(account, (0, 0))
        gain = supply * count / supplies if supplies else 1.0
        return self._parts.get(account, 0.0) + gain * (supply - load) / self._damping

    def slots(
        self, load: int, supply: int, past: Sequence[tuple[Time, int]], now: Time, account: str
    ) -> tuple[int, str]:
        if load >= supply:
            return load, "the load has reached the supply"
        leaving = int(self._leaving(account, load, supply))
        return max(load, supply - leaving), "the load is lower: down at a damped rate"
