"""What this computer offers: its processors, for nothing."""

from __future__ import annotations

import os
from pathlib import Path

from bursar.model.market import Market, Offer
from bursar.model.money import ZERO


def usable_cpus() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


def local_market() -> Market:
    """A market for those who have none: a free machine per processor of this computer."""
    offer = Offer(name="local", price=ZERO, limit=usable_cpus())
    return Market(currency="USD", date="undated", offers=(offer,))


def given_market(market: Market | str | os.PathLike[str] | None) -> Market:
    """The market that a program names: this computer, if it names none."""
    if market is None:
        return local_market()
    return market if isinstance(market, Market) else Market.load(Path(market))
