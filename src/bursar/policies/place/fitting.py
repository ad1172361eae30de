"""`fitting`: tasks chosen at random, but none started where it would end too late.

A task is not started on a machine that leaves before the task can end, nor, among the last tasks,
on a slow machine while faster ones would end all that is left sooner. The thesis names the loss:
"fast machines are released though the last few tasks have just started execution on slow machines"
(section 2.3.4). Until run times are known this is `random`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Final

import numpy as np

from bursar.engine.roles import Placer, Provisioner
from bursar.model.time import Time
from bursar.policies.columns import Integers
from bursar.policies.machine_slots import MachineSlots
from bursar.policies.running_attempts import RunningAttempts
from bursar.state.actions import Start
from bursar.state.view import Attempt, View

PATIENCE: Final = 2
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
        """which knows run times, and how long machines stay"""
        self._running = RunningAttempts(_has_begun)
        self._slots = MachineSlots(provisioner)

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        slots = self._chosen(view, now)
        count = min(len(view.ready), len(slots))
        if len(slots) == 1 and count == 1:
            return (Start(view.ready[int(rng.random() * len(view.ready))], slots[0]),)
        picks = rng.sample(range(len(view.ready)), count)
        return [
            Start(view.ready[pick], slot) for pick, slot in zip(picks, slots[:count], strict=True)
        ]

    def _chosen(self, view: View, now: Time) -> list[int]:
        """A machine for each slot that shall get a task, the fastest first."""
        means = {offer.name: self._provisioner.expected(offer.name) for offer in view.market.offers}
        rest = _Rest(self, view, means, now)
        useless = rest.useless_offers() if len(view.idle) > FEW else ()
        free = [
            (means[machine.offer.name] or 0, machine)
            for machine in map(view.machines.__getitem__, view.idle)
            if machine.offer.name not in useless
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

    def lanes(self, view: View, means: Means, now: Time) -> Lanes:
        """Every slot of every machine: when it is free, its run time, and how long it stays."""
        running, slots = self._running, self._slots
        running.look(view)
        slots.look(view)
        by_offer = np.array([means[offer.name] or 0 for offer in view.market.offers], np.int64)
        ends = np.zeros(len(running), np.int64)
        for place, offer in enumerate(view.market.offers):
            rows = np.flatnonzero(running.offers == place)
            started = running.started[rows]
            expected = (
                self._provisioner.expected_each(offer.name, now - started) if len(rows) else None
            )
            if expected is not None:
                ends[rows] = started + np.where(expected > 0, expected, now - started)
        busy = (by_offer[running.offers] > 0) & ~slots.is_leaving(running.machines)
        free = (by_offer[slots.offers] > 0) & (slots.free > 0)
        return Lanes(
            begin=np.concatenate([ends[busy], np.maximum(slots.begin[free], now)]),
            mean=by_offer[np.concatenate([running.offers[busy], slots.offers[free]])],
            stays=np.concatenate([slots.stays_of(running.machines[busy]), slots.stays[free]]),
            count=np.concatenate([np.ones(int(busy.sum()), np.int64), slots.free[free]]),
        )


class Lanes:
    """Slots of machines, in arrays."""

    def __init__(self, begin: Integers, mean: Integers, stays: Integers, count: Integers) -> None:
        self.begin = begin
        """when they are free"""
        self.mean = mean
        """how long a task takes there"""
        self.stays = stays
        self.count = count
        """slots that are alike"""

    def done_by(self, end: Time, longest: float) -> int:
        """Tasks that end by then on slots where a task takes at most so long."""
        fit = self.mean <= longest
        time = np.minimum(self.stays[fit], end) - self.begin[fit]
        return int((self.count[fit] * np.maximum(0, time // self.mean[fit])).sum())


class _Rest:
    """What the machines there could do of the tasks left, at one moment; found out when asked."""

    def __init__(self, placer: FittingPlacer, view: View, means: Means, now: Time) -> None:
        self._placer, self._view, self._means, self._now = placer, view, means, now
        self._lanes: Lanes | None = None
        self._known: dict[tuple[str, Time], int] = {}

    def useless_offers(self) -> set[str]:
        """Those on whose machines nothing is started, whether they leave soon or not."""
        ready = len(self._view.ready)
        return {
            name
            for name, mean in self._means.items()
            if mean
            and self.is_tail(mean, leaves=False)
            and self.done_sooner(mean) >= ready
            and self.is_tail(mean, leaves=True)
            and self.done_soon(mean) >= ready
        }

    def is_tail(self, mine: Time, *, leaves: bool) -> bool:
        """Whether so few tasks are left that the other machines might end them all soon enough.

        Tells in a moment where to count lanes is vain: free from now on, they would do so many.
        """
        view = self._view
        time = PATIENCE * mine if leaves else mine
        most = 0
        for name, count in view.fleet.items():
            mean = self._means[name]
            if mean and (leaves or NOTABLY * mean <= mine):
                most += count * view.market[name].slots * (time // mean)
        return len(view.ready) <= most + len(view.idle)

    def done_sooner(self, mean: Time) -> int:
        """Tasks that faster slots would end before one on which they take so long ends one."""
        if ("sooner", mean) not in self._known:
            # As `NOTABLY * theirs <= mine`, which is not quite `theirs <= mine / NOTABLY`.
            theirs = max((m for m in self._means.values() if m and NOTABLY * m <= mean), default=0)
            found = self._all().done_by(self._now + mean, theirs)
            self._known["sooner", mean] = found
        return self._known["sooner", mean]

    def done_soon(self, mean: Time) -> int:
        """Tasks that slots would end while they stay, and before one begun again here ends."""
        if ("soon", mean) not in self._known:
            end = self._now + PATIENCE * mean
            self._known["soon", mean] = self._all().done_by(end, float("inf"))
        return self._known["soon", mean]

    def _all(self) -> Lanes:
        if self._lanes is None:
            self._lanes = self._placer.lanes(self._view, self._means, self._now)
        return self._lanes


def _has_begun(attempt: Attempt) -> bool:
    return attempt.id in attempt.machine.attempts
