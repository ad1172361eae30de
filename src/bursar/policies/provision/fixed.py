"""`fixed`: keep a given fleet while there is work for it, whatever it costs.

With `random` and `none` this is the budget-oblivious round robin (RR) that the BaTS paper compares
with (section 4): all machines from the start, tasks served first come, first served.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.engine.roles import Provisioner
from bursar.model.fleet import Fleet
from bursar.model.time import Time
from bursar.policies.reconcile import Target, give_back, give_up, reconcile
from bursar.policies.replicate.tail import deserves
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.fleet_counts import FleetCounts, IdleChanges
from bursar.state.view import Machine, View


class Fixed(Provisioner):
    """Rents the fleet as far as tasks and money reach, and replaces machines that are lost."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._counts = FleetCounts()
        self._idle = IdleChanges()

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        if view.ready:
            return self._fill(view, now)
        if view.idle and not view.waiting and not view.arrivals_open:
            return give_back(view, self._idle.take(view), now, "idle, and nothing is left to start")
        return ()

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        if view.ready or deserves(machine, view):
            return Extend(machine.id)
        if (machine.attempts or view.waiting or view.arrivals_open) and not machine.offer.price:
            return Extend(machine.id, reason="it costs nothing")
        if machine.attempts:
            return Release(machine.id, reason="it runs replicas only, and its paid time ends")
        return Release(machine.id, reason="idle, and nothing is left to start")

    def _fill(self, view: View, now: Time) -> list[Rent | Release | Stop]:
        """One machine of each offer in turn, until the fleet, the tasks or the money are met."""
        if view.fleet == self.fleet:  # as most of the time, and told fastest
            return []
        if all(view.fleet.get(name, 0) >= count for name, count in self.fleet.items()):
            return []
        self._counts.look(view)
        waiting = len(view.ready) - sum(self._counts.of(o.name).free for o in view.market.offers)
        target = Target(fleet=self.fleet, rent="to fill the fleet", slots=waiting, in_turn=True)
        return [*reconcile(view, target, now), *give_up(view, self.fleet, now)]
