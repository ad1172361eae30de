"""`kept`: tasks chosen at random, for every free slot of the machines that a plan keeps.

The fastest machines come first. Machines that the plan has dropped end what they run and get no
more. Random order is what makes the first tasks a fair sample of the bag. What was lost with its
machine comes first where machines stay (`policies.lost_tasks`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from random import Random

from bursar.engine.roles import Placer, Provisioner
from bursar.model.time import Time
from bursar.policies.lost_tasks import LEARNS_FROM, LostTasks
from bursar.state.actions import Start
from bursar.state.events import AnyEvent
from bursar.state.view import View


class KeptPlacer(Placer):
    def __init__(self, provisioner: Provisioner) -> None:
        self._provisioner = provisioner
        """which knows how long machines stay"""
        self._lost = LostTasks()

    def learns_from(self) -> Collection[type]:
        return LEARNS_FROM

    def saw(self, event: AnyEvent, state: View) -> None:
        self._lost.saw(event, state)

    def saw_before(self, view: View) -> None:
        self._lost.saw_before(view)

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        keeps, machines = self._provisioner.stays_until, view.machines
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
        return self._lost.fill(slots, view, rng)

    def next_task(self, view: View, rng: Random) -> int | None:
        return view.ready[int(rng.random() * len(view.ready))] if view.ready else None
