"""What the process on two pools asks of machines, offers and strategies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from bursar.model.fleet import Fleet
from bursar.model.market import Offer, have_in_common
from bursar.model.money import Money
from bursar.model.strategy import INTERIM, Kind, Strategy
from bursar.model.time import LONGEST, Time
from bursar.plan.pools.split import by_price
from bursar.policies.pool_timeout import PoolTimeout
from bursar.state.actions import Cancel
from bursar.state.fleet_counts import FleetCounts
from bursar.state.view import Machine, View


class Free:
    """Free slots of both pools, as machine numbers; found when there is a task for them.

    Machines of one kind vanish together, so another instance of a task gets one of another type or
    zone than those where it runs or was lost, if one is free.
    """

    def __init__(self, view: View) -> None:
        self._view = view

    @cached_property
    def unreliable(self) -> list[int]:
        return self._of("unreliable")

    @cached_property
    def reliable(self) -> list[int]:
        return self._of("reliable")

    def take_unreliable(self, task: int, lost_on: str | None) -> tuple[int, str]:
        """A machine for an instance of this task, and what it is apart from, if it was chosen."""
        view, free = self._view, self.unreliable
        rivals = [view.attempts[one].machine.offer for one in view.attempts_of(task)]
        if lost_on is not None:
            rivals.append(view.market[lost_on])
        if not rivals:
            return free.pop(), ""
        last = free[-1]
        best = min(reversed(free), key=lambda one: likeness(view.machines[one].offer, rivals))
        free.remove(best)
        is_apart = likeness(view.machines[best].offer, rivals) < likeness(
            view.machines[last].offer, rivals
        )
        return best, rivals[0].name if is_apart else ""

    def _of(self, pool: str) -> list[int]:
        machines = self._view.machines
        return [
            number
            for number in self._view.idle
            if (machine := machines[number]).offer.pool == pool
            for _ in range(machine.offer.slots - len(machine.attempts))
        ]


def likeness(offer: Offer, others: Iterable[Offer]) -> int:
    """What an offer has most in common with any of some others."""
    return max((have_in_common(offer, other) for other in others), default=0)


def is_unreliable(machine: Machine) -> bool:
    return machine.offer.pool == "unreliable"


def slots_to_be_had(view: View, counts: FleetCounts, fleet: Fleet) -> int:
    """Slots of the unreliable pool: those that are rented, and those that can be rented."""
    slots = 0
    for offer in view.market.offers:
        if offer.pool == "unreliable":
            is_refused = offer.name in view.refusals
            count = counts.of(offer.name).up if is_refused else fleet.get(offer.name, 0)
            slots += count * offer.slots
    return slots


def at_work(view: View, counts: FleetCounts, cancels: Sequence[Cancel]) -> int:
    """Instances on the unreliable pool that are not being given up; only such are cancelled."""
    offers = (offer for offer in view.market.offers if offer.pool == "unreliable")
    return sum(counts.of(offer.name).wanted for offer in offers) - len(cancels)


def reliable_at_work(view: View, counts: FleetCounts) -> int:
    """Slots of the reliable pool that have a task."""
    return sum(counts.of(o.name).running for o in view.market.offers if o.pool == "reliable")


def doomed_tasks(
    view: View, announced: Iterable[int], timeout: PoolTimeout, now: Time
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
            if not is_safe and not timeout.is_likely_over(age, later):
                yield live.task


def interim(ratio: float) -> Strategy:
    """For the time until the tail begins, on which is decided then: both pools are combined."""
    return Strategy(None, LONGEST, LONGEST, ratio, INTERIM, Kind.COMBINED)


def is_interim(strategy: Strategy | None) -> bool:
    return strategy is not None and strategy.is_interim


def on_slowest(view: View, runtime: Time, speed: float) -> Time:
    """What a task that ran so long at a speed would take on the slowest unreliable machine."""
    offers = (one for one in view.market.offers if one.pool == "unreliable")
    slowest = min((one.speed for one in offers), default=1.0)
    return max(1, round(runtime * speed / slowest))


def all_refused(view: View, fleet: Fleet) -> bool:
    """Whether no unreliable offer of a fleet is available now."""
    offers = (offer for offer in view.market.offers if offer.pool == "unreliable")
    return all(offer.name in view.refusals for offer in offers if offer.name in fleet)


def reliable_cost(view: View, mean: Time) -> Money:
    """What all that remains would cost on the cheapest reliable machines, a task taking so long."""
    offer = by_price(offer for offer in view.market.offers if offer.pool == "reliable")[0]
    return offer.charge(round(mean / offer.speed)) * (view.total - view.done - view.failed)
