"""When reliable machines help an unreliable pool before its tail.

A strategy uses them in the tail only, and none is chosen before there are results. Where nothing
comes back for long, a few tasks are done on reliable machines first, which tells how long tasks
take. Where instances are still given up one after the other, reliable machines do the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bursar.model.fleet import Fleet
from bursar.model.strategy import Kind, Strategy
from bursar.model.time import Time
from bursar.policies.pool_timeout import ENOUGH, FIRST, PoolTimeout
from bursar.state.fleet_counts import FleetCounts
from bursar.state.view import View

ROUNDS: Final = 2
"""Instances in a row for each slot that are given up before a pool is called barren."""


class EarlyHelp:
    """Looks at a pool from which too little comes back."""

    def __init__(
        self, fleet: Fleet, unreliable: int, timeout: PoolTimeout, counts: FleetCounts
    ) -> None:
        self._fleet = fleet
        self._counts = counts
        """of machines and attempts; looked at before anything is asked here"""
        self._unreliable = unreliable
        self._timeout = timeout
        self._tested: Time | None = None
        """when tasks were last sent to reliable machines to see how long they take"""
        self.is_barren = False
        """what is given up goes to reliable machines"""

    def resize(self, fleet: Fleet, unreliable: int) -> None:
        self._fleet, self._unreliable = fleet, unreliable

    @property
    def limit(self) -> int:
        """Reliable slots that may be used at once, whatever a strategy says."""
        if self.is_barren:
            return self._unreliable
        return ENOUGH if self._is_unknown and self._tested is not None else 0

    def look(self, view: View, now: Time, strategies: Sequence[Strategy | None]) -> None:
        left = view.total - view.done - view.failed
        row = max(ENOUGH, ROUNDS * min(self._unreliable, left))
        in_vain = self._timeout.in_vain
        self.is_barren = in_vain >= row and self.may_help(view, now, strategies)
        self._timeout.is_short = self.is_barren

    def may_help(self, view: View, now: Time, strategies: Sequence[Strategy | None]) -> bool:
        """Whether reliable machines are rented, or available, and not ruled out by all."""
        if all(one and one.copies is None and one.kind == Kind.NTDMR for one in strategies):
            return False
        left = view.ledger.left
        for offer in view.market.offers:
            if offer.pool == "reliable" and self._fleet.get(offer.name):
                refusal = view.refusals.get(offer.name)
                is_refused = refusal is not None and now < refusal.over
                if not is_refused and (left is None or offer.entry_charge <= left):
                    return True
        return any(view.fleet.get(one.name) for one in view.market.offers if one.pool == "reliable")

    def tests(self, view: View, now: Time) -> bool:
        """Whether a few tasks are to be sent to reliable machines now."""
        pause = self._timeout.shortest
        if not self._is_unknown or (self._tested is not None and now < self._tested + pause):
            return False
        oldest = self._timeout.oldest(view)
        if oldest is None or now < oldest + pause or self.is_testing(view, now, waiting=False):
            return False
        self._tested = now
        return True

    def is_testing(self, view: View, now: Time, *, waiting: bool) -> bool:
        """Whether what reliable machines tell is awaited: nothing is given up before that.

        Some of it may be waiting until they are rented, but not for ever.
        """
        if not self._is_unknown or self._tested is None:
            return False
        is_coming = waiting and now < self._tested + FIRST
        reliable = (one.name for one in view.market.offers if one.pool == "reliable")
        return is_coming or any(self._counts.of(name).attempts for name in reliable)

    @property
    def _is_unknown(self) -> bool:
        return self._timeout.known is None and not self._timeout.is_surely_known
