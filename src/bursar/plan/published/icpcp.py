"""IC-PCP: one workflow within a deadline, for little money (Abrishami, Naghibzadeh, Epema, 2013).

From the end of the workflow backwards, the tasks that decide when another can begin are taken as a
path (a partial critical path) that runs on one machine. It goes to the rented machine on which it
costs least, among those whose paid and unused time it uses and on which every task keeps its latest
end; if there is none, to a new machine of the offer that costs least. Then come the paths before
each of its tasks.

Three things go beyond the paper. A task that is placed stays where it is, so a path goes into an
idle time of a machine as it is. Boot times count. And where no offer is the fastest for all tasks,
it may be that no machine can take a whole path: then it is cut. Limits of offers are not kept; the
schedule's `check` tells of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import Final

import msgspec
import numpy as np

from bursar.model.dag import Dag
from bursar.model.errors import InputError
from bursar.model.market import Market
from bursar.model.time import Time
from bursar.plan.workflow.heft import Floats, Network
from bursar.plan.workflow.schedule import NOWHERE, Schedule, check_times, microseconds, too_short

_NEVER: Final[Time] = 2**62


def icpcp(
    dag: Dag,
    runtimes: Floats,
    volumes: Floats,
    market: Market,
    network: Network,
    deadline: Time,
) -> Schedule:
    """A schedule that ends within the deadline.

    `runtimes[task, offer]` in seconds, by the market's offers; `volumes[edge]` as in HEFT. It never
    costs more than a machine for each task, of the offer on which the task ends first.
    """
    offers = len(market.offers)
    times, moved = np.asarray(runtimes, np.float64), np.asarray(volumes, np.float64)
    check_times("run time", times, (len(dag), offers))
    check_times("volume", moved, (dag.edges,))
    check_times("latency", network.latency, (offers, offers))
    check_times("pace", network.pace, (offers, offers))
    if not offers:
        raise InputError("a market without offers; give it at least one")
    partial = _PartialSchedule(dag, times, moved, market, network, deadline)
    spread = partial.spread()
    if spread.makespan > deadline:
        raise too_short(deadline, spread.makespan, "IC-PCP")
    partial.assign_all()
    planned = partial.schedule()
    return min(planned, spread, key=lambda each: each.cost(market).nanos)


class _IcPcpMachine(msgspec.Struct):
    """A rented machine, with the times in which its tasks run, ascending."""

    offer: int
    spans: list[tuple[Time, Time]]

    @property
    def begin(self) -> Time:
        return self.spans[0][0]

    @property
    def end(self) -> Time:
        return self.spans[-1][1]


class _Path(msgspec.Struct, frozen=True):
    """Tasks that follow each other and are to run on one machine."""

    tasks: tuple[int, ...]
    steps: tuple[int, ...]
    """the same, and the tasks without a place that wait for one of them and another waits for"""


class _Choice(msgspec.Struct, frozen=True, order=True):
    """A machine for a path; the least is the best."""

    price: int
    """what is to be paid in addition, in billionths"""
    end: Time
    machine: int
    """one more than there are: a new one"""
    offer: int
    begins: tuple[Time, ...]


class _Turns:
    """Tasks that wait to be looked at, each once, by their turn."""

    def __init__(self, tasks: Iterable[int], turn: Sequence[int]) -> None:
        self.turn = turn
        self.known: set[int] = set()
        self.waiting: list[tuple[int, int]] = []
        self.add(tasks)

    def add(self, tasks: Iterable[int]) -> None:
        for task in tasks:
            if task not in self.known:
                self.known.add(task)
                heappush(self.waiting, (self.turn[task], task))

    def take(self) -> int | None:
        return heappop(self.waiting)[1] if self.waiting else None


class _PartialSchedule:
    """What is decided so far, and the earliest and latest times of all that is not."""

    def __init__(
        self,
        dag: Dag,
        runtimes: Floats,
        volumes: Floats,
        market: Market,
        network: Network,
        deadline: Time,
    ) -> None:
        self.market, self.deadline = market, deadline
        self.times: list[list[Time]] = microseconds(runtimes).tolist()
        moves = microseconds(network.latency + volumes[:, np.newaxis, np.newaxis] * network.pace)
        self.moves: list[list[list[Time]]] = moves.tolist()
        """[edge, offer, offer]"""
        self.most: list[Time] = moves.max(axis=(1, 2), initial=0).tolist()
        """[edge]: between machines that are not chosen yet"""
        self.order: list[int] = dag.order.tolist()
        self.turn: list[int] = np.argsort(dag.order).tolist()
        self.parents: list[list[tuple[int, int]]] = [[] for _ in range(len(dag))]
        """[task]: its parents, each with the edge"""
        self.children: list[list[tuple[int, int]]] = [[] for _ in range(len(dag))]
        for task in range(len(dag)):
            for edge in range(dag.parents.starts[task], dag.parents.starts[task + 1]):
                parent = int(dag.parents.items[edge])
                self.parents[task].append((parent, edge))
                self.children[parent].append((task, edge))
        self.machines: list[_IcPcpMachine] = []
        self.machine = [NOWHERE] * len(dag)
        self.begin = [0] * len(dag)
        """[task]: as decided, or the earliest"""
        self.end = [0] * len(dag)
        """[task]: as decided, or the earliest"""
        self.latest = [deadline] * len(dag)
        """[task]: the latest begin; as decided, where it is"""
        self.update(self.order, self.order)

    # --- earliest and latest times ----------------------------------------------------------------

    def update(self, since: Iterable[int], until: Iterable[int]) -> None:
        """Find the earliest times from some tasks onwards, and the latest times before others.

        They follow from tasks that have a place. Every task without one can still keep its latest
        time on a machine of its own.
        """
        later = _Turns(since, self.turn)
        while (task := later.take()) is not None:
            if self.machine[task] == NOWHERE:
                ready = (self.end[parent] + self.most[edge] for parent, edge in self.parents[task])
                self.begin[task] = max(ready, default=0)
                end = self._fastest(task, self.begin[task])[0]
                if end != self.end[task]:
                    self.end[task] = end
                    later.add(child for child, _ in self.children[task])
        earlier = _Turns(until, [-turn for turn in self.turn])
        while (task := earlier.take()) is not None:
            if self.machine[task] == NOWHERE:
                latest = self._latest_begin(task, self._latest_end(task))
                if latest != self.latest[task]:
                    self.latest[task] = latest
                    earlier.add(parent for parent, _ in self.parents[task])

    def _fastest(self, task: int, ready: Time) -> tuple[Time, int]:
        """The earliest end on a new machine, and of which offer it is."""
        return min(
            (max(ready, offer.boot) + time, number)
            for number, (offer, time) in enumerate(
                zip(self.market.offers, self.times[task], strict=True)
            )
        )

    def _latest_end(self, task: int) -> Time:
        needed = (self.latest[child] - self.most[edge] for child, edge in self.children[task])
        return min(needed, default=self.deadline)

    def _latest_begin(self, task: int, end: Time) -> Time:
        """The latest begin on a new machine that is ready in time, for an end by then."""
        pairs = zip(self.market.offers, self.times[task], strict=True)
        return max((end - time for offer, time in pairs if offer.boot + time <= end), default=-1)

    # --- paths ------------------------------------------------------------------------------------

    def assign_all(self) -> None:
        """The paths before the end of the workflow, and then those before each of their tasks."""
        ends = [task for task in self.order if not self.children[task]]
        waiting = [NOWHERE]  # stands for the end of the workflow
        while waiting:
            task = waiting[-1]
            open_ends = [(each, None) for each in ends] if task == NOWHERE else self.parents[task]
            first = self._critical(open_ends)
            if first is None:
                waiting.pop()
                continue
            waiting += reversed(self._assign(self._path_to(first)))

    def _critical(self, parents: Sequence[tuple[int, int | None]]) -> int | None:
        """The parent without a place whose files come last; None: all have one."""
        unplaced = [pair for pair in parents if self.machine[pair[0]] == NOWHERE]
        if not unplaced:
            return None

        def arrival(pair: tuple[int, int | None]) -> Time:
            return self.end[pair[0]] + (0 if pair[1] is None else self.most[pair[1]])

        return max(unplaced, key=arrival)[0]

    def _path_to(self, last: int) -> tuple[int, ...]:
        path = [last]
        while (parent := self._critical(self.parents[path[-1]])) is not None:
            path.append(parent)
        return tuple(reversed(path))

    def _assign(self, tasks: tuple[int, ...]) -> tuple[int, ...]:
        """Give the path to a machine, or as much of its beginning as one can take."""
        choice = None
        while choice is None:
            path = _Path(tasks, self._steps(tasks))
            choice = min(self._rented(path), default=None) or min(self._new(path), default=None)
            if choice is None:
                if len(tasks) == 1:
                    raise AssertionError("a task alone can always keep its latest time")
                tasks = tasks[:-1]
                continue
            self._settle(path, choice)
        self.update(
            (child for task in tasks for child, _ in self.children[task]),
            (parent for task in tasks for parent, _ in self.parents[task]),
        )
        return tasks

    def _steps(self, tasks: tuple[int, ...]) -> tuple[int, ...]:
        """The path and what must run between its tasks, in topological order."""
        path, before = set(tasks), set(tasks)
        waiting = list(tasks)
        while waiting:
            for parent, _ in self.parents[waiting.pop()]:
                if self.machine[parent] == NOWHERE and parent not in before:
                    before.add(parent)
                    waiting.append(parent)
        after = set(path)
        for task in sorted(before, key=self.turn.__getitem__):
            if any(parent in after for parent, _ in self.parents[task]):
                after.add(task)
        return tuple(sorted(after, key=self.turn.__getitem__))

    def _settle(self, path: _Path, choice: _Choice) -> None:
        if choice.machine == len(self.machines):
            self.machines.append(_IcPcpMachine(choice.offer, []))
        spans = self.machines[choice.machine].spans
        for task, begin in zip(path.tasks, choice.begins, strict=True):
            self.machine[task], self.begin[task] = choice.machine, begin
            self.end[task] = begin + self.times[task][choice.offer]
            self.latest[task] = begin
            spans.append((begin, self.end[task]))
        spans.sort()

    # --- machines for a path ----------------------------------------------------------------------

    def _rented(self, path: _Path) -> Iterator[_Choice]:
        """Places on rented machines in which a path uses time that is paid and unused."""
        for number, machine in enumerate(self.machines):
            offer = self.market.offers[machine.offer]
            work = sum(self.times[task][machine.offer] for task in path.tasks)
            stay = machine.end - machine.begin + offer.boot
            spare = offer.paid_for(stay) - stay
            idle = [(one[1], two[0], False) for one, two in pairwise(machine.spans)]
            idle += [(machine.end, _NEVER, False), (offer.boot, machine.begin, True)]
            for since, until, is_late in idle:
                if until - max(since, self.begin[path.tasks[0]]) < work:
                    continue
                begins = self._fit(path, number, machine.offer, since, until, is_late=is_late)
                if begins is None:
                    continue
                end = begins[-1] + self.times[path.tasks[-1]][machine.offer]
                if begins[0] >= machine.end + spare or end <= machine.begin - spare:
                    continue
                new_stay = max(end, machine.end) - min(begins[0], machine.begin) + offer.boot
                more = offer.charge(new_stay) - offer.charge(stay)
                yield _Choice(more.nanos, end, number, machine.offer, begins)

    def _new(self, path: _Path) -> Iterator[_Choice]:
        number = len(self.machines)
        for offer, kind in enumerate(self.market.offers):
            begins = self._fit(path, number, offer, kind.boot, _NEVER)
            if begins is not None:
                end = begins[-1] + self.times[path.tasks[-1]][offer]
                price = kind.charge(end - begins[0] + kind.boot).nanos
                yield _Choice(price, end, number, offer, begins)

    def _fit(
        self,
        path: _Path,
        machine: int,
        offer: int,
        since: Time,
        until: Time,
        *,
        is_late: bool = False,
    ) -> tuple[Time, ...] | None:
        """Begins of the path's tasks within an idle time, early or late; None: it does not fit.

        What must run between two of them runs on machines of its own.
        """
        ends: dict[int, Time] = {}
        begins: list[Time] = []
        own, free, slack = set(path.tasks), since, until
        for task in path.steps:
            if task not in own:
                ready = (
                    ends.get(parent, self.end[parent]) + self.most[edge]
                    for parent, edge in self.parents[task]
                )
                ends[task] = self._fastest(task, max(ready))[0]
                continue
            begin = free
            for parent, edge in self.parents[task]:
                move = 0 if parent in own else self._move(edge, parent, machine, offer, into=True)
                begin = max(begin, ends.get(parent, self.end[parent]) + move)
            free = ends[task] = begin + self.times[task][offer]
            slack = min(slack, self._latest_here(task, own, machine, offer, until) - free)
            if slack < 0:
                return None
            begins.append(begin)
        shift = slack if is_late else 0
        return tuple(begin + shift for begin in begins)

    def _latest_here(self, task: int, own: set[int], machine: int, offer: int, until: Time) -> Time:
        """The latest end on this machine, by what waits for the task and by the idle time."""
        latest = min(until, self.deadline)
        for child, edge in self.children[task]:
            if child not in own:
                move = self._move(edge, child, machine, offer, into=False)
                latest = min(latest, self.latest[child] - move)
        return latest

    def _move(self, edge: int, other: int, machine: int, offer: int, *, into: bool) -> Time:
        """What the files of an edge take to this machine, or from it, where the other task is."""
        where = self.machine[other]
        if where == NOWHERE:
            return self.most[edge]
        if where == machine:
            return 0
        there = self.machines[where].offer
        return self.moves[edge][there][offer] if into else self.moves[edge][offer][there]

    # --- results ----------------------------------------------------------------------------------

    def spread(self) -> Schedule:
        """A new machine for each task, of the offer on which it ends first, as early as can be."""
        found = [self._fastest(task, self.begin[task]) for task in range(len(self.order))]
        ends, offers = [end for end, _ in found], [offer for _, offer in found]
        begins = [end - self.times[task][offer] for task, (end, offer) in enumerate(found)]
        return Schedule.tight(self.market, offers, range(len(found)), begins, ends)

    def schedule(self) -> Schedule:
        offers = [machine.offer for machine in self.machines]
        return Schedule.tight(self.market, offers, self.machine, self.begin, self.end)
