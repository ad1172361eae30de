"""What unreliable machines really cost: part of what a lost machine was paid for is wasted.

The unit that it had entered, its boot and the tasks that it did not end are lost. What that was, by
what the machines of its offer got done, is added to the price of a machine that is yet to be
rented. Each offer has a beginning of one machine at its price, so that one loss says little.

A host may also fall silent: its attempt is given up some day, and nobody knows when it was lost.
Where that is no exception, more of it is not worth the wait.
"""

from __future__ import annotations

from typing import Final

from bursar.beliefs.past import past_given_up, past_successes
from bursar.model.market import Offer
from bursar.model.time import Time
from bursar.state import events as ev
from bursar.state.view import View

FEW: Final = 2
"""Tasks of which attempts were given up that may be just long ..."""
RARE: Final = 20
"""... as may one among so many results."""
LEARNS_FROM: Final = (ev.AttemptEnded, ev.MachineRented, ev.CancelOrdered, ev.MachineDown)
"""Kinds of events that tell something of it."""


class SpotValue:
    """Watches a run; knows the premium of each offer whose machines were lost."""

    def __init__(self) -> None:
        self._rented: dict[int, tuple[Offer, Time]] = {}
        """by number, unreliable machines that are there, and since when"""
        self._used: dict[int, Time] = {}
        """by number, the run times of what succeeded there ..."""
        self._used_now: dict[str, Time] = {}
        """... and by offer, those of all its machines that are there"""
        self._useful: dict[str, float] = {}
        self._wasted: dict[str, float] = {}
        """by offer, in billionths"""
        self._lasted: dict[str, int] = {}
        """by offer, whole billing units that machines stayed which are gone ..."""
        self._lost: dict[str, int] = {}
        """... and how many of these were taken away"""
        self._done: dict[str, int] = {}
        """by offer, tasks that succeeded there"""
        self._results = 0
        """of all unreliable machines"""
        self._given_up: set[int] = set()
        """tasks: one that is long is given up again and again, whatever becomes of hosts"""

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        if type(event) is ev.AttemptEnded:
            number = state.log.machine[event.attempt]
            if event.outcome == "success" and number in self._rented:
                name = self._rented[number][0].name
                self._used[number] = self._used.get(number, 0) + event.runtime
                self._used_now[name] = self._used_now.get(name, 0) + event.runtime
                self._results += 1
                self._done[name] = self._done.get(name, 0) + 1
        elif type(event) is ev.MachineRented:
            offer = state.market[event.offer]
            if offer.pool == "unreliable":
                self._rented[event.machine] = offer, event.at
        elif type(event) is ev.CancelOrdered:
            if event.give_up:
                self._given_up.add(state.log.task[event.attempt])
        elif type(event) is ev.MachineDown:
            end = event.at if event.ended is None else event.ended
            if event.cause == "refused":
                self._rented.pop(event.machine, None)
            else:
                self._left(event.machine, end, was_lost=event.cause == "lost")

    def saw_before(self, view: View) -> None:
        """Learn what happened before anybody watched."""
        self._given_up = set(past_given_up(view))
        for past in past_successes(view):
            if view.market[past.offer].pool == "unreliable":
                self._results += len(past.runtimes)
                self._done[past.offer] = len(past.runtimes)
                for machine, time in zip(
                    past.machines.tolist(), past.runtimes.tolist(), strict=True
                ):
                    self._used[machine] = self._used.get(machine, 0) + time
        for charge in view.ledger.charges():
            if charge.offer.pool == "unreliable":
                self._rented[charge.machine] = charge.offer, charge.begin
                used, name = self._used.get(charge.machine, 0), charge.offer.name
                self._used_now[name] = self._used_now.get(name, 0) + used
                if not charge.is_open:
                    self._left(charge.machine, charge.end, was_lost=charge.was_lost)

    def _left(self, machine: int, end: Time, *, was_lost: bool) -> None:
        offer, since = self._rented.pop(machine, (None, 0))
        used = self._used.pop(machine, 0)
        if offer is None:
            return
        self._used_now[offer.name] = self._used_now.get(offer.name, 0) - used
        units = (end - since) // offer.billing
        self._lasted[offer.name] = self._lasted.get(offer.name, 0) + units
        useful = _worth(offer, used)
        self._useful[offer.name] = self._useful.get(offer.name, 0.0) + useful
        if was_lost:
            self._lost[offer.name] = self._lost.get(offer.name, 0) + 1
            paid = offer.charge(end - since).nanos
            lost = max(0.0, paid - useful)
            self._wasted[offer.name] = self._wasted.get(offer.name, 0.0) + lost

    @property
    def is_silent(self) -> bool:
        """Whether machines often return nothing, and nothing tells that they are lost."""
        given_up = len(self._given_up)
        return given_up > FEW and given_up * RARE > self._results

    @property
    def has_lost(self) -> bool:
        """Whether any machine was taken away, or fell silent."""
        return bool(self._wasted or self._given_up)

    def units_lasted(self, offer: Offer, now: Time) -> int:
        """Whole billing units that machines of this offer stayed for, all together."""
        under_way = sum(
            (now - since) // offer.billing
            for known, since in self._rented.values()
            if known.name == offer.name
        )
        return self._lasted.get(offer.name, 0) + under_way

    def successes(self, offer: Offer) -> int:
        """Tasks that succeeded on machines of this offer."""
        return self._done.get(offer.name, 0)

    def losses(self, offer: Offer) -> int:
        """Machines of this offer that were taken away."""
        return self._lost.get(offer.name, 0)

    def premium(self, offer: Offer) -> float:
        """What a machine of this offer costs, by its price, compared with one that stays."""
        wasted = self._wasted.get(offer.name, 0.0)
        if not wasted:
            return 1.0
        under_way = _worth(offer, self._used_now.get(offer.name, 0))
        useful = self._useful.get(offer.name, 0.0) + under_way
        return 1 + wasted / (useful + offer.entry_charge.nanos)


def _worth(offer: Offer, used: Time) -> float:
    """What so much time of a slot costs, were nothing else paid for, in billionths."""
    return offer.price.nanos * used / (offer.billing * offer.slots)
