"""What people write about a study of a workload: utilizations, machines, placers."""

from __future__ import annotations

import re
from typing import Final

from bursar.model.errors import InputError, instead_of, shown
from bursar.model.numbers import parse_number, parse_whole
from bursar.simulate.placing import RULES, rule_of

STEP: Final = 0.05
"""between the utilizations of a range, as in the workflow thesis"""
MOST_STEPS: Final = 1000
MOST_MACHINES: Final = 1_000_000
_RANGE: Final = re.compile(r"([^:]+)\.\.([^:]+)(?::([^:]+))?")
_SPEED: Final = re.compile(r"(?:(\d{1,9})\s*x\s*)?(\S{1,40})")


def read_utilizations(text: str) -> tuple[float, ...]:
    """`0.9`, `0.5,0.9`, `0.5..0.98` (in steps of 0.05, and its end) or `0.5..0.9:0.1`."""
    found: set[float] = set()
    for part in text.split(","):
        between = _RANGE.fullmatch(part.strip())
        if between is None:
            found.add(_share(part))
            continue
        low, high = _share(between[1]), _share(between[2])
        step = STEP if between[3] is None else parse_number(between[3], 1e-6, 10)
        if low > high:
            raise InputError(f"{shown(part)}: write the lower utilization first")
        if (high - low) / step > MOST_STEPS:
            raise InputError(f"{shown(part)}: more than {MOST_STEPS:,} steps; use a larger step")
        count = int((high - low) / step + 1e-9)
        found.update(round(low + step * number, 9) for number in range(count + 1))
        found.add(high)
    return tuple(sorted(found))


def _share(text: str) -> float:
    return parse_number(text, 0.001, 10)


def read_speeds(text: str) -> tuple[float, ...]:
    """`50x1.5,50x0.5`: so many machines of that speed."""
    found: list[float] = []
    for part in text.split(","):
        match = _SPEED.fullmatch(part.strip())
        if match is None:
            raise InputError(f"{shown(part)} is not a number of machines; write for example 50x1.5")
        count = 1 if match[1] is None else parse_whole(match[1], 1, MOST_MACHINES)
        speed = parse_number(match[2], 1e-6, 1e6)
        if len(found) + count > MOST_MACHINES:
            raise InputError(f"more than {MOST_MACHINES:,} machines; use fewer")
        found += [speed] * count
    return tuple(found)


def read_placers(text: str) -> tuple[str, ...]:
    """Names with commas between them, each once, perhaps with parameters: `slop:f=0.8`."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise InputError(f"no placer; {instead_of('', RULES)}")
    for name in names:
        known = name.partition(":")[0]
        if known not in RULES:
            raise InputError(f"no placer {shown(known)} for workloads; {instead_of(known, RULES)}")
        rule_of(name)  # refuses parameters that it does not have
    return names
