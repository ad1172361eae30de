"""Bandwidths as people write them: `280 MB/s`, `10 Gbit/s`, `1.5 GiB/s`."""

from __future__ import annotations

import re
from typing import Any, Final

from bursar.model.errors import InputError, shown
from bursar.model.numbers import parse_number

_BANDWIDTH: Final = re.compile(r"([\d.]{1,20})\s*([kKMGT]?)(i?)(B|bit)/s")
_POWERS: Final = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}
MOST: Final = 1e15
"""bytes a second"""


def read_bandwidth(value: Any) -> float:
    """Bytes a second. `MB` is a million, `MiB` 2^20 bytes; `Mbit` an eighth of a million."""
    match = _BANDWIDTH.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or (match[3] and not match[2]):
        raise InputError(f'{shown(value)} is not a bandwidth; write for example "280 MB/s"')
    number, prefix, binary, unit = match.groups()
    found = parse_number(number) * (1024 if binary else 1000) ** _POWERS[prefix]
    found /= 8 if unit == "bit" else 1
    if not 1 <= found <= MOST:
        raise InputError(f"{shown(value)}: use 1 B/s to {MOST / 1e12:,.0f} TB/s")
    return float(found)
