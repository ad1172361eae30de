"""The idle machines, the fastest first, without looking at all of them."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from bursar.model.time import Time
from bursar.policies.idle_machines import IdleMachines
from bursar.state.view import Machine, View


class FastestIdle:
    """Follows what changed: `look` first. Of equally fast machines the oldest comes first."""

    def __init__(self) -> None:
        self._idle = IdleMachines()
        self._groups: Sequence[tuple[float, tuple[str, ...]]] = ()
        """speeds, the highest first, and the offers that have them"""
        self._first: tuple[Machine, int] | None = None
        """the machine that is used, and its slots that are free"""

    def serve(self, account: str) -> None:
        """Count the machines of this account alone."""
        self._idle.account = account

    def look(self, view: View) -> None:
        self._idle.look(view)
        self._first = None
        if not self._groups:
            speeds = sorted({offer.speed for offer in view.market.offers}, reverse=True)
            self._groups = [
                (speed, tuple(one.name for one in view.market.offers if one.speed == speed))
                for speed in speeds
            ]

    def first(self, view: View) -> Machine | None:
        """The machine that gets the next task; None: none is idle."""
        if self._first is not None:
            return self._first[0]
        for _, offers in self._groups:
            machine = self._idle.oldest(offers, view)
            if machine is not None:
                self._first = (machine, machine.offer.slots - len(machine.attempts))
                return machine
        return None

    def use(self) -> None:
        """A slot of the first machine gets a task."""
        if self._first is not None:
            machine, free = self._first
            self._first = (machine, free - 1)
            if free == 1:
                self._idle.take(machine)
                self._first = None

    def are_equal(self, view: View) -> bool:
        """Whether all that are idle are equally fast."""
        return sum(self._idle.oldest(offers, view) is not None for _, offers in self._groups) == 1


class ExpectedEnds:
    """Which busy machine is expected to be idle first. Follows what changed: `look` first.

    A machine whose task should have ended, and has not, is expected to be idle now, or never.
    """

    def __init__(self, *, forgets_overdue: bool = False) -> None:
        self._forgets = forgets_overdue
        self._due: list[tuple[Time, int, int]] = []
        """heap of (expected end, machine, attempt); those that ended are dropped when met"""
        self._overdue: list[tuple[int, int]] = []
        """heap of (machine, attempt) that should have ended"""
        self._known: set[int] = set()
        """attempts that are in a heap"""
        self._ends: dict[int, Time] = {}
        """by task that was to be started at the last look: its expected end"""
        self._begun: list[tuple[Time, int]] = []
        """heap of (expected end, machine) of what was placed since the last look"""
        self._seen: int | None = None
        """the place in what changed from which on it is not known yet; None: nothing is"""

    def look(self, view: View) -> None:
        recent = view.changes.attempts
        before, self._seen = self._seen, recent.end
        changed = None if before is None else recent.since(before)
        if changed is None:
            self._due, self._overdue, self._known = [], [], set()
        ends, self._ends, self._begun = self._ends, {}, []
        for number in view.attempts if changed is None else changed:
            attempt = view.attempts.get(number)
            if attempt is not None and number not in self._known:
                self._known.add(number)
                offer = attempt.machine.offer.name
                takes = view.runtimes.expected(offer, 0, attempt.task) or 0
                end = ends.get(attempt.task, attempt.started + takes)
                heappush(self._due, (end, attempt.machine.id, number))

    def place(self, task: int, end: Time, machine: Machine) -> None:
        """A task is about to begin on a machine, and expected to end then."""
        self._ends[task] = end
        heappush(self._begun, (end, machine.id))

    def first(self, view: View, now: Time) -> tuple[Time, Machine] | None:
        """When the first machine is expected to be idle, now at the soonest, and which it is."""
        due, overdue = self._due, self._overdue
        while due and (due[0][2] not in view.attempts or due[0][0] <= now):
            _, machine, attempt = heappop(due)
            if attempt in view.attempts and not self._forgets:
                heappush(overdue, (machine, attempt))
            else:
                self._known.discard(attempt)
        while overdue and overdue[0][1] not in view.attempts:
            self._known.discard(heappop(overdue)[1])
        found = [(now, overdue[0][0])] if overdue else []
        if due:
            found.append((due[0][0], due[0][1]))
        begun = self._begun
        while begun and self._forgets and begun[0][0] <= now:
            heappop(begun)
        if begun:
            found.append((max(now, begun[0][0]), begun[0][1]))
        if not found:
            return None
        end, number = min(found)
        return end, view.machines[number]
