"""How a bag is spread over unreliable and reliable machines (ExPERT, section 3): NTDMr."""

from __future__ import annotations

from enum import IntEnum
from math import ceil
from typing import Final

import msgspec

from bursar.model.errors import InputError, shown
from bursar.model.money import Money
from bursar.model.numbers import parse_number, parse_whole
from bursar.model.time import LONGEST, Time, format_duration, parse_duration

STATIC: Final = ("AR", "TRR", "TR", "AUR", "CN-inf", "CN1T0")
"""Strategies that users know from experience (section 5.3), which can be asked for by name; beside
them `B=7.5`, with any budget."""

INTERIM: Final = "combined"
"""The name of a strategy that holds until the tail begins, on which is decided then."""


class Kind(IntEnum):
    """What a strategy does besides N, T, D and Mr."""

    NTDMR = 0
    ALL_RELIABLE = 1
    """the unreliable pool is not used at all"""
    BUDGET = 2
    """all that remains is sent to the reliable pool, too, once the budget will pay for that"""
    COMBINED = 3
    """reliable machines take from the unreliable queue whatever finds no unreliable machine"""
    COMBINED_THEN_BOTH = 4
    """the same until the tail begins; then each task is queued once more for each pool"""


class Strategy(msgspec.Struct, frozen=True):
    """NTDMr: what is done with a task that has no result yet when the tail begins."""

    copies: int | None
    """N: instances for the unreliable pool; one more goes to the reliable pool. None: no end"""
    timeout: Time
    """T: from sending an instance to queueing the next one"""
    deadline: Time
    """D: from sending an instance to giving it up; until then a late result is accepted"""
    ratio: float
    """Mr: reliable machines for each unreliable one; above 1 only where both are combined"""
    name: str = ""
    kind: Kind = Kind.NTDMR
    budget: Money | None = None
    """of the whole bag, for the kind that has one"""

    def __post_init__(self) -> None:
        if self.copies is not None and self.copies < 0:
            raise InputError(f"{self.copies} copies of a task; use 0 or more")
        if not 0 <= self.timeout <= self.deadline or self.deadline < 1:
            raise InputError("a strategy's timeout must be between 0 and its deadline")
        if self.ratio < 0 or (self.ratio > 1 and self.kind != Kind.COMBINED):
            raise InputError(f"a ratio of {self.ratio:g} reliable machines; use 0 to 1")
        if self.needs_reliable and self.ratio == 0:
            raise InputError("a strategy that ends on reliable machines needs a ratio above 0")
        if (self.kind == Kind.BUDGET) != (self.budget is not None):
            raise InputError("a strategy of the kind 'budget', and no other, has a budget")

    @property
    def needs_reliable(self) -> bool:
        return self.copies is not None or self.kind in (Kind.ALL_RELIABLE, Kind.BUDGET)

    def reliable_machines(self, unreliable: int) -> int:
        """How many reliable machines stand beside so many unreliable ones (section 4.4)."""
        return ceil(self.ratio * unreliable - 1e-9)

    @property
    def is_timed(self) -> bool:
        """Whether it is known how long its instances are waited for."""
        return self.deadline < LONGEST

    @property
    def is_interim(self) -> bool:
        """Whether it holds until the tail begins."""
        return self.name == INTERIM

    def timed(self, deadline: Time) -> Strategy:
        """The same, with a deadline where it has none yet, and a timeout no longer than that."""
        if self.is_timed:
            return self
        timeout = min(self.timeout, deadline)
        return msgspec.structs.replace(self, timeout=timeout, deadline=deadline)

    def __str__(self) -> str:
        """As people write it; `read_strategy` reads it."""
        if self.name:
            return self.name
        copies = "inf" if self.copies is None else str(self.copies)
        times = f"T={format_duration(self.timeout)}, D={format_duration(self.deadline)}"
        return f"N={copies}, {times}, Mr={self.ratio:g}"


def write_strategy(strategy: Strategy) -> str:
    """Write N, T, D and Mr so that `read_strategy` reads exactly these."""
    copies = "inf" if strategy.copies is None else strategy.copies
    times = f"T={strategy.timeout}us,D={strategy.deadline}us"
    return f"N={copies},{times},Mr={strategy.ratio!r}"


def read_strategy(text: str) -> Strategy:
    """Read `N=3, T=30m, D=1h, Mr=0.1`, or the name of a static strategy.

    N may be `inf`. What a static strategy waits for is known once results are: see `timed`.
    """
    if text.strip() in STATIC or text.strip().startswith("B="):
        return _static(text.strip())
    parts = dict(_part(one, text) for one in text.split(","))
    if set(parts) != {"N", "T", "D", "Mr"}:
        raise _mistake(text)
    try:
        copies = None if parts["N"] == "inf" else parse_whole(parts["N"])
        ratio = parse_number(parts["Mr"])
    except InputError:
        raise _mistake(text) from None
    return Strategy(copies, parse_duration(parts["T"]), parse_duration(parts["D"]), ratio)


def _part(one: str, text: str) -> tuple[str, str]:
    name, equals, value = one.partition("=")
    if not equals:
        raise _mistake(text)
    return name.strip(), value.strip()


def _static(name: str) -> Strategy:
    if name.startswith("B="):
        budget = Money.parse(name.removeprefix("B="))
        return Strategy(None, LONGEST, LONGEST, 1.0, name, Kind.BUDGET, budget)
    copies, timeout, kind = {
        "AR": (0, 0, Kind.ALL_RELIABLE),
        "TRR": (0, 0, Kind.NTDMR),
        "TR": (0, LONGEST, Kind.NTDMR),
        "AUR": (None, LONGEST, Kind.NTDMR),
        "CN-inf": (None, LONGEST, Kind.COMBINED),
        "CN1T0": (1, 0, Kind.COMBINED_THEN_BOTH),
    }[name]
    return Strategy(copies, timeout, LONGEST, 1.0, name, kind)


def _mistake(text: str) -> InputError:
    return InputError(
        f"{shown(text)} is not a strategy; write N=3,T=30m,D=1h,Mr=0.1, B=7.50 for a budget, or"
        f" {', '.join(STATIC)}"
    )
