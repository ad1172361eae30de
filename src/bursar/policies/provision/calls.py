"""`calls`: machines for calls that are submitted while others run; demand is what is submitted.

Nobody knows how many calls will follow, so the budget is not spent to end these few sooner. One
machine comes first, and tells how long calls take. Another one is rented where the queue keeps it
at work for most of what it costs at least: to the end of the unit in which it is up, and twice its
boot. So what is paid stays near the least that the calls can cost, and the queue is done in about
that time. A deadline that is nearer asks for more.

A machine without a call is paid to the end of its unit, and stays. It is kept for longer while that
costs less than to boot another one: then it leaves, whatever may follow ("ski rental": never more
than twice what hindsight would have paid).
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Final

import numpy as np

from bursar.beliefs.past import past_attempts, past_successes
from bursar.engine.roles import Provisioner
from bursar.model.market import Offer
from bursar.model.time import MINUTE, SECOND, Time
from bursar.policies.live_attempts import deserves
from bursar.policies.reconcile import Target, give_back, give_up, is_refused, reconcile
from bursar.policies.running_attempts import RunningAttempts
from bursar.state import events as ev
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.fleet_counts import IdleChanges
from bursar.state.view import Attempt, Machine, View

BOOTS: Final = 2
"""A machine is to work for so many times its boot."""
FILLED: Final = 0.5
"""The share of that which the queue must have for it."""
IN_TIME: Final = 0.8
"""The share of the time to the deadline in which the queue is to end."""
BEGINS: Final = 2 * SECOND
"""Age of a call that says something of how long calls take."""
MANY: Final = 20
"""Results among which one that is too long says little."""
SHORTEST_LOOK, LONGEST_LOOK = SECOND // 2, MINUTE


class CallFleet(Provisioner):
    def __init__(self) -> None:
        self._ended = 0
        self._work = 0.0
        """of calls that ended, in microseconds at speed 1"""
        self._longest = 0.0
        """of them"""
        self._busy_until: dict[int, Time] = {}
        """by machine, when its last attempt ended"""
        self._idle = IdleChanges()
        self._running = RunningAttempts(_counts)
        self._planned: tuple[int, int] | None = None
        """tasks and results at the last look ..."""
        self._next_look: Time = 0
        """... and when to look again, as calls grow old"""

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        if isinstance(event, ev.AttemptEnded):
            number = state.log.machine[event.attempt]
            self._busy_until[number] = event.at
            if event.outcome == "success":
                self._ended += 1
                work = event.runtime * state.market[state.offer_of(number)].speed
                self._work += work
                self._longest = max(self._longest, work)
        elif isinstance(event, ev.MachineDown):
            self._busy_until.pop(event.machine, None)
            self._planned = None

    def saw_before(self, view: View) -> None:
        for past in past_successes(view):
            work = past.runtimes * view.market[past.offer].speed
            self._ended += len(work)
            self._work += float(work.sum())
            self._longest = max(self._longest, float(work.max()))
        attempts = past_attempts(view)
        for machine, at in zip(attempts.machines.tolist(), attempts.ended.tolist(), strict=True):
            if machine in view.machines:
                self._busy_until[machine] = at

    # --- the role --------------------------------------------------------------------------------

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        if not view.ready:
            if view.idle and not view.arrivals_open:
                return give_back(view, self._idle.take(view), now, "no more calls will come")
            return ()
        if not self._is_due(view, now):
            return ()
        self._planned = view.total, self._ended
        actions: list[Rent | Release | Wake | Stop] = list(self._rents(view, now))
        if not actions:
            actions += give_up(view, dict.fromkeys(_offers_by_value(view, now), 1), now)
        if view.attempts or view.machines:
            age = now - int(self._running.started.min(initial=now))
            self._next_look = now + min(LONGEST_LOOK, max(SHORTEST_LOOK, age // 2))
            actions.append(Wake(self._next_look))
        return actions

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        if view.ready or deserves(machine, view):
            return Extend(machine.id)
        if machine.attempts:
            return Release(machine.id, reason="it runs replicas only, and its paid time ends")
        since = self._busy_until.get(machine.id, machine.rented)
        if view.arrivals_open and now < since + machine.offer.boot:
            return Extend(machine.id, reason="calls may come, and another machine must boot first")
        if not machine.offer.price:
            return Extend(machine.id, reason="it costs nothing")
        return Release(machine.id, reason="no call waits")

    # --- the fleet -------------------------------------------------------------------------------

    def _is_due(self, view: View, now: Time) -> bool:
        if self._planned is None or now >= self._next_look or not any(view.fleet.values()):
            return True
        total, ended = self._planned
        return view.total > total or self._ended >= 2 * ended + 1

    def _rents(self, view: View, now: Time) -> list[Rent | Release]:
        """The first machine, or those that the queue has enough work for."""
        offers = _offers_by_value(view, now)
        mean = self._mean(view, now)
        fleet = dict(view.fleet)
        if not any(fleet.values()):
            fleet = dict.fromkeys(list(offers)[:1], 1)
            return reconcile(view, Target(fleet=fleet, rent="the first machine for calls"), now)
        if mean is None:
            return []
        left = len(view.ready) * mean
        for name, count in view.fleet.items():
            left -= count * self._share(view.market[name], view, now)
        wanted = dict(view.fleet)
        for name, offer in offers.items():
            share = self._share(offer, view, now)
            most = len(view.ready) if offer.limit is None else offer.limit
            while left > FILLED * share and wanted.get(name, 0) < most:
                wanted[name] = wanted.get(name, 0) + 1
                left -= share
        if wanted == view.fleet:
            return []
        return reconcile(view, Target(fleet=wanted, rent="the queue keeps it at work"), now)

    def _share(self, offer: Offer, view: View, now: Time) -> float:
        """The work that a machine is to do at least, to be worth what it costs."""
        until = max(offer.paid_for(offer.boot + 1) - offer.boot, BOOTS * offer.boot)
        if view.goal.deadline is not None:
            until = min(until, round(IN_TIME * max(0, view.goal.deadline - now - offer.boot)))
        return max(1, until) * offer.slots * offer.speed

    def _mean(self, view: View, now: Time) -> float | None:
        """The mean work of a call, as far as it is known; None: too little.

        Long calls tell it before they end. What is young may wait for its worker to begin, as the
        first call did: so neither that nor, among few, the longest one counts.
        """
        running = self._running
        running.look(view)
        speeds = np.array([offer.speed for offer in view.market.offers])
        ages = now - running.started
        is_old = ages >= BEGINS
        work_so_far = ages[is_old] * speeds[running.offers[is_old]]
        ended, work = self._ended, self._work
        if 1 < ended < MANY:
            ended, work = ended - 1, work - self._longest
        elif ended == 1:
            ended, work = 0, 0.0
        count = ended + len(work_so_far)
        return (work + float(work_so_far.sum())) / count if count else None


def _offers_by_value(view: View, now: Time) -> dict[str, Offer]:
    """Those that can be paid and were not refused lately, the least price of work first."""
    left = view.ledger.left
    found = [
        offer
        for offer in view.market.offers
        if offer.limit != 0
        and not is_refused(view, offer.name, now)
        and (left is None or offer.entry_charge <= left)
    ]
    found.sort(key=lambda o: (o.price.nanos / (o.billing * o.slots * o.speed), o.entry_charge))
    return {offer.name: offer for offer in found}


def _counts(attempt: Attempt) -> bool:
    return not (attempt.cancelling or attempt.machine.releasing)
