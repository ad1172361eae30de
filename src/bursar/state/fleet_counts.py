"""Machines, slots and attempts by offer, without looking at all machines at every event."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from bursar.state.view import Machine, View


class OfferCounts(msgspec.Struct):
    """What there is of one offer."""

    booting: int = 0
    idle: int = 0
    """machines that are up and run nothing"""
    busy: int = 0
    leaving: int = 0
    """machines that are being released or will be taken away; they count nowhere above"""
    free: int = 0
    """slots without an attempt, of machines that stay, up or booting"""
    running: int = 0
    """attempts on machines that stay"""
    attempts: int = 0
    """on any machine"""
    wanted: int = 0
    """those of them that are not being cancelled"""

    def add(self, other: OfferCounts, sign: int) -> None:
        self.booting += sign * other.booting
        self.idle += sign * other.idle
        self.busy += sign * other.busy
        self.leaving += sign * other.leaving
        self.free += sign * other.free
        self.running += sign * other.running
        self.attempts += sign * other.attempts
        self.wanted += sign * other.wanted

    @property
    def up(self) -> int:
        """Machines that are up and stay."""
        return self.idle + self.busy

    @property
    def all(self) -> int:
        """Machines, also those that leave."""
        return self.booting + self.idle + self.busy + self.leaving


class ChangedMachines:
    """Which machines changed since the last time somebody asked here."""

    def __init__(self) -> None:
        self._seen: tuple[int, int] | None = None
        """the places in what changed from which on it was not told yet; None: nothing was"""

    def take(self, view: View) -> Iterable[int] | None:
        """None: look at all machines."""
        attempts, machines = view.changes.attempts, view.changes.machines
        before, self._seen = self._seen, (attempts.end, machines.end)
        if before is None:
            return None
        theirs, others = attempts.since(before[0]), machines.since(before[1])
        if theirs is None or others is None:
            return None
        at = view.log.machine
        return {*others, *(at[attempt] for attempt in theirs)}


class IdleChanges:
    """Idle machines, each once: again only when it has changed, or was busy meanwhile.

    For what only such a change can bring about: a machine that gives no money back when it is
    released now gives none later, unless its lease is extended.
    """

    def __init__(self) -> None:
        self._changed = ChangedMachines()

    def take(self, view: View) -> list[int]:
        """In the order of `view.idle`."""
        changed = self._changed.take(view)
        if changed is None:
            return list(view.idle)
        found = [number for number in changed if number in view.idle]
        if len(found) > 1:
            some = set(found)
            found = [number for number in view.idle if number in some]
        return found


class FleetCounts:
    """Follows what changed: `look` first."""

    def __init__(self) -> None:
        self._changed = ChangedMachines()
        self._by_offer: dict[str, OfferCounts] = {}
        self._of: dict[int, tuple[str, OfferCounts]] = {}
        """by machine, its offer and how it was counted"""

    def look(self, view: View) -> None:
        numbers = self._changed.take(view)
        if numbers is None:
            self._by_offer, self._of = {}, {}
            numbers = view.machines
        for number in numbers:
            if number in self._of:
                name, counted = self._of.pop(number)
                self._by_offer[name].add(counted, -1)
            machine = view.machines.get(number)
            if machine is not None:
                name, counted = machine.offer.name, _counts_of(machine, view)
                self._of[number] = name, counted
                self._by_offer.setdefault(name, OfferCounts()).add(counted, +1)

    def of(self, offer: str) -> OfferCounts:
        """Not to be changed."""
        return self._by_offer.get(offer) or OfferCounts()


def _counts_of(machine: Machine, view: View) -> OfferCounts:
    attempts = (*machine.attempts, *machine.waiting)
    wanted = sum(not view.attempts[number].cancelling for number in attempts)
    if machine.leaving:
        return OfferCounts(leaving=1, attempts=len(attempts), wanted=wanted)
    return OfferCounts(
        booting=int(machine.up is None),
        idle=int(machine.up is not None and not machine.attempts),
        busy=int(machine.up is not None and len(machine.attempts) > 0),
        free=machine.offer.slots - len(machine.attempts),
        running=len(attempts),
        attempts=len(attempts),
        wanted=wanted,
    )
