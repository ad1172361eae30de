"""`plan`: as many machines as an imagined execution of the next interval uses (4.4.2).

Needs run times: what tasks take on the offer that is rented first, the cheapest for its work; what
is left of those that run, on the offer of their machine. The plan begins with what runs. Then
workflows in the order of arrival, and their tasks by breadth: each begins as soon as it can, if it
is ready or all that it needs is in the plan. It gets a machine of the plan that is free then, else
a new one. What would begin after the interval is left out. Where the plan uses the whole system,
the whole system is wanted.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator
from random import Random

from bursar.model.fleet import Fleet
from bursar.model.market import Market
from bursar.model.time import Time
from bursar.policies.autoscaling import INTERVAL, Autoscaler, Leaving, WantedFleet
from bursar.state.task_status import READY, RUNNING, WAITING
from bursar.state.view import View
from bursar.state.work_index import CountedWork, WorkIndex


class PlanAhead(Autoscaler):
    """Executes the next interval in thought."""

    def __init__(
        self,
        market: Market,
        fleet: Fleet | None = None,
        interval: Time = INTERVAL,
        *,
        release: Leaving = "paid",
    ) -> None:
        super().__init__(market, fleet, interval, release=release)
        self._index = WorkIndex()
        self._offer = self.first_offer.name
        self._resting: dict[int, tuple[int, list[tuple[Time, Time]]]] = {}
        """by work in which nothing runs: its tasks that are not settled, and their starts"""

    def wanted(self, view: View, now: Time, account: str, rng: Random) -> WantedFleet:
        self._index.look(view)
        size, busy = self.size(account), _BusySlots()
        self._forget()
        for work in self._index.unsettled():
            if account and work.owner != account:
                continue
            for start, takes in self._planned(work, view, now):
                busy.use(start, takes)
                if size is not None and busy.count >= size:
                    return self._said(
                        account, size, "the plan of the next interval uses the whole system"
                    )
        return self._said(
            account, busy.count, "the most slots that the plan of the next interval uses"
        )

    def _said(self, account: str, slots: int, why: str) -> WantedFleet:
        return WantedFleet(self.fleet_of(slots, account), why, {"target": float(slots)})

    def _planned(self, work: CountedWork, view: View, now: Time) -> Iterable[tuple[Time, Time]]:
        """The starts of a work; of one in which nothing runs and nothing was settled, as before.

        Where run times are learned, what is known of them may be a little old.
        """
        if work.count(RUNNING):
            return self._starts(work, view, now)
        known = self._resting.get(work.number)
        if known is None or known[0] != work.unsettled:
            known = work.unsettled, list(self._starts(work, view, now))
            self._resting[work.number] = known
        return known[1]

    def _forget(self) -> None:
        """Keep nothing of works that are settled."""
        there = {work.number for work in self._index.unsettled()}
        for number in self._resting.keys() - there:
            del self._resting[number]

    def _starts(self, work: CountedWork, view: View, now: Time) -> Iterator[tuple[Time, Time]]:
        """When tasks of a work begin within the interval, from now, and how long they take."""
        ends: dict[int, Time] = {}
        for task in work.having(RUNNING):
            ends[task] = self.left_of(task, view, now)
            yield 0, ends[task]
        ready = list(work.having(READY))
        for task in ready:
            ends[task] = self.takes_of(task, view)
            yield 0, ends[task]
        wave = [task for task in ends if ends[task] < self.interval]
        yield from self._following(wave, ends, view)

    def _following(
        self, wave: list[int], ends: dict[int, Time], view: View
    ) -> Iterator[tuple[Time, Time]]:
        """Tasks that become ready in the plan, breadth first.

        A wave holds only tasks that end within the interval: what needs another one begins later.
        """
        status, precedence = view.status, view.precedence
        missing: dict[int, int] = {}
        starts: dict[int, Time] = {}
        while wave:
            freed: list[int] = []
            for task in wave:
                for child in precedence.children(task):
                    left = missing[child] if child in missing else precedence.missing(child)
                    missing[child] = left - 1
                    starts[child] = max(starts.get(child, 0), ends[task])
                    if left == 1 and status[child] == WAITING:
                        freed.append(child)
            wave = []
            for task in sorted(freed):
                takes = self.takes_of(task, view)
                ends[task] = starts[task] + takes
                if ends[task] < self.interval:
                    wave.append(task)
                yield starts[task], takes

    def takes_of(self, task: int, view: View) -> Time:
        """What it takes; an interval, where nobody knows."""
        expected = view.runtimes.expected(self._offer, 0, task)
        return self.interval if expected is None else expected

    def left_of(self, task: int, view: View, now: Time) -> Time:
        """What is left of a task that runs."""
        attempt = view.attempts[view.attempts_of(task)[0]]
        elapsed = now - attempt.started
        expected = view.runtimes.expected(attempt.machine.offer.name, elapsed, task)
        return self.interval if expected is None else max(0, expected - elapsed)


class _BusySlots:
    """Slots of the plan, by when each is free again."""

    def __init__(self) -> None:
        self._free: list[Time] = []
        """when each slot is, ascending"""

    @property
    def count(self) -> int:
        return len(self._free)

    def use(self, start: Time, takes: Time) -> None:
        """Take the slot that is free just before then, or a new one."""
        place = bisect_right(self._free, start) - 1
        if place >= 0:
            del self._free[place]
        insort(self._free, start + takes)
