"""DPDS: an ensemble that is provisioned and placed as it runs (Malawski, Juve, Deelman and
Nabrzyski, 2012 and 2015).

As many machines are rented as use up the budget by the deadline. Ready tasks of all workflows wait
together, the most urgent workflow's first, for the first idle machine. Machines are added while
more than `u_high` of them are busy, up to `growth` times the first number. Where fewer than `u_low`
are busy, half of the idle ones are released as their billing units end, except where the rest would
be busier than `u_high`. A unit that the budget cannot pay is not entered: the machine goes, and its
task back to the others.

WA-DPDS, which is aware of workflows, takes the first task of one only if the work of the workflow,
at the price of the offer, is within what is left: the unspent budget and the paid time of machines,
less the work of workflows that were taken before. A workflow that was left out stays out.

All of it is a pure function: the paper's random idle machine is the first one here, and machines
are looked at when something happens instead of every few seconds. Units shorter than `CYCLE` are
paid several at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Final

import msgspec
import numpy as np

from bursar.model.errors import InputError
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import SECOND, Time
from bursar.plan.published.ensemble import Ensemble, EnsemblePlan, Member
from bursar.plan.workflow.schedule import NOWHERE, Schedule

CYCLE: Final[Time] = 10 * SECOND
"""of the paper's simulator: how often machines are looked at"""
U_HIGH: Final = 0.9
U_LOW: Final = 0.7
IDLE: Final = -1
"""stands for the task of a machine that has none"""
BOOTED: Final = -2
"""stands for a task in the event of a machine that becomes ready"""


class Thresholds(msgspec.Struct, frozen=True):
    """When machines are added and released; those of the paper, if not given."""

    u_high: float = U_HIGH
    u_low: float = U_LOW
    growth: float = 1.0
    """the most machines, as a multiple of the first number"""

    def __post_init__(self) -> None:
        if not 0 <= self.u_low <= self.u_high <= 1:
            raise InputError("thresholds of utilisation must ascend from 0 to 1; swap or fix them")
        if not self.growth >= 1:
            raise InputError(f"growth is {self.growth:g}; use 1 or more")


class Admission(msgspec.Struct, frozen=True):
    """Workflows are taken by their estimated cost (WA-DPDS), with some money kept aside."""

    margin: Money = ZERO


def dpds(
    members: Sequence[Member],
    offer: Offer,
    budget: Money,
    deadline: Time,
    *,
    thresholds: Thresholds | None = None,
    admission: Admission | None = None,
) -> EnsemblePlan:
    """What runs within the budget and the deadline; tasks that do not end by then are left out."""
    ensemble = Ensemble.of(members, offer, budget, deadline)
    run = _Run(ensemble, thresholds or Thresholds(), admission)
    run.to_the_end()
    done = [work for work in ensemble.turns if not run.left[work]]
    return ensemble.planned(run.schedule(), done)


class _DpdsMachine(msgspec.Struct):
    rented: Time
    ready: Time
    paid_until: Time
    released: Time | None = None
    task: int = IDLE


class _Run:
    """The state of the run at `now`."""

    def __init__(
        self, ensemble: Ensemble, thresholds: Thresholds, admission: Admission | None
    ) -> None:
        self.ensemble, self.offer = ensemble, ensemble.offer
        self.thresholds, self.admission = thresholds, admission
        self.times: list[Time] = ensemble.times.tolist()
        self.now: Time = 0
        self.money = ensemble.budget
        """not spent"""
        self.machines: list[_DpdsMachine] = []
        self.rented: set[int] = set()
        self.busy = 0
        """of these, with a task"""
        self.first = self._first_number()
        self.idle: list[int] = []
        """a heap of machines that are ready and have no task; with some that are released"""
        self.machine = [NOWHERE] * len(self.times)
        self.begin: list[Time] = [0] * len(self.times)
        self.ended = [False] * len(self.times)
        workflows = len(ensemble.turns)
        self.workflow = np.repeat(np.arange(workflows), np.diff(ensemble.first)).tolist()
        self.turn = {workflow: turn for turn, workflow in enumerate(ensemble.turns)}
        self.left = [len(ensemble.tasks(workflow)) for workflow in range(workflows)]
        """[workflow]: tasks that have not ended"""
        self.work = [
            sum(self.times[task] for task in ensemble.tasks(workflow))
            for workflow in range(workflows)
        ]
        """[workflow]: the run time of these"""
        self.admitted: dict[int, bool] = {}
        self.waits = np.diff(ensemble.dag.parents.starts).tolist()
        """[task]: parents that have not ended"""
        self.children: list[list[int]] = [[] for _ in self.times]
        for task in range(len(self.times)):
            for parent in ensemble.parents(task):
                self.children[parent].append(task)
        self.ready: list[tuple[int, int, int]] = []
        """a heap: turn of the workflow, number in the order of becoming ready, task"""
        self.became_ready = 0
        self.events: list[tuple[Time, int, int]] = []
        """a heap: time, machine, and the task that ends; or BOOTED; or IDLE: paid until then"""

    def to_the_end(self) -> None:
        for task, waits in enumerate(self.waits):
            if not waits:
                self._make_ready(task)
        while len(self.rented) < self.first and self._can_rent(0):
            self._rent()
        self._step()
        while self.rented and (self.ready or self.busy):
            self.now = min(self.events[0][0], self.ensemble.deadline)
            self._take_events()
            if self.now == self.ensemble.deadline:
                break
            self._step()
        for number in sorted(self.rented):
            self._release(number)

    def schedule(self) -> Schedule:
        ended = np.array(self.ended, np.bool_)
        begin = np.where(ended, np.array(self.begin, np.int64), 0)
        return Schedule(
            np.zeros(len(self.machines), np.int64),
            np.array([machine.rented for machine in self.machines], np.int64),
            np.array([machine.released for machine in self.machines], np.int64),
            np.where(ended, np.array(self.machine, np.int64), NOWHERE),
            begin,
            np.where(ended, begin + self.ensemble.times, 0),
        )

    # --- one moment -------------------------------------------------------------------------------

    def _step(self) -> None:
        """Tasks to machines, units paid or machines released, machines added."""
        self._place()
        self._pay()
        self._place()
        while self._wants_more() and self._can_rent(len(self.rented)):
            self._rent()
            self._place()

    def _take_events(self) -> None:
        """All of this moment; those of a machine that was released mean nothing."""
        while self.events and self.events[0][0] == self.now:
            _, number, task = heappop(self.events)
            if number not in self.rented or task == IDLE:
                continue
            heappush(self.idle, number)
            if task != BOOTED:
                self.machines[number].task = IDLE
                self.busy -= 1
                self._end(task)

    def _end(self, task: int) -> None:
        workflow = self.workflow[task]
        self.ended[task] = True
        self.left[workflow] -= 1
        self.work[workflow] -= self.times[task]
        for child in self.children[task]:
            self.waits[child] -= 1
            if not self.waits[child]:
                self._make_ready(child)

    def _make_ready(self, task: int) -> None:
        heappush(self.ready, (self.turn[self.workflow[task]], self.became_ready, task))
        self.became_ready += 1

    def _place(self) -> None:
        while self.ready and self.idle:
            number = self.idle[0]
            if number not in self.rented:
                heappop(self.idle)
                continue
            task = heappop(self.ready)[2]
            if self._is_admitted(self.workflow[task]):
                heappop(self.idle)
                self.machines[number].task = task
                self.busy += 1
                self.machine[task], self.begin[task] = number, self.now
                heappush(self.events, (self.now + self.times[task], number, task))

    def _is_admitted(self, workflow: int) -> bool:
        """Whether the work of a workflow can be paid, as estimated at its first task."""
        if self.admission is None:
            return True
        if workflow not in self.admitted:
            paid = sum(self.machines[each].paid_until - self.now for each in self.rented)
            taken = sum(self.work[each] for each, is_in in self.admitted.items() if is_in)
            left = (self.money - self.admission.margin).nanos * self.offer.billing
            price = self.offer.price.nanos
            self.admitted[workflow] = self.work[workflow] * price <= left + (paid - taken) * price
        return self.admitted[workflow]

    # --- machines ---------------------------------------------------------------------------------

    def _first_number(self) -> int:
        """Machines that use up the budget by the deadline; no more than there are tasks."""
        tasks = len(self.times)
        units = max(1, -(-self.ensemble.deadline // self.offer.billing))
        each = self.offer.price.nanos * units
        return min(tasks, -(-self.ensemble.budget.nanos // each)) if each else tasks

    def _wants_more(self) -> bool:
        rented = len(self.rented)
        return (
            rented > 0
            and self.busy > self.thresholds.u_high * rented
            and rented + 1 <= self.thresholds.growth * self.first
        )

    def _can_rent(self, kept: int) -> bool:
        """Whether one more machine is of use and paid, with a unit left for some others."""
        limit = self.offer.limit
        return (
            (limit is None or len(self.rented) < limit)
            and self.now + self.offer.boot < self.ensemble.deadline
            and self.offer.entry_charge + self.offer.price * kept <= self.money
        )

    def _rent(self) -> None:
        number, ready = len(self.machines), self.now + self.offer.boot
        self.machines.append(_DpdsMachine(self.now, ready, self.now))
        self.rented.add(number)
        self._buy(number, self.offer.units(0))
        if ready == self.now:
            heappush(self.idle, number)
        else:
            heappush(self.events, (ready, number, BOOTED))

    def _buy(self, number: int, least: int) -> bool:
        """Enter the next units, as many as are decided on at once and can be paid."""
        units = max(least, -(-CYCLE // self.offer.billing))
        if self.offer.price:
            units = min(units, self.money // self.offer.price)
        if units < least:
            return False
        machine = self.machines[number]
        machine.paid_until += units * self.offer.billing
        self.money -= self.offer.price * units
        heappush(self.events, (machine.paid_until, number, IDLE))
        return True

    def _pay(self) -> None:
        """Machines whose paid time ends now stay or go; those with a task are paid first."""
        due = [each for each in sorted(self.rented) if self.machines[each].paid_until == self.now]
        idle = [each for each in due if self._is_idle(each)]
        for number in idle[: self._superfluous(len(idle))]:
            self._release(number)
        for number in sorted(due, key=lambda each: (self.machines[each].task == IDLE, each)):
            if number in self.rented and not self._buy(number, 1):
                self._release(number)

    def _superfluous(self, idle: int) -> int:
        """How many of these go: half where few are busy, but none that would be missed at once."""
        rented, rules = len(self.rented), self.thresholds
        if self.busy >= rules.u_low * rented:
            return 0
        count = -(-idle // 2)
        while count and rented > count and self.busy > rules.u_high * (rented - count):
            count -= 1
        return count

    def _is_idle(self, number: int) -> bool:
        machine = self.machines[number]
        return machine.task == IDLE and machine.ready <= self.now

    def _release(self, number: int) -> None:
        machine = self.machines[number]
        machine.released = self.now
        self.rented.remove(number)
        if machine.task != IDLE:
            self._make_ready(machine.task)
            machine.task = IDLE
            self.busy -= 1
