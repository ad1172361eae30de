"""What people write about a study of autoscalers: names, users with budgets, machines."""

from __future__ import annotations

from collections.abc import Sequence

from bursar.model.budget_text import budget_in
from bursar.model.errors import InputError, instead_of, shown
from bursar.model.goal import Account, Goal
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO
from bursar.policies.presets import AUTOSCALERS
from bursar.policies.registry import BUILT_IN, find, plain_name

FREE_MACHINE = "machine"
"""the offer of machines that cost nothing"""


def read_names(text: str) -> tuple[str, ...]:
    """Names with commas between them, each once, perhaps with parameters: `react:rate=14`."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise InputError("no name; write for example react,plan")
    return names


def read_autoscalers(text: str) -> tuple[str, ...]:
    """The same, of provisioners that follow demand: bursar's, or those of other packages."""
    names = read_names(text)
    for name in names:
        find("provisioner", name)  # refuses what does not exist, and parameters
        plain = plain_name(name)
        if plain in BUILT_IN["provisioner"] and plain not in AUTOSCALERS:
            raise InputError(f"{shown(plain)} is no autoscaler; {instead_of(plain, AUTOSCALERS)}")
    return names


def market_of_machines(count: int) -> Market:
    """So many machines of speed 1 that cost nothing, billed by the hour."""
    return Market("", "undated", (Offer(FREE_MACHINE, ZERO, limit=count),))


def read_users(users: Sequence[str], market: Market) -> Goal:
    """The budgets of several users: `ann=5/h`."""
    accounts = []
    for text in users:
        name, sign, money = text.partition("=")
        if not sign or not name.strip():
            raise InputError(f"{shown(text)} is no budget of a user; write for example ann=5/h")
        try:
            accounts.append(Account(name.strip(), budget_in(market.currency, money)))
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    goal = Goal(accounts=tuple(accounts))
    goal.budgets()  # refuses one name twice
    return goal
