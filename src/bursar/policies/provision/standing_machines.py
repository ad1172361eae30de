"""The machines that are there, in groups of those that are alike, for a plan of the rest."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.market import Offer
from bursar.model.time import SECOND, Time
from bursar.state.view import Machine, View

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PARTS: Final = 4
"""Machines whose boot, or paid time, ends in the same one of so many parts are alike."""


class GroupRow(msgspec.Struct):
    """A group, as it is put together."""

    offer: Offer
    place: int
    is_new: bool
    room: float
    begin: float
    paid: float
    held: float = 0.0
    running: float = 0.0


class _Alike(msgspec.Struct):
    """Machines of a group."""

    place: int
    """of the group among all"""
    members: list[Machine] = []


class _Terms(msgspec.Struct):
    """What is the same of all machines of an offer that were rented and paid for together."""

    key: tuple[int, int, int]
    """that of its group"""
    begin: float
    paid: float
    refund: float
    place: int
    """among all terms"""
    group: _Alike | None = None
    """once one of them is in it"""


class StandingMachines:
    """Machines that are there, those together that are alike."""

    def __init__(self, view: View, now: Time) -> None:
        self._view = view
        self._places = {offer.name: place for place, offer in enumerate(view.market.offers)}
        self._now = now
        self.groups: dict[tuple[int, int, int], _Alike] = {}
        self._terms: dict[tuple[str, Time, Time, bool], _Terms] = {}
        self._numbers: list[int] = []
        """machines that are in a group ..."""
        self._terms_of_each: list[int] = []
        """... and the places of their terms"""

    def count(
        self, machines: Iterable[Machine], dropped: AbstractSet[int], held: Floats
    ) -> tuple[float, float]:
        """Put machines in groups, but those that leave or are dropped.

        Returns what leaving now would give back, and what the dropped ones still cost. Machines
        are rented many at once: their terms are found once for all of them.
        """
        known, numbers, terms_of_each = self._terms, self._numbers, self._terms_of_each
        free = ending = 0.0
        for machine in machines:
            alike = machine.offer.name, machine.rented, machine.until, machine.up is None
            terms = known.get(alike)
            if terms is None:
                terms = known[alike] = self._terms_of(machine)
            free += terms.refund
            if machine.releasing or machine.doomed is not None:
                continue
            number = machine.id
            if number in dropped:
                ending += self._cost_of(machine, float(held[number]))
                continue
            group = terms.group
            if group is None:
                group = terms.group = self._group(terms.key)
            group.members.append(machine)
            numbers.append(number)
            terms_of_each.append(terms.place)
        return free, ending

    def _group(self, key: tuple[int, int, int]) -> _Alike:
        if key not in self.groups:
            self.groups[key] = _Alike(len(self.groups))
        return self.groups[key]

    def _terms_of(self, machine: Machine) -> _Terms:
        offer = machine.offer
        begin = self._view.boot_left(machine, self._now)
        paid = self._paid(machine)
        alike = max(offer.billing, offer.minimum, 10 * SECOND) // PARTS
        key = (
            self._places[offer.name],
            -(-begin * PARTS // max(1, self._view.boot_time(offer, self._now))),
            -(-paid // alike),
        )
        refund, place = refund_of(machine, self._now), len(self._terms)
        return _Terms(key, begin / SECOND, paid / SECOND, refund, place)

    def has(self, machines: Integers, count: int) -> NDArray[np.bool_]:
        """Which of some machines, whose numbers are below `count`, are in a group."""
        found = np.zeros(count, np.bool_)
        found[self._numbers] = True
        which: NDArray[np.bool_] = found[machines]
        return which

    def _paid(self, machine: Machine) -> Time:
        """For how long nothing more is charged, whatever happens."""
        offer = machine.offer
        end = machine.rented + offer.paid_for(self._now - machine.rented + 1)
        return max(0, end - self._now)

    def _cost_of(self, machine: Machine, held: float) -> float:
        """What it costs until its tasks have ended, in billionths."""
        over = held - self._paid(machine) / SECOND
        return max(0.0, over) / (machine.offer.billing / SECOND) * machine.offer.price.nanos

    def rows(self, held: Floats, work: Floats) -> list[GroupRow]:
        """The groups, with the means of their machines; `held` and `work` are by machine."""
        if not self.groups:
            return []
        terms = list(self._terms.values())
        of_each, numbers = np.array(self._terms_of_each), np.array(self._numbers)
        group_of = np.array([-1 if one.group is None else one.group.place for one in terms])
        begin, paid = np.array([one.begin for one in terms]), np.array([one.paid for one in terms])
        places, counts = group_of[of_each], [len(one.members) for one in self.groups.values()]
        columns = begin[of_each], paid[of_each], held[numbers], work[numbers]
        means = np.array([np.bincount(places, column) for column in columns]) / counts
        return [
            GroupRow(group.members[0].offer, key[0], False, len(group.members), *of_group)
            for (key, group), of_group in zip(self.groups.items(), means.T.tolist(), strict=True)
        ]


def refund_of(machine: Machine, now: Time) -> float:
    """What leaving now gives back, in billionths."""
    offer = machine.offer
    paid = offer.units(machine.until - machine.rented)
    return float((paid - min(paid, offer.units(now - machine.rented + 1))) * offer.price.nanos)
