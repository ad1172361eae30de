"""`random`: a ready task chosen at random for every free slot, first come, first served.

Random order is what makes the first tasks a fair sample of the bag (BaTS thesis, chapter 2).
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.engine.roles import Placer
from bursar.model.time import Time
from bursar.state.actions import Start
from bursar.state.view import View


class RandomPlacer(Placer):
    def next_task(self, view: View, rng: Random) -> int:
        return view.ready[int(rng.random() * len(view.ready))]

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        ready, idle = view.ready, view.idle
        if not ready or not idle:
            return ()
        if len(idle) == 1:
            machine = view.machines[idle[0]]
            if machine.offer.slots - len(machine.attempts) == 1:
                return (Start(self.next_task(view, rng), machine.id),)
        slots = [
            number
            for number in idle
            for _ in range(view.machines[number].offer.slots - len(view.machines[number].attempts))
        ]
        count = min(len(ready), len(slots))
        picks = rng.sample(range(len(ready)), count)
        return [Start(ready[pick], slot) for pick, slot in zip(picks, slots[:count], strict=True)]
