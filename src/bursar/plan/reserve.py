"""Money beyond a plan's bound, for the last tasks: a bound does not always hold."""

from __future__ import annotations

from bursar.model.fleet import Fleet
from bursar.model.market import Market
from bursar.model.money import Money


def reserve_of(fleet: Fleet, market: Market) -> Money:
    """One unit of the fleet's cheapest offer for each machine."""
    return min(market[name].entry_charge for name in fleet) * sum(fleet.values())
