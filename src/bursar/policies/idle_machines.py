"""The machines that have a free slot, by offer, the oldest first, without looking at all of them.

A workflow may leave thousands of machines idle while one path goes on, so that nothing here is done
for each of them at each event.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush

from bursar.state.fleet_counts import ChangedMachines
from bursar.state.view import Machine, View


class IdleMachines:
    """Follows what changed: `look` first."""

    def __init__(self) -> None:
        self.account: str | None = None
        """whose machines alone count; None: all"""
        self._queues: dict[str, list[int]] = {}
        """heaps by offer; every idle machine is there, and some that are no more"""
        self._queued: set[int] = set()
        """all that are in a heap, each once"""
        self._taken: list[int] = []
        """since the last look; those that still have a free slot then are there again"""
        self._changed = ChangedMachines()

    def look(self, view: View) -> None:
        taken, self._taken = self._taken, []
        changed = self._changed.take(view)
        for number in (*taken, *(view.idle if changed is None else changed)):
            self._add(number, view)

    def offers(self) -> Iterable[str]:
        """All that may have idle machines."""
        return self._queues.keys()

    def oldest(self, offers: Iterable[str], view: View) -> Machine | None:
        """The oldest idle machine of these offers; None: there is none."""
        fronts = [front for offer in offers if (front := self._front(offer, view)) is not None]
        return view.machines[min(fronts)] if fronts else None

    def machines(self, offer: str, view: View) -> Iterator[Machine]:
        """All of an offer, in no order."""
        queue = self._queues.get(offer, ())
        return (view.machines[number] for number in queue if number in view.idle)

    def take(self, machine: Machine) -> None:
        """The oldest one of its offer, whose slots are all to be used."""
        self._taken.append(machine.id)
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

    def _add(self, number: int, view: View) -> None:
        if number in view.idle and number not in self._queued:
            machine = view.machines[number]
            if self.account in (None, machine.account):
                self._queued.add(number)
                heappush(self._queues.setdefault(machine.offer.name, []), number)

    def _front(self, offer: str, view: View) -> int | None:
        queue = self._queues.get(offer)
        while queue:
            if queue[0] in view.idle:
                return queue[0]
            self._drop(offer)
        return None

    def _drop(self, offer: str) -> None:
        self._queued.remove(heappop(self._queues[offer]))


class IdleByAge:
    """Those of the machines with a free slot that are `wanted`, the oldest first: `look` first."""

    def __init__(self, wanted: Callable[[Machine], bool]) -> None:
        self._wanted = wanted
        self._numbers: list[int] = []
        """ascending, as machines are numbered in the order in which they are rented"""
        self._changed = ChangedMachines()

    def look(self, view: View) -> None:
        changed = self._changed.take(view)
        if changed is None:
            self._numbers, changed = [], view.idle
        for number in changed:
            at = bisect_left(self._numbers, number)
            is_here = at < len(self._numbers) and self._numbers[at] == number
            if number not in view.idle:
                del self._numbers[at : at + is_here]
            elif not is_here and self._wanted(view.machines[number]):
                self._numbers.insert(at, number)

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)
