"""`fixed`: keep a given fleet while there is work for it, whatever it costs.

With `random` and `none` this is the budget-oblivious round robin (RR) that the BaTS paper compares
with (section 4): all machines from the start, tasks served first come, first served.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from bursar.engine.roles import Provisioner
from bursar.model.fleet import Fleet
from bursar.model.time import Time
from bursar.policies.live_attempts import deserves
from bursar.policies.ready_by_account import ReadyByAccount
from bursar.policies.reconcile import Refunding, Target, give_back, give_up, reconcile
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.fleet_counts import FleetCounts, IdleChanges
from bursar.state.view import Machine, View


class Fixed(Provisioner):
    """Rents the fleet as far as tasks and money reach, and replaces machines that are lost.

    Where a run has several accounts, each has the fleet, as far as its own tasks and money reach.
    """

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._counts = FleetCounts()
        self._idle = IdleChanges()
        self._ready = ReadyByAccount()
        self._refunding = Refunding()
        """both are used where there are several accounts"""

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        if view.goal.accounts:
            return self._serve_accounts(view, now)
        if view.ready:
            return self._fill(view, now)
        if view.idle and not view.waiting and not view.arrivals_open:
            return give_back(view, self._idle.take(view), now, "idle, and nothing is left to start")
        return ()

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        if self._has_ready(machine, view) or deserves(machine, view):
            return Extend(machine.id)
        if (machine.attempts or view.waiting or view.arrivals_open) and not machine.offer.price:
            return Extend(machine.id, reason="it costs nothing")
        if machine.attempts:
            return Release(machine.id, reason="it runs replicas only, and its paid time ends")
        return Release(machine.id, reason="idle, and nothing is left to start")

    def _has_ready(self, machine: Machine, view: View) -> bool:
        """Whether tasks are ready that may run on this machine."""
        if not view.goal.accounts:
            return bool(view.ready)
        self._ready.look(view)
        return self._ready.count(machine.account) > 0

    def _serve_accounts(self, view: View, now: Time) -> list[Rent | Release | Stop]:
        """The fleet for each account that has more ready tasks than free slots."""
        self._ready.look(view)
        self._counts.look(view)
        actions: list[Rent | Release | Stop] = []
        for account in (one.name for one in view.goal.accounts):
            waiting = self._ready.count(account) - self._counts.of_account(account).free
            if waiting > 0 and self._lacks(account, view):
                actions += reconcile(view, self._target(waiting), now, account, self._counts)
        if not view.waiting and not view.arrivals_open:
            idle = sorted(self._refunding.look(view, now))
            unused = [n for n in idle if not self._ready.count(view.machines[n].account)]
            actions += give_back(view, unused, now, "idle, and nothing is left to start")
        return actions

    def _lacks(self, account: str, view: View) -> bool:
        """Whether an account may have more machines of some offer of the fleet."""
        for name, count in self.fleet.items():
            limit = view.market[name].limit
            there = self._counts.of(name, account)
            has_room = limit is None or view.fleet.get(name, 0) < limit
            if has_room and there.booting + there.up < count:
                return True
        return False

    def _target(self, slots: int) -> Target:
        return Target(fleet=self.fleet, rent="to fill the fleet", slots=slots, in_turn=True)

    def _fill(self, view: View, now: Time) -> Sequence[Rent | Release | Stop]:
        """One machine of each offer in turn, until the fleet, the tasks or the money are met."""
        if view.fleet == self.fleet:  # as most of the time, and found out fastest
            return ()
        if all(view.fleet.get(name, 0) >= count for name, count in self.fleet.items()):
            return []
        self._counts.look(view)
        waiting = len(view.ready) - sum(self._counts.of(o.name).free for o in view.market.offers)
        return [*reconcile(view, self._target(waiting), now), *give_up(view, self.fleet, now)]
