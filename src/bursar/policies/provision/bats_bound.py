"""Until when machines are paid for whatever a plan of BaTS says, and the money that leaves free.

A machine is paid to the end of the unit that it has entered. Where that costs less than to do its
tasks again elsewhere, it is also paid until they have ended. With billing units as long as tasks
the second is rare; with fine ones no work is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from bursar.beliefs.survival import Survival
from bursar.model.time import Time
from bursar.policies.live_attempts import is_live
from bursar.state.view import Machine, View


class MachineBounds(msgspec.Struct, frozen=True):
    """What is known now of run times, by offer, and what a task costs where it costs least."""

    view: View
    now: Time
    times: Mapping[str, Survival]
    least: float
    """in billionths"""

    def bounds(self, machines: Sequence[Machine]) -> tuple[list[Time], frozenset[int]]:
        """Until when each is bound, and those whose tasks are given up for want of money.

        The tasks that are the dearest to end go first, so that most can end.
        """
        bounds = [self.bound(machine) for machine in machines]
        lacking = -free_money(machines, bounds, self.view)
        given_up: set[int] = set()
        if lacking <= 0:
            return bounds, frozenset()
        dues = [self._due(machine, bound) for machine, bound in zip(machines, bounds, strict=True)]
        for place in sorted(range(len(machines)), key=lambda place: -dues[place]):
            if lacking <= 0 or not dues[place]:
                break
            lacking -= dues[place]
            bounds[place] = self._paid(machines[place])
            given_up.add(machines[place].id)
        return bounds, frozenset(given_up)

    def bound(self, machine: Machine) -> Time:
        """What leaving now would not give back, and what its tasks need to end if worth it."""
        offer, paid, end = machine.offer, self._paid(machine), self._end(machine)
        if end <= paid:
            return paid
        units = -(-(end - paid) // offer.billing)
        again = sum(relied_on(number, self.view) for number in machine.attempts) * self.least
        worth = units * offer.price.nanos <= again
        return paid + units * offer.billing if worth else paid

    def _paid(self, machine: Machine) -> Time:
        """The end of the unit that it is in; one that begins now has been entered."""
        stay = machine.offer.paid_for(self.now - machine.rented + 1)
        return min(machine.until, machine.rented + stay)

    def _due(self, machine: Machine, bound: Time) -> int:
        """What its tasks cost from here to their end, in billionths."""
        offer = machine.offer
        return (bound - self._paid(machine)) // offer.billing * offer.price.nanos

    def _end(self, machine: Machine) -> Time:
        """When the last of its tasks that are relied on is expected to have ended."""
        rest, attempts = self.times[machine.offer.name].rest, self.view.attempts
        begun = (attempts[n].started for n in machine.attempts if relied_on(n, self.view))
        return self.now + max((rest(self.now - start) for start in begun), default=0)


def free_money(machines: Sequence[Machine], bounds: Sequence[Time], view: View) -> float:
    """What a plan may use, in billionths: what is left, and what machines give back if they leave
    when they are no longer bound.
    """
    left = view.ledger.left
    if left is None:
        return float("inf")
    free = left.nanos
    for machine, bound in zip(machines, bounds, strict=True):
        offer, begin = machine.offer, machine.rented
        given_back = offer.units(machine.until - begin) - offer.units(bound - begin)
        free += offer.price.nanos * given_back
    return float(free)


def relied_on(number: int, view: View) -> bool:
    """Whether no other attempt of the same task has paid time for longer; replicas come second."""
    attempt = view.attempts[number]
    if attempt.measure:
        return True
    others = view.attempts_of(attempt.task)
    if len(others) == 1:
        return True
    rivals = (view.attempts[other] for other in others)
    best = max(
        (rival for rival in rivals if is_live(rival)),
        key=lambda rival: (rival.machine.until, -rival.id),
        default=attempt,
    )
    return best is attempt
