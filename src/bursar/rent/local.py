"""What this computer offers: its processors, for nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable

from bursar.model.fleet import Fleet
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO
from bursar.model.text import counted


def usable_cpus() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


def slots_caution(fleets: Iterable[Fleet], market: Market) -> str | None:
    """What to say of plans that need more slots here than this computer has processors."""
    slots = max(
        (sum(n * market[name].slots for name, n in one.items()) for one in fleets), default=0
    )
    if slots <= usable_cpus():
        return None
    return (
        f"plans use up to {slots:,} slots, and this computer has"
        f" {counted(usable_cpus(), 'processor')}: tasks that compute will take longer here"
    )


def local_market(jobs: int | None = None) -> Market:
    """A market for those who have none: a free machine for each of so many tasks at once.

    By default one per processor of this computer.
    """
    offer = Offer(name="local", price=ZERO, limit=usable_cpus() if jobs is None else jobs)
    return Market(currency="USD", date="undated", offers=(offer,))
