"""What the replicators of BaTS share (Oprescu's thesis, section 5.1).

The tail begins when no task is ready. A machine that is idle then is paid for to the end of its
lease, and runs a replica of a task that would otherwise end later. Replicas never are a reason to
rent or to extend: a provisioner asks `deserves` (`live_attempts.py`) before it renews a machine.

Of the tasks that are expected to end sooner on the idle machine, t_s - tau_s > t_t, the one with
the largest expected remaining time is chosen. A task with several attempts is judged by the one
that is expected to end first.

What is expected of an attempt changes with every moment, so all of them are looked at, in arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Final, Protocol

import numpy as np

from bursar.model.time import Time, format_duration
from bursar.policies.columns import Integers, Truths
from bursar.policies.idle_machines import IdleMachines
from bursar.policies.running_attempts import LARGEST, RunningAttempts
from bursar.state.actions import Start
from bursar.state.view import Machine, View

AT_RANDOM: Final = "runs on a slower machine, picked at random"


class Expectation(Protocol):
    """What is expected of attempts at one moment; both answers are by row."""

    @property
    def left(self) -> Integers:
        """How long each of them goes on; `LARGEST` where nothing is known."""
        ...

    def needed(self, machine: Machine) -> Integers | None:
        """What each one's task takes in all on another machine.

        None: nobody knows, or it ends sooner there for none.
        """
        ...


class Expected:
    """The outlook by the run times that are expected."""

    def __init__(self, live: RunningAttempts, view: View, now: Time) -> None:
        offers = [offer.name for offer in view.market.offers]
        self._runtimes = view.runtimes
        self._run_on = [offers[place] for place in live.run_on]
        self._elapsed: Integers = now - live.started
        self._times = view.runtimes.elsewhere(offers, live.offers, self._elapsed, live.tasks)
        self.here: Integers = self._times.here
        """what each one takes in all where it runs; 0 where nothing is known"""

    @property
    def left(self) -> Integers:
        left = self.here - self._elapsed
        return left if self.here.all() else np.where(self.here > 0, left, LARGEST)

    def time_on(self, offer: str) -> Integers:
        """What each one's task takes in all on an offer; 0 where nothing is known."""
        return self._times.on(offer)

    def needed(self, machine: Machine) -> Integers | None:
        if not self._runtimes.may_end_sooner(self._run_on, machine.offer.name):
            return None
        times = self.time_on(machine.offer.name)
        return times if times.all() else np.where(times > 0, times, LARGEST)


class Pick(Protocol):
    """Chooses tasks to replicate, at one moment."""

    def has_any(self, machine: Machine) -> bool:
        """Whether there is any for machines of this offer, before the first is picked."""
        ...

    def pick(self, machine: Machine, picked: set[int]) -> tuple[int, str] | None:
        """A task to replicate there and why, none of those picked before; None: there is none."""
        ...


class Longest:
    """Picks the candidate with the largest expected remaining time."""

    def __init__(self, live: RunningAttempts, outlook: Expectation, view: View) -> None:
        self._live = live
        self._outlook = outlook
        left = outlook.left
        is_open = (left > 0) & (left != LARGEST)
        if not live.is_single:
            ties = np.where(left == live.least_by_task(left), live.keys, LARGEST)
            is_open &= live.keys == live.least_by_task(ties)
        may = live.may_replicate(view)
        self._left = left
        self._is_open = is_open if may is None else is_open & may
        self._queues: dict[str, list[tuple[int, Time, Time]]] = {}
        """by offer, what may be picked with the time left and that needed there, the last first"""

    def has_any(self, machine: Machine) -> bool:
        return bool(self._queue(machine))

    def pick(self, machine: Machine, picked: set[int]) -> tuple[int, str] | None:
        queue = self._queue(machine)
        while queue:
            task, left, needed = queue.pop()
            if task not in picked:
                here, there = format_duration(needed), format_duration(left)
                return task, f"expected to take {here} here, {there} more where it runs"
        return None

    def _queue(self, machine: Machine) -> list[tuple[int, Time, Time]]:
        name = machine.offer.name
        if name not in self._queues:
            needed = self._outlook.needed(machine)
            self._queues[name] = [] if needed is None else self._list(needed)
        return self._queues[name]

    def _list(self, needed: Integers) -> list[tuple[int, Time, Time]]:
        """The longest last; of equal ones the one whose first machine has the lowest number."""
        live, left = self._live, self._left
        rows = (self._is_open & (left > needed)).nonzero()[0]
        if not len(rows):
            return []
        keys = live.keys
        first = live.least_by_task(keys)
        order = rows[np.lexsort((keys[rows], first[rows], -left[rows]))][::-1]
        columns = (live.tasks[order], left[order], needed[order])
        return list(zip(*(column.tolist() for column in columns), strict=True))


class AtRandom:
    """Picks any task that is executed by a slower machine, whatever else executes it.

    The thesis: a worker is not released "as long as tasks are executed by slower machines". A
    machine of unknown speed counts as the fastest.
    """

    def __init__(self, live: RunningAttempts, view: View, rng: Random) -> None:
        self._live = live
        self._rng = rng
        self._pace = {offer.name: view.runtimes.pace(offer.name) for offer in view.market.offers}
        self._known = [-1 if pace is None else pace for pace in self._pace.values()]
        """by the place of an offer in the market"""
        self._may: Truths | None = live.may_replicate(view)
        self._tasks: dict[str, list[int]] = {}
        """by offer, tasks that a slower machine executes, by the number of their first machine"""
        self._picked: dict[str, int] = {}
        """by offer, how many tasks had been picked when that list was last looked through"""

    def has_any(self, machine: Machine) -> bool:
        return bool(self._slower(machine))

    def pick(self, machine: Machine, picked: set[int]) -> tuple[int, str] | None:
        name, tasks = machine.offer.name, self._slower(machine)
        if self._picked.get(name, 0) < len(picked):
            tasks = self._tasks[name] = [task for task in tasks if task not in picked]
        self._picked[name] = len(picked) + 1
        return (tasks.pop(int(self._rng.random() * len(tasks))), AT_RANDOM) if tasks else None

    def _slower(self, machine: Machine) -> list[int]:
        name = machine.offer.name
        if name not in self._tasks:
            pace, live = self._pace[name], self._live
            slower = [place for place in live.run_on if self._known[place] > (pace or 0)]
            self._tasks[name] = [] if pace is None or not slower else self._list(pace)
        return self._tasks[name]

    def _list(self, pace: Time) -> list[int]:
        live = self._live
        is_slower = np.array(self._known)[live.offers] > pace
        if self._may is not None:
            is_slower &= self._may
        rows = is_slower.nonzero()[0]
        first = live.least_by_task(live.keys)[rows]
        _, places = np.unique(first, return_index=True)
        tasks: list[int] = live.tasks[rows[places]].tolist()
        return tasks


class Either:
    """Picks by the first of two that finds a task."""

    def __init__(self, first: Pick, second: Pick) -> None:
        self._first, self._second = first, second

    def has_any(self, machine: Machine) -> bool:
        return self._first.has_any(machine) or self._second.has_any(machine)

    def pick(self, machine: Machine, picked: set[int]) -> tuple[int, str] | None:
        return self._first.pick(machine, picked) or self._second.pick(machine, picked)


def replicas(
    idle: IdleMachines, pick: Pick, pace: Callable[[Machine], float | None], view: View
) -> Iterator[Start]:
    """One replica for each free slot, as long as there are candidates for its offer.

    The fastest machines come first, those of unknown speed last.
    """
    hopeful: list[Machine] = []
    for name in idle.offers():
        first = idle.oldest((name,), view)
        if first is not None and pick.has_any(first):
            hopeful += idle.machines(name, view)

    def order(machine: Machine) -> tuple[bool, float, int]:
        known = pace(machine)
        return known is None, known or 0, machine.id

    picked: set[int] = set()
    hopeless: set[str] = set()
    for machine in sorted(hopeful, key=order):
        for _ in range(machine.offer.slots - len(machine.attempts)):
            found = None if machine.offer.name in hopeless else pick.pick(machine, picked)
            if found is None:
                hopeless.add(machine.offer.name)
                break
            task, reason = found
            picked.add(task)
            yield Start(task, machine.id, reason=reason)
