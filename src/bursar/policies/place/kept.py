"""`kept`: tasks chosen at random, for every free slot of the machines that a plan keeps.

The fastest machines come first. Machines that the plan has dropped end what they run and get no
more. Random order is what makes the first tasks a fair sample of the bag. What was lost with its
machine comes first where machines stay (`policies.lost_tasks`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from random import Random
from typing import Final

from bursar.engine.roles import Placer, Provisioner
from bursar.model.time import Time
from bursar.policies.lost_tasks import LEARNS_FROM, LostTasks
from bursar.state.actions import Start
from bursar.state.events import AnyEvent
from bursar.state.fleet_counts import IdleChanges
from bursar.state.view import Machine, View

FEW: Final = 8
"""Idle machines of which all are looked at as fast as at those that changed."""


class KeptPlacer(Placer):
    def __init__(self, provisioner: Provisioner) -> None:
        self._provisioner = provisioner
        """which knows how long machines stay"""
        self._lost = LostTasks()
        self._changes = IdleChanges()
        self._plans = 0
        """that had been made when what changed was last looked at"""
        self._kept: list[int] = []
        """machines that had a free slot then, and were to stay"""

    def learns_from(self) -> Collection[type]:
        return LEARNS_FROM

    def saw(self, event: AnyEvent, state: View) -> None:
        self._lost.saw(event, state)

    def saw_before(self, view: View) -> None:
        self._lost.saw_before(view)

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        kept = self._idle_kept(view, now)
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

    def _idle_kept(self, view: View, now: Time) -> list[Machine]:
        """Machines with a free slot that stay, in the order of `view.idle`.

        One that leaves gets no task again, unless there is another plan: where many are idle, none
        of these is looked at at every event.
        """
        if len(view.idle) <= FEW:
            return self._staying(view.idle, view, now)
        fresh, before = self._changes.take(view), self._plans
        self._plans = self._provisioner.plans
        numbers: Iterable[int] = fresh
        if before != self._plans:
            numbers = view.idle
        elif left := [number for number in self._kept if number in view.idle]:
            some = {*fresh, *left}
            numbers = [number for number in view.idle if number in some]
        kept = self._staying(numbers, view, now)
        self._kept = [machine.id for machine in kept]
        return kept

    def _staying(self, numbers: Iterable[int], view: View, now: Time) -> list[Machine]:
        keeps, machines = self._provisioner.stays_until, view.machines
        return [one for number in numbers if keeps(one := machines[number]) > now]

    def next_task(self, view: View, rng: Random) -> int | None:
        return view.ready[int(rng.random() * len(view.ready))] if view.ready else None
