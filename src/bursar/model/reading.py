"""Checking single values out of files and options: each takes anything and gives one kind.

The messages do not say where the value stands; who called knows, and says it before them.
"""

from __future__ import annotations

import tomllib
from decimal import Decimal
from typing import Any

from bursar.model.amount import Amount, parse_amount
from bursar.model.errors import InputError, one_line, shown
from bursar.model.money import ZERO
from bursar.model.numbers import LARGEST_WHOLE
from bursar.model.time import Time, parse_duration


def read_toml(text: str, source: str) -> dict[str, Any]:
    """A TOML file's tables; numbers with a point stay decimal, so that money stays exact."""
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except RecursionError:
        raise InputError(f"{source}: not valid TOML: nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{source}: not valid TOML: {one_line(str(error))}") from None


def read_amount(value: Any) -> Amount:
    """An amount of at least zero, with its currency where it is written."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise InputError('must be an amount, for example "0.10"')
    amount = parse_amount(value)
    if amount.money < ZERO:
        raise InputError(f"{amount.money} is negative; use 0 or more")
    return amount


def read_duration(value: Any, least: Time = 0) -> Time:
    """A duration with its unit, so that nobody has to guess it."""
    if not isinstance(value, str):
        raise InputError('must be a duration with its unit, for example "60s" or "1h"')
    time = parse_duration(value)
    if time < least:
        raise InputError(f"{shown(value)} is too short; write for example 1s or 1h")
    return time


def read_whole(value: Any, least: int = 0, most: int = LARGEST_WHOLE) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"must be a whole number from {least:,} to {most:,}")
    return value


def read_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError("must be true or false, without quotes")
    return value


def read_words(value: Any) -> str:
    """Text for people and for names: not empty, on one line."""
    if not isinstance(value, str) or not value.strip():
        raise InputError("must be text, and not empty")
    if not value.isprintable():
        raise InputError(f"{shown(value)} has characters that cannot be printed; remove them")
    return value
