"""`sample`: rent a few machines of every offer until the sample is there, then stop for a plan.

The decoupled sampling phase of the BaTS thesis (section 3.1.3, figure 3.2). Paid time is used to
its end: the machines go on with tasks of the bag, and are released when their lease ends, or at
once where that gives money back.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.actions import Extend, Release, Rent, Stop, Wake
from bursar.beliefs.book import SampleBook
from bursar.model.market import Offer
from bursar.model.time import Time
from bursar.view import Machine, View


class Sample:
    """Samples with `workers` machines of each offer until the book has `size` tasks."""

    def __init__(self, book: SampleBook, size: int, workers: int = 1) -> None:
        self.book = book
        self.size = size
        self.workers = workers

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        if not view.total:
            return ()
        if self.is_complete(view):
            return self._finish(view, now)
        rents = [rent for offer in view.market.offers for rent in self._missing(offer, view)]
        if not rents and not view.machines:
            return (Stop(self._why_not(view), "planned"),)
        return rents

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        if self.is_complete(view):
            return Release(machine.id, reason="the sample is complete")
        if self.book.is_hopeless(machine.offer.name):
            return Release(machine.id, reason="every task fails on this offer")
        return Extend(machine.id, reason="the sample is not complete")

    def is_complete(self, view: View) -> bool:
        return self.book.is_complete(view.market.offers, self.size, view.total)

    def _missing(self, offer: Offer, view: View) -> Iterable[Rent]:
        wanted = self.workers if offer.limit is None else min(self.workers, offer.limit)
        have = view.fleet.get(offer.name, 0)
        if self.book.is_hopeless(offer.name) or not view.ledger.can_pay(offer.entry_charge):
            return ()
        return [Rent(offer.name, reason="to sample") for _ in range(wanted - have)]

    def _why_not(self, view: View) -> str:
        offers = (offer for offer in view.market.offers if offer.limit != 0)
        if all(self.book.is_hopeless(offer.name) for offer in offers):
            return "every task fails on every offer"
        return "the money for the sample is used up"

    def _finish(self, view: View, now: Time) -> Iterable[Release | Stop]:
        if not view.machines:
            return (Stop("the sample is complete", "planned"),)
        return [
            Release(number, at_once=True, reason="the sample is complete")
            for number in view.idle
            if _is_spent(view.machines[number], self.book, now)
        ]


def _is_spent(machine: Machine, book: SampleBook, now: Time) -> bool:
    """Idle, and either leaving gives money back, or no task would end in the time that is left."""
    if machine.attempts:
        return False
    offer, stay = machine.offer, now - machine.rented
    mean = book.mean(offer.name)
    gives_back = offer.units(stay) < offer.units(machine.until - machine.rented)
    return gives_back or mean is None or now + mean > machine.until
