"""SPSS: an ensemble planned ahead, workflow by workflow (Malawski, Juve, Deelman and
Nabrzyski, 2012 and 2015).

The most urgent workflow comes first. The time that it can spare is shared out over its levels, by
their tasks and by their run times, which gives each task a deadline. Each task then goes to the
place that costs least: before, between or after the tasks of a rented machine, or on a new one; of
equals to the earliest. Time that is paid and idle costs nothing, so that the tasks of all workflows
are brought together on few machines. A workflow that would cost more than the budget has left, or
that is too long for the deadline, is left out.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final

import msgspec
import numpy as np

from bursar.model.errors import InputError
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import Time
from bursar.plan.published.ensemble import Ensemble, EnsemblePlan, Member
from bursar.plan.workflow.schedule import NOWHERE, Schedule

ALPHA: Final = 0.7
"""how much the number of a level's tasks counts for its share of spare time, and not their time"""


def spss(
    members: Sequence[Member], offer: Offer, budget: Money, deadline: Time, *, alpha: float = ALPHA
) -> EnsemblePlan:
    """As many workflows as the budget pays and the deadline allows, in the order of priority."""
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha is {alpha:g}; use 0 to 1")
    ensemble = Ensemble.of(members, offer, budget, deadline)
    machines: list[_SpssMachine] = []
    placed: dict[int, Place] = {}
    admitted: list[int] = []
    for workflow in ensemble.turns:
        trial = [_SpssMachine(one.begin, one.end, list(one.idle)) for one in machines]
        found = _plan(ensemble, workflow, trial, alpha)
        if found is not None and _cost(offer, trial) <= budget.nanos:
            machines = trial
            placed |= found
            admitted.append(workflow)
    return ensemble.planned(_schedule(ensemble, len(machines), placed), admitted)


class _SpssMachine(msgspec.Struct):
    """A rented machine, from its first task to its last."""

    begin: Time
    end: Time
    idle: list[tuple[Time, Time]]
    """between tasks, ascending, none of length 0"""

    def add(self, begin: Time, end: Time) -> None:
        """Enter a task, which lies before or after all others or in an idle time."""
        if end <= self.begin:
            self._add_idle(end, self.begin)
            self.begin = begin
        elif begin >= self.end:
            self._add_idle(self.end, begin)
            self.end = end
        else:
            since, until = self.idle.pop(bisect(self.idle, begin, key=itemgetter(0)) - 1)
            self._add_idle(since, begin)
            self._add_idle(end, until)

    def _add_idle(self, since: Time, until: Time) -> None:
        if since < until:
            insort(self.idle, (since, until))


Place = tuple[int, Time, int]
"""What a place costs in addition, in billionths; the begin; the machine, or one more: a new one."""


def _plan(
    ensemble: Ensemble, workflow: int, machines: list[_SpssMachine], alpha: float
) -> dict[int, Place] | None:
    """Places for all tasks of a workflow, entered in the machines; None: there are none."""
    deadlines = share_out(ensemble, workflow, alpha)
    if deadlines is None:
        return None
    placed: dict[int, Place] = {}
    tasks = ensemble.tasks(workflow)
    times = dict(zip(tasks, ensemble.times[tasks.start : tasks.stop].tolist(), strict=True))
    for task in sorted(ensemble.order(workflow), key=deadlines.__getitem__):
        ends = (placed[parent][1] + times[parent] for parent in ensemble.parents(task))
        ready = max(ends, default=ensemble.offer.boot)
        time, deadline = times[task], deadlines[task]
        best = min(_places(ensemble.offer, machines, ready, time, deadline), default=None)
        if best is None:
            return None
        _, begin, machine = best
        if machine == len(machines):
            machines.append(_SpssMachine(begin, begin + time, []))
        else:
            machines[machine].add(begin, begin + time)
        placed[task] = best
    return placed


def share_out(ensemble: Ensemble, workflow: int, alpha: float) -> dict[int, Time] | None:
    """A deadline for each task of a workflow; None: its critical path is too long.

    A level's share of the spare time is `alpha` by its tasks and the rest by their run times.
    """
    tasks = ensemble.tasks(workflow)
    level, end = np.zeros(len(tasks), np.int64), np.zeros(len(tasks), np.int64)
    order = ensemble.order(workflow)
    for task in order:
        own, above = task - tasks.start, [one - tasks.start for one in ensemble.parents(task)]
        level[own] = max((level[one] + 1 for one in above), default=0)
        end[own] = max((end[one] for one in above), default=0) + ensemble.times[task]
    spare = ensemble.deadline - ensemble.offer.boot - int(end.max(initial=0))
    if spare < 0:
        return None
    times = ensemble.times[tasks.start : tasks.stop]
    counts = np.bincount(level) / max(len(tasks), 1)
    work = np.bincount(level, times) / times.sum() if times.sum() else counts
    shares = np.floor((alpha * counts + (1 - alpha) * work) * spare).astype(np.int64).tolist()
    deadlines: dict[int, Time] = {}
    for task in order:
        above_all = (deadlines[parent] for parent in ensemble.parents(task))
        latest = max(above_all, default=ensemble.offer.boot)
        own_share = shares[level[task - tasks.start]]
        deadlines[task] = min(latest + int(ensemble.times[task]) + own_share, ensemble.deadline)
    return deadlines


def _places(
    offer: Offer, machines: list[_SpssMachine], ready: Time, time: Time, deadline: Time
) -> Iterator[Place]:
    """Where a task can run and end within its deadline."""
    price, latest = offer.price.nanos, deadline - time
    if ready > latest:
        return
    if offer.limit is None or len(machines) < offer.limit:
        yield price * offer.units(time + offer.boot), ready, len(machines)
    for number, machine in enumerate(machines):
        stay = machine.end - machine.begin + offer.boot
        units = offer.units(stay)
        if ready + time <= machine.begin:
            for begin in _before(offer, machine, units * offer.billing - stay, ready, time):
                if begin <= latest:
                    more = offer.units(stay + machine.begin - begin) - units
                    yield price * more, begin, number
        if ready < machine.end:
            between = _between(machine, ready, time)
            if between is not None and between <= latest:
                yield 0, between, number
        begin = max(ready, machine.end)
        if begin <= latest:
            more = offer.units(stay + begin + time - machine.end) - units
            yield price * more, begin, number


def _before(
    offer: Offer, machine: _SpssMachine, spare: Time, ready: Time, time: Time
) -> Iterator[Time]:
    """Begins before the first task: without a gap, in paid time, and with all of its units used."""
    units = -(-time // offer.billing) * offer.billing
    for lead in (time, spare, units):
        begin = max(ready, machine.begin - lead)
        if begin + time <= machine.begin:
            yield begin


def _between(machine: _SpssMachine, ready: Time, time: Time) -> Time | None:
    """The earliest begin in an idle time between two tasks."""
    idle = machine.idle
    for place in range(max(0, bisect(idle, (ready, ready)) - 1), len(idle)):
        since, until = idle[place]
        begin = max(ready, since)
        if begin + time <= until:
            return begin
    return None


def _cost(offer: Offer, machines: list[_SpssMachine]) -> int:
    stays = (machine.end - machine.begin + offer.boot for machine in machines)
    return sum(offer.charge(stay).nanos for stay in stays)


def _schedule(ensemble: Ensemble, machines: int, placed: dict[int, Place]) -> Schedule:
    count = len(ensemble.dag)
    machine, begin = np.full(count, NOWHERE), np.zeros(count, np.int64)
    for task, place in placed.items():
        _, begin[task], machine[task] = place
    end = np.where(machine == NOWHERE, 0, begin + ensemble.times)
    return Schedule.tight(ensemble.market, np.zeros(machines, np.int64), machine, begin, end)
