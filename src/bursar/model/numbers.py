"""Numbers as people write them: the digits 0 to 9, and nothing that only Python takes for a number.

Python's own `int` and `float` also read `nan`, `inf`, `1_000` and the digits of every script. A
number of a file or of the command line is read here instead, within limits that it has to keep.
"""

from __future__ import annotations

import math
import re
from typing import Final

from bursar.model.errors import InputError, shown

LARGEST_WHOLE: Final = 2**31 - 1
LARGEST_NUMBER: Final = 1e300
LAST_SEED: Final = 2**63 - 1

_WHOLE: Final = re.compile(r"[-+]?[0-9]{1,30}")
_NUMBER: Final = re.compile(
    r"[-+]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][-+]?[0-9]{1,3})?"
)


def parse_whole(text: str, least: int = 0, most: int = LARGEST_WHOLE) -> int:
    """A whole number from `least` to `most`."""
    cleaned = text.strip()
    if not _WHOLE.fullmatch(cleaned) or not least <= int(cleaned) <= most:
        raise InputError(f"{shown(text)} is not a whole number from {least:,} to {most:,}")
    return int(cleaned)


def parse_number(text: str, least: float = -LARGEST_NUMBER, most: float = LARGEST_NUMBER) -> float:
    """A number from `least` to `most`, never `nan`."""
    cleaned = text.strip()
    value = float(cleaned) if _NUMBER.fullmatch(cleaned) else math.nan
    if not least <= value <= most:
        limits = "" if most == LARGEST_NUMBER else f" from {least:g} to {most:g}"
        raise InputError(f"{shown(text)} is not a number{limits}")
    return value


def is_position(text: str, most: int) -> bool:
    """Whether this is the number of one of so many things, counted from 1."""
    return text.isascii() and text.isdecimal() and len(text) < 20 and 1 <= int(text) <= most
