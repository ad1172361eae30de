"""Time: whole microseconds since the run began, so that billing boundaries are exact.

The simulated world and the compiled kernels use the same integers, which makes them comparable
draw by draw. Durations are written `90s`, `1.5m`, `1h` by people.
"""

import re
from decimal import Decimal
from typing import Final

from bursar.model.errors import InputError


Time = int

MICROSECOND: Final[Time] = 1
SECOND: Final[Time] = 1_000_000
MINUTE: Final[Time] = 60 * SECOND
HOUR: Final[Time] = 60 * MINUTE
DAY: Final[Time] = 24 * HOUR

_UNITS: Final = {
    "us": MICROSECOND,
    "ms": 1_000,
    "s": SECOND,
    "sec": SECOND,
    "second": SECOND,
    "m": MINUTE,
    "min": MINUTE,
    "minute": MINUTE,
    "h": HOUR,
    "hour": HOUR,
    "d": DAY,
    "day": DAY,
}
_PART: Final = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)?\s*([a-z]+)\s*")


def seconds(value: float) -> Time:
    """The time nearest to `value` seconds."""
    return round(value * SECOND)


def parse_duration(text: str) -> Time:
    """Read `90s`, `1.5m`, `1h`, `1h30m`, or a bare unit such as `hour` (one of it)."""
    total, at = Decimal(0), 0
    cleaned = text.strip().lower()
    while at < len(cleaned):
        part = _PART.match(cleaned, at)
        name = part.group(2) if part else ""
        unit = _UNITS.get(name) or _UNITS.get(name.removesuffix("s"))
        if part is None or unit is None or (part.group(1) is None and at > 0):
            raise InputError(f"'{text}' is no duration; write for example 90s, 1.5m or 1h")
        total += Decimal(part.group(1) or 1) * unit
        at = part.end()
    if not cleaned:
        raise InputError("an empty duration; write for example 90s, 1.5m or 1h")
    return int(total.to_integral_value())


def format_duration(time: Time) -> str:
    """Print a duration for people, with its unit and about three digits: `58.2 s`, `4.7 h`."""
    if time < 0:
        return "-" + format_duration(-time)
    if time < SECOND:
        return f"{time / 1000:.0f} ms"
    if time < 2 * MINUTE:
        return f"{time / SECOND:.1f} s"
    if time < 2 * HOUR:
        return f"{time / MINUTE:.1f} min"
    return f"{time / HOUR:.1f} h"
