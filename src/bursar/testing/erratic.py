"""A world as bad as worlds get: clocks that jump, machines that die, news that comes late."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec

from bursar import events as ev
from bursar.model.time import Time
from bursar.simulate.world import Fortune, SimulatedWorld
from bursar.state import RunState


class ErraticWorld(SimulatedWorld):
    """The simulated world seen by somebody who falls asleep at random.

    When the clock jumps over the end of a lease, the machine has ended itself at that end (the dead
    man's switch that every world must have), and everything else is noticed late.
    """

    def __init__(
        self, state: RunState, fortune: Fortune, rng: Random, *, jumpiness: float, lead: Time
    ) -> None:
        super().__init__(state, fortune)
        self.lead = lead
        self._rng = rng
        self._jumpiness = jumpiness

    def wait(self, until: Time | None) -> Sequence[ev.AnyEvent]:
        happened = super().wait(until)
        if self._rng.random() >= self._jumpiness:
            return happened
        awake = self._now + round(self._rng.expovariate(1 / (1 + self._longest_lease())))
        late = [*happened]
        while self._agenda and self._agenda[0][0] <= awake:
            late.extend(super().wait(None))
        self._now = awake
        return [*self._seen_late(late), *self._expired()]

    def _seen_late(self, events: Sequence[ev.AnyEvent]) -> list[ev.AnyEvent]:
        seen: list[ev.AnyEvent] = []
        for event in events:
            if isinstance(event, ev.MachineDown):
                machine = self._state.machines.get(event.machine)
                ended = event.at if machine is None else min(event.at, machine.until)
                seen.append(msgspec.structs.replace(event, at=self._now, ended=ended))
            else:
                seen.append(msgspec.structs.replace(event, at=self._now))
        return seen

    def _expired(self) -> list[ev.AnyEvent]:
        return [
            ev.MachineDown(self._now, machine.id, "expired", ended=machine.until)
            for machine in self._state.machines.values()
            if machine.until < self._now
        ]

    def _longest_lease(self) -> Time:
        machines = self._state.machines.values()
        return max((machine.until - self._now for machine in machines), default=0)
