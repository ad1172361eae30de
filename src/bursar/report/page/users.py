"""Users of a service: what each may spend, has spent and when, wants and has."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from bursar.model.budget_text import format_budget
from bursar.model.money import ZERO
from bursar.model.time import Time
from bursar.report.page.numbers import amount
from bursar.state.charges import Charge
from bursar.state.state import RunState

PARTS: Final = 40
"""of the time of a run, in the strip that shows when a user's money was spent"""


class AccountRow(msgspec.Struct, frozen=True):
    account: str
    budget: str
    committed: str
    """in this interval, or in all"""
    share: float | None
    machines: int
    demand: int
    """slots that its ready and running tasks could use"""
    supply: int
    """slots of its machines that are up"""
    total: str
    """committed in all intervals"""
    spent: list[float]
    """in each part of the time, of the most that any user spent in one"""


def account_rows(state: RunState, now: Time) -> list[AccountRow]:
    """Where a run has several accounts; else none."""
    ledger = state.ledger
    if len(ledger.accounts) < 2:
        return []
    currency = state.market.currency
    machines = Counter(machine.account for machine in state.machines.values())
    totals = dict.fromkeys(ledger.accounts, ZERO)
    spent = {name: [0.0] * PARTS for name in ledger.accounts}
    for charge in ledger.charges():
        totals[charge.account] += charge.amount
        _spread(charge, spent[charge.account], max(1, now))
    most = max(max(parts) for parts in spent.values()) or 1.0
    rows = []
    for name in ledger.accounts:
        budget, left = ledger.budget_of(name), ledger.left_of(name, state.now)
        used = totals[name] if budget is None or left is None else budget.amount - left
        text = "no budget" if budget is None else format_budget(budget, currency)
        part = None if not budget or not budget.amount else used.nanos / budget.amount.nanos
        rows.append(
            AccountRow(
                account=name,
                budget=text,
                committed=amount(used, currency),
                share=part,
                machines=machines[name],
                demand=state.demand.now(name),
                supply=state.supply.now(name),
                total=amount(totals[name], currency),
                spent=[round(one / most, 3) for one in spent[name]],
            )
        )
    return rows


def _spread(charge: Charge, parts: list[float], now: Time) -> None:
    """Add a charge to the parts of the time from 0 to `now` over which its machine stayed."""
    begin, end = charge.begin * PARTS / now, min(charge.end, now) * PARTS / now
    first, last = min(PARTS - 1, int(begin)), min(PARTS - 1, int(end))
    whole = max(end - begin, 1e-9)
    for part in range(first, last + 1):
        inside = min(end, part + 1) - max(begin, part)
        parts[part] += charge.amount.nanos * (inside / whole if last > first else 1.0)
