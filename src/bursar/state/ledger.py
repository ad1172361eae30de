"""The ledger: every charge, as spans; what is committed, spent and left."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from bursar.model.errors import InvariantError
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import Time


class Charge(msgspec.Struct, frozen=True):
    """What one machine costs: its offer's price, as it was made, times the units it entered."""

    machine: int
    offer: Offer
    begin: Time
    end: Time
    """paid until, while the machine is up; gone since, afterwards"""
    is_open: bool
    """more may follow, and what is not used is given back"""

    @property
    def units(self) -> int:
        return self.offer.units(self.end - self.begin)

    @property
    def amount(self) -> Money:
        return self.offer.charge(self.end - self.begin)


class Ledger:
    """Exact sums over the charges.

    Invariant: `committed` is the sum of all charges' amounts, and at most the budget.
    """

    def __init__(self, budget: Money | None) -> None:
        self.budget = budget
        self.committed = ZERO
        """charges closed, and open ones up to the end of their lease"""
        self.spent = ZERO
        """charges closed"""
        self._open: dict[int, Charge] = {}
        self._closed: list[Charge] = []

    @property
    def left(self) -> Money | None:
        """What may still be committed; None: there is no budget."""
        return None if self.budget is None else self.budget - self.committed

    def can_pay(self, amount: Money) -> bool:
        return self.budget is None or self.committed + amount <= self.budget

    def can_extend(self, machine: int, until: Time) -> bool:
        """Whether the budget pays for this machine until then."""
        charge = self._open[machine]
        return self.can_pay(charge.offer.charge(until - charge.begin) - charge.amount)

    def commit(self, machine: int, offer: Offer, begin: Time, until: Time) -> None:
        charge = Charge(machine, offer, begin, until, is_open=True)
        self._open[machine] = charge
        self.committed += charge.amount

    def extend(self, machine: int, until: Time) -> None:
        old = self._open[machine]
        new = Charge(machine, old.offer, old.begin, until, is_open=True)
        self._open[machine] = new
        self.committed += new.amount - old.amount

    def close(self, machine: int, end: Time) -> Money:
        """The machine is gone: charge the units it entered and give back the rest."""
        old = self._open.pop(machine)
        new = Charge(machine, old.offer, old.begin, min(end, old.end), is_open=False)
        self._closed.append(new)
        self.committed += new.amount - old.amount
        self.spent += new.amount
        return old.amount - new.amount

    def void(self, machine: int) -> Money:
        """The machine was not available: nothing is charged for it."""
        amount = self._open.pop(machine).amount
        self.committed -= amount
        return amount

    def amount_of(self, machine: int) -> Money:
        """What a machine that is up has cost so far, to the end of its lease."""
        return self._open[machine].amount

    def charges(self) -> Iterator[Charge]:
        """All charges, closed ones first."""
        yield from self._closed
        yield from self._open.values()

    def check(self) -> None:
        total = sum((charge.amount for charge in self.charges()), ZERO)
        if total != self.committed:
            raise InvariantError(f"committed is {self.committed}, the charges sum to {total}")
        if self.budget is not None and self.committed > self.budget:
            raise InvariantError(f"committed {self.committed} of a budget of {self.budget}")
