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
_MOST: Final = 999_999_999
_COUNT: Final = re.compile(r"\d{1,9}", re.ASCII)


def parse_fleet(text: str, market: Market) -> dict[str, int]:
    """Read `small=10,large=3`, within the limits of the market's offers."""
    fleet: dict[str, int] = {}
    for part in text.split(","):
        name, sign, count = (piece.strip() for piece in part.partition("="))
        if not sign or not _COUNT.fullmatch(count):
            raise InputError(f"{shown(part.strip())} is not part of a fleet; write {_EXAMPLE}")
        offer = market[name]
        if offer.name in fleet:
            raise InputError(f"the fleet names {shown(name)} twice; write {_EXAMPLE}")
        fleet[offer.name] = int(count)
    check_fleet(fleet, market)
    return fleet


def check_fleet(fleet: Fleet, market: Market, example: str = _EXAMPLE) -> None:
    """Refuse what the market does not have; the example is in the words of those who asked."""
    for name, count in fleet.items():
        limit = market[name].limit
        if not 0 <= count <= _MOST:
            raise InputError(f"{count} {name}: write for example {example}")
        if limit is not None and count > limit:
            raise InputError(f"{count} {name}: the market's limit is {limit}")
    if not any(fleet.values()):
        raise InputError(f"the fleet has no machine; write for example {example}")


def write_fleet(fleet: Fleet) -> str:
    """Write as `parse_fleet` reads it."""
    return ",".join(f"{name}={count}" for name, count in fleet.items())


def format_fleet(fleet: Fleet) -> str:
    """Print for people: `10 small + 3 large`."""
    parts = [f"{count:,} {name}" for name, count in fleet.items() if count]
    return " + ".join(parts) or "no machines"
