"""Spot traces: how many instances were available, every so many seconds, as JSON.

    {"metadata": {"gap_seconds": 300}, "data": [0, 0, 3, 4, 4, 1]}

This is the form of the traces of "Can't Be Late" (NSDI 2024).
"""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Final

import msgspec

from bursar.formats.files import read_text, source_name
from bursar.model.errors import InputError, one_line, shown
from bursar.model.time import DAY, MICROSECOND, SECOND, Time, seconds
from bursar.simulate.spot_trace import SpotTrace

LONGEST_GAP: Final[Time] = 365 * DAY
MOST_VALUES: Final = 5_000_000
MOST_SEATS: Final = 100_000


class _Metadata(msgspec.Struct):
    gap_seconds: float


class _TraceFile(msgspec.Struct):
    metadata: _Metadata
    data: list[int]


def read_spot_trace(path: str | Path) -> SpotTrace:
    """Read a trace; a mistake is reported in one line."""
    source = source_name(path)
    text = read_text(path, "spot trace")
    try:
        found = msgspec.json.decode(text, type=_TraceFile)
    except msgspec.ValidationError as error:
        raise InputError(
            f"{source}: not a spot trace: {one_line(str(error))}; it needs"
            ' {"metadata": {"gap_seconds": 300}, "data": [0, 1, 2]}'
        ) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{source}: not valid JSON: {one_line(str(error))}") from None
    return SpotTrace(_gap_of(found, source), _values_of(found, source))


def _gap_of(found: _TraceFile, source: str) -> Time:
    gap = found.metadata.gap_seconds
    if not isfinite(gap) or not MICROSECOND / SECOND <= gap <= LONGEST_GAP / SECOND:
        raise InputError(f"{source}: gap_seconds is {gap:g}; it must be above 0 and at most a year")
    return seconds(gap)


def _values_of(found: _TraceFile, source: str) -> tuple[int, ...]:
    values = found.data
    if not values:
        raise InputError(f"{source}: data is empty; it needs at least one value")
    if len(values) > MOST_VALUES:
        raise InputError(f"{source}: more than {MOST_VALUES:,} values; use a part of it")
    for number, value in enumerate(values, 1):
        if not 0 <= value <= MOST_SEATS:
            raise InputError(
                f"{source}: value {number} of data is {shown(value)};"
                f" use instances from 0 to {MOST_SEATS:,}"
            )
    if not any(values):
        raise InputError(f"{source}: no instance is ever available; use another trace")
    return tuple(values)
