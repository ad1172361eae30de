"""`fitting`: tasks chosen at random, but none started where it would end too late.

A task is not started on a machine that leaves before the task can end, nor, among the last tasks,
on a slow machine while faster ones would end all that is left sooner. The thesis names the loss:
"fast machines are released though the last few tasks have just started execution on slow machines"
(section 2.3.4). Until run times are known this is `random`.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Final, NamedTuple

from bursar.engine.roles import Placer, Provisioner
from bursar.model.time import Time
from bursar.state.actions import Start
from bursar.state.view import View

PATIENCE: Final = 2
"""Run times that the other machines are given to end what does not fit on one that leaves."""
NOTABLY: Final = 1.1
"""A machine is faster if its run times are shorter by so much: means are only estimates."""


class FittingPlacer(Placer):
    def __init__(self, provisioner: Provisioner) -> None:
        self._provisioner = provisioner
        """which knows run times, and how long machines stay"""

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        slots = self._slots(view, now)
        count = min(len(view.ready), len(slots))
        if len(slots) == 1 and count == 1:
            return (Start(view.ready[int(rng.random() * len(view.ready))], slots[0]),)
        picks = rng.sample(range(len(view.ready)), count)
        return [
            Start(view.ready[pick], slot) for pick, slot in zip(picks, slots[:count], strict=True)
        ]

    def _slots(self, view: View, now: Time) -> list[int]:
        """A machine for each slot that shall get a task, the fastest first."""
        means = {offer.name: self._provisioner.expected(offer.name) for offer in view.market.offers}
        free = [
            (means[machine.offer.name] or 0, machine)
            for machine in (view.machines[number] for number in view.idle)
        ]
        free.sort(key=lambda pair: pair[0])
        lanes: list[Lane] | None = None
        slots: list[int] = []
        gambles = 0
        for mean, machine in free:
            mine = Lane(now, mean, self._provisioner.stays_until(machine))
            for _ in range(machine.offer.slots - len(machine.attempts)):
                if mean and self._is_tail(mine, means, view):
                    lanes = self._lanes(view, means, now) if lanes is None else lanes
                    if now + mean > mine.stays:
                        if gambles + _done_soon(lanes, mine) >= len(view.ready):
                            continue
                        gambles += 1
                    elif _done_sooner(lanes, mine) >= len(view.ready):
                        continue
                slots.append(machine.id)
        return slots

    def _is_tail(self, mine: Lane, means: dict[str, Time | None], view: View) -> bool:
        """Whether so few tasks are left that the other machines might end them all soon enough.

        Tells in a moment where to count lanes is vain: free from now on, they would do so many.
        """
        leaves = mine.begin + mine.mean > mine.stays
        time = PATIENCE * mine.mean if leaves else mine.mean
        most = 0
        for name, count in view.fleet.items():
            mean = means[name]
            if mean and (leaves or NOTABLY * mean <= mine.mean):
                most += count * view.market[name].slots * (time // mean)
        return len(view.ready) <= most + len(view.idle)

    def _lanes(self, view: View, means: dict[str, Time | None], now: Time) -> list[Lane]:
        """Every slot of every machine: when it is free, its run time, and how long it stays."""
        lanes: list[Lane] = []
        for machine in view.machines.values():
            mean = means[machine.offer.name]
            if mean is None or machine.leaving:
                continue
            stays = self._provisioner.stays_until(machine)
            begin = now if machine.up is not None else max(now, machine.rented + machine.offer.boot)
            for number in machine.attempts:
                elapsed = now - view.attempts[number].started
                expected = self._provisioner.expected(machine.offer.name, elapsed) or elapsed
                lanes.append(Lane(now + expected - elapsed, mean, stays))
            free = machine.offer.slots - len(machine.attempts)
            lanes += [Lane(begin, mean, stays)] * free
        return lanes


class Lane(NamedTuple):
    """A slot of a machine."""

    begin: Time
    """when it is free"""
    mean: Time
    """how long a task takes there"""
    stays: Time


def _done_sooner(lanes: Iterable[Lane], mine: Lane) -> int:
    """Tasks that faster slots would end before this one ends one."""
    end = mine.begin + mine.mean
    return sum(
        max(0, (min(end, lane.stays) - lane.begin) // lane.mean)
        for lane in lanes
        if NOTABLY * lane.mean <= mine.mean
    )


def _done_soon(lanes: Iterable[Lane], mine: Lane) -> int:
    """Tasks that slots would end while they stay, and before a task that is begun again here."""
    end = mine.begin + PATIENCE * mine.mean
    return sum(max(0, (min(end, lane.stays) - lane.begin) // lane.mean) for lane in lanes)
