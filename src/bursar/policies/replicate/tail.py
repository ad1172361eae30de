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

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from random import Random
from typing import Final, Protocol

import msgspec
import numpy as np

from bursar.model.market import Offer
from bursar.model.time import Time, format_duration
from bursar.policies.columns import Integers, Truths
from bursar.policies.idle_machines import IdleMachines
from bursar.policies.pool_machines import likeness
from bursar.policies.running_attempts import LARGEST, Rows, RunningAttempts
from bursar.state.actions import Start
from bursar.state.run_times import Elsewhere
from bursar.state.view import Machine, View

AT_RANDOM: Final = "runs on a slower machine, picked at random"
AS_FAST: Final = 1.1
"""Where a task takes so many times as long, it takes no longer: means are only estimates."""
FEW_FIRST: Final = 4
"""Times that the first of some are found before all are sorted."""
FEW_PICKED: Final = 8
"""Tasks of which each is looked for in turn."""
_NONE: Final[Integers] = np.empty(0, dtype=np.int64)


class Expectation(Protocol):
    """What is expected of attempts at one moment."""

    def left_of(self, rows: Rows) -> Integers:
        """How long each of some goes on, by row; `LARGEST` where nothing is known."""
        ...

    def later_than_on(self, machine: Machine) -> Integers:
        """The rows that go on for longer than their task takes in all on another machine."""
        ...

    def needed(self, machine: Machine, rows: Integers) -> Integers:
        """What the tasks of these rows take in all on another machine."""
        ...


class Expected:
    """By the run times that are expected; each is found when somebody asks for it."""

    def __init__(self, live: RunningAttempts, view: View, now: Time) -> None:
        self._live = live
        self._offers = [offer.name for offer in view.market.offers]
        self._runtimes = view.runtimes
        self._elapsed: Integers = now - live.started
        self._of_all: Elsewhere | None = None
        self._left: Integers | None = None
        self._on: dict[str, Integers] = {}

    @property
    def left(self) -> Integers:
        """How long each of them goes on; `LARGEST` where nothing is known."""
        if self._left is None:
            self._left = _left(self._all.here, self._elapsed)
        return self._left

    def left_of(self, rows: Rows) -> Integers:
        if self._left is not None or self._live.are_few:
            found: Integers = self.left[rows]
            return found
        return _left(self.here(rows), self._elapsed[rows])

    def here(self, rows: Rows) -> Integers:
        """What each of some takes in all where it runs; 0 where nothing is known."""
        found: Integers = self._some(rows).here
        return found

    def time_on(self, offer: str) -> Integers:
        """What each one's task takes in all on an offer; 0 where nothing is known."""
        if offer not in self._on:
            self._on[offer] = self._all.on(offer)
        return self._on[offer]

    def later_than_on(self, machine: Machine) -> Integers:
        name, live = machine.offer.name, self._live
        may_end_sooner = self._runtimes.may_end_sooner
        slower = [place for place in live.run_on if may_end_sooner((self._offers[place],), name)]
        if not slower:
            return _NONE
        if live.are_few:
            left, there = self.left, self.time_on(name)
            is_later = (left > there) & (left < LARGEST) & (there > 0)
            for place in live.run_on:
                if place not in slower:
                    is_later[live.rows_of(place)] = False
            return np.flatnonzero(is_later)
        rows = live.rows_on(slower)
        times = self._some(rows)
        here, there = times.here, times.on(name)
        left = here - self._elapsed[rows]
        found: Integers = rows[(left > there) & (here > 0) & (there > 0)]
        return found

    def needed(self, machine: Machine, rows: Integers) -> Integers:
        if machine.offer.name in self._on:
            found: Integers = self._on[machine.offer.name][rows]
            return found
        return self._some(rows).on(machine.offer.name)

    @property
    def _all(self) -> Elsewhere:
        if self._of_all is None:
            live = self._live
            self._of_all = self._runtimes.elsewhere(
                self._offers, live.offers, self._elapsed, live.tasks
            )
        return self._of_all

    def _some(self, rows: Rows) -> Elsewhere:
        live = self._live
        if self._of_all is not None or live.are_few:
            return _Some(self._all, rows)
        return self._runtimes.elsewhere(
            self._offers, live.offers[rows], self._elapsed[rows], live.tasks[rows]
        )


def _left(here: Integers, elapsed: Integers) -> Integers:
    left = here - elapsed
    return left if here.all() else np.where(here > 0, left, LARGEST)


class _Some(msgspec.Struct, frozen=True):
    """Some rows of what is expected of all."""

    of_all: Elsewhere
    rows: Rows

    @property
    def here(self) -> Integers:
        found: Integers = self.of_all.here[self.rows]
        return found

    def on(self, offer: str) -> Integers:
        found: Integers = self.of_all.on(offer)[self.rows]
        return found


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

    def __init__(self, live: RunningAttempts, expectation: Expectation, view: View) -> None:
        self._live = live
        self._expectation = expectation
        self._may: Truths | None = live.may_replicate(view)
        self._first: Truths | None = None
        """whether rows end before all others of their tasks; None: not asked"""
        self._queues: dict[str, _Queue] = {}
        """by offer, what may be picked"""

    def has_any(self, machine: Machine) -> bool:
        return self._queue(machine).has_any

    def pick(self, machine: Machine, picked: set[int]) -> tuple[int, str] | None:
        queue = self._queue(machine)
        while queue.has_any:
            task, left, needed = queue.pop()
            if task not in picked:
                here, there = format_duration(needed), format_duration(left)
                return task, f"expected to take {here} here, {there} more where it runs"
        return None

    def _queue(self, machine: Machine) -> _Queue:
        name = machine.offer.name
        if name not in self._queues:
            rows = self._expectation.later_than_on(machine)
            if self._may is not None:
                rows = rows[self._may[rows]]
            if len(rows) and not self._live.is_single:
                rows = self._first_to_end(rows)
            self._queues[name] = _Queue(self._live, self._expectation, machine, rows)
        return self._queues[name]

    def _first_to_end(self, rows: Integers) -> Integers:
        """Those of them that are expected to end before all others of their tasks."""
        if self._first is None or not self._live.are_few:
            self._first = self._is_first(rows)
        found: Integers = rows[self._first[rows]]
        return found

    def _is_first(self, rows: Integers) -> Truths:
        """Whether that is expected of each row: of all where they are few, else of these."""
        live = self._live
        rivals = slice(None) if live.are_few else live.with_rivals(rows)
        left, keys = self._expectation.left_of(rivals), live.keys(rivals)
        ties = np.where(left == live.least_by_task(left, rivals), keys, LARGEST)
        found = np.zeros(len(live), np.bool_)
        found[rivals] = keys == live.least_by_task(ties, rivals)
        return found


class _Queue:
    """Tasks with the time left and that needed on a machine, those with the most left first.

    Of equal ones the one comes first whose first machine has the lowest number. A task has one row
    here. Most of the time a few are asked for: the first of them are found without sorting all.
    """

    def __init__(
        self, live: RunningAttempts, expectation: Expectation, machine: Machine, rows: Integers
    ) -> None:
        self._live, self._expectation, self._machine = live, expectation, machine
        self._rows = rows
        """those that are not sorted yet"""
        self._sorted: list[tuple[int, Time, Time]] = []
        """those with the most left, the first one last"""
        self._unsorted = FEW_FIRST if live.are_few else 0
        """how many times more the first ones are found without sorting all"""

    @property
    def has_any(self) -> bool:
        return bool(self._sorted) or len(self._rows) > 0

    def pop(self) -> tuple[int, Time, Time]:
        if not self._sorted:
            self._sort_some()
        return self._sorted.pop()

    def _sort_some(self) -> None:
        live, rows, self._rows = self._live, self._rows, _NONE
        left = self._expectation.left_of(rows)
        if self._unsorted:
            self._unsorted -= 1
            is_first = left == left.max()
            self._rows = rows[~is_first]
            rows, left = rows[is_first], left[is_first]
        if len(rows) > 1:
            order = np.lexsort((live.keys(rows), live.first[rows], -left))[::-1]
            rows, left = rows[order], left[order]
        columns = (live.tasks[rows], left, self._expectation.needed(self._machine, rows))
        self._sorted = list(zip(*(column.tolist() for column in columns), strict=True))


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
        self._rows: dict[str, Integers] = {}
        """by offer, a row of each task that a slower machine executes"""
        self._picked: dict[str, int] = {}
        """by offer, how many tasks had been picked when its rows were last looked through"""

    def has_any(self, machine: Machine) -> bool:
        pace = self._pace[machine.offer.name]
        if self._may is None:  # then no list need be made for the answer
            return pace is not None and bool(self._run_slower(pace))
        return len(self._slower(machine)) > 0

    def pick(self, machine: Machine, picked: set[int]) -> tuple[int, str] | None:
        """By the numbers of their first machines, any of the tasks in that order."""
        name, rows = machine.offer.name, self._slower(machine)
        if self._picked.get(name, 0) < len(picked):
            rows = rows[_are_others(self._live.tasks[rows], picked)]
        self._picked[name] = len(picked) + 1
        if not len(rows):
            self._rows[name] = rows
            return None
        place = int(self._rng.random() * len(rows))
        at = int(np.argpartition(self._live.first[rows], place)[place])
        row = rows[at]
        self._rows[name] = rows[rows != row]
        return int(self._live.tasks[row]), AT_RANDOM

    def _slower(self, machine: Machine) -> Integers:
        name = machine.offer.name
        if name not in self._rows:
            pace = self._pace[name]
            slower = [] if pace is None else self._run_slower(pace)
            self._rows[name] = self._one_of_each(slower) if slower else _NONE
        return self._rows[name]

    def _run_slower(self, pace: Time) -> list[int]:
        """Places of offers that take longer and run something."""
        return [place for place in self._live.run_on if self._known[place] > pace]

    def _one_of_each(self, offers: Sequence[int]) -> Integers:
        """A row of each task that machines of these offers execute."""
        rows = self._live.rows_on(offers)
        if self._may is not None:
            rows = rows[self._may[rows]]
        return self._live.one_of_each(rows)


def _are_others(tasks: Integers, picked: set[int]) -> Truths:
    """Whether each of these tasks is none of those that were picked."""
    if len(picked) > FEW_PICKED:
        return ~np.isin(tasks, list(picked))
    found = np.ones(len(tasks), np.bool_)
    for task in picked:
        found &= tasks != task
    return found


class Either:
    """Picks by the first of two that finds a task."""

    def __init__(self, first: Pick, second: Pick) -> None:
        self._first, self._second = first, second

    def has_any(self, machine: Machine) -> bool:
        return self._first.has_any(machine) or self._second.has_any(machine)

    def pick(self, machine: Machine, picked: set[int]) -> tuple[int, str] | None:
        return self._first.pick(machine, picked) or self._second.pick(machine, picked)


def replicas(
    idle: IdleMachines, pick: Pick, pace: Callable[[Offer], float | None], view: View
) -> Iterator[Start]:
    """One replica for each free slot, as long as there are candidates for its offer.

    The fastest machines come first, those of unknown speed last, and of machines that are as fast
    the oldest; but for a task that may be lost, one of another kind than that where it runs. No
    machine is looked at that gets no replica, but one of each offer.
    """
    paces: dict[str, float | None] = {}
    for name in idle.offers():
        first = idle.oldest((name,), view)
        if first is not None and pick.has_any(first):
            paces[name] = pace(first.offer)

    def order(name: str) -> tuple[bool, float]:
        known = paces[name]
        return known is None, known or 0

    picked: set[int] = set()
    used: Counter[int] = Counter()
    for _, names in groupby(sorted(paces, key=order), key=order):
        as_fast = list(names)
        while (machine := idle.oldest(as_fast, view)) is not None:
            found = pick.pick(machine, picked)
            if found is None:
                as_fast.remove(machine.offer.name)
                continue
            task, reason = found
            picked.add(task)
            chosen = _apart(task, machine, idle, paces, view)
            if chosen is not machine:
                reason += f"; {chosen.offer.name} is another kind of machine"
            used[chosen.id] += 1
            if used[chosen.id] == chosen.offer.slots - len(chosen.attempts):
                idle.take(chosen)
            yield Start(task, chosen.id, reason=reason)


def _apart(
    task: int,
    machine: Machine,
    idle: IdleMachines,
    paces: Mapping[str, float | None],
    view: View,
) -> Machine:
    """The machine for a replica: one as fast of another type or zone, if that may save a task.

    Machines of one kind vanish together.
    """
    kind = machine.offer
    known = paces[kind.name]
    if kind.pool != "unreliable" or known is None:
        return machine
    rivals = [view.attempts[number].machine.offer for number in view.attempts_of(task)]
    alike = likeness(kind, rivals)
    if not alike or all(one.pool != "unreliable" for one in rivals):
        return machine
    firsts = (
        idle.oldest((name,), view)
        for name, theirs in paces.items()
        if name != kind.name and theirs is not None and theirs <= AS_FAST * known
    )
    others = [one for one in firsts if one is not None and likeness(one.offer, rivals) < alike]
    return min(others, key=lambda one: (likeness(one.offer, rivals), one.id), default=machine)
