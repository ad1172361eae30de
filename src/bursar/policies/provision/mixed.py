"""`mixed`: all unreliable machines, and reliable ones as the tail or the deadline needs them.

Lost machines are replaced while there are tasks for them (ExPERT, section 2.2.2). Machines without
a task are given back as soon as that saves money, unless a task is about to need them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Final

from bursar.engine.roles import Provisioner
from bursar.model.fleet import Fleet
from bursar.model.market import Market, Offer
from bursar.model.strategy import Strategy
from bursar.model.time import HOUR, Time
from bursar.plan.pools.split import by_price
from bursar.policies.idle_machines import IdleByAge
from bursar.policies.planned_fleets import PlannedFleets
from bursar.policies.pool_machines import is_interim, is_unreliable
from bursar.policies.reconcile import Refunding, Target, reconcile
from bursar.policies.two_pools import TwoPools
from bursar.state import events as ev
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.view import Machine, View

DEADLINE: Final = "the deadline needs it: unreliable machines alone may not be done in time"
BESIDE: Final = "both pools work until the tail, as preferred"
TAIL: Final = "for tasks of the tail"
HELP: Final = "unreliable machines alone do not get the work done"
AWAITED_FOR: Final[Time] = HOUR
"""Unreliable machines that were not available for so long are not waited for any more."""


IsWanted = Callable[[Machine], bool]


class Mixed(Provisioner):
    """Rents both pools for one process, which `pooled` and `ntdmr` follow, too."""

    def __init__(
        self,
        market: Market,
        fleet: Fleet,
        strategy: Strategy | None = None,
        timeout: Time | None = None,
        faithful: bool = False,
    ) -> None:
        """`fleet` and `strategy` are for works that have no plan of their own."""
        self._market, self._given = market, fleet
        self.is_faithful = faithful
        self._fleets = PlannedFleets()
        self._fleet: Fleet = {}
        self._unreliable: list[Offer] = []
        self._reliable: list[Offer] = []
        slots = self._fit(fleet)
        self.pools = TwoPools(fleet, slots, strategy, timeout, in_order=faithful, runs_on=faithful)
        self._refunding = Refunding()
        self._idle = {pool: IdleByAge(_of_pool(pool)) for pool in (True, False)}
        """by whether they are unreliable"""
        self._wanted_now: IsWanted | None = None
        """what `_wanted` said since something was last decided: leases that end at one moment are
        renewed one by one, and none of that changes it"""
        self._beside = BESIDE
        """why reliable machines work before the tail, where somebody prefers it"""
        self._awake_at: Time = -1
        self._has_changed = True
        """something happened since machines and tasks were last looked at"""

    def _fit(self, fleet: Fleet) -> int:
        """Take on a fleet; gives the slots of its unreliable machines."""
        usable = [offer for offer in self._market.offers if fleet.get(offer.name)]
        self._unreliable = by_price(one for one in usable if one.pool == "unreliable")
        self._reliable = by_price(one for one in usable if one.pool == "reliable")
        self._fleet = fleet
        return sum(fleet[offer.name] * offer.slots for offer in self._unreliable)

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        if not isinstance(event, ev.LeaseExtended):
            self._has_changed = True
            if isinstance(event, ev.StrategyChosen) and is_interim(event.strategy):
                self._beside = event.why
            if self._fleets.saw(event, state):
                fleet = dict(self._fleets.total or self._given)
                self.pools.resize(fleet, self._fit(fleet))
            self.pools.saw(event, state)

    def saw_before(self, view: View) -> None:
        self._has_changed = True
        self._fleets.saw_before(view)
        fleet = dict(self._fleets.total or self._given)
        self.pools.resize(fleet, self._fit(fleet))
        self.pools.saw_before(view)

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        self._wanted_now = None
        pools = self.pools
        look = pools.next_look()
        is_due = look is not None and look <= now
        if self._has_changed or is_due or any(one.over <= now for one in view.refusals.values()):
            self._has_changed = False
            yield from self._decide(view, now, rng)
        else:
            pools.rest()
        look = pools.next_look()
        if look is not None and look > now and not now < self._awake_at <= look:
            self._awake_at = look
            yield Wake(look)

    def _decide(self, view: View, now: Time, rng: Random) -> Iterator[Rent | Release]:
        pools = self.pools
        pools.lacks_unreliable = self._lacks_unreliable(view, now)
        pools.advance(view, now, rng)
        # What runs on a machine that will be taken away needs no other one before it is lost.
        at_work: Counter[bool] = Counter()
        for offer in view.market.offers:
            at_work[offer.pool == "unreliable"] += pools.counts.of(offer.name).running
        at_work.update(is_unreliable(view.machines[start.machine]) for start in pools.starts)
        wanted = at_work[True] + len(pools.queues.unreliable)
        yield from self._fill(view, now, self._unreliable, wanted, "to fill the unreliable pool")
        wanted = min(at_work[False] + pools.reliable_demand, pools.reliable_limit)
        yield from self._fill(view, now, self._reliable, wanted, self._why_reliable())
        yield from self._save(view, now)

    def _why_reliable(self) -> str:
        """Why a reliable machine is rented now."""
        pools = self.pools
        if pools.helps_deadline:
            return DEADLINE
        if pools.is_reserving:
            return self._beside
        return TAIL if pools.tails.opened else HELP

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        is_new = machine.up in (None, now)  # nobody could give it a task yet
        if is_new or machine.attempts:
            return Extend(machine.id)
        if self._wanted_now is None:
            self._wanted_now = self._wanted(view, now)
        if self._wanted_now(machine):
            return Extend(machine.id)
        if not is_unreliable(machine) and self.pools.has_use_for_reliable:
            return Extend(machine.id, reason="tasks wait for it")  # its last one ended just now
        if not machine.offer.price:
            return Extend(machine.id, reason="it costs nothing")
        return Release(machine.id, reason="idle, and no task is about to need it")

    def _lacks_unreliable(self, view: View, now: Time) -> bool:
        """Whether reliable machines must do without unreliable ones."""
        self.pools.counts.look(view)
        counts = (
            self.pools.counts.of(offer.name)
            for offer in view.market.offers
            if offer.pool == "unreliable"
        )
        if not self._reliable or any(one.all for one in counts):
            return False
        left = view.ledger.left
        if left is not None and all(one.entry_charge > left for one in self._unreliable):
            return True
        refusals = [view.refusals.get(offer.name) for offer in self._unreliable]
        return all(one is not None and one.last - one.since >= AWAITED_FOR for one in refusals)

    def _fill(
        self, view: View, now: Time, offers: list[Offer], wanted: int, why: str
    ) -> list[Rent | Release]:
        """Rent until so many slots are there, the cheapest offers first."""
        slots = wanted - sum(view.fleet.get(offer.name, 0) * offer.slots for offer in offers)
        fleet = {offer.name: self._fleet[offer.name] for offer in offers}
        return reconcile(view, Target(fleet=fleet, rent=why, slots=slots), now)

    def _save(self, view: View, now: Time) -> list[Release]:
        if not self._refunding.look(view, now):
            return []
        is_wanted = self._wanted(view, now)
        why = "idle, and no task is about to need it"
        return self._refunding.give_back(view, now, why, lambda one: not is_wanted(one))

    def _wanted(self, view: View, now: Time) -> IsWanted:
        """Which machines get a task now, or are kept for tasks that are soon due: the oldest."""
        pools = self.pools
        wanted = {start.machine for start in pools.starts}
        if not (pools.tails.are_open or pools.lacks_unreliable):

            def gets_one(machine: Machine) -> bool:
                may = machine.id in view.idle and is_unreliable(machine)
                return may or machine.id in wanted

            return gets_one
        kept = Counter(is_unreliable(view.machines[number]) for number in wanted)
        for pool, idle in self._idle.items():
            idle.look(view)
            if not idle:
                continue
            due = self._due(view, now, is_unreliable=pool)
            most = max(due.values(), default=0)
            for number in idle:
                if kept[pool] >= most:
                    break
                if number not in wanted and kept[pool] < due[view.machines[number].offer.name]:
                    wanted.add(number)
                    kept[pool] += 1
        return lambda machine: machine.id in wanted

    def _due(self, view: View, now: Time, *, is_unreliable: bool) -> dict[str, int]:
        """By offer of a pool, tasks that are due before the unit ends that is paid next."""
        return {
            offer.name: self.pools.tails.due_by(
                now + offer.boot + offer.billing, reliable=not is_unreliable
            )
            for offer in view.market.offers
            if (offer.pool == "unreliable") == is_unreliable
        }


def _of_pool(pool: bool) -> IsWanted:
    return lambda machine: is_unreliable(machine) == pool
