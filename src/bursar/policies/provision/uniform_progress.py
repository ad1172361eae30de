"""`uniform-progress`: spot machines while the work keeps up with a line to the deadline.

The rule of "Can't Be Late" (Wu et al., NSDI 2024, section 4), which has no parameter: the share of
the work that is done should be the share of the time that has passed. Ahead of the line, a seat
without a spot machine waits for one; behind it, the seat gets an on-demand machine, and keeps it
until the work is ahead by two changeovers. A spot machine is kept until it is taken away. At the
last moment at which on-demand machines can still do the rest, they are rented for good.

The paper has one job on one machine. Here seats are the slots of the spot machines that may be
rented, or of all machines where there is no spot. Each seat goes its own way, and what is lost with
a machine is its tasks.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from random import Random

from bursar.engine.roles import Provisioner
from bursar.model.fleet import Fleet
from bursar.model.market import Market, Offer
from bursar.model.time import FOREVER, Time
from bursar.plan.pools.split import by_price
from bursar.policies.deadline_help import CHANGEOVERS, LastMoment
from bursar.policies.reconcile import Refunding, Target, give_back, reconcile
from bursar.state import events as ev
from bursar.state.actions import Extend, Release, Rent, Stop, Wake
from bursar.state.fleet_counts import IdleChanges
from bursar.state.view import Machine, View


class UniformProgress(Provisioner):
    """Rents for a bag with a deadline on two pools."""

    def __init__(self, market: Market, fleet: Fleet) -> None:
        usable = [offer for offer in market.offers if fleet.get(offer.name)]
        self._spot = by_price(one for one in usable if one.pool == "unreliable")
        self._sure = by_price(one for one in usable if one.pool == "reliable")
        self._fleet = fleet
        self._seats = sum(fleet[offer.name] * offer.slots for offer in self._spot or self._sure)
        self._changeover = max((offer.boot for offer in self._sure), default=0)
        self._idle = IdleChanges()
        self._refunding = Refunding()
        self._last = LastMoment()
        self._is_behind = False
        self._is_final = not self._spot
        """on-demand machines do the rest"""
        self._turns = 0
        """times that on-demand machines were wanted, or wanted no more"""
        self._woken: Time = -1

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        self._last.saw(event, state)

    def saw_before(self, view: View) -> None:
        self._last.saw_before(view)

    def provision(
        self, view: View, now: Time, rng: Random
    ) -> Iterable[Rent | Release | Wake | Stop]:
        if not view.ready:
            why = "idle, and nothing is left to start"
            return give_back(view, self._idle.take(view), now, why)
        self._look(view, now)
        return [*self._rented(view, now), *self._surplus(view, now), *self._wakes(view, now)]

    def renew(self, machine: Machine, view: View, now: Time) -> Extend | Release:
        if machine.attempts or machine.up is None or view.ready:
            return Extend(machine.id)
        return Release(machine.id, reason="nothing is left to start")

    @property
    def plans(self) -> int:
        return self._turns

    def stays_until(self, machine: Machine) -> Time:
        """On-demand machines take no more tasks while the work is ahead."""
        is_spare = machine.offer.pool == "reliable" and not (self._is_behind or self._is_final)
        return 0 if is_spare else FOREVER

    # --- the line --------------------------------------------------------------------------------

    def _look(self, view: View, now: Time) -> None:
        """Where the work is, by the line and by the last safe moment."""
        deadline = view.goal.deadline
        if deadline is None:
            return
        before = self._is_behind, self._is_final
        share = view.done / view.total
        ahead = (now + CHANGEOVERS * self._changeover) / deadline
        self._is_behind = share < (ahead if self._is_behind else now / deadline)
        last = self._last.at(view, self._fleet)
        self._is_final |= last is not None and now >= last
        self._turns += before != (self._is_behind, self._is_final)

    # --- machines --------------------------------------------------------------------------------

    def _rented(self, view: View, now: Time) -> list[Rent | Release]:
        """Spot for every seat without a machine; on-demand where there is none, if it is late."""
        wanted = min(self._seats, view.total - view.done)
        spot, sure = _slots(view, self._spot), _slots(view, self._sure)
        if self._is_final:
            return self._fill(view, now, self._sure, wanted - sure, "the deadline needs it")
        found = self._fill(view, now, self._spot, wanted - spot - sure, "spot comes first")
        asked = sum(one.count * view.market[one.offer].slots for one in found if type(one) is Rent)
        if self._is_behind:
            lacking = wanted - spot - sure - asked
            why = "no spot machine is available, and the work is behind the line to the deadline"
            found += self._fill(view, now, self._sure, lacking, why)
        return found

    def _fill(
        self, view: View, now: Time, offers: list[Offer], slots: int, why: str
    ) -> list[Rent | Release]:
        fleet = {offer.name: self._fleet[offer.name] for offer in offers}
        return reconcile(view, Target(fleet=fleet, rent=why, slots=slots), now)

    def _surplus(self, view: View, now: Time) -> list[Release]:
        """On-demand machines leave when their tasks end, once the work is ahead by enough."""
        if self._is_behind or self._is_final:
            return []
        why = "the work is ahead of the line to the deadline"
        return self._refunding.give_back(
            view, now, why, lambda machine: machine.offer.pool == "reliable"
        )

    def _wakes(self, view: View, now: Time) -> list[Wake]:
        """When spot may be asked for again, when the line is crossed, and at the last moment."""
        moments = [one.over for one in view.refusals.values()]
        deadline = view.goal.deadline
        if deadline is not None:
            crossing = ceil(view.done / view.total * deadline) + 1
            last = self._last.at(view, self._fleet)
            moments += [crossing] if last is None else [crossing, last]
        soon = min((moment for moment in moments if moment > now), default=now)
        if soon == now or now < self._woken <= soon:
            return []
        self._woken = soon
        return [Wake(soon)]


def _slots(view: View, offers: list[Offer]) -> int:
    return sum(view.fleet.get(offer.name, 0) * offer.slots for offer in offers)
