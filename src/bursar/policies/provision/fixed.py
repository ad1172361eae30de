"""`fixed`: keep a given fleet while there is work for it, whatever it costs.

With `random` and `none` this is the budget-oblivious round robin (RR) that the BaTS paper compares
with (section 4): all machines from the start, tasks served first come, first served.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Final

from bursar.engine.roles import Provisioner
from bursar.model.fleet import Fleet
from bursar.model.time import SECOND, Time
from bursar.policies.live_attempts import deserves
from bursar.policies.ready_by_account import ReadyByAccount
from bursar.policies.reconcile import Refunding, Target, give_back, give_up, reconcile
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.fleet_counts import FleetCounts, IdleChanges, IdleSince
from bursar.state.view import Machine, View

LEAST_STAY: Final[Time] = 5 * SECOND
"""how long an idle machine of a service stays at least, where it could be given back"""


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
        self._since = IdleSince()
        self._wake: Time = 0
        """these are used where there are several accounts; the last is when to look again"""

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

    def _serve_accounts(self, view: View, now: Time) -> list[Rent | Release | Wake | Stop]:
        """The fleet for each account that has more ready tasks than free slots."""
        self._ready.look(view)
        self._counts.look(view)
        self._since.look(view, now)
        actions: list[Rent | Release | Wake | Stop] = []
        for account in (one.name for one in view.goal.accounts):
            waiting = self._ready.count(account) - self._counts.of_account(account).free
            if waiting <= 0:
                continue
            if self._lacks(account, view):
                actions += reconcile(view, self._target(waiting), now, account, self._counts)
            elif (full := self._full(account, view, now)) is not None:
                actions += self._make_room(full, waiting, view)
        idle = sorted(self._refunding.look(view, now))
        unused = [n for n in idle if self._is_unused(view.machines[n], view)]
        why = "idle, and nothing is left to start"
        if not view.waiting and not view.arrivals_open:
            return actions + give_back(view, unused, now, why)
        return actions + self._give_back_later(unused, view, now, why)

    def _is_unused(self, machine: Machine, view: View) -> bool:
        """Whether its account has nothing ready, and nothing that soon may be."""
        account = machine.account
        if self._ready.count(account):
            return False
        return not view.waiting or not view.demand.now(account)

    def _give_back_later(
        self, unused: Sequence[int], view: View, now: Time, why: str
    ) -> list[Release | Wake]:
        """More work may arrive: a machine stays as long as a new one would take to boot.

        Where its billing unit is longer than that, it stays to the end of it.
        """
        ends = {n: self._since[n] + max(LEAST_STAY, view.machines[n].offer.boot) for n in unused}
        over = [number for number in unused if ends[number] <= now]
        actions: list[Release | Wake] = [*give_back(view, over, now, why)]
        later = min((end for end in ends.values() if end > now), default=None)
        if later is not None and not now < self._wake <= later:
            self._wake = later
            actions.append(Wake(later))
        return actions

    def _full(self, account: str, view: View, now: Time) -> str | None:
        """An offer that the account could have more of, and pay, if its limit were not reached."""
        left = view.ledger.left_of(account, now)
        for name, count in self.fleet.items():
            offer, there = view.market[name], self._counts.of(name, account)
            is_full = offer.limit is not None and view.fleet.get(name, 0) >= offer.limit
            can_pay = left is None or offer.entry_charge <= left
            if is_full and can_pay and there.booting + there.up < count:
                return name
        return None

    def _make_room(self, name: str, slots: int, view: View) -> list[Release]:
        """Let go of machines that others hold and have no use for."""
        found: list[Release] = []
        for number in view.idle:
            machine = view.machines[number]
            if slots <= 0:
                break
            if machine.offer.name == name and self._is_unused(machine, view):
                slots -= machine.offer.slots
                why = "idle, and another user's tasks wait for such a machine"
                found.append(Release(number, at_once=True, reason=why))
        return found

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
