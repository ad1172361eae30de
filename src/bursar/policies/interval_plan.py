"""A plan for the tasks of an account until its next decision (workload thesis, 5.3.1, step 5).

A lane is a slot of a machine, which may run a task, boot, or still have to be rented. All times are
from now on. A task goes to the lane where it can begin first; what would begin after the interval
is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Final

import msgspec

from bursar.model.market import Market
from bursar.model.time import Time
from bursar.state.task_status import READY, RUNNING, WAITING
from bursar.state.view import View
from bursar.state.work_index import CountedWork

_UNDONE: Final = (READY, RUNNING, WAITING)


class TimesOnOffers:
    """What tasks are expected to take on each offer; an interval, where nobody knows.

    Looked up once for each task, and forgotten with its work.
    """

    def __init__(self, market: Market, interval: Time) -> None:
        self._offers = tuple(offer.name for offer in market.offers)
        self._cheapest_first = sorted(
            range(len(market.offers)), key=lambda place: market.offers[place].price
        )
        self._interval = interval
        self._works: dict[int, dict[int, tuple[Time, ...]]] = {}
        """by work, then by task: on each offer"""

    def keep(self, works: Iterable[CountedWork]) -> None:
        """Forget the tasks of all other works."""
        self._works = {work.number: self._works.get(work.number, {}) for work in works}

    def of(self, task: int, work: CountedWork, view: View) -> tuple[Time, ...]:
        """On each offer, in the order of the market."""
        known = self._works.setdefault(work.number, {})
        found = known.get(task)
        if found is None:
            expected = view.runtimes.expected
            times = (expected(offer, 0, task) for offer in self._offers)
            found = known[task] = tuple(self._interval if t is None else t for t in times)
        return found

    def fastest(self, task: int, work: CountedWork, view: View) -> tuple[int, Time]:
        """The place of the offer where a task ends first, of equals the cheapest, and its time."""
        times = self.of(task, work, view)
        place = min(self._cheapest_first, key=times.__getitem__)
        return place, times[place]

    def left(self, task: int, view: View, now: Time) -> Time:
        """What a task that runs still takes."""
        attempt = view.attempts[view.attempts_of(task)[0]]
        elapsed = now - attempt.started
        expected = view.runtimes.expected(attempt.machine.offer.name, elapsed, task)
        return self._interval if expected is None else max(0, expected - elapsed)


class PlannedLane(msgspec.Struct):
    """One slot of a machine."""

    line: str
    """the machine, see `bursar.state.planned_lines`"""
    offer: int
    """its place in the market"""
    free: Time
    """when its next task can begin"""
    tasks: list[int]
    """that are planned, in order"""


class IntervalPlan:
    """Lanes that tasks are put on, one after the other."""

    def __init__(
        self, view: View, known: TimesOnOffers, interval: Time, lanes: Sequence[PlannedLane]
    ) -> None:
        self._view, self._known, self._interval = view, known, interval
        self.lanes = lanes
        self._ends: dict[int, Time] = {}
        """by task that runs or is planned"""
        self._queues: dict[int, list[tuple[Time, int]]] = {}
        """by offer, a heap of lanes; those that were used since are dropped when met"""
        for number, lane in enumerate(lanes):
            self._queues.setdefault(lane.offer, []).append((lane.free, number))
        for queue in self._queues.values():
            heapify(queue)

    def running(self, task: int, left: Time) -> None:
        """A task that runs will end then; its lane is not free before."""
        self._ends[task] = left

    @property
    def is_full(self) -> bool:
        """Whether nothing more can begin within the interval."""
        first = self._first()
        return first is None or self.lanes[first].free >= self._interval

    def _first(self) -> int | None:
        """The lane that is free first."""
        fronts = [front for offer in self._queues if (front := self._front(offer)) is not None]
        return min(fronts)[1] if fronts else None

    def _front(self, offer: int) -> tuple[Time, int] | None:
        """The lane of an offer that is free first, and when."""
        queue = self._queues.get(offer, [])
        while queue and self.lanes[queue[0][1]].free != queue[0][0]:
            heappop(queue)
        return queue[0] if queue else None

    def put_on_offer(self, task: int, work: CountedWork, offer: int) -> None:
        """A task that is ready, on the machine of an offer that is free first."""
        front = self._front(offer)
        if front is not None:
            self._put(task, work, front[1], 0)

    def _put(self, task: int, work: CountedWork, number: int, ready: Time) -> bool:
        lane = self.lanes[number]
        start = max(ready, lane.free)
        if start >= self._interval:
            return False
        lane.free = self._ends[task] = start + self._known.of(task, work, self._view)[lane.offer]
        lane.tasks.append(task)
        heappush(self._queues[lane.offer], (lane.free, number))
        return True

    def fill(self, work: CountedWork) -> None:
        """Put what is left of a work on lanes: ready tasks, then those that become ready."""
        ends = self._ends
        for task in work.having(READY):
            if task not in ends and not self._put_first(task, work, 0):
                return
        wave = [*work.having(RUNNING), *work.having(READY)]
        while wave := self._following(wave, work):
            if self.is_full:
                return

    def _put_first(self, task: int, work: CountedWork, ready: Time) -> bool:
        first = self._first()
        return first is not None and self._put(task, work, first, ready)

    def _following(self, wave: Sequence[int], work: CountedWork) -> list[int]:
        """Plan the tasks for which those of a wave were the last that was missing."""
        status, precedence, ends = self._view.status, self._view.precedence, self._ends
        found: list[int] = []
        children = {child for task in wave if task in ends for child in precedence.children(task)}
        for task in sorted(children):
            if task in ends or status[task] != WAITING:
                continue
            needs = [one for one in precedence.parents(task) if status[one] in _UNDONE]
            if any(one not in ends for one in needs):
                continue
            if self._put_first(task, work, max((ends[one] for one in needs), default=0)):
                found.append(task)
        return found

    def lines(self) -> dict[str, list[int]]:
        """The tasks of each machine that has some, in the order in which they begin."""
        found: dict[str, list[int]] = {}
        for lane in self.lanes:
            if lane.tasks:
                found.setdefault(lane.line, []).extend(lane.tasks)
        return found


class UnlimitedStarts:
    """What runs or begins within an interval if there were machines of any offer without end.

    A work in which nothing runs is looked at again only when one of its tasks was settled.
    """

    def __init__(self, known: TimesOnOffers, interval: Time) -> None:
        self._known, self._interval = known, interval
        self._resting: dict[int, tuple[int, list[Time]]] = {}
        """by work in which nothing runs: its tasks that are not settled, and its times"""

    def times(self, works: Iterable[CountedWork], view: View, now: Time) -> list[Time]:
        """By offer, what all these tasks take; each is on the offer where it ends first.

        Of one that runs, it is what is left, on the offer where it runs.
        """
        sums = [0] * len(view.market.offers)
        resting, self._resting = self._resting, {}
        for work in works:
            known = resting.get(work.number)
            if known is None or work.count(RUNNING) or known[0] != work.unsettled:
                known = (work.unsettled, self._of(work, view, now))
            if not work.count(RUNNING):
                self._resting[work.number] = known
            for place, time in enumerate(known[1]):
                sums[place] += time
        return sums

    def _of(self, work: CountedWork, view: View, now: Time) -> list[Time]:
        status, precedence = view.status, view.precedence
        ends: dict[int, Time] = {}
        sums = [0] * len(view.market.offers)
        places = {offer.name: place for place, offer in enumerate(view.market.offers)}
        for task in work.having(RUNNING):
            ends[task] = self._known.left(task, view, now)
            attempt = view.attempts[view.attempts_of(task)[0]]
            sums[places[attempt.machine.offer.name]] += ends[task]
        for task in work.having(READY):
            offer, ends[task] = self._known.fastest(task, work, view)
            sums[offer] += max(1, ends[task])  # what seems to take no time wants a machine, too
        wave = [task for task, end in ends.items() if end < self._interval]
        while wave:
            children = {child for task in wave for child in precedence.children(task)}
            wave = []
            for task in sorted(children):
                needs = [one for one in precedence.parents(task) if status[one] in _UNDONE]
                if task in ends or status[task] != WAITING or any(one not in ends for one in needs):
                    continue
                start = max((ends[one] for one in needs), default=0)
                if start < self._interval:
                    offer, takes = self._known.fastest(task, work, view)
                    ends[task] = start + takes
                    sums[offer] += takes
                    wave.append(task)
        return sums
