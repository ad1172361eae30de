"""Spot machines as they came and went: traces of how many were available, replayed as seats.

A trace with at most n instances has
n seats: seat k is there while the value is above k. A rented machine takes a seat; the
machine is lost when its seat goes, and nobody gets one where no seat is there and free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from bursar.model.time import Time
from bursar.simulate.unreliable import Overlay
from bursar.simulate.world import Behaviour
from bursar.state.view import Machine


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


class _TracePlace:
    """A place in a trace, and the machine that has it."""

    __slots__ = ("number", "taker", "trace")

    def __init__(self, trace: SpotTrace, number: int) -> None:
        self.trace = trace
        self.number = number
        self.taker: Machine | None = None

    def can_be_had(self, at: Time) -> bool:
        return (self.taker is None or self.taker.down) and self.trace.has(self.number, at)


class TracedMachines(Overlay):
    """Machines of some offers take seats of traces; attempts are left to the behaviour below."""

    def __init__(
        self,
        below: Behaviour,
        traces: Mapping[str, Sequence[SpotTrace]],
        *,
        offset: Time = 0,
        notice: Time = 0,
    ) -> None:
        super().__init__(below)
        self._seats = {
            offer: [_TracePlace(trace, number) for trace in some for number in range(trace.seats)]
            for offer, some in traces.items()
        }
        """by offer; each has the seats of its traces to itself"""
        self._taken: dict[int, _TracePlace] = {}
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
