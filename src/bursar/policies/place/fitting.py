"""`fitting`: tasks chosen at random, but none started where it would end too late.

A task is not started on a machine that leaves before the task can end, nor, among the last tasks,
on a slow machine while faster ones would end all that is left sooner. The thesis names the loss:
"fast machines are released though the last few tasks have just started execution on slow machines"
(section 2.3.4). Until run times are known this is `random`. What was lost with its machine comes
first where machines stay (`policies.lost_tasks`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from random import Random
from typing import Final

import msgspec
import numpy as np

from bursar.engine.roles import Placer, Provisioner
from bursar.model.time import Time
from bursar.policies.columns import Integers
from bursar.policies.idle_machines import IdleMachines
from bursar.policies.lost_tasks import LEARNS_FROM, LostTasks
from bursar.policies.machine_slots import MachineSlots
from bursar.policies.running_attempts import RunningAttempts
from bursar.state.actions import Start
from bursar.state.events import AnyEvent
from bursar.state.view import Attempt, Machine, View

RUN_TIMES_ALLOWED: Final = 2
"""Run times that the other machines are given to end what does not fit on one that leaves."""
NOTABLY: Final = 1.1
"""A machine is faster if its run times are shorter by so much: means are only estimates."""
FEW: Final = 4
"""Idle machines that are looked at one by one."""

Means = Mapping[str, Time | None]
"""By offer, what a task takes; None: nothing is known."""


class FittingPlacer(Placer):
    def __init__(self, provisioner: Provisioner) -> None:
        self._provisioner = provisioner
        """which knows how long machines stay"""
        self._running = RunningAttempts(_has_begun)
        self._slots = MachineSlots(provisioner)
        self._idle = IdleMachines()
        self._lost = LostTasks()

    def learns_from(self) -> Collection[type]:
        return LEARNS_FROM

    def saw(self, event: AnyEvent, state: View) -> None:
        self._lost.saw(event, state)

    def saw_before(self, view: View) -> None:
        self._lost.saw_before(view)

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        slots = self._chosen(view, now)
        return self._lost.fill(slots, view, rng)

    def _chosen(self, view: View, now: Time) -> list[int]:
        """A machine for each slot that shall get a task, the fastest first."""
        means = {offer.name: view.runtimes.expected(offer.name) for offer in view.market.offers}
        rest = _Rest(self, view, means, now)
        if len(view.idle) == 1 and not rest.is_tail_anywhere():
            machine = view.machines[view.idle[0]]
            return [machine.id] * (machine.offer.slots - len(machine.attempts))
        free = [
            (means[machine.offer.name] or 0, machine) for machine in self._promising(rest, view)
        ]
        free.sort(key=lambda pair: pair[0])
        slots: list[int] = []
        gambles = 0
        for mean, machine in free:
            stays = self._provisioner.stays_until(machine)
            for _ in range(machine.offer.slots - len(machine.attempts)):
                leaves = now + mean > stays
                if mean and rest.is_tail(mean, leaves=leaves):
                    if leaves:
                        if gambles + rest.done_soon(mean) >= len(view.ready):
                            continue
                        gambles += 1
                    elif rest.done_sooner(mean) >= len(view.ready):
                        continue
                slots.append(machine.id)
        return slots

    def _promising(self, rest: _Rest, view: View) -> Sequence[Machine]:
        """The idle machines on which something may be started, in the order of `view.idle`."""
        if len(view.idle) > FEW:
            self._idle.look(view)
            idle = {name for name in self._idle.offers() if self._idle.oldest((name,), view)}
            useless = rest.useless_among(idle)
            if useless:
                found = [m for name in idle - useless for m in self._idle.machines(name, view)]
                if len(found) <= 1:
                    return found
                wanted = {machine.id for machine in found}
                return [view.machines[number] for number in view.idle if number in wanted]
        return [view.machines[number] for number in view.idle]

    def follow(self, view: View) -> None:
        """Look at what changed, before lanes are asked for."""
        self._running.look(view)
        self._slots.look(view)

    def lanes(self, place: int, offer: str, view: View, now: Time) -> Lanes:
        """Every slot of an offer's machines: when it is free, and how long it stays."""
        running, slots = self._running, self._slots
        rows = running.rows_of(place)
        machines = running.machines[rows]
        stays = ~slots.is_leaving(machines)
        machines, started = machines[stays], running.started[rows][stays]
        elapsed = now - started
        expected = view.runtimes.expected_each(offer, elapsed, running.tasks[rows])
        if expected is None:
            expected = elapsed
        free = ((slots.offers == place) & (slots.free > 0)).nonzero()[0]
        return Lanes(
            busy=started + np.where(expected > 0, expected, elapsed),
            busy_stay=slots.stays_of(machines),
            free=np.maximum(slots.begin[free], now),
            free_stay=slots.stays[free],
            count=slots.free[free],
        )


class Lanes(msgspec.Struct, frozen=True, eq=False):
    """Slots of an offer's machines, in arrays."""

    busy: Integers
    """when those are free that run something"""
    busy_stay: Integers
    """until when they stay"""
    free: Integers
    """the same of slots that run nothing ..."""
    free_stay: Integers
    count: Integers
    """... so many of which are alike"""

    def done_by(self, end: Time, mean: Time) -> int:
        """Tasks that end by then, if each takes so long."""
        later = np.maximum(0, (np.minimum(self.busy_stay, end) - self.busy) // mean)
        soon = np.maximum(0, (np.minimum(self.free_stay, end) - self.free) // mean)
        return int(later.sum() + (self.count * soon).sum())


class _Rest:
    """What the machines there could do of the tasks left, at one moment; found out when asked."""

    def __init__(self, placer: FittingPlacer, view: View, means: Means, now: Time) -> None:
        self._placer, self._view, self._means, self._now = placer, view, means, now
        self._lanes: dict[int, Lanes] = {}
        """by the place of an offer in the market"""
        self._known: dict[tuple[str, Time], int] = {}

    def useless_among(self, offers: Iterable[str]) -> set[str]:
        """Those on whose machines nothing is started, whether they leave soon or not.

        What faster slots end before one task ends here, all slots end while two would.
        """
        ready = len(self._view.ready)
        return {
            name
            for name in offers
            if (mean := self._means[name])
            and self.is_tail(mean, leaves=False)
            and self.done_sooner(mean) >= ready
        }

    def is_tail_anywhere(self) -> bool:
        """Whether so few tasks are left that `is_tail` might hold for any machine: it holds where
        tasks take longest, and a machine leaves, if it holds anywhere.
        """
        slowest = max((mean for mean in self._means.values() if mean), default=0)
        return self.is_tail(slowest, leaves=True)

    def is_tail(self, mine: Time, *, leaves: bool) -> bool:
        """Whether so few tasks are left that the other machines might end them all soon enough.

        Tells in a moment where to count lanes is vain: free from now on, they would do so many.
        """
        view = self._view
        time = RUN_TIMES_ALLOWED * mine if leaves else mine
        most = 0
        for name, count in view.fleet.items():
            mean = self._means[name]
            if mean and (leaves or NOTABLY * mean <= mine):
                most += count * view.market[name].slots * (time // mean)
        return len(view.ready) <= most + len(view.idle)

    def done_sooner(self, mean: Time) -> int:
        """Tasks that faster slots would end before one on which they take so long ends one."""
        if ("sooner", mean) not in self._known:
            found = sum(
                self._lanes_of(place).done_by(self._now + mean, theirs)
                for place, theirs in enumerate(self._means.values())
                if theirs and NOTABLY * theirs <= mean
            )
            self._known["sooner", mean] = found
        return self._known["sooner", mean]

    def done_soon(self, mean: Time) -> int:
        """Tasks that slots would end while they stay, and before one begun again here ends."""
        if ("soon", mean) not in self._known:
            end = self._now + RUN_TIMES_ALLOWED * mean
            self._known["soon", mean] = sum(
                self._lanes_of(place).done_by(end, theirs)
                for place, theirs in enumerate(self._means.values())
                if theirs
            )
        return self._known["soon", mean]

    def _lanes_of(self, place: int) -> Lanes:
        if not self._lanes:
            self._placer.follow(self._view)
        if place not in self._lanes:
            offer = self._view.market.offers[place].name
            self._lanes[place] = self._placer.lanes(place, offer, self._view, self._now)
        return self._lanes[place]


def _has_begun(attempt: Attempt) -> bool:
    return attempt.id in attempt.machine.attempts
