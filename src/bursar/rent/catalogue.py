"""The price catalogue: which machines clouds rent out, at which published prices.

An entry with a price of zero is one whose price nobody knows: published files have thousands of
them, and a machine that seems to cost nothing would be rented without end. They are left out, and
counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Final, Literal

import msgspec

from bursar.model.errors import InputError, instead_of, shown
from bursar.model.text import counted

Cloud = Literal["ec2", "gce"]
CLOUDS: Final[tuple[Cloud, ...]] = ("ec2", "gce")
FRESH_DAYS: Final = 30
"""Prices that are older are called old."""
SPOT_ENDING: Final = "-spot"
"""of the name of an offer that is the spot machine of a type"""


class PricedMachine(msgspec.Struct, frozen=True):
    """A kind of machine in a region, and what an hour of it costs."""

    type: str
    region: str
    cpus: int
    memory: Decimal
    """GiB"""
    price: Decimal
    """an hour, in USD; 0: it is not known"""
    is_spot: bool = False

    @property
    def name(self) -> str:
        return f"{self.type}{SPOT_ENDING}" if self.is_spot else self.type


class Catalogue(msgspec.Struct, frozen=True):
    """Machines of one region, from one source."""

    cloud: Cloud
    source: str
    """where the prices are from, for people"""
    date: date
    """of the prices"""
    machines: Sequence[PricedMachine]


class MachineFilter(msgspec.Struct, frozen=True):
    """Which machines of a catalogue are wanted."""

    pattern: str = "*"
    """of types: `c7*`"""
    cpus: int = 1
    """at least"""
    memory: Decimal = Decimal(0)
    """GiB, at least"""
    spot: bool = False
    """spot machines, too"""

    def wants(self, machine: PricedMachine) -> bool:
        return (
            fnmatchcase(machine.type, self.pattern)
            and machine.cpus >= self.cpus
            and machine.memory >= self.memory
            and (self.spot or not machine.is_spot)
        )


def chosen(
    catalogue: Catalogue, filter_: MachineFilter, report: Callable[[str], None]
) -> list[PricedMachine]:
    """What is wanted and has a price, cheapest first; `report` hears what to know of it."""
    wanted = [one for one in catalogue.machines if filter_.wants(one)]
    if not wanted:
        types = {one.type for one in catalogue.machines}
        raise InputError(
            f"no machine of {catalogue.cloud} is {shown(filter_.pattern)} with these limits;"
            f" {_nearest(filter_.pattern, types)}"
        )
    priced = sorted((one for one in wanted if one.price > 0), key=lambda one: (one.price, one.name))
    missing = len(wanted) - len(priced)
    if not priced:
        raise InputError(
            f"{catalogue.source} has no price for {counted(missing, 'machine')} like"
            f" {shown(filter_.pattern)}; try another region, or ask for live prices"
        )
    if missing:
        note = counted(missing, "machine")
        report(f"left out {note} for which {catalogue.source} has no price")
    return priced


def age_text(catalogue: Catalogue, today: date) -> str:
    """How old the prices are, in words."""
    days = (today - catalogue.date).days
    note = f"prices of {catalogue.date} from {catalogue.source}"
    if days <= FRESH_DAYS:
        return note
    return f"{note}: {counted(days, 'day')} old, check them"


def _nearest(pattern: str, types: Iterable[str]) -> str:
    """Families where there are too many types to list."""
    families = sorted({one.split(".")[0].split("-")[0] for one in types})
    return instead_of(pattern.partition(".")[0].rstrip("*?"), families)


def market_text(
    catalogue: Catalogue,
    machines: Sequence[PricedMachine],
    *,
    limit: int | None = None,
    image: str = "",
) -> str:
    """A market file with these machines."""
    parts = [f'currency = "USD"\ndate = "{catalogue.date}"\n']
    for one in machines:
        lines = [
            f"# {one.cpus} vCPU, {one.memory.normalize():f} GiB",
            "[[offer]]",
            f'name = "{one.name}"',
            f'price = "{one.price.normalize():f}/h"',
            'billing = "1s"',
            'minimum = "1m"',
            'boot = "60s"',
            f"slots = {one.cpus}",
        ]
        lines += [f"limit = {limit}"] if limit is not None else []
        lines += ['pool = "unreliable"'] if one.is_spot else []
        if catalogue.cloud == "ec2":
            lines += [f'instance_type = "{one.type}"'] if one.is_spot else []
            lines += [f'region = "{one.region}"']
            lines += [f'image = "{image}"'] if image else []
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)
