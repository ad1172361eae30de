"""A list of tasks on machines by slots within a budget per interval, and better lists by annealing.

Each task of a list, parents before children, gets the earliest place that the budget and what is
placed already leave. A list is changed at random: a task moves, or is bound to an offer or freed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bursar.kernels.bag import GOLDEN, LOW, scaled, splitmix
from bursar.kernels.compiling import compile_kept, let_kernels_call

if TYPE_CHECKING:
    from collections.abc import Callable

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""

HOT: Final = 1.0
COLD: Final = 0.02
"""Slots: how much worse a list may be that replaces another, at first and at last."""
NEVER: Final = 1 << 40
SMALL: Final = 1e-3
"""What the mean end of a task counts beside a slot of a work: enough to tell lists apart."""


class ListedTasks(NamedTuple):
    """Tasks, offers and money, in slots; all arrays are of 64-bit integers."""

    work: Array
    """[task]"""
    takes: Array
    """[task, offer]"""
    parents_start: Array
    parents: Array
    """those of a task are between its start and the next one's"""
    children_start: Array
    children: Array
    arrivals: Array
    """[work]: before which nothing of it begins"""
    free: Array
    """[work]: up to this slot its end costs nothing, and one for each slot later"""
    late: int
    """what an end costs in addition that is later than that"""
    limit: Array
    """[offer]"""
    price: Array
    """[offer], for an interval"""
    budget: int
    interval: int
    """its slots"""
    slots: int


class Placing(NamedTuple):
    """What is placed."""

    busy: Array
    """[offer, slot]: machines"""
    peak: Array
    """[offer, interval]: machines that are paid"""
    paid: Array
    """[interval]"""
    start: Array
    offer: Array
    end: Array
    """[task]"""


def cost_if(tasks: ListedTasks, placing: Placing, offer: int, start: int, takes: int) -> int:
    """What more is to be paid if a task runs there, or -1: a limit or the budget forbids it."""
    more, slot = 0, start
    while slot < start + takes:
        interval = slot // tasks.interval
        stop = min(start + takes, (interval + 1) * tasks.interval)
        most = 0
        while slot < stop:
            most = max(most, placing.busy[offer, slot] + 1)
            slot += 1
        if most > tasks.limit[offer]:
            return -1
        if most > placing.peak[offer, interval]:
            price = tasks.price[offer] * (most - placing.peak[offer, interval])
            if placing.paid[interval] + price > tasks.budget:
                return -1
            more += price
    return more


def put(tasks: ListedTasks, placing: Placing, task: int, offer: int, start: int) -> None:
    """Place a task."""
    end = start + tasks.takes[task, offer]
    placing.start[task], placing.offer[task], placing.end[task] = start, offer, end
    for slot in range(start, end):
        placing.busy[offer, slot] += 1
        interval = slot // tasks.interval
        more = placing.busy[offer, slot] - placing.peak[offer, interval]
        if more > 0:
            placing.peak[offer, interval] += more
            placing.paid[interval] += more * tasks.price[offer]


def place_list(tasks: ListedTasks, placing: Placing, order: Array, bound: Array) -> bool:
    """Place each task where it ends first; of equals, where least is paid. False: not all fit.

    `bound` is the offer of a task, or -1 if it may run on any.
    """
    for offer in range(len(tasks.limit)):
        for slot in range(tasks.slots):
            placing.busy[offer, slot] = 0
            placing.peak[offer, slot // tasks.interval] = 0
    for interval in range(len(placing.paid)):
        placing.paid[interval] = 0
    for task in order:
        ready = tasks.arrivals[tasks.work[task]]
        for edge in range(tasks.parents_start[task], tasks.parents_start[task + 1]):
            ready = max(ready, placing.end[tasks.parents[edge]])
        best_end, best_offer, best_cost = NEVER, -1, 0
        for offer in range(len(tasks.limit)):
            if bound[task] >= 0 and bound[task] != offer:
                continue
            takes = tasks.takes[task, offer]
            for start in range(ready, min(tasks.slots, best_end) - takes + 1):
                cost = cost_if(tasks, placing, offer, start, takes)
                if cost >= 0:
                    if start + takes < best_end or cost < best_cost:
                        best_end, best_offer, best_cost = start + takes, offer, cost
                    break
        if best_offer < 0:
            return False
        put(tasks, placing, task, best_offer, best_end - tasks.takes[task, best_offer])
    return True


def listed_cost(tasks: ListedTasks, placing: Placing, last: Array) -> float:
    """What the ends of works cost, and a little for those of tasks."""
    whole, every = 0, 0
    for work in range(len(tasks.arrivals)):
        last[work] = 0
    for task in range(len(tasks.work)):
        last[tasks.work[task]] = max(last[tasks.work[task]], placing.end[task])
        every += placing.end[task]
    for work in range(len(tasks.arrivals)):
        if last[work] > tasks.free[work]:
            whole += last[work] - tasks.free[work] + tasks.late
    return whole + SMALL * every / max(1, len(tasks.work))


def move(order: Array, at: Array, begin: int, end: int) -> None:
    """Move a task of the list from one place to another; `at` tells where each one is."""
    task = order[begin]
    step = 1 if end > begin else -1
    for place in range(begin, end, step):
        order[place] = order[place + step]
        at[order[place]] = place
    order[end] = task
    at[task] = end


def place_for(tasks: ListedTasks, at: Array, task: int, drawn: Any) -> Any:
    """A place between those of the task's parents and of its children."""
    first, last = 0, len(at) - 1
    for edge in range(tasks.parents_start[task], tasks.parents_start[task + 1]):
        first = max(first, at[tasks.parents[edge]] + 1)
    for edge in range(tasks.children_start[task], tasks.children_start[task + 1]):
        last = min(last, at[tasks.children[edge]] - 1)
    return first + scaled(drawn, last - first + 1)


def anneal(
    tasks: ListedTasks,
    placing: Placing,
    order: Array,
    bound: Array,
    best: Array,
    steps: int,
    seed: int,
) -> float:
    """Change the list so often; `best` gets start and offer of the tasks in the best one.

    What it cost, beginning with that of the list as it is: infinite, if no list had room.
    """
    count, offers = len(order), len(tasks.limit)
    at = np.empty(count, np.int64)
    for place in range(count):
        at[order[place]] = place
    last = np.empty(len(tasks.arrivals), np.int64)
    now = least = np.inf
    state = splitmix(np.uint64(seed))
    for step in range(steps):
        state += np.uint64(GOLDEN)
        drawn = splitmix(state)
        low, high = drawn & np.uint64(LOW), drawn >> np.uint64(32)
        task = scaled(low, count)
        before, place = bound[task], at[task]
        other = place
        state += np.uint64(GOLDEN)
        drawn = splitmix(state)
        if step > 0 and high & np.uint64(3) == 0:
            bound[task] = scaled(drawn & np.uint64(LOW), offers + 1) - 1
        elif step > 0:
            other = place_for(tasks, at, task, drawn & np.uint64(LOW))
            move(order, at, place, other)
        if step > 0 and bound[task] == before and other == place:
            continue
        found = np.inf
        if place_list(tasks, placing, order, bound):
            found = listed_cost(tasks, placing, last)
        heat = HOT * (COLD / HOT) ** (step / steps)
        chance = float(drawn >> np.uint64(32)) / (1 << 32)
        if found <= now or chance < np.exp((now - found) / heat):
            now = found
            if found < least:
                least = found
                for one in range(count):
                    best[one, 0], best[one, 1] = placing.start[one], placing.offer[one]
        else:
            bound[task] = before
            move(order, at, other, place)
    return least


def new_placing(tasks: ListedTasks) -> Placing:
    """Nothing is placed."""
    count, offers = len(tasks.work), len(tasks.limit)
    intervals = -(-tasks.slots // tasks.interval)
    return Placing(
        busy=np.zeros((offers, tasks.slots), np.int64),
        peak=np.zeros((offers, intervals), np.int64),
        paid=np.zeros(intervals, np.int64),
        start=np.zeros(count, np.int64),
        offer=np.zeros(count, np.int64),
        end=np.zeros(count, np.int64),
    )


@cache
def compiled() -> Callable[..., float]:
    """`anneal`; the first call imports numba."""
    let_kernels_call(splitmix, scaled, cost_if, put, listed_cost, move, place_for, place_list)
    return compile_kept(anneal)
