"""Time: whole microseconds since the run began, so that billing boundaries are exact.

The simulated world and the compiled kernels use the same integers, which makes them comparable
draw by draw. Durations are written `90s`, `1.5m`, `1h` by people.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Final

from bursar.model.errors import InputError, shown

Time = int

MICROSECOND: Final[Time] = 1
MILLISECOND: Final[Time] = 1_000
SECOND: Final[Time] = 1_000_000
MINUTE: Final[Time] = 60 * SECOND
HOUR: Final[Time] = 60 * MINUTE
DAY: Final[Time] = 24 * HOUR
LONGEST: Final[Time] = 36_500 * DAY
"""A hundred years: sums of durations stay within 64 bits, so that compiled kernels hold them."""
FOREVER: Final[Time] = 2**62
"""Later than anything in a run."""

_WORDS: Final = {
    "sec": SECOND,
    "second": SECOND,
    "min": MINUTE,
    "minute": MINUTE,
    "hr": HOUR,
    "hour": HOUR,
    "day": DAY,
}
_UNITS: Final = {
    "us": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
    "d": DAY,
    **_WORDS,
    **{f"{word}s": unit for word, unit in _WORDS.items()},
}
_TENTHS: Final = ((HOUR, 2 * HOUR), (MINUTE, 2 * MINUTE), (SECOND, SECOND))
"""units of which tenths are printed, each from some time on"""
_STEPS: Final = ((SECOND, "s", MINUTE, "min"), (MINUTE, "min", HOUR, "h"))
_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z]+)\s*", re.ASCII)


def seconds(value: float) -> Time:
    """The time nearest to `value` seconds."""
    return round(value * SECOND)


def parse_duration(text: str) -> Time:
    """Read `90s`, `1.5m`, `1h`, `1h30m`, or a bare unit such as `hour` (one of it)."""
    cleaned = text.strip().lower()
    if not cleaned:
        raise InputError("an empty duration; write for example 90s, 1.5m or 1h")
    if cleaned in _UNITS:
        return _UNITS[cleaned]
    if len(cleaned) > 100:
        raise InputError(f"{shown(text)} is too long for a duration; write for example 1h")
    total, at = Decimal(0), 0
    while at < len(cleaned):
        part = _PART.match(cleaned, at)
        unit = _UNITS.get(part.group(2)) if part else None
        if part is None or unit is None:
            raise InputError(f"{shown(text)} is not a duration; write for example 90s, 1.5m or 1h")
        total += Decimal(part.group(1)) * unit
        at = part.end()
    if total > LONGEST:
        raise InputError(f"{shown(text)} is longer than {LONGEST // DAY:,} days; use less")
    return int(total.to_integral_value())


def read_duration(value: str | int | float | timedelta) -> Time:
    """The same from Python: a text, a number of seconds, or a `timedelta`; more than nothing."""
    if isinstance(value, str):
        time = parse_duration(value)
    elif isinstance(value, timedelta):
        time = value // timedelta(microseconds=1)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if not abs(value) <= LONGEST / SECOND:
            raise InputError(f"{shown(value)} is not a duration in seconds; write for example 90")
        time = seconds(value)
    else:
        raise InputError(
            f"{shown(value)} is not a duration; write 90s, 1.5m, a number of seconds or a timedelta"
        )
    if not 0 < time <= LONGEST:
        raise InputError(f"{shown(value)} is not a duration above zero; write for example 90s")
    return time


def _step_below_a_second(time: Time) -> Time:
    """The value of the last of three digits, in milliseconds."""
    if time >= 100 * MILLISECOND:
        return MILLISECOND
    return MILLISECOND // 10 if time >= 10 * MILLISECOND else MILLISECOND // 100


def format_duration(time: Time, *, up: bool = False) -> str:
    """Print a duration for people, with its unit and about three digits: `58.2 s`, `4.7 h`.

    Rounded to the nearest; with `up` never down, for a time that is enough when somebody types it
    as a deadline.
    """
    if up:
        step = next(
            (unit // 10 for unit, most in _TENTHS if time >= most), _step_below_a_second(time)
        )
        time = -(-time // step) * step
    if time < 0:
        return "-" + format_duration(-time)
    if 0 < time < MILLISECOND:
        return f"{time} us"
    if time < SECOND - MILLISECOND:
        return f"{time / MILLISECOND:.3g} ms"
    for unit, name, larger, larger_name in _STEPS:
        if time < 2 * larger:
            shown = f"{time / unit:.1f} {name}"
            return f"1.0 {larger_name}" if shown == f"60.0 {name}" else shown
    return f"{time / HOUR:.1f} h"
