"""`fixed`: keep a given fleet while there is work for it, whatever it costs.

With `random` and `none` this is the budget-oblivious round robin (RR) that the BaTS paper compares
with (section 4): all machines from the start, tasks served first come, first served.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.engine.roles import Provisioner
from bursar.model.fleet import Fleet
from bursar.model.text import counted
from bursar.model.time import Time
from bursar.policies.replicate.tail import deserves
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.view import Machine, View, money_left


class Fixed(Provisioner):
    """Rents the fleet as far as tasks and money reach, and replaces machines that are lost."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        if view.ready:
            return self._fill(view, now)
        if view.idle and not view.waiting and not view.arrivals_open:
            return self._save(view, now)
        return ()

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        if view.ready or deserves(machine, view):
            return Extend(machine.id)
        if (machine.attempts or view.waiting or view.arrivals_open) and not machine.offer.price:
            return Extend(machine.id, reason="it costs nothing")
        if machine.attempts:
            return Release(machine.id, reason="it runs replicas only, and its paid time ends")
        return Release(machine.id, reason="idle, and nothing is left to start")

    def _fill(self, view: View, now: Time) -> list[Rent | Stop]:
        """One machine of each offer in turn, until the fleet, the tasks or the money are met."""
        have = view.fleet
        missing = {
            name: count - have.get(name, 0)
            for name, count in self.fleet.items()
            if count > have.get(name, 0) and view.ledger.can_pay(view.market[name].entry_charge)
        }
        if not missing:
            return self._give_up(view)
        left = view.ledger.left
        lacking = {name for name, refusal in view.refusals.items() if now < refusal.over}
        missing = {name: count for name, count in missing.items() if name not in lacking}
        waiting = len(view.ready) - _free_slots(view)
        rents: list[Rent | Stop] = []
        while waiting > 0 and missing:
            for name in list(missing):
                offer = view.market[name]
                if not missing[name] or (left is not None and offer.entry_charge > left):
                    del missing[name]
                elif waiting > 0:
                    missing[name] -= 1
                    waiting -= offer.slots
                    left = None if left is None else left - offer.entry_charge
                    rents.append(Rent(name, reason="to fill the fleet"))
        return rents

    def _give_up(self, view: View) -> list[Rent | Stop]:
        """Nothing of the fleet can be rented: stop when nothing of it is left."""
        if view.machines or not any(self.fleet.values()):
            return []
        if not view.ledger.can_pay(view.market.cheapest_entry):
            return []
        left = f"{counted(len(view.ready), 'task')} left"
        return [Stop(f"{left}, and {money_left(view)} buys no machine of the fleet")]

    def _save(self, view: View, now: Time) -> list[Release]:
        """Release at once what is idle for good, where that gives money back."""
        return [
            Release(number, at_once=True, reason="idle, and nothing is left to start")
            for number in view.idle
            if not view.machines[number].attempts and view.machines[number].refunds(now)
        ]


def _free_slots(view: View) -> int:
    """Slots that will take ready tasks without renting anything."""
    machines = view.machines.values()
    return sum(m.offer.slots - len(m.attempts) for m in machines if not m.leaving)
