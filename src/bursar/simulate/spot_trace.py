"""Spot machines as they came and went: traces of how many were to be had, replayed as seats.

A trace is a JSON file that says every so many seconds how many instances were available:

    {"metadata": {"gap_seconds": 300}, "data": [0, 0, 3, 4, 4, 1]}

This is the form of the traces of "Can't Be Late" (NSDI 2024). A trace with at most n instances has
n seats: seat k is there while the value is above k. Whoever rents a machine takes a seat; the
machine is lost when its seat goes, and nobody gets one where no seat is there and free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Final

import msgspec

from bursar.model.errors import InputError, one_line, shown
from bursar.model.files import read_text, source_name
from bursar.model.time import DAY, MICROSECOND, SECOND, Time, seconds
from bursar.simulate.pools import Overlay
from bursar.simulate.world import Fortune
from bursar.view import Machine

LONGEST_GAP: Final[Time] = 365 * DAY
MOST_VALUES: Final = 5_000_000
MOST_SEATS: Final = 100_000


class SpotTrace(msgspec.Struct, frozen=True):
    """How many instances are available, a value every `gap`; at its end it begins again."""

    gap: Time
    available: tuple[int, ...]

    @property
    def seats(self) -> int:
        return max(self.available)

    @property
    def length(self) -> Time:
        return self.gap * len(self.available)

    def has(self, seat: int, at: Time) -> bool:
        return self.available[at // self.gap % len(self.available)] > seat

    def stays(self, seat: int, at: Time) -> Time | None:
        """For how long a seat that is there stays; None: for ever."""
        first = at // self.gap
        count = len(self.available)
        for step in range(1, count + 1):
            if self.available[(first + step) % count] <= seat:
                return (first + step) * self.gap - at
        return None


class _Metadata(msgspec.Struct):
    gap_seconds: float


class _File(msgspec.Struct):
    metadata: _Metadata
    data: list[int]


def read_spot_trace(path: str | Path) -> SpotTrace:
    """Read a trace; whatever is wrong with it is told in one line."""
    source = source_name(path)
    text = read_text(path, "spot trace")
    try:
        found = msgspec.json.decode(text, type=_File)
    except msgspec.ValidationError as error:
        raise InputError(
            f"{source}: not a spot trace: {one_line(str(error))}; it needs"
            ' {"metadata": {"gap_seconds": 300}, "data": [0, 1, 2]}'
        ) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{source}: not valid JSON: {one_line(str(error))}") from None
    return SpotTrace(_gap_of(found, source), _values_of(found, source))


def _gap_of(found: _File, source: str) -> Time:
    gap = found.metadata.gap_seconds
    if not isfinite(gap) or not MICROSECOND / SECOND <= gap <= LONGEST_GAP / SECOND:
        raise InputError(f"{source}: gap_seconds is {gap:g}; it must be above 0 and at most a year")
    return seconds(gap)


def _values_of(found: _File, source: str) -> tuple[int, ...]:
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


class _Seat:
    """A place in a trace, and the machine that has it."""

    __slots__ = ("number", "taker", "trace")

    def __init__(self, trace: SpotTrace, number: int) -> None:
        self.trace = trace
        self.number = number
        self.taker: Machine | None = None

    def can_be_had(self, at: Time) -> bool:
        return (self.taker is None or self.taker.down) and self.trace.has(self.number, at)


class SpotSeats(Overlay):
    """Machines of some offers take seats of traces; attempts are left to the fortune below."""

    def __init__(
        self,
        below: Fortune,
        traces: Mapping[str, Sequence[SpotTrace]],
        *,
        offset: Time = 0,
        notice: Time = 0,
    ) -> None:
        super().__init__(below)
        self._seats = {
            offer: [_Seat(trace, number) for trace in some for number in range(trace.seats)]
            for offer, some in traces.items()
        }
        """by offer; each has the seats of its traces to itself"""
        self._taken: dict[int, _Seat] = {}
        """by machine, also those that are down"""
        self._offset = offset
        """where in the traces the run begins"""
        self._notice = notice

    def boot(self, machine: Machine) -> Time | None:
        """As below, if a seat is available when the machine is rented."""
        seats = self._seats.get(machine.offer.name)
        if seats is not None:
            at = machine.rented + self._offset
            seat = next((seat for seat in seats if seat.can_be_had(at)), None)
            if seat is None:
                return None
            seat.taker = machine
            self._taken[machine.id] = seat
        return super().boot(machine)

    def life(self, machine: Machine) -> Time | None:
        seat = self._taken.get(machine.id)
        lives = super().life(machine)
        if seat is None:
            return lives
        stays = seat.trace.stays(seat.number, machine.rented + self._offset)
        if lives is None or stays is None:
            return lives if stays is None else stays
        return min(lives, stays)

    def notice(self, machine: Machine) -> Time:
        return self._notice if machine.id in self._taken else super().notice(machine)
