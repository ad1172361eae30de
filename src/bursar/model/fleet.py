"""Fleets: how many machines of each offer."""

from __future__ import annotations

from collections.abc import Mapping

from bursar.model.errors import InputError
from bursar.model.market import Market

Fleet = Mapping[str, int]
"""Offer name to number of machines, e.g. `{"small": 10, "large": 3}`."""


def parse_fleet(text: str, market: Market) -> dict[str, int]:
    """Read `small=10,large=3`, within the limits of the market's offers."""
    fleet: dict[str, int] = {}
    for part in text.split(","):
        name, sign, count = part.strip().partition("=")
        offer = market[name.strip()] if sign else None
        if offer is None or not count.strip().isdecimal():
            raise InputError(f"'{part.strip()}' is no part of a fleet; write small=10,large=3")
        number = int(count)
        if offer.limit is not None and number > offer.limit:
            raise InputError(f"{number} {name}: the market's limit is {offer.limit}")
        fleet[offer.name] = number
    if not any(fleet.values()):
        raise InputError("the fleet has no machine; write for example small=10,large=3")
    return fleet


def format_fleet(fleet: Fleet) -> str:
    """Print for people: `10 small + 3 large`."""
    parts = [f"{count} {name}" for name, count in fleet.items() if count]
    return " + ".join(parts) or "no machines"
