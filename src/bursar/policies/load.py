"""The load that general autoscalers follow, over time, and the frame that they share.

The thesis says task arrivals per interval over a service rate (4.4.1). Its published figures come
out with the demand (ready and running tasks) over the rate, and not with arrivals, so that demand
is the default.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Collection, Sequence
from math import ceil
from random import Random
from typing import Final, Literal

from bursar.model.fleet import Fleet
from bursar.model.market import Market
from bursar.model.time import Time
from bursar.policies.autoscaling import INTERVAL, LEARNS_FROM, Autoscaler, Leaving, WantedFleet
from bursar.state import events as ev
from bursar.state.view import View

LoadKind = Literal["demand", "arrivals"]
"""What is counted: ready and running tasks, or tasks that arrived in the last interval."""
LOAD: Final = "load"
"""The name of the load among the inputs of a decision."""
REMEMBERED: Final = 24 * 60 * 60
"""Loads of so many intervals are kept: a month at the shortest that make sense."""


class LoadAutoscaler(Autoscaler):
    """An entry inherits from this and writes `slots`: a number from the loads so far."""

    def __init__(
        self,
        market: Market,
        fleet: Fleet | None = None,
        interval: Time = INTERVAL,
        *,
        rate: float = 1.0,
        load: LoadKind = "demand",
        release: Leaving = "paid",
    ) -> None:
        super().__init__(market, fleet, interval, release=release)
        self._rate = rate
        """tasks that a slot serves in an interval"""
        self._by_arrivals = load == "arrivals"
        self._loads: dict[str, deque[tuple[Time, int]]] = {}
        """by account, those of all decisions with their times, oldest first"""
        self.begin()

    def begin(self) -> None:
        """Set up what an entry will learn; nothing by default."""
        return

    def learns_from(self) -> Collection[type]:
        return LEARNS_FROM

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        super().saw(event, state)
        if isinstance(event, ev.ScaleDecided) and LOAD in event.inputs:
            loads = self._loads.setdefault(event.account, deque(maxlen=REMEMBERED))
            loads.append((event.at, round(event.inputs[LOAD])))
            self.decided(event.account, round(event.inputs[LOAD]), event)

    def decided(self, account: str, load: int, event: ev.ScaleDecided) -> None:
        """Learn from a decision of its own, also of one before a resume; nothing by default."""
        return

    @abstractmethod
    def slots(
        self, load: int, supply: int, past: Sequence[tuple[Time, int]], now: Time, account: str
    ) -> tuple[int, str]:
        """How many are wanted and why, with the loads of the decisions before."""

    def wanted(self, view: View, now: Time, account: str, rng: Random) -> WantedFleet:
        load = self._load(view, now, account)
        past = self._loads.get(account, ())
        if load or view.demand.now(account) or len(view.ledger.accounts) == 1:
            slots, reason = self.slots(load, self.supply(account), past, now, account)
        else:  # what one has to spare, another would wait for where a limit is reached
            slots, reason = 0, "nothing to do, and others share the market"
        return WantedFleet(self.fleet_of(slots, account), reason, {LOAD: load, "target": slots})

    def _load(self, view: View, now: Time, account: str) -> int:
        if not self._by_arrivals:
            return ceil(view.demand.now(account) / self._rate)
        places = view.work.arrived_since(max(0, now - self.interval + 1))
        works = [view.work[place][1] for place in places]
        tasks = sum(work.count for work in works if account in ("", work.owner))
        return ceil(tasks / self._rate)
