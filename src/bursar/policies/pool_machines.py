"""What the process on two pools asks of machines, offers and strategies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from bursar.model.fleet import Fleet
from bursar.model.strategy import Kind, Strategy
from bursar.model.time import LONGEST, Time
from bursar.policies.pool_timeout import Patience
from bursar.state.actions import Cancel
from bursar.state.view import Machine, View

INTERIM: Final = "combined"
"""The name of a strategy that holds until the tail begins."""


class Free:
    """Free slots of both pools, as machine numbers."""

    def __init__(self, view: View) -> None:
        self.unreliable: list[int] = []
        self.reliable: list[int] = []
        for number in view.idle:
            machine = view.machines[number]
            where = self.unreliable if is_unreliable(machine) else self.reliable
            where += [number] * (machine.offer.slots - len(machine.attempts))


def is_unreliable(machine: Machine) -> bool:
    return machine.offer.pool == "unreliable"


def slots_to_be_had(view: View, fleet: Fleet) -> int:
    """Slots of the unreliable pool: those that are rented, and those that can be rented."""
    slots = 0
    standing = Counter(m.offer.name for m in view.machines.values() if m.is_open)
    for offer in view.market.offers:
        if offer.pool == "unreliable":
            is_refused = offer.name in view.refusals
            count = standing[offer.name] if is_refused else fleet.get(offer.name, 0)
            slots += count * offer.slots
    return slots


def at_work(view: View, cancels: Iterable[Cancel]) -> int:
    """Instances on the unreliable pool that are not being given up."""
    given_up = {cancel.attempt for cancel in cancels}
    return sum(
        is_unreliable(one.machine) and not one.cancelling and one.id not in given_up
        for one in view.attempts.values()
    )


def doomed_tasks(
    view: View, announced: Iterable[int], patience: Patience, now: Time
) -> Iterator[int]:
    """Tasks all of whose instances go with these and other machines before they are likely over."""
    for number in announced:
        machine = view.machines.get(number)
        if machine is None or machine.doomed is None:
            continue
        for attempt in sorted(machine.attempts):
            live = view.attempts[attempt]
            rivals = (view.attempts[one] for one in view.attempts_of(live.task))
            is_safe = any(not (one.machine.leaving or one.cancelling) for one in rivals)
            age, later = now - live.started, machine.doomed - live.started
            if not is_safe and not patience.is_likely_over(age, later):
                yield live.task


def interim(ratio: float) -> Strategy:
    """For the time until the tail begins, on which is decided then: both pools are combined."""
    return Strategy(None, LONGEST, LONGEST, ratio, INTERIM, Kind.COMBINED)


def is_interim(strategy: Strategy | None) -> bool:
    return strategy is not None and strategy.name == INTERIM
