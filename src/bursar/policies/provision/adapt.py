"""`adapt`: up at once, down slowly (workload thesis, 4.4.1).

The hybrid controller of Ali-Eldin, Tordsson and Elmroth (NOMS 2012): reactive upwards, proactive
downwards. What the load exceeds the supply by is rented at once. What the supply exceeds the load
by is released at a rate that grows with it and with the mean supply for each unit of load, damped;
parts of a slot add up until they are whole. Envelope and damping are those of the public code,
whose figures the thesis's row is near but does not tell apart from others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bursar.model.time import Time
from bursar.policies.load import LoadAutoscaler
from bursar.state import events as ev

DAMPING: Final = 4.0
"""The rate of releasing is divided by this; public versions have 4 and 15."""


class Adapt(LoadAutoscaler):
    """Follows the load up at once, and down by a damped rate."""

    def begin(self) -> None:
        self._sums: dict[str, tuple[int, int]] = {}
        """by account, all loads and all supplies so far"""
        self._parts: dict[str, float] = {}
        """by account, what is to be released of a slot and was not, as it is no whole one"""

    def decided(self, account: str, load: int, event: ev.ScaleDecided) -> None:
        loads, supplies = self._sums.get(account, (0, 0))
        self._sums[account] = loads + load, supplies + event.supply
        if load >= event.supply:
            self._parts[account] = 0.0
        else:
            self._parts[account] = self._leaving(account, load, event.supply) % 1.0

    def _leaving(self, account: str, load: int, supply: int) -> float:
        """Slots to release now, with what is left over from before."""
        loads, supplies = self._sums.get(account, (0, 0))
        gain = min(1.0, supplies / loads if loads else 1.0)
        return self._parts.get(account, 0.0) + gain * (supply - load) / DAMPING

    def slots(
        self, load: int, supply: int, past: Sequence[tuple[Time, int]], now: Time, account: str
    ) -> tuple[int, str]:
        if load >= supply:
            return load, "the load has reached the supply"
        leaving = int(self._leaving(account, load, supply))
        return max(load, supply - leaving), "the load is lower: down at a damped rate"
