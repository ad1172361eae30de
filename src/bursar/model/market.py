"""Offers and markets: what can be rented, at which price, billed how."""

from __future__ import annotations

import math
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from bursar.model.errors import InputError
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, Time, parse_duration

Pool = Literal["reliable", "unreliable"]


class Offer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of machine one can rent.

    A machine is charged for a billing unit when it enters it: the whole unit, and at least the
    minimum. All arithmetic is on whole microseconds and exact money.
    """

    name: str
    price: Money
    """for one billing unit"""
    billing: Time = HOUR
    """length of the billing unit, above zero"""
    minimum: Time = 0
    """the least time charged, however short the stay"""
    limit: int | None = None
    """the most machines one may have at once; None: as many as one likes"""
    boot: Time = 0
    """from renting to ready; it is charged"""
    slots: int = 1
    """attempts a machine runs at once"""
    speed: float = 1.0
    """for emulation: tasks see it as BURSAR_SPEED"""
    pool: Pool = "reliable"

    def units(self, stay: Time) -> int:
        """Billing units entered by a machine that stayed this long: at least one."""
        return max(1, -(-max(stay, self.minimum) // self.billing))

    def charge(self, stay: Time) -> Money:
        return self.price * self.units(stay)

    def paid_for(self, stay: Time) -> Time:
        """How long a machine may stay for what a stay of this length costs."""
        return self.units(stay) * self.billing

    @property
    def entry_charge(self) -> Money:
        """The least a machine of this offer can cost."""
        return self.charge(0)


class Market(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The offers, with a currency and the date of the prices. Names are unique."""

    currency: str
    date: str
    offers: tuple[Offer, ...]

    def __getitem__(self, name: str) -> Offer:
        for offer in self.offers:
            if offer.name == name:
                return offer
        known = ", ".join(offer.name for offer in self.offers)
        raise InputError(f"no offer '{name}' in the market; it has {known}")

    def __contains__(self, name: str) -> bool:
        return any(offer.name == name for offer in self.offers)

    @property
    def is_free(self) -> bool:
        return not any(offer.price for offer in self.offers)

    @property
    def cheapest_entry(self) -> Money:
        """The least money with which any machine can be rented."""
        return min(offer.entry_charge for offer in self.offers)

    @classmethod
    def load(cls, path: str | Path) -> Market:
        """Read a market file (TOML: `currency`, `date`, `[[offer]]` tables)."""
        source = str(path)
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f"{source}: cannot read the market file: {error.strerror}") from None
        except UnicodeDecodeError:
            raise InputError(f"{source}: the market file is not UTF-8 text") from None
        return cls.parse(text, source)

    @classmethod
    def parse(cls, text: str, source: str = "market") -> Market:
        """Read the text of a market file; `source` is named in the error."""
        try:
            table = tomllib.loads(text, parse_float=Decimal)
        except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
            raise InputError(f"{source}: not valid TOML: {error}") from None
        return cls.from_table(table, source)

    @classmethod
    def from_table(cls, table: dict[str, Any], source: str = "market") -> Market:
        """Check and build a market from a parsed file."""
        unknown = sorted(set(table) - {"currency", "date", "offer"})
        if unknown:
            raise InputError(
                f"{source}: unknown key '{unknown[0]}'; a market has currency, date and [[offer]]"
            )
        entries = table.get("offer")
        if not isinstance(entries, list) or not entries:
            raise InputError(f"{source}: no [[offer]] table; add one with name, price and billing")
        offers = tuple(
            _read_offer(entry, f"{source}: offer {number}")
            for number, entry in enumerate(entries, 1)
        )
        names = [offer.name for offer in offers]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"{source}: two offers are named '{name}'; rename one")
        currency = table.get("currency", "USD")
        if not isinstance(currency, str) or not currency.strip():
            raise InputError(f"{source}: currency must be a name such as 'USD'")
        return cls(currency=currency, date=str(table.get("date", "undated")), offers=offers)


_OFFER_KEYS: Final = tuple(Offer.__struct_fields__)
_NAME_EXTRAS: Final = set("._-+/:")


def _read_offer(entry: Any, where: str) -> Offer:
    if not isinstance(entry, dict):
        raise InputError(f"{where}: must be a table, written [[offer]]")
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise InputError(f"{where}: has no name; add name = \"...\"")
    if not all(letter.isalnum() or letter in _NAME_EXTRAS for letter in name):
        raise InputError(f"{where}: name '{name}' may hold letters, digits and . _ - + / : only")
    where = f"{where} ('{name}')"
    unknown = sorted(set(entry) - set(_OFFER_KEYS))
    if unknown:
        raise InputError(f"{where}: unknown key '{unknown[0]}'; known are {', '.join(_OFFER_KEYS)}")
    try:
        return _build_offer(name, entry)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _build_offer(name: str, entry: dict[str, Any]) -> Offer:
    free = entry.get("billing") == "free"
    if "price" not in entry and not free:
        raise InputError("has no price; add price = \"0.10\" (for one billing unit)")
    price = ZERO if free else _money("price", entry["price"])
    if price < ZERO:
        raise InputError(f"price {price} is negative; use 0 or more")
    billing = HOUR if free else _duration("billing", entry.get("billing", "1h"))
    if billing <= 0:
        raise InputError("billing must be longer than nothing, for example 1h or 1s")
    limit = entry.get("limit")
    speed = entry.get("speed", 1)
    if not isinstance(speed, int | Decimal) or isinstance(speed, bool):
        raise InputError("speed must be a number, for example 1.5")
    if not (math.isfinite(float(speed)) and float(speed) > 0):
        raise InputError(f"speed {speed} must be above 0")
    pool = entry.get("pool", "reliable")
    if pool not in ("reliable", "unreliable"):
        raise InputError(f"pool '{pool}' must be reliable or unreliable")
    return Offer(
        name=name,
        price=price,
        billing=billing,
        minimum=_duration("minimum", entry.get("minimum", "0s")),
        limit=None if limit is None else _whole("limit", limit, least=0),
        boot=_duration("boot", entry.get("boot", "0s")),
        slots=_whole("slots", entry.get("slots", 1), least=1),
        speed=float(speed),
        pool=pool,
    )


def _money(key: str, value: Any) -> Money:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise InputError(f'{key} must be an amount, for example "0.10"')
    return Money.parse(value)


def _duration(key: str, value: Any) -> Time:
    if not isinstance(value, str):
        raise InputError(f'{key} must be a duration with its unit, for example "60s" or "1h"')
    try:
        return parse_duration(value)
    except InputError as error:
        raise InputError(f"{key}: {error}") from None


def _whole(key: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**31:
        raise InputError(f"{key} must be a whole number of at least {least}")
    return value
