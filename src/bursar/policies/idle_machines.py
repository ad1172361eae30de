"""The machines that have a free slot, by offer, the oldest first, without looking at all of them.

A workflow may leave thousands of machines idle while one path goes on, so that nothing here is done
for each of them at each event.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from bursar.state import events as ev
from bursar.state.view import Machine, View


class IdleMachines:
    """Follows a run's events."""

    def __init__(self) -> None:
        self._queues: dict[str, list[int]] = {}
        """heaps by offer; every idle machine is there, and some that are no more"""
        self._queued: set[int] = set()
        """all that are in a heap, each once"""

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        match event:
            case ev.MachineUp():
                self._add(event.machine, state)
            case ev.AttemptEnded():
                self._add(state.log.machine[event.attempt], state)

    def offers(self) -> Iterable[str]:
        """All that may have idle machines."""
        return self._queues.keys()

    def oldest(self, offers: Iterable[str], view: View) -> Machine | None:
        """The oldest idle machine of these offers; None: there is none."""
        fronts = [front for offer in offers if (front := self._front(offer, view)) is not None]
        return view.machines[min(fronts)] if fronts else None

    def remove(self, machine: Machine) -> None:
        """The oldest one of its offer will have no free slot until an attempt ends there."""
        self._drop(machine.offer.name)

    def have(self, slots: int, offer: str, view: View) -> bool:
        """Whether so many slots are free at machines of an offer that are up."""
        for number in self._queues.get(offer, ()):
            if slots <= 0:
                break
            if number in view.idle:
                machine = view.machines[number]
                slots -= machine.offer.slots - len(machine.attempts)
        return slots <= 0

    def _add(self, number: int, state: View) -> None:
        if number in state.idle and number not in self._queued:
            self._queued.add(number)
            heappush(self._queues.setdefault(state.machines[number].offer.name, []), number)

    def _front(self, offer: str, view: View) -> int | None:
        queue = self._queues.get(offer)
        while queue:
            if queue[0] in view.idle:
                return queue[0]
            self._drop(offer)
        return None

    def _drop(self, offer: str) -> None:
        self._queued.remove(heappop(self._queues[offer]))
