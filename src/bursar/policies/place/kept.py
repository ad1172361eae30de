"""`kept`: tasks chosen at random, for every free slot of the machines that a plan keeps.

The fastest machines come first. Machines that the plan has dropped end what they run and get no
more. Random order is what makes the first tasks a fair sample of the bag.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from bursar.engine.roles import Placer, Provisioner
from bursar.model.time import Time
from bursar.state.actions import Start
from bursar.state.view import View


class KeptPlacer(Placer):
    def __init__(self, provisioner: Provisioner) -> None:
        self._provisioner = provisioner
        """which knows how long machines stay"""

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        ready, keeps, machines = view.ready, self._provisioner.stays_until, view.machines
        kept = [one for number in view.idle if keeps(one := machines[number]) > now]
        if len(kept) > 1:
            expected = view.runtimes.expected
            means = {name: expected(name) or 1 / view.market[name].speed for name in view.fleet}
            kept.sort(key=lambda machine: means[machine.offer.name])
        slots = [
            machine.id
            for machine in kept
            for _ in range(machine.offer.slots - len(machine.attempts))
        ]
        count = min(len(ready), len(slots))
        if count == 1:
            return (Start(ready[int(rng.random() * len(ready))], slots[0]),)
        picks = rng.sample(range(len(ready)), count)
        return [Start(ready[pick], slot) for pick, slot in zip(picks, slots[:count], strict=True)]

    def next_task(self, view: View, rng: Random) -> int | None:
        return view.ready[int(rng.random() * len(view.ready))] if view.ready else None
