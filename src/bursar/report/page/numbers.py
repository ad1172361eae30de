"""Numbers of the page: three digits and a unit, money as people write it, never `100 %`."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from bursar.model.market import Offer
from bursar.model.money import NANOS, SIGNS, Money
from bursar.model.time import DAY, HOUR, MILLISECOND, MINUTE, SECOND, Time

SPACE: Final = "\u00a0"
"""between a number and its unit, so that no line ends there"""
_LEAST: Final = Fraction(1, 1_000_000)
"""less than this is shown as less than this"""
_CENTS: Final = Fraction(1, 10)
_WHOLE: Final = 1_000
_UNITS: Final = ((2 * DAY, DAY, "d"), (2 * HOUR, HOUR, "h"), (2 * MINUTE, MINUTE, "min"))


def duration(time: Time) -> str:
    """`6.13 h`, `34.0 s`, `910 ms`: three digits."""
    if time < 0:
        return f"−{duration(-time)}"
    for least, unit, name in _UNITS:
        if time >= least:
            return f"{_three(time / unit)}{SPACE}{name}"
    if time >= SECOND - MILLISECOND // 2:
        return f"{_three(time / SECOND)}{SPACE}s"
    return f"{_three(time / MILLISECOND)}{SPACE}ms" if time else f"0{SPACE}s"


def moment(time: Time) -> str:
    """`50.4 s` in the first minute, then `h:mm:ss`, since the run began."""
    if time < MINUTE:
        return f"{min(time / SECOND, 59.9):.1f}{SPACE}s"
    whole = time // SECOND
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def amount(value: Money | Fraction, currency: str) -> str:
    """`$0.87`, `$0.00210`, `$8,329`: whole from 1,000 on, cents from 0.10 on, three digits below.

    Whole cents have two decimals, as elsewhere.
    """
    exact = Fraction(value.nanos, NANOS) if isinstance(value, Money) else value
    size, least = abs(exact), ""
    if not exact:
        figure = "0"
    elif size < _LEAST:
        figure, least = f"{float(_LEAST):.6f}", f"<{SPACE}"
    elif size >= _WHOLE:
        figure = f"{round(size):,}"
    elif size >= _CENTS or (100 * size).denominator == 1:
        figure = f"{float(size):.2f}"
    else:
        decimals = next(n for n in range(3, 40) if size * 10**n >= 100 or n == 39)
        figure = f"{float(size):.{decimals}f}"
    sign = least + ("−" if exact < 0 else "")
    symbol = SIGNS.get(currency)
    return f"{sign}{symbol}{figure}" if symbol else f"{sign}{figure}{SPACE}{currency}"


def price(offer: Offer, currency: str) -> str:
    """What a machine costs, as people compare it: `$0.10 / h`, by the hour if billed by seconds."""
    if offer.billing <= SECOND:
        hourly = Fraction(offer.price.nanos * HOUR, offer.billing * NANOS)
        return f"{amount(hourly, currency)} / h"
    unit = {HOUR: "h", MINUTE: "min", DAY: "d"}.get(offer.billing) or duration(offer.billing)
    return f"{amount(offer.price, currency)} / {unit}"


def share(part: Fraction | float) -> str:
    """`83 %`; what is almost nothing or almost all has no figure."""
    if not part:
        return f"0{SPACE}%"
    if part < 0.01:
        return f"<{SPACE}1{SPACE}%"
    if part > 0.99:
        return f">{SPACE}99{SPACE}%"
    return f"{round(100 * part)}{SPACE}%"


def _three(value: float) -> str:
    """Three digits, however large."""
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
