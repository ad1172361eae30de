"""From the fleet that a provisioner wants to machines that are rented and given back.

A provisioner decides which fleet, and which machines it has no more use for. What is the same for
all of them is done here: what cannot be paid, is over the limit of its offer or was refused lately
is not asked for, and what has no attempt goes back at once where that saves money.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import groupby

import msgspec

from bursar.model.errors import InputError
from bursar.model.money import Money
from bursar.model.text import counted
from bursar.model.time import Time
from bursar.policies.presets import FOR_SEVERAL_ACCOUNTS
from bursar.state.actions import Release, Rent, Stop
from bursar.state.fleet_counts import FleetCounts, IdleChanges
from bursar.state.view import Machine, View, money_left


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The fleet that is wanted now, and why."""

    fleet: Mapping[str, int]
    """machines of each offer"""
    rent: str
    """why machines are rented"""
    slots: int | None = None
    """rent no more slots than this; None: all that the fleet lacks"""
    in_turn: bool = False
    """rent one machine of each offer in turn; else as many as are wanted, offer by offer"""
    release: str = ""
    """why machines beyond the fleet leave; empty: they stay"""


def reconcile(
    view: View, target: Target, now: Time, account: str = "", counts: FleetCounts | None = None
) -> list[Rent | Release]:
    """Rent what the target has more, and let go of what it has less.

    With several accounts the target is that of one of them: its money, and its machines. A
    provisioner that names none serves a run with one account, whatever that is called. One that
    serves several hands on its `counts`, as of now: without them all machines are looked at.

    Machines that leave work to the end of their paid time: first those without an attempt, then
    those whose paid time ends first.
    """
    account = _payer(view, account)
    releases = list(_surplus(view, target, account)) if target.release else []
    return [*releases, *_missing(view, target, now, account, counts)]


def _payer(view: View, account: str) -> str:
    """The account that pays; a provisioner that knows none cannot serve several."""
    names = [one.name for one in view.goal.accounts]
    if account or not names or account in names:
        return account
    if len(names) > 1:
        raise InputError(several_accounts(len(names)))
    return names[0]


def several_accounts(count: int) -> str:
    """Why a provisioner does not serve a run, and which do."""
    return (
        f"the run has {count} accounts, and this provisioner rents for one;"
        f" {', '.join(FOR_SEVERAL_ACCOUNTS['provisioner'])} can serve several"
    )


def _surplus(view: View, target: Target, account: str) -> Iterator[Release]:
    kept = _kept(view, account)
    surplus = {name: have - target.fleet.get(name, 0) for name, have in kept.items()}
    for machine in sorted(_staying(view, account), key=_order_of_leaving):
        if surplus[machine.offer.name] > 0:
            surplus[machine.offer.name] -= 1
            yield Release(machine.id, reason=target.release)


def _order_of_leaving(machine: Machine) -> tuple[bool, Time, int]:
    is_used = machine.up is None or bool(machine.attempts)
    return is_used, machine.until, machine.id


def _missing(
    view: View, target: Target, now: Time, account: str, counts: FleetCounts | None
) -> Iterator[Rent]:
    """What is lacking, as far as slots are wanted and the money goes.

    Machines of one offer that follow each other are asked for at once. The guard rents them one by
    one, until the money or the limit is reached.
    """
    lacking = _lacking(view, target, now, _kept_now(view, target, account, counts))
    wanted = _one_by_one(view, target, lacking, view.ledger.left_of(account, now))
    for name, same in groupby(wanted):
        count = sum(1 for _ in same)
        yield Rent(name, count, account, target.rent)


def _one_by_one(
    view: View, target: Target, lacking: dict[str, int], left: Money | None
) -> Iterator[str]:
    """The offers of the machines that are lacking, in the order in which they are rented."""
    slots = target.slots
    while lacking and (slots is None or slots > 0):
        for name in list(lacking):
            offer = view.market[name]
            most = 1 if target.in_turn else lacking[name]
            for _ in range(most):
                if slots is not None and slots <= 0:
                    return
                if left is not None and offer.entry_charge > left:
                    lacking[name] = 0
                    break
                left = None if left is None else left - offer.entry_charge
                slots = None if slots is None else slots - offer.slots
                lacking[name] -= 1
                yield name
            if not lacking[name]:
                del lacking[name]


def _kept_now(
    view: View, target: Target, account: str, counts: FleetCounts | None
) -> Mapping[str, int]:
    """Machines of the account by offer that stay, as far as the target has them."""
    if len(view.ledger.accounts) == 1 and not target.release:
        return view.fleet
    if counts is not None:
        return {name: counts.of(name, account).kept for name in target.fleet}
    return _kept(view, account)


def _lacking(view: View, target: Target, now: Time, have: Mapping[str, int]) -> dict[str, int]:
    """Machines to rent, by offer: within its limit, and where none was refused lately."""
    lacking: dict[str, int] = {}
    for name, count in target.fleet.items():
        missing, limit = count - have.get(name, 0), view.market[name].limit
        if limit is not None:
            missing = min(missing, limit - view.fleet.get(name, 0))
        if missing > 0 and not is_refused(view, name, now):
            lacking[name] = missing
    return lacking


def is_refused(view: View, offer: str, now: Time) -> bool:
    """Whether a machine of this offer was refused so lately that none is asked for."""
    refusal = view.refusals.get(offer)
    return refusal is not None and now < refusal.over


class Refunding:
    """Idle machines that give money back if they are released now; not all are looked at."""

    def __init__(self) -> None:
        self._changes = IdleChanges()
        self._some: set[int] = set()

    def look(self, view: View, now: Time) -> AbstractSet[int]:
        """One that gives nothing back gives nothing later, unless its lease is extended."""
        self._some.update(self._changes.take(view))
        if self._some:
            self._some = {n for n in self._some if n in view.idle and view.machines[n].refunds(now)}
        return self._some

    def give_back(
        self, view: View, now: Time, why: str, is_spare: Callable[[Machine], bool]
    ) -> list[Release]:
        """Release at once those without an attempt that are spare, in the order of `view.idle`."""
        some = {number for number in self.look(view, now) if is_spare(view.machines[number])}
        idle = some if len(some) < 2 else (number for number in view.idle if number in some)
        return give_back(view, idle, now, why)


def give_back(view: View, machines: Iterable[int], now: Time, why: str) -> list[Release]:
    """Release at once those of these idle machines that give money back."""
    return [
        Release(number, at_once=True, reason=why)
        for number in machines
        if not view.machines[number].attempts and view.machines[number].refunds(now)
    ]


def give_up(view: View, fleet: Mapping[str, int], now: Time) -> list[Stop]:
    """The end of a run that has no machine, where the money left buys none of this fleet.

    Where it buys none at all, bursar ends the run itself. Where an interval of a budget is yet to
    begin, its money is waited for.
    """
    offers = [view.market[name] for name, count in fleet.items() if count]
    if view.machines or not offers or not view.ledger.can_pay(view.market.cheapest_entry):
        return []
    ledger = view.ledger
    if any(ledger.can_pay(offer.entry_charge) for offer in offers):
        return []
    if any(ledger.next_refill(account, now) is not None for account in ledger.accounts):
        return []
    left = f"{counted(len(view.ready), 'task')} left"
    return [Stop(f"{left}, and {money_left(view)} buys no machine of the fleet")]


def _staying(view: View, account: str) -> Iterator[Machine]:
    machines = (machine for machine in view.machines.values() if machine.account == account)
    return (machine for machine in machines if not (machine.leaving or machine.marked))


def _kept(view: View, account: str) -> Counter[str]:
    """Machines by offer that were not let go; those that were may still work for a while."""
    return Counter(machine.offer.name for machine in _staying(view, account))
