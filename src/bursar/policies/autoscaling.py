"""The frame of all autoscalers: a fleet that follows demand, decided again every interval.

    every interval, for each account:  view -> `wanted` (an entry's own) -> Scale, Rent, Release

More machines are rented at once, up to the limits. Fewer means that idle machines are released, the
longest idle first; busy ones stay. A machine whose release saves no money, because its unit is paid
for, stays to the end of its unit and may serve until then: `renew` lets it go if it is not wanted
by then (workload thesis, 4.2.2 and 5.2.1, but for that: with `release="at-once"` idle machines go
at once). Nor is a long unit paid at once for demand that may be gone in a minute: the machines that
are lacking are rented little by little, a part of them at each decision, so that most are there
within a thirtieth of a unit. What paid machines take meanwhile needs no others.

Booting machines count as provisioned, so that a boot may take longer than the interval. Accounts
decide one after the other, in random order: the first ones get what a limit leaves. Where the paid
time of machines ends together with the interval, as in chapter 5, the decision is made before any
of them is paid for again: busy ones stay, then idle ones that are wanted, then new ones.

A machine that is lost is replaced at once, while there is demand for it, not at the next decision.
In a market of both pools, reliable machines are rented for tasks that unreliable ones lost twice
(`bursar.policies.reliable_retries`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import ceil
from random import Random
from typing import Final, Literal

import msgspec

from bursar.engine.roles import Provisioner
from bursar.model.fleet import Fleet
from bursar.model.market import Market, Offer
from bursar.model.text import counted
from bursar.model.time import SECOND, Time
from bursar.policies.reconcile import Target, reconcile
from bursar.policies.reliable_retries import RepeatedLosses, has_both_pools, with_reliable
from bursar.state import events as ev
from bursar.state.actions import Extend, Release, Rent, Scale, Stop, Wake
from bursar.state.fleet_counts import FleetCounts, IdleSince
from bursar.state.view import Machine, View

INTERVAL: Final[Time] = 30 * SECOND
"""Between two decisions, as in the experiments of chapter 4."""

SOON: Final = 1 / 30
"""The part of a paid unit within which most of the machines that are lacking are rented."""

LEARNS_FROM: Final = frozenset({ev.ScaleDecided, ev.MachineDown})
"""Kinds of events that every autoscaler learns from."""

Leaving = Literal["paid", "at-once"]
"""When idle machines that are not wanted leave: when their paid time ends, or at once."""


class WantedFleet(msgspec.Struct, frozen=True):
    """The fleet for the next interval, why, and the figures that it was decided by."""

    fleet: Mapping[str, int]
    reason: str
    inputs: Mapping[str, float] = {}
    lines: Mapping[str, Sequence[int]] = {}
    """where it plans, too: the tasks for each machine in order, see `bursar.state.planned_lines`"""


class FleetDecision(msgspec.Struct, frozen=True):
    """What is wanted for an account, and what of that can be paid."""

    account: str
    wanted: WantedFleet
    fleet: Mapping[str, int]
    demand: int
    supply: int
    later: int = 0
    """machines that are wanted, and rented later if they are then"""

    @property
    def reason(self) -> str:
        reason = self.wanted.reason
        if self.later:
            reason += f"; {counted(self.later, 'machine')} later, since their paid units are long"
        is_whole = sum(self.fleet.values()) + self.later >= sum(self.wanted.fleet.values())
        return reason if is_whole else f"{reason}; as the budget allows"


class Autoscaler(Provisioner):
    """An entry inherits from this and writes `wanted`.

    What it learns, it learns from `ScaleDecided` events in `saw`, so that a resumed run knows it.
    """

    def __init__(
        self,
        market: Market,
        fleet: Fleet | None = None,
        interval: Time = INTERVAL,
        *,
        release: Leaving = "paid",
    ) -> None:
        self.market = market
        self.interval = interval
        self._fleet = fleet
        """the most machines of each offer that the user allows; None: the offers' own limits"""
        self._at_once = release == "at-once"
        self._due: Time = 0
        """when to decide next"""
        self._counts = FleetCounts()
        self._idle_since = IdleSince()
        self._decided: dict[str, Mapping[str, int]] = {}
        """by account, the fleet that was wanted last"""
        self._decisions: list[FleetDecision] = []
        """of `_decided_at`"""
        self._decided_at: Time | None = None
        self._promised: Counter[str] = Counter()
        """by offer, machines that accounts before the present one are about to rent"""
        self._seed: int | None = None
        """for what is drawn in the next decision; None: nothing was decided yet"""
        self._has_pools = has_both_pools(market)
        self._lost = RepeatedLosses()
        self._has_losses = False
        """whether a machine was lost since it was last seen to"""
        self._replaced: Counter[str] = Counter()
        """by account, slots that were rented since the last decision for those of lost machines"""

    @abstractmethod
    def wanted(self, view: View, now: Time, account: str, rng: Random) -> WantedFleet:
        """The fleet that an account should have until the next interval begins."""

    def learns_from(self) -> Collection[type]:
        return LEARNS_FROM

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        if isinstance(event, ev.ScaleDecided):
            self._decided[event.account] = event.fleet
        elif isinstance(event, ev.MachineDown) and event.cause == "lost":
            self._has_losses = True

    # --- what entries may ask --------------------------------------------------------------------

    def supply(self, account: str) -> int:
        """Slots of an account's machines that stay, also of those that boot."""
        return sum(self.machines(offer, account) * offer.slots for offer in self.market.offers)

    def machines(self, offer: Offer, account: str) -> int:
        """Machines of an account that stay, also those that boot."""
        return self._counts.staying(offer.name, account)

    def most(self, offer: Offer, account: str) -> int | None:
        """Machines of an offer that an account can have beside those of others; None: no limit."""
        limits = [offer.limit, None if self._fleet is None else self._fleet.get(offer.name, 0)]
        known = [limit for limit in limits if limit is not None]
        if not known:
            return None
        others = self._counts.staying(offer.name) - self.machines(offer, account)
        return max(0, min(known) - others - self._promised[offer.name])

    def size(self, account: str) -> int | None:
        """Slots that an account can have at the most; None: there is no limit."""
        most = [(self.most(offer, account), offer.slots) for offer in self.market.offers]
        if any(limit is None for limit, _ in most):
            return None
        return sum((limit or 0) * slots for limit, slots in most)

    @property
    def first_offer(self) -> Offer:
        """The offer that new machines are of while it has any: what costs least for its work."""
        return min(self.market.offers, key=_price_of_work)

    def fleet_of(self, slots: int, account: str) -> dict[str, int]:
        """So many slots, of the offers that cost least for what they do, within their limits."""
        fleet: dict[str, int] = {}
        for offer in sorted(self.market.offers, key=_price_of_work):
            most, wanted = self.most(offer, account), ceil(max(0, slots) / offer.slots)
            fleet[offer.name] = wanted if most is None else min(wanted, most)
            slots -= fleet[offer.name] * offer.slots
        return fleet

    # --- the role --------------------------------------------------------------------------------

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Scale | Wake | Stop]:
        self._idle_since.look(view, now)
        if view.stopping is not None or not view.total:
            return ()  # the first decision is for the first work
        if now < self._due:
            return self._replacements(view, now) if self._has_losses else ()
        if self._seed is None:
            self._seed = rng.getrandbits(62)
        self._decide(view, now, self._seed)
        self._seed = rng.getrandbits(62)
        self._due = (now // self.interval + 1) * self.interval
        actions = [action for one in self._decisions for action in self._scale(view, now, one)]
        return [*actions, Wake(self._due)]

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        if machine.attempts or machine.up is None:
            return Extend(machine.id)
        self.decide_before_paying(view, now)
        self._counts.look(view)
        if not self.keeps(machine):
            return Release(machine.id, reason="idle, more machines than wanted, its paid time ends")
        return Extend(machine.id)

    def decide_before_paying(self, view: View, now: Time) -> None:
        """Where paid time ends together with the interval, the decision comes first."""
        if self._seed is not None and now >= self._due and view.stopping is None:
            self._decide(view, now, self._seed)

    def keeps(self, machine: Machine) -> bool:
        """Whether an idle machine is paid for again: if no more are there than wanted."""
        wanted = self._decided.get(machine.account, {}).get(machine.offer.name, 0)
        return self.machines(machine.offer, machine.account) <= wanted

    # --- one decision ----------------------------------------------------------------------------

    def _decide(self, view: View, now: Time, seed: int) -> None:
        """Once for a moment, for all accounts, also if that is before `provision` is called."""
        if self._decided_at == now:
            return
        self._counts.look(view)
        self._decisions, self._decided_at = [], now
        self._promised.clear()
        self._replaced.clear()
        self._has_losses = False
        rng = Random(seed)
        for account in rng.sample(list(view.ledger.accounts), len(view.ledger.accounts)):
            found = self._with_reliable(self.wanted(view, now, account, rng), view, account)
            soon = self._little_by_little(found.fleet, account)
            later = sum(found.fleet.values()) - sum(soon.values())
            fleet = self.payable(view, now, account, soon)
            demand, supply = view.demand.now(account), self.supply(account)
            self._decisions.append(FleetDecision(account, found, fleet, demand, supply, later))
            self._decided[account] = fleet
            for name, count in fleet.items():
                new = count - self.machines(self.market[name], account)
                self._promised[name] += max(0, new)
        self._promised.clear()

    def part_rented(self, offer: Offer) -> float:
        """The part of the machines that are lacking which is rented at each decision."""
        unit = max(offer.billing, offer.minimum)
        if self._at_once or not unit or not offer.price.nanos:
            return 1.0
        return min(1.0, self.interval / (SOON * unit))

    def _little_by_little(self, fleet: Mapping[str, int], account: str) -> dict[str, int]:
        """The fleet with a part of what is lacking, at least one machine of each offer."""
        found = dict(fleet)
        for name, count in fleet.items():
            offer = self.market[name]
            lacking = count - self.machines(offer, account)
            if lacking > 0:
                found[name] = count - lacking + ceil(self.part_rented(offer) * lacking)
        return found

    def _with_reliable(self, found: WantedFleet, view: View, account: str) -> WantedFleet:
        """What is wanted, with reliable slots for tasks that were lost too often."""
        if not self._has_pools:
            return found
        self._lost.look(view)
        lost = len(self._lost.of(account, view))
        fleet = with_reliable(found.fleet, lost, self.market, lambda o: self.most(o, account))
        if not lost or fleet == found.fleet:
            return found
        why = f"{found.reason}; {counted(lost, 'task')} lost before need reliable machines"
        return msgspec.structs.replace(found, fleet=fleet, reason=why)

    def _replacements(self, view: View, now: Time) -> Iterable[Rent | Release]:
        """Machines in place of lost ones, as many as demand needs and were decided for.

        Between two decisions no slot is replaced twice: machines that never last are not for us.
        """
        self._has_losses = False
        self._counts.look(view)
        actions: list[Rent | Release] = []
        for account, decided in self._decided.items():
            wanted = self._with_reliable(WantedFleet(decided, ""), view, account).fleet
            fleet = self.payable(view, now, account, wanted)
            whole = sum(self.market[name].slots * count for name, count in decided.items())
            lacking = view.demand.now(account) - self.supply(account)
            slots = min(lacking, whole - self._replaced[account])
            target = Target(fleet=fleet, rent="in place of a machine that was lost", slots=slots)
            for action in reconcile(view, target, now, account, self._counts):
                actions.append(action)
                if isinstance(action, Rent):
                    self._replaced[account] += self.market[action.offer].slots * action.count
        return actions

    def _scale(self, view: View, now: Time, one: FleetDecision) -> Iterator[Rent | Release | Scale]:
        account, fleet = one.account, one.fleet
        lines = {line: tuple(tasks) for line, tasks in one.wanted.lines.items()}
        inputs = dict(one.wanted.inputs)
        yield Scale(dict(fleet), one.demand, one.supply, account, inputs, one.reason, lines)
        self._counts.look(view)  # machines may have left since it was decided
        target = Target(fleet=fleet, rent=one.reason)
        yield from reconcile(view, target, now, account, self._counts)
        for offer in self.market.offers:
            excess = self.machines(offer, account) - fleet.get(offer.name, 0)
            if excess > 0:
                yield from self._surplus(view, now, offer, account, excess)

    def payable(
        self, view: View, now: Time, account: str, fleet: Mapping[str, int]
    ) -> dict[str, int]:
        """The fleet without new machines that a budget per interval could not keep to its end.

        Machines that stay are paid first: what is rented on money that they need is lost with its
        tasks when that is gone.
        """
        left, refill = view.ledger.left_of(account, now), view.ledger.next_refill(account, now)
        if left is None or refill is None:
            return dict(fleet)
        for machine in self._staying(view, account, fleet):
            age, paid = refill - machine.rented, machine.until - machine.rented
            units = machine.offer.units(age) - machine.offer.units(paid)
            left -= machine.offer.price * max(0, units)
        payable: dict[str, int] = {}
        for name, count in fleet.items():
            offer, there = self.market[name], self.machines(self.market[name], account)
            stay = max(offer.price * offer.units(refill - now), offer.entry_charge)
            new = max(0, count - there)
            if stay:
                new = min(new, max(0, left.nanos) // stay.nanos)
            left -= stay * new
            payable[name] = min(count, there) + new
        return payable

    def _staying(self, view: View, account: str, fleet: Mapping[str, int]) -> Iterator[Machine]:
        """Machines of an account that boot or are busy, and idle ones up to the fleet."""
        room = Counter(fleet)
        idle: list[Machine] = []
        for machine in view.machines.values():
            if machine.account != account or machine.leaving:
                continue
            if machine.up is not None and not machine.attempts:
                idle.append(machine)
                continue
            room[machine.offer.name] -= 1
            yield machine
        for machine in idle:
            if room[machine.offer.name] > 0:
                room[machine.offer.name] -= 1
                yield machine

    def _surplus(
        self, view: View, now: Time, offer: Offer, account: str, excess: int
    ) -> Iterator[Release]:
        """Idle machines that leave now."""
        idle = self._idle_machines(view, offer, account)
        for machine in sorted(idle, key=self.leaving_order)[:excess]:
            if self._at_once or machine.refunds(now):
                why = f"idle, {counted(excess, 'machine')} more than wanted"
                yield Release(machine.id, at_once=True, reason=why)

    def _idle_machines(self, view: View, offer: Offer, account: str) -> Sequence[Machine]:
        """Those without an attempt; when others were last idle is forgotten."""
        self._idle_since.forget_busy(view)
        machines = (view.machines[number] for number in self._idle_since)
        theirs = (m for m in machines if m.account == account and m.offer.name == offer.name)
        return [machine for machine in theirs if machine.is_open and not machine.attempts]

    def leaving_order(self, machine: Machine) -> tuple[Time, int]:
        """Which idle machines leave first: by default those that are idle longest."""
        return self._idle_since[machine.id], machine.id


def _price_of_work(offer: Offer) -> float:
    """What a slot costs for the work that it does in a second."""
    return offer.price.nanos / (offer.billing * offer.slots * offer.speed)
