"""A world as bad as worlds get: clocks that jump, machines that die, news that comes late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import msgspec

from bursar.model.market import Offer
from bursar.model.time import Time
from bursar.simulate.world import Behaviour, SimulatedWorld
from bursar.state import events as ev
from bursar.state.state import RunState


class ErraticWorld(SimulatedWorld):
    """The simulated world seen by somebody who falls asleep at random.

    When the clock jumps over the end of a lease, the machine has ended itself at that end (the dead
    man's switch that every world must have), and everything else is noticed late.
    """

    def __init__(
        self,
        state: RunState,
        behaviour: Behaviour,
        rng: Random,
        *,
        jumpiness: float,
        lead: Time,
        slow: Mapping[str, Time] | None = None,
    ) -> None:
        super().__init__(state, behaviour)
        self._lead = lead
        self._slow = slow or {}
        """the leads of offers that have their own"""
        self._rng = rng
        self._jumpiness = jumpiness
        """how probable it is to fall asleep after an event"""

    def lead(self, offer: Offer) -> Time:
        return self._slow.get(offer.name, self._lead)

    def wait(self, until: Time | None) -> Sequence[ev.AnyEvent]:
        missed = [*super().wait(until)]
        if self._rng.random() >= self._jumpiness:
            return missed
        awake = self._now + round(self._rng.expovariate(1 / (1 + self._longest_lease())))
        while more := super().wait(awake):
            missed.extend(more)
        return [self._seen_late(event) for event in missed]

    def _seen_late(self, event: ev.AnyEvent) -> ev.AnyEvent:
        if isinstance(event, ev.MachineDown) and event.ended is None:
            return msgspec.structs.replace(event, at=self._now, ended=event.at)
        return msgspec.structs.replace(event, at=self._now)

    def _longest_lease(self) -> Time:
        machines = self._state.machines.values()
        return max((machine.until - self._now for machine in machines), default=0)
