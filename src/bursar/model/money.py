"""Money: exact, never a float. An amount is a whole number of billionths of its currency."""

from __future__ import annotations

import re
from decimal import Decimal
from operator import index
from typing import Final

from bursar.model.errors import InputError, shown

NANOS: Final = 1_000_000_000
DECIMALS: Final = 9
CENTS: Final = 2
"""decimals that people see at least"""
SIGNIFICANT: Final = 3
"""digits that people see at least"""
LARGEST: Final = 9_000_000_000 * NANOS
"""What anybody may ask for stays within 64 bits, so that compiled kernels can hold it, too. Sums of
it may be larger."""

_AMOUNT: Final = re.compile(
    r"""(?P<sign>[-+]?) \s* [$€£]? \s*
        (?P<whole> \d{1,3}(?:,\d{3})+ | \d+(?:_\d+)* | (?=\.\d) )
        (?: \. (?P<rest>\d*) )?
        (?: [eE] (?P<power>[-+]?\d{1,4}) )?""",
    re.VERBOSE | re.ASCII,
)

_WRITTEN: Final = re.compile(r"(?P<sign>-?)(?P<whole>\d{1,60})\.(?P<rest>\d{2,9})", re.ASCII)


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
        """Read `2.50`, `$2.50`, `1,250.00` or a number, exactly.

        A comma separates thousands and nothing else: `2,50` is refused, not read as 250.
        """
        match = None if _is_vast(value) else _AMOUNT.fullmatch(str(value).strip())
        if match is None:
            raise InputError(f"{shown(value)} is not an amount of money; write for example 2.50")
        whole = match["whole"].replace(",", "").replace("_", "")
        rest = match["rest"] or ""
        digits = (whole + rest).rstrip("0")
        # In billionths, the amount is `digits` times ten to the power of `scale`.
        scale = int(match["power"] or 0) + DECIMALS - len(rest) + len(whole + rest) - len(digits)
        digits = digits.lstrip("0")
        if not digits:
            return cls(0)
        if scale < 0:
            raise InputError(f"{shown(value)} has more than nine decimals; round it")
        fits = len(digits) + scale <= len(str(LARGEST))
        nanos = int(digits) * 10**scale if fits else LARGEST + 1
        if nanos > LARGEST:
            raise InputError(f"{shown(value)} is more than {LARGEST // NANOS:,}; use less")
        return cls(-nanos if match["sign"] == "-" else nanos)

    @classmethod
    def nearest(cls, estimate: float) -> Money:
        """An estimate as an amount, to be shown; the ledger never holds one."""
        return cls(round(estimate * NANOS))

    @classmethod
    def recall(cls, text: str) -> Money:
        """Read what `str` of an amount wrote, however large: a sum may exceed `LARGEST`."""
        match = _WRITTEN.fullmatch(text)
        if match is None:
            raise InputError(f"{shown(text)} is not an amount of money that bursar wrote")
        nanos = int(match["whole"]) * NANOS + int(match["rest"].ljust(DECIMALS, "0"))
        return cls(-nanos if match["sign"] else nanos)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Money never changes; make a new amount")

    def __add__(self, other: Money) -> Money:
        return Money(self.nanos + other.nanos)

    def __sub__(self, other: Money) -> Money:
        return Money(self.nanos - other.nanos)

    def __mul__(self, times: int) -> Money:
        return Money(self.nanos * index(times))

    __rmul__ = __mul__

    def __floordiv__(self, other: Money) -> int:
        """How many times `other` is contained in this amount."""
        return self.nanos // other.nanos

    def __lt__(self, other: Money) -> bool:
        return self.nanos < other.nanos

    def __le__(self, other: Money) -> bool:
        return self.nanos <= other.nanos

    def __gt__(self, other: Money) -> bool:
        return self.nanos > other.nanos

    def __ge__(self, other: Money) -> bool:
        return self.nanos >= other.nanos

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


def _is_vast(value: object) -> bool:
    """Whether this is a whole number that Python refuses to print."""
    return isinstance(value, int) and value.bit_length() > 1000


ZERO: Final = Money(0)

SIGNS: Final = {"USD": "$", "EUR": "€", "GBP": "£"}


def format_money(
    amount: Money, currency: str | None, *, up: bool = False, down: bool = False
) -> str:
    """Print for people with the currency: `$2.50`, `-$2.50`, `$0.000123`, `1,250.00 CHF`.

    At least cents and at least three significant digits, so that fractions of a cent can be told
    apart. Rounded to the nearest; with `up` never down, for an amount that is enough when somebody
    types it as a budget, and with `down` never up, for one that is not enough. Files and `--json`
    have the exact amount, `str(amount)`, instead. Without a currency, the figure alone.
    """
    figure = _figure(abs(amount.nanos), up=up and amount > ZERO, down=down)
    sign = "-" if amount < ZERO and figure.strip("0.") else ""
    symbol = SIGNS.get(currency or "")
    if symbol is not None:
        return f"{sign}{symbol}{figure}"
    return f"{sign}{figure} {currency}" if currency else f"{sign}{figure}"


def format_shortfall(need: Money, left: Money, currency: str | None) -> tuple[str, str, str]:
    """Print what is needed, what is left, and what is lacking, so that they add up as printed.

    More must be needed than is left. All three have the precision of the first. What is needed is
    rounded up and what is left is rounded down, so that what is lacking is enough when somebody
    adds it to a budget.
    """
    step = 10 ** (DECIMALS - _decimals(need.nanos))
    needed, there = -(-need.nanos // step) * step, left.nanos // step * step
    amounts = (needed, there, needed - there)
    needed_text, there_text, lacking_text = (
        format_money(Money(nanos), currency, down=True) for nanos in amounts
    )
    return needed_text, there_text, lacking_text


def _decimals(nanos: int) -> int:
    """Cents at least, and three significant digits at least."""
    return max(CENTS, min(DECIMALS, DECIMALS + SIGNIFICANT - len(str(nanos))))


def _figure(nanos: int, *, up: bool, down: bool) -> str:
    """An amount of zero or more, rounded; whole cents have two decimals."""
    decimals = _decimals(nanos)
    step: int = 10 ** (DECIMALS - decimals)
    rounded = (nanos + (step - 1 if up else 0 if down else step // 2)) // step * step
    whole, rest = divmod(rounded, NANOS)
    is_cents = rest % 10 ** (DECIMALS - CENTS) == 0
    return f"{whole:,}.{f'{rest:09d}'[: CENTS if is_cents else decimals]}"
