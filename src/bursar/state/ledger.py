"""The ledger: every charge, as spans, by account; what is committed, spent and left.

A charge is whole billing units. Each unit belongs to the interval of its account's budget in which
it is entered; units of the minimum charge are owed from the beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from bursar.model.errors import InvariantError
from bursar.model.goal import Budget
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import Time
from bursar.state.charges import Charge, ClosedCharges


class AccountSums:
    """What one account has committed, by the interval of its budget, in billionths.

    Invariant: no interval has more than the budget's amount.
    """

    def __init__(self, budget: Budget | None) -> None:
        self.budget = budget
        self.open = 0
        """charges that are open"""
        self.committed: dict[int, int] = {}
        """no interval without any"""

    def interval(self, at: Time) -> int:
        return 0 if self.budget is None else self.budget.interval(at)

    def left(self, interval: int) -> Money | None:
        """None: there is no budget."""
        if self.budget is None:
            return None
        return Money(self.budget.amount.nanos - self.committed.get(interval, 0))

    def add(self, charge: Charge, first: int, last: int, sign: int = 1) -> None:
        """Commit units `first` to `last` (not included) of a charge, or give them back."""
        price = charge.offer.price.nanos * sign
        for interval, units in self._spread(charge.offer, charge.begin, first, last):
            amount = self.committed.get(interval, 0) + units * price
            if amount:
                self.committed[interval] = amount
            else:
                self.committed.pop(interval, None)

    def payable(
        self, offer: Offer, begin: Time, first: int, last: int, machines: int = 1, part: int = 1
    ) -> int:
        """How many of these units can be paid, one after the other.

        For so many machines alike, and from one part in so many of what is left in an interval;
        but from all of it where an interval pays for all of them from its beginning to its end.
        """
        price, budget = offer.price.nanos, self.budget
        if budget is None or not price:
            return last - first
        amount, every = budget.amount.nanos, budget.every
        if every is None:
            left = amount - self.committed.get(0, 0)
            return min(last - first, max(0, left // (price * machines * part)))
        if amount >= price * machines * -(-every // offer.billing):
            machines = part = 1
        paid = 0
        for interval, units in _by_interval(every, offer, begin, first, last):
            left = amount - self.committed.get(interval, 0)
            room = max(0, left // (price * machines * part))
            paid += min(units, room)
            if units > room:
                break
        return paid

    def _spread(
        self, offer: Offer, begin: Time, first: int, last: int
    ) -> Iterable[tuple[int, int]]:
        """Intervals, ascending, and how many of these units are entered in each."""
        if self.budget is not None and self.budget.every is not None:
            return _by_interval(self.budget.every, offer, begin, first, last)
        return ((0, last - first),) if last > first else ()


def _by_interval(
    every: Time, offer: Offer, begin: Time, first: int, last: int
) -> Iterator[tuple[int, int]]:
    """The same for a budget per interval."""
    owed = offer.units(0)
    while first < last:
        interval = (begin if first < owed else begin + first * offer.billing) // every
        entered = -(-((interval + 1) * every - begin) // offer.billing)
        beyond = min(last, max(entered, owed if first < owed else 0))
        yield interval, beyond - first
        first = beyond


class Ledger:
    """Exact sums over the charges.

    Invariant: `committed` is the sum of all charges' amounts, and in each interval of each account
    at most the budget.
    """

    def __init__(self, budgets: Mapping[str, Budget | None]) -> None:
        self.now: Time = 0
        """of the last event: what is left now is that of the interval then"""
        self.committed = ZERO
        """charges closed, and open ones up to the end of their lease"""
        self.spent = ZERO
        """charges closed"""
        self._open: dict[int, Charge] = {}
        self._units: dict[int, int] = {}
        """by machine, those of its open charge"""
        self._closed = ClosedCharges()
        self._accounts = {name: AccountSums(budget) for name, budget in budgets.items()}

    def change(self, budgets: Mapping[str, Budget | None]) -> None:
        """Other budgets, perhaps by other intervals: the charges stay.

        An account that has charges keeps its budget where none is given for it.
        """
        kept = {charge.account: self.budget_of(charge.account) for charge in self.charges()}
        self._accounts = {n: AccountSums(budget) for n, budget in {**kept, **budgets}.items()}
        for charge in self.charges():
            sums = self._accounts[charge.account]
            sums.open += charge.is_open
            sums.add(charge, 0, charge.units)

    # --- reading ---------------------------------------------------------------------------------

    @property
    def accounts(self) -> tuple[str, ...]:
        return tuple(self._accounts)

    def budget_of(self, account: str) -> Budget | None:
        return self._accounts[account].budget

    def open_of(self, account: str) -> int:
        """How many charges of an account are open."""
        return self._accounts[account].open

    def left_of(self, account: str, now: Time) -> Money | None:
        """What an account may commit in the interval of `now`; None: it has no budget."""
        sums = self._accounts[account]
        return sums.left(sums.interval(now))

    def committed_in(self, account: str, interval: int) -> Money:
        return Money(self._accounts[account].committed.get(interval, 0))

    def committed_of(self, account: str) -> Money:
        """By an account, in all intervals."""
        return Money(sum(self._accounts[account].committed.values()))

    def most_by(self, budget: Budget, account: str | None = None) -> Money:
        """The most that is committed in an interval of such a budget, by all or by an account."""
        sums = AccountSums(budget)
        for charge in self.charges():
            if account is None or charge.account == account:
                sums.add(charge, 0, charge.units)
        return Money(max(sums.committed.values(), default=0))

    def next_refill(self, account: str, now: Time) -> Time | None:
        """When the next interval of an account's budget begins; None: there is none."""
        budget = self._accounts[account].budget
        return None if budget is None else budget.next_refill(now)

    @property
    def budget(self) -> Money | None:
        """What all accounts together may commit in an interval; None: one has no budget."""
        amounts = [s.budget.amount for s in self._accounts.values() if s.budget is not None]
        return sum(amounts, ZERO) if len(amounts) == len(self._accounts) else None

    @property
    def left(self) -> Money | None:
        """What all accounts together may commit now; None: one of them has no budget."""
        total = ZERO
        for account in self._accounts:
            left = self.left_of(account, self.now)
            if left is None:
                return None
            total += left
        return total

    def can_pay(self, amount: Money) -> bool:
        """Whether an account can pay this much now."""
        lefts = (self.left_of(account, self.now) for account in self._accounts)
        return any(left is None or amount <= left for left in lefts)

    def payable(
        self,
        account: str,
        offer: Offer,
        begin: Time,
        units: tuple[int, int],
        machines: int = 1,
        part: int = 1,
    ) -> int:
        """See `AccountSums.payable`."""
        return self._accounts[account].payable(offer, begin, *units, machines, part)

    def units_of(self, machine: int) -> int:
        """Units that a machine which is not down has paid."""
        return self._units[machine]

    def amount_of(self, machine: int) -> Money:
        """What a machine that is up has cost so far, to the end of its lease."""
        return self._open[machine].amount

    def charges(self) -> Iterator[Charge]:
        """All charges, closed ones first."""
        yield from self._closed
        yield from self._open.values()

    # --- changing --------------------------------------------------------------------------------

    def commit(
        self, machine: int, offer: Offer, begin: Time, until: Time, account: str = ""
    ) -> None:
        charge = Charge(machine, offer, begin, until, is_open=True, account=account)
        self._open[machine] = charge
        units = self._units[machine] = charge.units
        self.committed += offer.price * units
        sums = self._accounts[account]
        sums.open += 1
        sums.add(charge, 0, units)

    def extend(self, machine: int, until: Time) -> None:
        old = self._open[machine]
        new = msgspec.structs.replace(old, end=until)
        self._open[machine] = new
        sums, before, after = self._accounts[old.account], self._units[machine], new.units
        self._units[machine] = after
        nanos = old.offer.price.nanos * (after - before)
        self.committed = Money(self.committed.nanos + nanos)
        if before <= after:
            sums.add(new, before, after)
        else:
            sums.add(old, after, before, sign=-1)

    def close(self, machine: int, end: Time, *, was_lost: bool = False) -> Money:
        """The machine is gone: charge the units it entered and give back the rest."""
        old, paid = self._open.pop(machine), self._units.pop(machine)
        new = msgspec.structs.replace(old, end=min(end, old.end), is_open=False, was_lost=was_lost)
        self._closed.append(new)
        entered, price = new.units, old.offer.price
        back = price * (paid - entered)
        self.committed -= back
        self.spent += price * entered
        sums = self._accounts[old.account]
        sums.open -= 1
        sums.add(old, entered, paid, sign=-1)
        return back

    def void(self, machine: int) -> Money:
        """The machine was not available: nothing is charged for it."""
        old, paid = self._open.pop(machine), self._units.pop(machine)
        amount = old.offer.price * paid
        self.committed -= amount
        sums = self._accounts[old.account]
        sums.open -= 1
        sums.add(old, 0, paid, sign=-1)
        return amount

    # --- verifying -------------------------------------------------------------------------------

    def check(self) -> None:
        total = sum((charge.amount for charge in self.charges()), ZERO)
        if total != self.committed:
            raise InvariantError(f"committed is {self.committed}, the charges sum to {total}")
        if self._units != {number: charge.units for number, charge in self._open.items()}:
            raise InvariantError("the units that are paid are not those of the open charges")
        summed = {name: AccountSums(sums.budget) for name, sums in self._accounts.items()}
        for charge in self.charges():
            summed[charge.account].add(charge, 0, charge.units)
        for name, sums in self._accounts.items():
            self._check_account(name, sums, summed[name])

    def _check_account(self, name: str, sums: AccountSums, summed: AccountSums) -> None:
        account = f"account {name!r}" if name else "the account"
        sums_now = sums.committed
        if sums_now != summed.committed:
            raise InvariantError(f"{account} has {sums_now} by interval, not {summed.committed}")
        if sums.budget is not None and max(sums_now.values(), default=0) > sums.budget.amount.nanos:
            raise InvariantError(f"{account} has committed {sums_now} of a budget of {sums.budget}")
