"""What became of every machine of a run, and what was committed after each of their events.

Attempts are in the state's own columns. Machines that are gone are not, nor when they came up: this
keeps them, of events of machines alone, so that a reader may begin at a checkpoint.
"""

from __future__ import annotations

from array import array
from typing import Final

from bursar.model.market import Market, Offer
from bursar.model.time import Time
from bursar.state import events as ev

NEVER: Final = -1
CAUSES: Final[tuple[ev.DownCause | None, ...]] = (None, "released", "lost", "expired", "refused")


class MachineLog:
    """Machine `n` stands at index `n` of each column; index 0 is unused."""

    def __init__(self) -> None:
        self.market = Market("USD", "undated", ())
        self.offer = array("l", [0])
        """its place in the market"""
        self.rented = array("q", [0])
        self.up = array("q", [NEVER])
        """when it first came up"""
        self.until = array("q", [0])
        """paid until; of one that is gone, the end of what was charged"""
        self.gone = array("q", [NEVER])
        """when it stopped to cost money"""
        self.cause = bytearray([0])
        """a place in CAUSES"""
        self.committed_at = array("q", [0])
        self.committed = array("q", [0])
        """billionths, after each event that changed it"""
        self.fleet_at = array("q", [0])
        self.fleet = array("q", [0])
        """machines that boot or are up, after each event that changed it"""

    def __len__(self) -> int:
        return len(self.rented) - 1

    def offer_of(self, machine: int) -> Offer:
        return self.market.offers[self.offer[machine]]

    def name(self, machine: int) -> str:
        return f"{self.offer_of(machine).name}-{machine}"

    def cause_of(self, machine: int) -> ev.DownCause | None:
        return CAUSES[self.cause[machine]]

    def saw(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.RunCreated():
                self.market = event.market
            case ev.MachineRented():
                self._rented(event)
            case ev.LeaseExtended():
                machine = event.machine
                before = self._paid(machine)
                self.until[machine] = event.until
                self._commit(event.at, self._paid(machine) - before)
            case ev.MachineUp(at=at, machine=machine) if self.up[machine] == NEVER:
                self.up[machine] = at
            case ev.MachineDown():
                self._down(event)

    def _rented(self, event: ev.MachineRented) -> None:
        offer = self.market[event.offer]
        self.offer.append(self.market.offers.index(offer))
        self.rented.append(event.at)
        self.up.append(NEVER)
        self.until.append(event.until)
        self.gone.append(NEVER)
        self.cause.append(0)
        self._commit(event.at, self._paid(event.machine))
        self._count(event.at, 1)

    def _down(self, event: ev.MachineDown) -> None:
        machine = event.machine
        before = self._paid(machine)
        end = min(event.at if event.ended is None else event.ended, self.until[machine])
        self.gone[machine] = self.until[machine] = end
        self.cause[machine] = CAUSES.index(event.cause)
        paid = 0 if event.cause == "refused" else self._paid(machine)
        self._commit(event.at, paid - before)
        self._count(event.at, -1)

    def _paid(self, machine: int) -> int:
        return self.offer_of(machine).charge(self.until[machine] - self.rented[machine]).nanos

    def _commit(self, at: Time, nanos: int) -> None:
        if nanos:
            self.committed_at.append(at)
            self.committed.append(self.committed[-1] + nanos)

    def _count(self, at: Time, change: int) -> None:
        self.fleet_at.append(at)
        self.fleet.append(self.fleet[-1] + change)
