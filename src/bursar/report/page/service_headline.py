"""The sentence and the figures of a service that takes work: it has no end that could be forecast.

What its users want to know is who lacks machines, and why: because they boot, because the offers
have no more of them, or because the money of an interval is spent.
"""

from __future__ import annotations

import time
from typing import Final

from msgspec.structs import replace

from bursar.model.text import counted
from bursar.model.time import SECOND
from bursar.report.page.headline import Headline, PageTile, PageVerdict
from bursar.report.page.numbers import amount
from bursar.state.state import RunState

FAR_ABOVE: Final = 2
"""supply is far above demand when it is more than so many times as much"""


def takes_work(state: RunState) -> bool:
    """Whether it is a service that may get more work."""
    return bool(state.goal.accounts) and state.arrivals_open and state.ended is None


class ServiceHeadline(Headline):
    """How a live service stands."""

    def verdict(self) -> PageVerdict:
        state, digest = self._state, self._digest
        others = digest.refill_awaited is not None or state.stopping is not None
        if not self._is_live or others:
            return super().verdict()
        demand, supply, at_work = state.demand.now(), state.supply.now(), self._at_work()
        if not state.total:
            return PageVerdict("wait", "Waiting for work.", at_work)
        if poor := self._without_money():
            wait = "waits" if len(poor) == 1 else "wait"
            return PageVerdict("warn", f"{', '.join(poor)} {wait} for money{self._until(poor)}.",
                               at_work)  # fmt: skip
        if not demand:
            return PageVerdict(
                "good", f"Nothing waits: {self._done()}{self._for_money()}.", at_work
            )
        slots = f"{counted(demand, 'slot')} wanted, {supply:,} up"
        if demand > supply:
            return PageVerdict("wait", f"Demand is above supply: {slots}.", at_work)
        if supply > FAR_ABOVE * demand:
            return PageVerdict("warn", f"Supply is far above demand: {slots}.", at_work)
        return PageVerdict("good", f"Supply meets demand: {slots}.", at_work)

    def tiles(self) -> list[PageTile]:
        return [self._tasks(), self._money(), self._slots(), self._users(), self._rate()]

    def _without_money(self) -> list[str]:
        """Users who want more machines than they have, and whose money does not buy one now."""
        state, ledger = self._state, self._state.ledger
        least = min((offer.entry_charge for offer in state.market.offers), default=None)
        found = []
        for name in ledger.accounts:
            left = ledger.left_of(name, self._now)
            lacks = state.demand.now(name) > state.supply.now(name)
            if lacks and least is not None and left is not None and left < least:
                found.append(name)
        return found

    def _until(self, names: list[str]) -> str:
        refills = [self._state.ledger.next_refill(name, self._now) for name in names]
        known = [one for one in refills if one is not None]
        if not known or not self._digest.began:
            return ""
        clock = time.localtime(self._digest.began + min(known) / SECOND)
        return time.strftime(", until %H:%M:%S", clock)

    def _money(self) -> PageTile:
        tile, ledger = super()._money(), self._state.ledger
        spent = {name: ledger.committed_of(name) for name in ledger.accounts}
        largest = max(spent, key=lambda name: spent[name])
        if tile.more or not spent[largest]:
            return tile
        return replace(tile, more=f"most by {largest}: {amount(spent[largest], self._currency)}")

    def _slots(self) -> PageTile:
        demand, supply = self._state.demand.now(), self._state.supply.now()
        gap = f"{demand - supply:,} lacking" if demand > supply else f"{supply - demand:,} spare"
        return PageTile("time", "Slots wanted", f"{demand:,}", f"{supply:,} up", gap)

    def _users(self) -> PageTile:
        state = self._state
        names = state.ledger.accounts
        busy = [name for name in names if state.demand.now(name)]
        poor = self._without_money()
        more = f"without money now: {', '.join(poor)}" if poor else "none waits for money"
        return PageTile("chance", "Users with work", f"{len(busy):,}", f"of {len(names):,}", more)
