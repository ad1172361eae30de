"""Budgets as people write them: an amount, or an amount for each interval.

5        5 USD        $5                for the whole run
5/h      5 USD/h      2.50/30m          for each hour, for each half hour
100/min  $5 per day   5 EUR/day
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

import msgspec

from bursar.model.amount import Amount
from bursar.model.errors import InputError, shown
from bursar.model.goal import Budget
from bursar.model.money import Money, format_money
from bursar.model.reading import read_amount
from bursar.model.time import DAY, HOUR, MINUTE, SECOND, Time, format_duration, parse_duration

_PER: Final = re.compile(r"\s*/\s*|\s+per\s+", re.IGNORECASE)
_NAMES: Final = {SECOND: "s", MINUTE: "min", HOUR: "h", DAY: "day"}
SHORTEST: Final[Time] = SECOND
"""interval of a budget that is written"""


class WrittenBudget(msgspec.Struct, frozen=True):
    """A budget, with its currency where it was written."""

    amount: Amount
    every: Time | None = None

    def within(self, currency: str) -> Budget:
        """The budget, if it is in this currency."""
        return Budget(self.amount.within(currency), self.every)


def read_budget(value: Any) -> WrittenBudget:
    """A budget of at least zero."""
    if not isinstance(value, str):
        return WrittenBudget(read_amount(value))
    amount, *intervals = _PER.split(value.strip())
    if not intervals:
        return WrittenBudget(read_amount(value))
    if len(intervals) > 1:
        raise InputError(f"{shown(value)} has two intervals; write for example 5/h")
    every = parse_duration(intervals[0])
    if every < SHORTEST:
        shortest = format_duration(SHORTEST)
        raise InputError(f"{shown(value)}: an interval has at least {shortest}; write it longer")
    return WrittenBudget(read_amount(amount), every)


def budget_in(currency: str, value: str | int | float | Decimal | Money) -> Budget:
    """A budget that somebody gives, in this currency."""
    return Budget(value) if isinstance(value, Money) else read_budget(value).within(currency)


def format_budget(budget: Budget, currency: str | None) -> str:
    """Print for people: `$2.50`, `$5.00/h`, `$2.50/30 min`."""
    return f"{format_money(budget.amount, currency)}{format_interval(budget.every)}"


def format_interval(every: Time | None) -> str:
    """What follows an amount: `/h`, or nothing where it is for the whole run."""
    if every is None:
        return ""
    return f"/{_NAMES.get(every) or format_duration(every).replace('.0 ', ' ')}"
