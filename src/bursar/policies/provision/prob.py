"""`prob`: machines for a workflow whose tasks are each meant for one offer.

Prob (section 3.1) gives every task a machine of its own and charges by the second. Here tasks are
packed: a machine is rented when a task is ready for its offer and none is free, up to the number
that the plan allows; it takes one task after the other, and is given back

- at the end of a long billing unit (10 minutes or more) in which it is idle: until then it is paid;
- with short units, at the end of the one in which it has been idle for as long as another would
  need to boot, since that is what coming back would cost, and its minimum charge is used up.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from random import Random

from bursar.beliefs.past import past_attempts
from bursar.engine.roles import Provisioner
from bursar.model.market import Offer
from bursar.model.release import EARLIEST, EARLY_PART, is_long
from bursar.model.text import counted
from bursar.model.time import Time
from bursar.policies.assigned_work import AssignedWork
from bursar.policies.planned_fleets import PlannedFleets
from bursar.policies.reconcile import Target, is_refused, reconcile
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.events import AnyEvent, AttemptEnded, MachineDown, MachineUp
from bursar.state.fleet_counts import FleetCounts
from bursar.state.view import Machine, View, money_left


class Prob(Provisioner):
    def __init__(self) -> None:
        self.work = AssignedWork()
        self._counts = FleetCounts()
        self._fleets = PlannedFleets()
        """the most machines of each offer that the plans of all works allow"""
        self._idle_since: dict[int, Time] = {}
        """by machine, when its last attempt ended, or when it came up"""
        self._kept: list[tuple[Time, int]] = []
        """heap of (until when it is kept, machine) of all that are idle and paid by short units;
        outdated entries are dropped when met"""
        self._wakes_at: Time = 0
        """when the first of them is to be looked at, which was asked for"""

    def saw(self, event: AnyEvent, state: View) -> None:
        self.work.saw(event, state)
        self._fleets.saw(event, state)
        match event:
            case AttemptEnded():
                self._watch(state.log.machine[event.attempt], state, event.at)
            case MachineUp():
                self._watch(event.machine, state, event.at)
            case MachineDown():
                self._idle_since.pop(event.machine, None)

    def saw_before(self, view: View) -> None:
        self.work.saw_before(view)
        self._fleets.saw_before(view)
        past = past_attempts(view)
        last = {number: machine.up for number, machine in view.machines.items()}
        for machine, ended in zip(past.machines.tolist(), past.ended.tolist(), strict=True):
            if machine in last and ended > (last[machine] or 0):
                last[machine] = ended
        for number, moment in last.items():
            if moment is not None:
                self._watch(number, view, moment)

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        if view.ready:
            self.work.look(view)
            self._counts.look(view)
            yield from self._rent(view, now)
        yield from self._give_back(view, now)

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        if machine.attempts:
            return Extend(machine.id)
        self.work.look(view)
        if self._is_needed(machine, view):
            return Extend(machine.id)
        if not is_long(machine.offer) and now < self._kept_until(machine):
            return Extend(machine.id, reason="it may be needed soon")
        return Release(machine.id, reason="idle, and nothing is ready for it")

    # --- renting ---------------------------------------------------------------------------------

    def _rent(self, view: View, now: Time) -> Iterable[Rent | Release | Stop]:
        for name in list(self.work.ready.groups()):
            if name is None:
                yield from self._rent_for_others(view, now)
                continue
            standing = view.fleet.get(name, 0)
            if not standing and not self._is_available(name, view, now):
                yield from self._make_do(name, view, now)
                continue
            room, ready = self._most(name) - standing, self.work.ready.count(name)
            if room > 0 and not self.work.idle.have(ready, name, view):
                needed = ready - self._counts.of(name).free
                fleet = {name: self._most(name)}
                target = Target(fleet=fleet, rent="tasks are ready for it", slots=needed)
                yield from reconcile(view, target, now)

    def _most(self, name: str) -> int:
        """One at least: a task that failed before the plan was changed may be tried again."""
        return max(1, (self._fleets.total or {}).get(name, 0))

    def _rent_for_others(self, view: View, now: Time) -> Iterable[Rent | Release]:
        """What came after the plan was made goes to any machine; there must be one."""
        offers = [o for o in view.market.offers if self._is_available(o.name, view, now)]
        if offers and not any(view.fleet.values()):
            cheapest = min(offers, key=_price_of_work)
            yield from _rent_one(cheapest, view, now, "tasks are ready that are in no plan")

    def _is_available(self, name: str, view: View, now: Time) -> bool:
        offer = view.market[name]
        is_free = offer.limit != 0 and not is_refused(view, name, now)
        return is_free and view.ledger.can_pay(offer.entry_charge)

    def _make_do(self, name: str, view: View, now: Time) -> Iterable[Rent | Release | Stop]:
        """No machine of this offer is rented or available: its tasks go to another offer."""
        offers = [offer for offer in view.market.offers if offer.limit != 0]
        standing = [offer for offer in offers if view.fleet.get(offer.name, 0)]
        others = standing or [o for o in offers if self._is_available(o.name, view, now)]
        if others:
            other = min(others, key=_price_of_work)
            self.work.move(name, other.name)
            if not standing:
                yield from _rent_one(other, view, now, f"no {name} is available")
        elif not view.machines and not view.ledger.can_pay(view.market.cheapest_entry):
            left = f"{counted(len(view.ready) + view.waiting, 'task')} left"
            yield Stop(f"{left}, and {money_left(view)} buys no machine")

    # --- giving back -----------------------------------------------------------------------------

    def _watch(self, number: int, state: View, now: Time) -> None:
        self._idle_since[number] = now
        machine = state.machines.get(number)
        if machine is not None and not machine.attempts and not is_long(machine.offer):
            heappush(self._kept, (self._kept_until(machine), number))

    def _give_back(self, view: View, now: Time) -> Iterable[Release | Wake]:
        """The oldest machines take what is ready; the others go when their time has come."""
        due: list[int] = []
        while self._kept:
            until, number = self._kept[0]
            is_idle = number in view.idle and not view.machines[number].attempts
            is_current = is_idle and until == self._kept_until(view.machines[number])
            if is_current and until > now:
                break
            heappop(self._kept)
            if is_current:
                due.append(number)
        needed = self._about_to_work(view) if due and view.ready else set()
        for number in sorted(set(due) - needed):
            yield Release(number, at_once=True, reason="idle, and nothing is ready for it")
        if self._kept and not now < self._wakes_at <= self._kept[0][0]:
            self._wakes_at = self._kept[0][0]
            yield Wake(self._wakes_at)

    def _about_to_work(self, view: View) -> set[int]:
        ready = {name: self.work.ready.count(name) for name in self.work.ready.groups()}
        return {number for number in sorted(view.idle) if _take(view.machines[number], ready)}

    def _kept_until(self, machine: Machine) -> Time:
        since, offer = self._idle_since.get(machine.id, machine.rented), machine.offer
        wanted = max(since + offer.boot - machine.rented, offer.minimum)
        early = min(offer.billing // EARLY_PART, EARLIEST)
        return machine.rented + max(wanted, offer.paid_for(wanted) - early)

    def _is_needed(self, machine: Machine, view: View) -> bool:
        """Whether more is ready than those before it take: older ones, up rather than booting."""
        name = machine.offer.name
        left = self.work.ready.count(name) + self.work.ready.count(None)
        if not left:
            return False
        others = self.work.idle.machines(name, view)  # of those that are up the others are full
        if machine.up is None:
            others = (one for one in view.machines.values() if one.offer.name == name)
        for other in others:
            if not other.leaving and _turn(other) < _turn(machine):
                left -= _free(other)
                if left <= 0:
                    return False
        return True


def _rent_one(offer: Offer, view: View, now: Time, why: str) -> list[Rent | Release]:
    """The first machine of an offer."""
    return reconcile(view, Target(fleet={offer.name: 1}, rent=why), now)


def _price_of_work(offer: Offer) -> float:
    """The price of a fixed amount of work, up to a factor."""
    return float(offer.price) / (offer.billing * offer.speed)


def _free(machine: Machine) -> int:
    return machine.offer.slots - len(machine.attempts)


def _turn(machine: Machine) -> tuple[bool, int]:
    """In this order machines take what is ready."""
    return machine.up is None, machine.id


def _take(machine: Machine, ready: dict[str | None, int]) -> int:
    """How many of the ready tasks, by offer, a machine takes when its turn comes."""
    free = _free(machine)
    for name in (machine.offer.name, None):
        taken = min(free, ready.get(name, 0))
        if taken:
            ready[name] -= taken
            free -= taken
    return _free(machine) - free
