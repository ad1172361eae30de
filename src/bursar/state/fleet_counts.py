"""Machines, slots and attempts by offer and account, kept up to date by what changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from bursar.model.time import Time
from bursar.state.view import Machine, View


class OfferCounts(msgspec.Struct):
    """What there is of one offer, or of some of its machines."""

    booting: int = 0
    idle: int = 0
    """machines that are up and run nothing"""
    busy: int = 0
    marked: int = 0
    """those of all these that are let go at the end of their paid time"""
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
        self.marked += sign * other.marked
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
    def kept(self) -> int:
        """Machines that boot or are up, and were not let go."""
        return self.booting + self.up - self.marked

    @property
    def all(self) -> int:
        """Machines, also those that leave."""
        return self.booting + self.idle + self.busy + self.leaving


class ChangedMachines:
    """Which machines changed since the last time somebody asked here."""

    def __init__(self) -> None:
        self._seen: tuple[int, int] | None = None
        """the places in what changed from which on nobody was answered yet; None: nothing was"""

    def take(self, view: View) -> Iterable[int] | None:
        """None: look at all machines."""
        attempts, machines = view.changes.attempts, view.changes.machines
        before, self._seen = self._seen, (attempts.end, machines.end)
        if before is None:
            return None
        theirs, others = attempts.since(before[0]), machines.since(before[1])
        if theirs is None or others is None:
            return None
        return {*others, *map(view.log.machine.__getitem__, theirs)}


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


class IdleSince:
    """Since when each idle machine is idle, or has changed while it was. `look` first.

    Attempts may have ended at any time since the last look; in any other way machines change only
    in moments in which somebody looks.
    """

    def __init__(self) -> None:
        self._seen: tuple[int, int] | None = None
        """the places in what changed from which on nobody has looked; None: nobody ever did"""
        self._since: dict[int, Time] = {}
        """by machine, for those that were idle when last looked at, and some that are not now"""

    def look(self, view: View, now: Time) -> None:
        attempts, machines = view.changes.attempts, view.changes.machines
        before, self._seen = self._seen, (attempts.end, machines.end)
        ended = None if before is None else attempts.since(before[0])
        changed = None if before is None else machines.since(before[1])
        if ended is None or changed is None:
            ended, changed = (), tuple(view.idle)
        log, idle = view.log, view.idle
        for attempt in ended:
            machine = log.machine[attempt]
            if machine in idle:
                self._since[machine] = max(log.started[attempt], log.ended[attempt])
        for machine in changed:
            if machine in idle:
                self._since[machine] = now

    def forget_busy(self, view: View) -> None:
        for number in [number for number in self._since if number not in view.idle]:
            del self._since[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._since)

    def __getitem__(self, machine: int) -> Time:
        return self._since[machine]


class FleetCounts:
    """Follows what changed: `look` first."""

    def __init__(self) -> None:
        self._changed = ChangedMachines()
        self._by_account: dict[str, dict[str, OfferCounts]] = {}
        """by account, then by offer"""
        self._of: dict[int, tuple[OfferCounts, OfferCounts]] = {}
        """by machine, where and as what it was counted"""

    def look(self, view: View) -> None:
        numbers = self._changed.take(view)
        if numbers is None:
            self._by_account, self._of = {}, {}
            numbers = view.machines
        for number in numbers:
            if number in self._of:
                whole, counted = self._of.pop(number)
                whole.add(counted, -1)
            machine = view.machines.get(number)
            if machine is not None:
                whole, counted = self._whole(machine), _counts_of(machine, view)
                self._of[number] = whole, counted
                whole.add(counted, +1)

    def _whole(self, machine: Machine) -> OfferCounts:
        """That in which a machine is counted."""
        by_offer = self._by_account.setdefault(machine.account, {})
        found = by_offer.get(machine.offer.name)
        if found is None:
            found = by_offer[machine.offer.name] = OfferCounts()
        return found

    @property
    def accounts(self) -> Sequence[str]:
        """Those that have had machines."""
        return tuple(self._by_account)

    def of(self, offer: str, account: str | None = None) -> OfferCounts:
        """Machines of an offer, of all accounts or of one; not to be changed."""
        if account is None and len(self._by_account) > 1:
            found = OfferCounts()
            for by_offer in self._by_account.values():
                if offer in by_offer:
                    found.add(by_offer[offer], +1)
            return found
        if account is None:
            account = next(iter(self._by_account), "")
        return self._by_account.get(account, {}).get(offer) or OfferCounts()

    def staying(self, offer: str, account: str | None = None) -> int:
        """Machines of an offer that boot or are up and stay, of all accounts or of one."""
        accounts = self._by_account if account is None else (account,)
        found = 0
        for one in accounts:
            counts = self._by_account.get(one, {}).get(offer)
            if counts is not None:
                found += counts.booting + counts.idle + counts.busy
        return found

    def of_account(self, account: str) -> OfferCounts:
        """Its machines of all offers."""
        found = OfferCounts()
        for counts in self._by_account.get(account, {}).values():
            found.add(counts, +1)
        return found


def _counts_of(machine: Machine, view: View) -> OfferCounts:
    attempts = (*machine.attempts, *machine.waiting)
    wanted = sum(not view.attempts[number].cancelling for number in attempts)
    if machine.leaving:
        return OfferCounts(leaving=1, attempts=len(attempts), wanted=wanted)
    return OfferCounts(
        booting=int(machine.up is None),
        idle=int(machine.up is not None and not machine.attempts),
        busy=int(machine.up is not None and len(machine.attempts) > 0),
        marked=int(machine.marked),
        free=machine.offer.slots - len(machine.attempts),
        running=len(attempts),
        attempts=len(attempts),
        wanted=wanted,
    )
