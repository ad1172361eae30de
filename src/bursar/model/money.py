"""Money: exact, never a float. An amount is a whole number of billionths of its currency."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from functools import total_ordering
from typing import Final

from bursar.model.errors import InputError

NANOS: Final = 1_000_000_000
LARGEST: Final = 9_000_000_000 * NANOS
"""Amounts stay within 64 bits, so that compiled kernels can hold them too."""


@total_ordering
class Money:
    """An exact amount in the market's currency.

    Adding, subtracting and multiplying by a whole number are exact; nothing else is offered.
    """

    __slots__ = ("nanos",)
    nanos: int

    def __init__(self, nanos: int = 0) -> None:
        object.__setattr__(self, "nanos", nanos)

    @classmethod
    def parse(cls, value: str | int | float | Decimal) -> Money:
        """Read `2.50`, `$2.50` or a number; refuse what nine decimals cannot hold exactly."""
        text = str(value).strip().lstrip("$€£").replace("_", "").replace(",", "")
        try:
            amount = Decimal(text)
        except InvalidOperation:
            raise InputError(f"'{value}' is no amount of money; write for example 2.50") from None
        if not amount.is_finite():
            raise InputError(f"'{value}' is no amount of money; write for example 2.50")
        nanos = amount * NANOS
        if nanos != nanos.to_integral_value():
            raise InputError(f"'{value}' has more than nine decimals; round it")
        if abs(nanos) > LARGEST:
            raise InputError(f"'{value}' is more than {LARGEST // NANOS:,}; use a larger unit")
        return cls(int(nanos))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Money never changes; make a new amount")

    def __add__(self, other: Money) -> Money:
        return Money(self.nanos + other.nanos)

    def __sub__(self, other: Money) -> Money:
        return Money(self.nanos - other.nanos)

    def __mul__(self, times: int) -> Money:
        return Money(self.nanos * times)

    __rmul__ = __mul__

    def __floordiv__(self, other: Money) -> int:
        """How many times `other` is contained in this amount."""
        return self.nanos // other.nanos

    def __lt__(self, other: Money) -> bool:
        return self.nanos < other.nanos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __bool__(self) -> bool:
        return self.nanos != 0

    def __reduce__(self) -> tuple[type[Money], tuple[int]]:
        return Money, (self.nanos,)

    def __str__(self) -> str:
        """Print the exact decimal, with at least two digits after the point: `2.50`."""
        sign = "-" if self.nanos < 0 else ""
        whole, rest = divmod(abs(self.nanos), NANOS)
        decimals = f"{rest:09d}".rstrip("0").ljust(2, "0")
        return f"{sign}{whole}.{decimals}"

    def __repr__(self) -> str:
        return f"Money('{self}')"

    def __float__(self) -> float:
        """For statistics and drawings only; the ledger never asks for this."""
        return self.nanos / NANOS


ZERO: Final = Money(0)

_SIGNS: Final = {"USD": "$", "EUR": "€", "GBP": "£"}


def format_money(amount: Money, currency: str) -> str:
    """Print with the currency: `$2.50`, `2.50 CHF`."""
    sign = _SIGNS.get(currency)
    return f"{sign}{amount}" if sign else f"{amount} {currency}"
