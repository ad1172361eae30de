"""What is optimised: works in slots of time, offers, and a budget per billing interval.

The model of section 5.6 of the workload thesis: no boot, no transfer, machines come and go between
intervals as one likes, and all is known from the beginning. Machines of one offer are alike: how
many of them are active in an interval says as much as which ones: a task that runs over the end of
an interval keeps its machine, and others take what is free.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from itertools import product
from typing import Literal

import msgspec

from bursar.model.errors import InputError

Aim = Literal["lateness", "response"]
"""`lateness`: equation 5.21, which counts from the earliest possible end of a work, and one more if
it is late at all. `response`: the sum of response times."""


class SlottedTask(msgspec.Struct, frozen=True):
    """A task, in slots."""

    work: int
    takes: tuple[int, ...]
    """by offer, at least 1"""
    parents: tuple[int, ...] = ()
    """numbers of tasks, smaller than its own"""


class SlottedOffer(msgspec.Struct, frozen=True):
    """Machines that are alike."""

    limit: int
    price: int
    """for an interval, in any unit"""


class SlottedWorkload(msgspec.Struct, frozen=True, dict=True):
    """Works, tasks and offers are numbered from 0, and so are slots and intervals."""

    arrivals: tuple[int, ...]
    """by work, the first slot in which it may begin"""
    tasks: tuple[SlottedTask, ...]
    offers: tuple[SlottedOffer, ...]
    budget: int
    """for each interval, in the unit of prices"""
    interval: int
    """slots of a billing interval"""
    intervals: int
    """that there are: nothing ends later"""

    def __post_init__(self) -> None:
        for number, task in enumerate(self.tasks):
            if any(not 0 <= parent < number for parent in task.parents):
                raise InputError(f"task {number} needs one that is not before it; sort the tasks")
            if min(task.takes) < 1 or len(task.takes) != len(self.offers):
                raise InputError(f"task {number} needs a time of at least one slot for each offer")
        if not any(0 < offer.price <= self.budget and offer.limit for offer in self.offers):
            raise InputError("the budget of an interval pays for no machine; give more")

    @property
    def horizon(self) -> int:
        """The number of slots."""
        return self.interval * self.intervals

    @cached_property
    def earliest(self) -> tuple[int, ...]:
        """By task, the first slot in which it could begin if there were machines without end."""
        found: list[int] = []
        for task in self.tasks:
            ends = [found[p] + min(self.tasks[p].takes) for p in task.parents]
            found.append(max(ends, default=self.arrivals[task.work]))
        return tuple(found)

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """By work, the first slot in which it could be over."""
        found = list(self.arrivals)
        for number, task in enumerate(self.tasks):
            found[task.work] = max(found[task.work], self.earliest[number] + min(task.takes))
        return tuple(found)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in self.tasks]
        for number, task in enumerate(self.tasks):
            for parent in task.parents:
                found[parent].append(number)
        return tuple(map(tuple, found))

    @cached_property
    def tails(self) -> tuple[int, ...]:
        """By task, slots from its begin to the end of its work, if nothing had to wait."""
        found = [0] * len(self.tasks)
        for number in reversed(range(len(self.tasks))):
            after = max((found[child] for child in self.children[number]), default=0)
            found[number] = min(self.tasks[number].takes) + after
        return tuple(found)

    @cached_property
    def alike(self) -> tuple[int, ...]:
        """By task, the first one that is like it.

        It is of the same work, takes as long, and comes before and after tasks that are alike.
        """
        found = _first_of([(task.work, task.takes) for task in self.tasks])
        while True:
            around = [
                (own, _sorted_of(found, task.parents), _sorted_of(found, children))
                for own, task, children in zip(found, self.tasks, self.children, strict=True)
            ]
            finer = _first_of(around)
            if finer == found:
                return tuple(found)
            found = finer


def _first_of(values: Sequence[Hashable]) -> list[int]:
    """By place, the first place with the same value."""
    firsts: dict[Hashable, int] = {}
    return [firsts.setdefault(value, place) for place, value in enumerate(values)]


def _sorted_of(values: Sequence[int], places: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(values[place] for place in places))


class Placed(msgspec.Struct, frozen=True):
    """Where and when a task runs."""

    offer: int
    start: int


SlottedSchedule = Sequence[Placed]
"""By task."""


def maximal_fleets(instance: SlottedWorkload) -> list[tuple[int, ...]]:
    """Fleets to which no machine can be added within the budget, nearest to it first."""
    prices = [offer.price for offer in instance.offers]
    counts = [
        range(min(offer.limit, instance.budget // offer.price) + 1) for offer in instance.offers
    ]
    found = []
    for fleet in product(*counts):
        left = instance.budget - sum(n * price for n, price in zip(fleet, prices, strict=True))
        can_add = any(
            n < offer.limit and offer.price <= left
            for n, offer in zip(fleet, instance.offers, strict=True)
        )
        if left >= 0 and not can_add:
            found.append((left, fleet))
    return [fleet for _, fleet in sorted(found)]


def completions(instance: SlottedWorkload, schedule: SlottedSchedule) -> list[int]:
    """By work, the first slot in which all of it is over."""
    found = list(instance.arrivals)
    for task, placed in zip(instance.tasks, schedule, strict=True):
        found[task.work] = max(found[task.work], placed.start + task.takes[placed.offer])
    return found


def cost_of(instance: SlottedWorkload, schedule: SlottedSchedule, aim: Aim) -> int:
    """What is minimised. Equation 5.21 maximises the number of works, less this."""
    found = completions(instance, schedule)
    if aim == "response":
        return sum(end - begin for end, begin in zip(found, instance.arrivals, strict=True))
    late = [end - best for end, best in zip(found, instance.ends, strict=True)]
    return sum(one + 1 for one in late if one > 0)


def active(instance: SlottedWorkload, schedule: SlottedSchedule) -> list[list[int]]:
    """By offer and interval, the machines that must be paid for."""
    busy = [[0] * instance.horizon for _ in instance.offers]
    for task, placed in zip(instance.tasks, schedule, strict=True):
        for slot in range(placed.start, placed.start + task.takes[placed.offer]):
            busy[placed.offer][slot] += 1
    length = instance.interval
    return [
        [max(row[begin : begin + length]) for begin in range(0, instance.horizon, length)]
        for row in busy
    ]


def problems(instance: SlottedWorkload, schedule: SlottedSchedule) -> list[str]:
    """Every constraint that a schedule breaks, checked by itself; empty: it is one."""
    found: list[str] = []
    for number, (task, placed) in enumerate(zip(instance.tasks, schedule, strict=True)):
        if placed.start < instance.arrivals[task.work]:
            found.append(f"task {number} begins before its work arrives")
        if placed.start + task.takes[placed.offer] > instance.horizon:
            found.append(f"task {number} ends after the last interval")
        for parent in task.parents:
            before = schedule[parent]
            if before.start + instance.tasks[parent].takes[before.offer] > placed.start:
                found.append(f"task {number} begins before task {parent} has ended")
    if found:
        return found
    counts = active(instance, schedule)
    for row, offer in zip(counts, instance.offers, strict=True):
        if max(row) > offer.limit:
            found.append(f"{max(row)} machines of an offer that has {offer.limit}")
    for number in range(instance.intervals):
        cost = sum(row[number] * o.price for row, o in zip(counts, instance.offers, strict=True))
        if cost > instance.budget:
            found.append(f"interval {number} costs {cost} of {instance.budget}")
    return found
