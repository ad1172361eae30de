"""Works that are not settled, with the structure that placers for workloads look at.

Upward ranks and critical paths are those of section 3.3.1 of the thesis on workloads of workflows,
in whole microseconds on a machine of speed 1. What is left of a work is kept as its tasks start and
end; nothing is done for every task at every event.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Final

from bursar.model.graph_loops import fill_levels, fill_ranks
from bursar.model.learning import UNKNOWN_TIME
from bursar.model.picking import count_in, drawn, find_in
from bursar.model.time import Time
from bursar.state.task_status import BLOCKED, CANCELLED, DONE, FAILED, READY, RUNNING, WAITING
from bursar.state.view import View

SETTLED: Final = (DONE, FAILED, BLOCKED, CANCELLED)


class RankedWork:
    """A work that has tasks which are not settled. Only the index changes it."""

    def __init__(self, place: int, view: View, *, ranked: bool) -> None:
        before, work = view.work[place]
        self.place = place
        """among all works, from 0, in the order of arrival"""
        self.first = before + 1
        """the number of its first task"""
        self.tasks = work.count
        self.arrived: Time = view.work.arrived(place)
        self.estimates: Sequence[Time] = ()
        self.ranks: Sequence[Time] = ()
        """by task, from 0: upward ranks; empty if nobody wants them"""
        self.path: Time = 0
        """the critical path, as it was expected when the work arrived"""
        if ranked:
            self.estimates = [_estimate(self.first + one, view) for one in range(self.tasks)]
            self.ranks = self._ranks(view)
            self.path = max(self.ranks, default=0)
        self.factor = view.runtimes.correction(place) if ranked else 1.0
        """what corrects its estimates, and with them ranks and paths"""
        self.left = 0
        """tasks that are not settled"""
        self.waiting = 0
        """tasks that wait for a machine"""
        self.running = 0
        self.work_left: Time = 0
        """the estimates of the tasks that have not been started"""
        self.picks = 0
        """tasks that were started"""
        self._status = bytearray([BLOCKED]) * self.tasks
        """by task, as it was seen last; at first nothing is"""
        self._tree: list[int] = [] if ranked else [0] * self.tasks
        """counts of waiting tasks, to find one by its place among them"""
        self._high: list[tuple[Time, int]] = []
        """heap of waiting tasks by falling ranks; what was started is dropped when met"""
        self._low: list[tuple[Time, int]] = []
        """the same by rising ranks"""
        self._ahead: list[tuple[Time, int]] = []
        """heap of tasks that were not started, by falling ranks; the same"""
        self._depths: list[int] = []
        """once somebody has asked"""
        self._children: tuple[Sequence[int], Sequence[int]] | None = None
        """once somebody has asked"""
        self._see_all(view.status[self.first : self.first + self.tasks])

    def _ranks(self, view: View) -> list[Time]:
        workflow = view.work[self.place][1].workflow
        if workflow is None:
            return list(self.estimates)
        parents, order = workflow.dag.parents, workflow.dag.order.tolist()
        starts, items = parents.starts.tolist(), parents.items.tolist()
        ranks: list[Time] = [0] * self.tasks
        fill_ranks(starts, items, order, self.estimates, [0] * len(items), ranks)
        return ranks

    def _see_all(self, status: bytes | bytearray) -> None:
        for task, new in enumerate(status):
            self._change(task, new)
        heapify(self._high)
        heapify(self._low)
        heapify(self._ahead)
        self.picks = sum(one not in (WAITING, READY) for one in status)

    # --- following -------------------------------------------------------------------------------

    def move(self, task: int, new: int) -> None:
        """A task has another status than before, or may have."""
        if self._status[task - self.first] != new:
            self._change(task - self.first, new)

    def _change(self, index: int, new: int) -> None:
        old, self._status[index] = self._status[index], new
        self.left += (new not in SETTLED) - (old not in SETTLED)
        self.running += (new == RUNNING) - (old == RUNNING)
        is_ahead, was_ahead = new in (READY, WAITING), old in (READY, WAITING)
        if self.ranks:
            self.work_left += (is_ahead - was_ahead) * self.estimates[index]
            if is_ahead and not was_ahead:
                heappush(self._ahead, (-self.ranks[index], index))
        if new == READY:
            self._wait(index)
        elif old == READY:
            self.waiting -= 1
            if not self.ranks:
                count_in(self._tree, 0, self.tasks, index, -1)

    def _wait(self, index: int) -> None:
        self.waiting += 1
        if self.ranks:
            heappush(self._high, (-self.ranks[index], index))
            heappush(self._low, (self.ranks[index], index))
        else:
            count_in(self._tree, 0, self.tasks, index, 1)

    # --- reading ---------------------------------------------------------------------------------

    @property
    def path_left(self) -> Time:
        """The critical path of what has not been started."""
        ahead = self._ahead
        while ahead and self._status[ahead[0][1]] not in (READY, WAITING):
            heappop(ahead)
        return -ahead[0][0] if ahead else 0

    @property
    def highest(self) -> int:
        """The waiting task of the highest rank."""
        return self.first + self._front(self._high)

    @property
    def lowest(self) -> int:
        return self.first + self._front(self._low)

    def _front(self, heap: list[tuple[Time, int]]) -> int:
        while self._status[heap[0][1]] != READY:
            heappop(heap)
        return heap[0][1]

    def children(self, view: View) -> tuple[Sequence[int], Sequence[int]]:
        """By task, from 0, where its children begin, and all children."""
        if self._children is None:
            workflow = view.work[self.place][1].workflow
            if workflow is None:
                self._children = ([0] * (self.tasks + 1), [])
            else:
                edges = workflow.dag.children
                self._children = (edges.starts.tolist(), edges.items.tolist())
        return self._children

    def missing(self, view: View) -> list[int]:
        """By task, from 0, how many parents are not done; -1: it is done itself, or never will."""
        starts, children = self.children(view)
        missing = [0] * self.tasks
        for task, status in enumerate(self._status):
            if status in SETTLED:
                missing[task] = -1
                continue
            for child in children[starts[task] : starts[task + 1]]:
                missing[child] += 1
        return missing

    def unstarted(self) -> list[int]:
        """Tasks that wait, for a machine or for others."""
        return [self.first + n for n, one in enumerate(self._status) if one in (READY, WAITING)]

    def depth_of(self, task: int, view: View) -> int:
        """The number of edges on the longest way from a task without parents."""
        if not self._depths:
            workflow = view.work[self.place][1].workflow
            self._depths = [0] * self.tasks
            if workflow is not None:
                starts, children = self.children(view)
                fill_levels(starts, children, workflow.dag.order.tolist(), self._depths)
        return self._depths[task - self.first]

    def ready(self) -> list[int]:
        """Tasks that wait for a machine."""
        return [self.first + n for n, one in enumerate(self._status) if one == READY]

    def is_open(self, task: int) -> bool:
        """Whether a task was not settled when it was seen last."""
        return self._status[task - self.first] not in SETTLED

    def rank_of(self, task: int) -> float:
        return self.ranks[task - self.first] * self.factor

    def estimate_of(self, task: int) -> float:
        """What a task is expected to take at speed 1."""
        return self.estimates[task - self.first] * self.factor

    def pick(self, seed: int) -> int:
        """A waiting task at random."""
        index = drawn(seed, self.place, self.picks, self.waiting)
        return self.first + find_in(self._tree, 0, self.tasks, index)

    def start(self, task: int) -> None:
        """A placer wants to start it; if it may not, the index will see that."""
        self.picks += 1
        self.move(task, RUNNING)


class RankedWorks:
    """Follows what changed: `look` first. What is settled takes no room here."""

    def __init__(self, *, ranked: bool) -> None:
        self._ranked = ranked
        self.account: str | None = None
        """whose works alone count; None: all"""
        self._works = 0
        """that had arrived at the last look"""
        self._unsettled: dict[int, RankedWork] = {}
        """by place"""
        self._seen: tuple[int, int, int] | None = None
        """the places in what changed from which on it is not known yet; None: nothing is"""
        self._taken: list[int] = []
        """tasks that were to be started since the last look"""

    def look(self, view: View) -> tuple[set[RankedWork], list[tuple[RankedWork, int]]]:
        """Follow what changed: the works that did, and the tasks that were done since, in order.

        Tasks that were done together are in the order of their numbers. After too much has
        happened, all works have changed, and done tasks are left out.
        """
        tasks = self._changed(view)
        if tasks is None:
            self._works, self._unsettled, tasks = 0, {}, ()
        changed: set[RankedWork] = set()
        for place in range(self._works, len(view.work)):
            if view.work.left(place) and self._counts(place, view):
                changed.add(self._add(place, view))
        self._works = len(view.work)
        done: list[tuple[Time, int, RankedWork]] = []
        place_of, statuses = view.work.place_of, view.status
        for task in dict.fromkeys(tasks):
            place, status = place_of(task), statuses[task]
            work = self._unsettled.get(place)
            if work is None:  # it was settled, and may not be any more
                if status in SETTLED or not self._counts(place, view):
                    continue
                work = self._add(place, view)
            if status == DONE and work.is_open(task):
                done.append((view.log.ended[view.winners[task]], task, work))
            work.move(task, status)
            if self._ranked:
                work.factor = view.runtimes.correction(work.place)
            changed.add(work)
        for work in changed:
            if not work.left:
                self._unsettled.pop(work.place, None)
        return changed, [(work, task) for _, task, work in sorted(done, key=lambda one: one[:2])]

    def _counts(self, place: int, view: View) -> bool:
        return self.account is None or view.work[place][1].owner == self.account

    def _add(self, place: int, view: View) -> RankedWork:
        work = RankedWork(place, view, ranked=self._ranked)
        if work.left:
            self._unsettled[place] = work
        return work

    def _changed(self, view: View) -> Iterable[int] | None:
        """Tasks whose status may be another one; None: all."""
        changes = view.changes
        before = self._seen
        self._seen = (changes.ready.end, changes.blocked.end, changes.attempts.end)
        taken, self._taken = self._taken, []
        if before is None:
            return None
        ready, blocked = changes.ready.since(before[0]), changes.blocked.since(before[1])
        attempts = changes.attempts.since(before[2])
        if ready is None or blocked is None or attempts is None:
            return None
        return chain(taken, ready, blocked, map(view.log.task.__getitem__, attempts))

    def of(self, task: int, view: View) -> RankedWork | None:
        """The work of a task; None: it is settled."""
        return self._unsettled.get(view.work.place_of(task))

    def at(self, place: int) -> RankedWork | None:
        """The work at a place; None: it is settled."""
        return self._unsettled.get(place)

    def unsettled(self) -> list[RankedWork]:
        """In the order of arrival."""
        return [work for _, work in sorted(self._unsettled.items())]

    def start(self, work: RankedWork, task: int) -> None:
        """A placer wants to start a task of a work."""
        self._taken.append(task)
        work.start(task)


def _estimate(task: int, view: View) -> Time:
    """What a task takes at speed 1, as far as somebody knows."""
    known = view.runtimes.at_speed_one(task)
    if known is None:
        base = view.market.offers[0]
        there = view.runtimes.expected(base.name, 0, task)
        known = None if there is None else round(there * base.speed)
    return UNKNOWN_TIME if known is None else known
