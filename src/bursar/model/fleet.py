"""Fleets: how many machines of each offer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from bursar.model.errors import InputError, shown
from bursar.model.market import Market

Fleet = Mapping[str, int]
"""Offer name to number of machines, e.g. `{"small": 10, "large": 3}`."""

_EXAMPLE: Final = "small=10,large=3"
_COUNT: Final = re.compile(r"\d{1,9}", re.ASCII)


def parse_fleet(text: str, market: Market) -> dict[str, int]:
    """Read `small=10,large=3`, within the limits of the market's offers."""
    fleet: dict[str, int] = {}
    for part in text.split(","):
        name, sign, count = (piece.strip() for piece in part.partition("="))
        if not sign or not _COUNT.fullmatch(count):
            raise InputError(f"{shown(part.strip())} is not part of a fleet; write {_EXAMPLE}")
        offer, number = market[name], int(count)
        if offer.name in fleet:
            raise InputError(f"the fleet names {shown(name)} twice; write {_EXAMPLE}")
        if offer.limit is not None and number > offer.limit:
            raise InputError(f"{number} {name}: the market's limit is {offer.limit}")
        fleet[offer.name] = number
    if not any(fleet.values()):
        raise InputError(f"the fleet has no machine; write for example {_EXAMPLE}")
    return fleet


def write_fleet(fleet: Fleet) -> str:
    """Write as `parse_fleet` reads it."""
    return ",".join(f"{name}={count}" for name, count in fleet.items())


def format_fleet(fleet: Fleet) -> str:
    """Print for people: `10 small + 3 large`."""
    parts = [f"{count:,} {name}" for name, count in fleet.items() if count]
    return " + ".join(parts) or "no machines"
