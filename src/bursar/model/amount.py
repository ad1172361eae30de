"""Amounts and prices as people publish them: with their currency, and for some time.

    5        5.00 USD     $5       5 €      EUR 5         an amount
    0.0892/h 0.0892 USD/h $0.0892 per hour  0.0015/min    a price

A currency that is written must be that of the market: nothing is converted. A price for some time
is exact, however many decimals it has, until it is one for a billing unit: then it is rounded up to
a billionth, so that what bursar counts is never less than what was published.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Final

import msgspec

from bursar.model.errors import InputError, shown
from bursar.model.money import LARGEST, NANOS, SIGNS, Money
from bursar.model.time import Time, format_duration, parse_duration

_CURRENCIES: Final = {sign: currency for currency, sign in SIGNS.items()}
_AMOUNT: Final = re.compile(
    r"""(?P<sign>[-+]?) \s* (?P<before>[^\d\s.,+-]*) \s*
        (?P<number>[\d.][\d.,_]*(?:[eE][-+]?\d+)?) \s* (?P<after>[^\d\s.,+-][^\d]*)?""",
    re.VERBOSE | re.ASCII,
)
_NUMBER: Final = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d{1,30})?(?:\.\d{0,30})?", re.ASCII)
_PER: Final = re.compile(r"\s*/\s*|\s+per\s+", re.IGNORECASE)
_LONGEST: Final = 100
_MOST_ADDED: Final = Fraction(1, 100)
"""by which rounding up may raise a price; more would be another price"""


class Amount(msgspec.Struct, frozen=True):
    """An amount, with its currency where it was written."""

    money: Money
    currency: str | None = None

    def within(self, currency: str) -> Money:
        """The money, if it is in this currency."""
        check_currency(self.currency, currency)
        return self.money


class Rate(msgspec.Struct, frozen=True):
    """A price for some time, exactly as it was written."""

    amount: Fraction
    per: Time
    currency: str | None = None

    def for_unit(self, unit: Time) -> Money:
        """What so much time costs, rounded up to a billionth."""
        exact = self.amount * NANOS * unit / self.per
        nanos = -(-exact.numerator // exact.denominator)
        if nanos > LARGEST:
            raise InputError(
                f"more than {LARGEST // NANOS:,} for {format_duration(unit)}; use less"
            )
        if nanos - exact > exact * _MOST_ADDED:
            raise InputError(
                f"is too little for a billing unit of {format_duration(unit)} to be counted in"
                " billionths; use a longer unit"
            )
        return Money(nanos)


def parse_amount(value: str | int | float | Decimal) -> Amount:
    """Read `5`, `5.00 USD`, `$5`, `5 €`; numbers as `Money.parse` reads them."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return Amount(Money.parse(value))
    found = _AMOUNT.fullmatch(value.strip())
    if found is None:
        return Amount(Money.parse(value))  # which tells what is wrong
    money = Money.parse(found["sign"] + found["number"])
    return Amount(money, _currency(found["before"], found["after"] or "", value))


def money_in(currency: str, value: str | int | float | Decimal | Money) -> Money:
    """An amount that somebody gives, in this currency."""
    return value if isinstance(value, Money) else parse_amount(value).within(currency)


def parse_rate(text: str) -> Rate | None:
    """Read `0.0892/h`, `$0.0892 per hour`, `0.0892 USD/h`; None: it says nothing of a time."""
    amount, *units = _PER.split(text.strip())
    if not units:
        return None
    found = _AMOUNT.fullmatch(amount) if len(text) <= _LONGEST and len(units) == 1 else None
    number = "" if found is None else found["number"].replace("_", "")
    if found is None or not number.strip(".") or not _NUMBER.fullmatch(number):
        raise InputError(f"{shown(text)} is not a price; write for example 0.0892/h")
    per = parse_duration(units[0])
    if per < 1:
        raise InputError(f"{shown(text)}: a price for no time; write for example 0.0892/h")
    if found["sign"] == "-":
        raise InputError(f"{shown(text)} is negative; use 0 or more")
    currency = _currency(found["before"], found["after"] or "", text)
    return Rate(Fraction(number.replace(",", "")), per, currency)


def check_currency(written: str | None, currency: str) -> None:
    """Refuse an amount in another currency than that of the market."""
    if written is not None and written.casefold() != currency.casefold():
        raise InputError(
            f"an amount in {shown(written)}, but the prices are in {shown(currency)}; write it in"
            " that currency"
        )


def _currency(before: str, after: str, text: str) -> str | None:
    """What stands before or after the number; a sign and its name may be both there."""
    written = [_CURRENCIES.get(word, word) for word in (before.strip(), after.strip()) if word]
    if len({word.casefold() for word in written}) > 1:
        raise InputError(f"{shown(text)} names two currencies; write one")
    return written[0] if written else None
