"""Market files: what can be rented, at which price, billed how.

A market file is TOML. It names the currency, the date of the prices, and one `[[offer]]` for each
kind of machine:

    currency = "USD"        # "USD" if not given
    date = "2012-09-21"     # shown beside every estimate; a TOML date will do, too

    [[offer]]
    name = "m1.small"       # letters, digits and . _ - + / : and unique
    price = "0.08"          # for one billing unit, or for a time: "0.0892/h", "$0.0015 per min"
    billing = "1h"          # the billing unit, "1h" if not given; "free" costs nothing
    minimum = "0s"          # the least time charged, however short the stay
    limit = 20              # the most machines at once; as many as one likes if not given
    boot = "90s"            # from renting to ready, charged; "0s" if not given
    slots = 1               # attempts a machine runs at once
    speed = 1.0             # for emulation and simulation: 2.0 is twice as fast
    pool = "reliable"       # or "unreliable": spot, grid, desktop
    hosts = ["ada", "eve"]  # for --on ssh: each is one machine
    python = "/opt/env/bin/python"       # there; the same path as here if not given
    partition = "main"      # for --on slurm
    feature = "large"       # for --on slurm
    instance_type = "c7i.large"          # for --on ec2; the name of the offer if not given
    image = "ami-0abc..."   # for --on ec2, as are region, zone, subnet, security_group and setup

Only `name` and `price` are needed (and no `price` where billing is "free"). A price for a time is
exact, then rounded up to a billionth for each billing unit. Durations have their unit: `90s`,
`1.5m`, `1h30m`. Anything unknown or impossible is refused with a line that says where it stands.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import date as calendar_date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeVar

from bursar.formats.files import read_text, source_name
from bursar.model.amount import check_currency, parse_amount, parse_rate
from bursar.model.errors import InputError, instead_of, shown
from bursar.model.market import Market, Offer, Place, Pool, check_offer_name
from bursar.model.money import ZERO, Money
from bursar.model.reading import (
    read_amount,
    read_duration,
    read_toml,
    read_whole,
    read_words,
)
from bursar.model.time import HOUR, Time
from bursar.rent.local import local_market

_MARKET_KEYS: Final = ("currency", "date", "offer")
_PLACE_KEYS: Final = tuple(Place.__struct_fields__)
_OFFER_KEYS: Final = (*(key for key in Offer.__struct_fields__ if key != "place"), *_PLACE_KEYS)
_MOST_SLOTS: Final = 10_000

Value = TypeVar("Value")


def read_market(path: str | Path) -> Market:
    """Read a market file; see the top of this module for what it holds."""
    return parse_market(read_text(path, "market file"), source_name(path))


def parse_market(text: str, source: str = "market") -> Market:
    """Read the text of a market file; `source` is named in the error."""
    return market_of(read_toml(text, source), source)


def given_market(market: Market | str | os.PathLike[str] | None) -> Market:
    """The market that a program names: this computer, if it names none."""
    if market is None:
        return local_market()
    return market if isinstance(market, Market) else read_market(Path(market))


def market_of(table: Mapping[str, Any], source: str = "market") -> Market:
    """Check and build a market from a parsed file."""
    for key in table:
        if key not in _MARKET_KEYS:
            raise InputError(f"{source}: unknown key {shown(key)}; {instead_of(key, _MARKET_KEYS)}")
    entries = table.get("offer")
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{source}: no [[offer]] table; add one with name, price and billing")
    try:
        currency = _read(table, "currency", read_words, _currency_of(entries))
        date = _read(table, "date", _read_date, "undated")
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    offers: dict[str, Offer] = {}
    for number, entry in enumerate(entries, 1):
        offer = _read_offer(entry, currency, f"{source}: offer {number}")
        if offer.name in offers:
            raise InputError(f"{source}: two offers are named '{offer.name}'; rename one")
        offers[offer.name] = offer
    return Market(currency=currency, date=date, offers=tuple(offers.values()))


def _currency_of(entries: list[Any]) -> str:
    """The currency of a market that does not name one: that of the first price that has one."""
    for entry in entries:
        price = entry.get("price") if isinstance(entry, dict) else None
        if isinstance(price, str):
            try:
                found = parse_rate(price) or parse_amount(price)
            except InputError:
                continue  # refused where the offer is read
            if found.currency is not None:
                return found.currency
    return "USD"


def _read_offer(entry: Any, currency: str, where: str) -> Offer:
    if not isinstance(entry, dict):
        raise InputError(f"{where}: must be a table, written [[offer]]")
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise InputError(f'{where}: has no name; add name = "..."')
    try:
        check_offer_name(name)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    where = f"{where} ({shown(name)})"
    for key in entry:
        if key not in _OFFER_KEYS:
            raise InputError(f"{where}: unknown key {shown(key)}; {instead_of(key, _OFFER_KEYS)}")
    try:
        return _build_offer(name, entry, currency)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _build_offer(name: str, entry: Mapping[str, Any], currency: str) -> Offer:
    free = entry.get("billing") == "free"
    if "price" not in entry and not free:
        raise InputError('has no price; add price = "0.10" (for one billing unit) or "0.10/h"')
    billing = HOUR if free else _read(entry, "billing", _read_unit, HOUR)
    price = _read(entry, "price", lambda value: _read_price(value, billing, currency), ZERO)
    if free and price:
        raise InputError(f"price {price}, but billing is free; remove one of them")
    place = _read_place(entry)
    return Offer(
        name=name,
        price=price,
        billing=billing,
        minimum=_read(entry, "minimum", read_duration, 0),
        limit=_read(
            entry, "limit", read_whole, None if place is None else len(place.hosts) or None
        ),
        boot=_read(entry, "boot", read_duration, 0),
        slots=_read(entry, "slots", lambda value: read_whole(value, 1, _MOST_SLOTS), 1),
        speed=_read(entry, "speed", _read_speed, 1.0),
        pool=_read(entry, "pool", _read_pool, "reliable"),
        place=place,
    )


def _read_place(entry: Mapping[str, Any]) -> Place | None:
    if not any(key in entry for key in _PLACE_KEYS):
        return None
    words = {key: _read(entry, key, read_words, "") for key in _PLACE_KEYS if key != "hosts"}
    return Place(hosts=_read(entry, "hosts", _read_hosts, ()), **words)


def _read_hosts(value: Any) -> tuple[str, ...]:
    """Names that `ssh` cannot take for an option."""
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise InputError('must be a list of hosts, for example ["ada", "grace"]')
    for name in names:
        if name.startswith("-") or len(name.split()) != 1:
            raise InputError(f"{shown(name)} cannot be the name of a host")
    if len(set(names)) != len(names):
        raise InputError("a host is named twice; each is one machine, with slots")
    return tuple(names)


def _read(
    table: Mapping[str, Any], key: str, reader: Callable[[Any], Value], default: Value
) -> Value:
    """The value of `key`, checked; a mistake is reported with the key before it."""
    if key not in table:
        return default
    try:
        return reader(table[key])
    except InputError as error:
        raise InputError(f"{key}: {error}") from None


def _read_price(value: Any, unit: Time, currency: str) -> Money:
    """For one billing unit, from a price for it or for some other time."""
    rate = parse_rate(value) if isinstance(value, str) else None
    if rate is None:
        return read_amount(value).within(currency)
    check_currency(rate.currency, currency)
    return rate.for_unit(unit)


def _read_unit(value: Any) -> Time:
    return read_duration(value, least=1)


def _read_speed(value: Any) -> float:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if not is_number or Decimal(value).is_nan() or not 1e-6 <= value <= 1e6:
        raise InputError("must be a number from 0.000001 to 1,000,000, for example 1.5")
    return float(value)


def _read_pool(value: Any) -> Pool:
    if value in ("reliable", "unreliable"):
        pool: Pool = value
        return pool
    raise InputError(f"{shown(value)} must be reliable or unreliable")


def _read_date(value: Any) -> str:
    return str(value) if isinstance(value, calendar_date) else read_words(value)
