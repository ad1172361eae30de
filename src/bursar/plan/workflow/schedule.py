"""Where and when each task of a workflow runs on rented machines, what that costs, and a check.

The cloud planners return this value. Times are whole microseconds from the beginning of the plan,
so that billing units are exact; run times and moves of files are rounded to the nearest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar.model.dag import Dag
from bursar.model.errors import InputError
from bursar.model.market import Market
from bursar.model.money import ZERO, Money
from bursar.model.time import SECOND, Time, format_duration
from bursar.plan.workflow.heft import Network

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NOWHERE: Final = -1
"""stands for the machine of a task that does not run"""


class Schedule(msgspec.Struct, frozen=True, eq=False):
    """Machines with the time for which each is rented, and tasks with their place and time."""

    machines: Integers
    """[machine]: the number of its offer in the market"""
    rented: Integers
    """[machine]: when it is asked for; it is ready after its boot time"""
    released: Integers
    """[machine]"""
    machine: Integers
    """[task]; NOWHERE: it does not run"""
    begin: Integers
    """[task]; 0 if it does not run"""
    end: Integers
    """[task]; 0 if it does not run"""

    @classmethod
    def tight(
        cls,
        market: Market,
        machines: ArrayLike,
        machine: ArrayLike,
        begin: ArrayLike,
        end: ArrayLike,
    ) -> Schedule:
        """Each machine is ready when its first task begins, and released when its last one ends.

        Every machine must have a task.
        """
        offer, place, first, last = (
            np.asarray(row, np.int64) for row in (machines, machine, begin, end)
        )
        rented = np.full(len(offer), np.iinfo(np.int64).max)
        released = np.zeros(len(offer), np.int64)
        runs = place != NOWHERE
        np.minimum.at(rented, place[runs], first[runs])
        np.maximum.at(released, place[runs], last[runs])
        if not np.isin(np.arange(len(offer)), place).all():
            raise InputError("a machine without a task; leave it out of the schedule")
        boots = np.array([each.boot for each in market.offers], np.int64)
        return cls(offer, rented - boots[offer], released, place, first, last)

    @property
    def makespan(self) -> Time:
        """When the last task ends."""
        return int(self.end.max(initial=0))

    def cost(self, market: Market) -> Money:
        """Every machine by its billing units, from when requested until its release."""
        stays = (self.released - self.rented).tolist()
        charges = (
            market.offers[offer].charge(stay)
            for offer, stay in zip(self.machines.tolist(), stays, strict=True)
        )
        return sum(charges, ZERO)

    def check(
        self, dag: Dag, runtimes: Floats, volumes: Floats, network: Network, market: Market
    ) -> None:
        """Raise if a task lacks its machine, its run time or its files, or a limit is not kept.

        `runtimes[task, offer]` and the moves of `volumes[edge]` are in seconds.
        """
        if len(self.machine) != len(dag):
            raise InputError(f"a schedule of {len(self.machine)} tasks for {len(dag)}; plan all")
        self._check_stays()
        self.check_limits(market)
        self._check_tasks(microseconds(runtimes), market)
        self._check_files(dag, volumes, network)
        self._check_alone()

    def _check_stays(self) -> None:
        if np.any(self.rented < 0) or np.any(self.released < self.rented):
            raise InputError("a machine is released before it is rented, or rented before the plan")

    def check_limits(self, market: Market) -> None:
        """Raise if there are more machines of an offer at once than its limit."""
        for number, offer in enumerate(market.offers):
            own = self.machines == number
            if offer.limit is not None:
                most = most_at_once(self.rented[own], self.released[own])
                if most > offer.limit:
                    raise InputError(
                        f"{most} machines of {offer.name} at once; its limit is {offer.limit}"
                    )

    def _check_tasks(self, runtimes: Integers, market: Market) -> None:
        boots = np.array([offer.boot for offer in market.offers], np.int64)
        runs = np.flatnonzero(self.machine != NOWHERE)
        place = self.machine[runs]
        wanted = runtimes[runs, self.machines[place]]
        _refuse(runs, self.end[runs] - self.begin[runs] != wanted, "does not have its run time")
        ready = self.rented[place] + boots[self.machines[place]]
        _refuse(runs, self.begin[runs] < ready, "begins before its machine is ready")
        _refuse(runs, self.end[runs] > self.released[place], "ends after its machine's release")

    def _check_files(self, dag: Dag, volumes: Floats, network: Network) -> None:
        child = np.repeat(np.arange(len(dag)), np.diff(dag.parents.starts))
        used = np.flatnonzero(self.machine[child] != NOWHERE)
        child, parent = child[used], dag.parents.items[used]
        _refuse(child, self.machine[parent] == NOWHERE, "waits for one that does not run")
        one, other = self.machine[parent], self.machine[child]
        pair = self.machines[one], self.machines[other]
        moves = microseconds(network.latency[pair] + volumes[used] * network.pace[pair])
        moves[one == other] = 0
        late = self.begin[child] < self.end[parent] + moves
        _refuse(child, late, "begins before its files are there")

    def _check_alone(self) -> None:
        runs = np.flatnonzero((self.machine != NOWHERE) & (self.end > self.begin))
        order = runs[np.lexsort((self.begin[runs], self.machine[runs]))]
        same = self.machine[order][1:] == self.machine[order][:-1]
        overlap = same & (self.begin[order][1:] < self.end[order][:-1])
        _refuse(order[1:], overlap, "begins before another on its machine ends")


def microseconds(seconds: ArrayLike) -> Integers:
    """The nearest whole microseconds."""
    return np.rint(np.asarray(seconds, np.float64) * SECOND).astype(np.int64)


def most_at_once(begins: Integers, ends: Integers) -> int:
    """The most of some spans that hold the same moment; an end makes room for a begin."""
    times = np.concatenate([begins, ends])
    steps = np.concatenate([np.ones(len(begins), np.int64), np.full(len(ends), -1, np.int64)])
    running = np.cumsum(steps[np.lexsort((steps, times))])
    return int(running.max(initial=0))


def check_times(what: str, values: Floats, shape: Sequence[int]) -> None:
    """Refuse times and volumes that are of another shape, negative or not finite."""
    if values.shape != tuple(shape):
        raise InputError(
            f"{what} of shape {list(values.shape)}; the workflow and the market need {list(shape)}"
        )
    if not np.all((values >= 0) & np.isfinite(values)):
        raise InputError(f"every {what} must be finite and not negative")


def too_short(deadline: Time, least: Time, planner: str) -> InputError:
    """What to say of a deadline that no plan can keep."""
    return InputError(
        f"no plan of {planner} ends within {format_duration(deadline)}; "
        f"the shortest takes {format_duration(least)} ({least} us), so allow at least that"
    )


def _refuse(tasks: Integers, wrong: NDArray[np.bool_], what: str) -> None:
    if wrong.any():
        raise InputError(f"task {tasks[np.argmax(wrong)]} {what}; fix the schedule")
