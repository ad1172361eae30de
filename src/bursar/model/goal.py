"""Goals: what the user wants and what must not be exceeded."""

from __future__ import annotations

import msgspec

from bursar.model.errors import InputError
from bursar.model.money import Money
from bursar.model.time import Time


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The most money that may be committed, once or in each interval.

    Intervals are counted from time zero of the run. A unit of a machine counts in the interval in
    which it is entered.
    """

    amount: Money
    every: Time | None = None
    """length of an interval; None: the amount is for the whole run"""

    def interval(self, at: Time) -> int:
        return 0 if self.every is None else at // self.every

    def next_refill(self, now: Time) -> Time | None:
        """When the next interval begins; None: there is none."""
        return None if self.every is None else (now // self.every + 1) * self.every


class Account(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Whose money it is. It pays for the work of the owner of this name."""

    name: str
    budget: Budget | None = None
    """None: no limit"""


class Goal(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Budget and deadline are limits; None means there is none.

    A run has one account, named "", which pays for everything; or several, each of which pays for
    the work of its owner.
    """

    budget: Money | None = None
    """the most money that may ever be committed; None only where nothing costs money"""
    deadline: Time | None = None
    """as a time of the run, which begins with its sample if it has one"""
    every: Time | None = None
    """the budget is for each interval of this length; None: for the whole run"""
    accounts: tuple[Account, ...] = ()
    """instead of one account with that budget; their names differ"""

    def budgets(self) -> dict[str, Budget | None]:
        """By account; a goal that contradicts itself is refused."""
        own = None if self.budget is None else Budget(self.budget, self.every)
        accounts = self.accounts or (Account("", own),)
        budgets = {account.name: account.budget for account in accounts}
        if len(budgets) < len(accounts):
            raise InputError("two accounts have the same name; rename one")
        if self.accounts and self.budget is not None:
            raise InputError("a run with several accounts has no budget but theirs; give one")
        if self.every is not None and self.budget is None:
            raise InputError("an interval is given, but no budget for it; give both")
        lengths = [one.every for one in budgets.values() if one is not None]
        if any(length is not None and length < 1 for length in lengths):
            raise InputError("a budget for no time at all; give an interval above zero")
        return budgets

    @classmethod
    def within(cls, budget: Budget | None, deadline: Time | None = None) -> Goal:
        """The goal of a run with one account."""
        if budget is None:
            return cls(deadline=deadline)
        return cls(budget.amount, deadline, budget.every)

    @property
    def total_budget(self) -> Money | None:
        """The most money that the whole run may commit; None: no amount limits it."""
        return self.budget if self.every is None else None

    def until(self, deadline: Time | None) -> Goal:
        """The same with another deadline."""
        return msgspec.structs.replace(self, deadline=deadline)

    def later(self, by: Time) -> Goal:
        """The same with the deadline put off by so much."""
        return self if self.deadline is None else self.until(self.deadline + by)


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How patient a run is with a task."""

    retries: int = 0
    """further attempts after an attempt that failed by its own fault"""
    timeout: Time | None = None
    """longest run time of one attempt; None: as long as it takes"""
