"""Hybrid.BMCT: a workflow on machines that differ (Sakellariou and Zhao, 2004).

Tasks in the order of their upward ranks are cut into groups without precedence inside. Each group
is given to the machines as a bag: every task to the machine that is fastest for it, and then tasks
leave the machine that finishes last as long as another would finish earlier with them.
Times are seconds, or any unit that all have in common.

The paper leaves open in which order the tasks of a group run on one machine. Here it is the order
in which their files arrive, since no other order finishes earlier; all earlier groups come first.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator

import numpy as np

from bursar.model.dag import Dag, Ints
from bursar.plan.workflow.heft import Floats, Given, Integers, Network, Placement

Row = tuple[float, int, float]
"""A task on a machine: when its files are there, its place in the group, its run time."""


def bmct(
    dag: Dag, runtimes: Floats, volumes: Floats, machines: Integers, network: Network
) -> Placement:
    """Place all tasks; the arguments are those of `bursar.plan.workflow.heft.heft`."""
    given = Given.of(dag, runtimes, volumes, machines, network)
    rank = given.rank_upward()
    by_rank = dag.order[np.argsort(-rank[dag.order], kind="stable")]
    plan = Placement(np.zeros(len(dag), np.int64), np.zeros(len(dag)), np.zeros(len(dag)), rank)
    free = [0.0] * len(given.machines)
    for group in groups(dag, by_rank):
        times = given.runtimes[group][:, given.machines]
        ready = np.array([_arrivals(given, plan, task) for task in group])
        bag = _Bag(ready, times, free)
        bag.balance()
        for machine, rows in enumerate(bag.rows):
            for arrival, place, time in rows:
                begin = max(free[machine], arrival)
                free[machine] = begin + time
                task = group[place]
                plan.machine[task], plan.begin[task] = machine, begin
                plan.end[task] = free[machine]
    return plan


def groups(dag: Dag, by_rank: Ints) -> Iterator[list[int]]:
    """Runs of tasks of which none waits for another of its run, each as long as it can be."""
    group: list[int] = []
    members: set[int] = set()
    for task in by_rank.tolist():
        first, last = dag.parents.starts[task : task + 2]
        if not members.isdisjoint(dag.parents.items[first:last].tolist()):
            yield group
            group, members = [], set()
        group.append(task)
        members.add(task)
    if group:
        yield group


def _arrivals(given: Given, plan: Placement, task: int) -> Floats:
    """When the task's files are there, by machine; its parents are placed."""
    ready = np.zeros(len(given.machines))
    for edge in range(given.dag.parents.starts[task], given.dag.parents.starts[task + 1]):
        parent = given.dag.parents.items[edge]
        source = plan.machine[parent]
        offer = given.machines[source]
        move = given.latency[offer] + given.volumes[edge] * given.pace[offer]
        arrival = plan.end[parent] + move[given.machines]
        arrival[source] = plan.end[parent]
        np.maximum(ready, arrival, out=ready)
    return ready


class _Bag:
    """A group on its machines; the rows of a machine are those of its tasks, by arrival."""

    def __init__(self, ready: Floats, times: Floats, free: list[float]) -> None:
        self.ready: list[list[float]] = ready.tolist()
        self.times: list[list[float]] = times.tolist()
        self.free = free
        """[machine]: when it is done with earlier groups"""
        self.rows: list[list[Row]] = [[] for _ in free]
        for place, machine in enumerate(times.argmin(axis=1).tolist()):
            self.rows[machine].append(self._row(place, machine))
        for rows in self.rows:
            rows.sort()
        self.finish = [self._finish_with(machine, None) for machine in range(len(free))]
        mean = (ready + times).mean(axis=1)
        self.turn: list[int] = np.argsort(np.argsort(mean, kind="stable")).tolist()
        """[place]: tasks are tried in the order of their mean earliest end"""

    def balance(self) -> None:
        """Move tasks off the machine that finishes last while one that takes them ends earlier.

        Machines without a task of the group do not count. With each move, the latest end comes
        sooner or has fewer tasks on machines that end then.
        """
        moved = True
        while moved:
            used = (machine for machine, rows in enumerate(self.rows) if rows)
            moved = self._move_from(max(used, key=self.finish.__getitem__))

    def _move_from(self, last: int) -> bool:
        for row in sorted(self.rows[last], key=lambda row: self.turn[row[1]]):
            best, target = self.finish[last], -1
            for machine in range(len(self.free)):
                if machine != last:
                    finish = self._finish_with(machine, self._row(row[1], machine), best)
                    if finish < best:
                        best, target = finish, machine
            if target >= 0:
                self.rows[last].remove(row)
                new = self._row(row[1], target)
                self.rows[target].insert(bisect(self.rows[target], new), new)
                self.finish[target] = best
                self.finish[last] = self._finish_with(last, None)
                return True
        return False

    def _row(self, place: int, machine: int) -> Row:
        return self.ready[place][machine], place, self.times[place][machine]

    def _finish_with(self, machine: int, more: Row | None, too_late: float = np.inf) -> float:
        """When the machine finishes, also with one task more; a time too late is enough."""
        rows = self.rows[machine]
        now = self.free[machine]
        if more is not None:
            if max(self.finish[machine], more[0] + more[2]) >= too_late:
                return too_late
            place = bisect(rows, more)
            rows = [*rows[:place], more, *rows[place:]]
        for ready, _, time in rows:
            now = max(now, ready) + time
        return now
