"""Users of the service: their budgets, and what they use of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from bursar.model.budget_text import format_budget
from bursar.model.time import SECOND, Time
from bursar.state.state import RunState


class UserStatus(msgspec.Struct, frozen=True):
    """What a user may spend, and has; amounts are exact, as texts."""

    name: str
    currency: str
    budget: str | None
    """as it was given: $100.00/min; None: no limit"""
    amount: str | None
    """the same as a number, for each interval"""
    every_s: float | None
    """length of an interval"""
    committed: str
    """in this interval"""
    left: str | None
    refill_s: float | None
    """until the next interval begins"""
    committed_total: str
    """in all intervals"""
    demand: int
    """slots that tasks which are ready or run could use"""
    supply: int
    """slots of the machines"""
    machines: dict[str, int]
    """by offer, those that boot or are up"""


def users_of(state: RunState, names: Sequence[str], now: Time) -> list[UserStatus]:
    """In the engine's thread."""
    machines: dict[str, Counter[str]] = {name: Counter() for name in names}
    for machine in state.machines.values():
        if machine.account in machines:
            machines[machine.account][machine.offer.name] += 1
    return [_user(state, name, machines[name], now) for name in names]


def _user(state: RunState, name: str, machines: Counter[str], now: Time) -> UserStatus:
    ledger, currency = state.ledger, state.market.currency
    budget = ledger.budget_of(name)
    refill = None if budget is None else budget.next_refill(now)
    committed = ledger.committed_in(name, 0 if budget is None else budget.interval(now))
    left = ledger.left_of(name, now)
    return UserStatus(
        name=name,
        currency=currency,
        budget=None if budget is None else format_budget(budget, currency),
        amount=None if budget is None else str(budget.amount),
        every_s=None if budget is None or budget.every is None else budget.every / SECOND,
        committed=str(committed),
        left=None if left is None else str(left),
        refill_s=None if refill is None else (refill - now) / SECOND,
        committed_total=str(ledger.committed_of(name)),
        demand=state.demand.now(name),
        supply=state.supply.now(name),
        machines=dict(machines),
    )
