"""A list of tasks on machines by slots within a budget per interval, and better lists by annealing.

Each task of a list, parents before children, gets the earliest place that the budget and what is
placed already leave. A list is sorted by when each task has to begin at the latest if its work is
to be over by a slot that is aimed at. These aims are changed at random, one for a whole work at a
time; so are single tasks: one comes earlier or later, or is bound to an offer or freed.
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
FAR: Final = 20.0
NEAR: Final = 15.0
"""Slots by which the aim of a work changes at the most, and what a single task is earlier or later
than its work says."""
AFTER: Final = 1e-6
"""Slots: what a task comes after its parents in a list at least."""
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


def sort_list(tasks: ListedTasks, tails: Array, aims: Array, shifts: Array, begins: Array) -> Array:
    """Tasks by when each has to begin, with its own shift; none before its parents."""
    for task in range(len(tails)):
        begins[task] = aims[tasks.work[task]] - tails[task] + shifts[task]
        for edge in range(tasks.parents_start[task], tasks.parents_start[task + 1]):
            begins[task] = max(begins[task], begins[tasks.parents[edge]] + AFTER)
    return np.argsort(begins, kind="mergesort")


def anneal(
    tasks: ListedTasks,
    placing: Placing,
    tails: Array,
    aims: Array,
    bound: Array,
    best: Array,
    steps: int,
    seed: int,
) -> float:
    """Change the list so often; `best` gets start and offer of the tasks in the best one.

    `tails` are slots from the begin of a task to the end of its work, `aims` those by which works
    are to be over in the first list. What the best one cost: infinite, if no list had room.
    """
    count, works, offers = len(tails), len(aims), len(tasks.limit)
    shifts, begins = np.zeros(count), np.empty(count)
    last = np.empty(works, np.int64)
    now = least = np.inf
    state = splitmix(np.uint64(seed))
    for step in range(steps):
        state += np.uint64(2) * np.uint64(GOLDEN)
        drawn, other = splitmix(state - np.uint64(GOLDEN)), splitmix(state)
        low, high = drawn & np.uint64(LOW), drawn >> np.uint64(32)
        change = 2.0 * float(other & np.uint64(LOW)) / (1 << 32) - 1.0
        kind = high & np.uint64(7)  # of eight changes, four are of works and one is of an offer
        task, work = scaled(low, count), scaled(low, works)
        aim, shift, offer = aims[work], shifts[task], bound[task]
        if step > 0 and kind < np.uint64(4):
            aims[work] += FAR * change
        elif step > 0 and kind < np.uint64(7):
            shifts[task] = NEAR * change
        elif step > 0:
            bound[task] = scaled(other & np.uint64(LOW), offers + 1) - 1
        found = np.inf
        if place_list(tasks, placing, sort_list(tasks, tails, aims, shifts, begins), bound):
            found = listed_cost(tasks, placing, last)
        heat = HOT * (COLD / HOT) ** (step / steps)
        chance = float(other >> np.uint64(32)) / (1 << 32)
        if found <= now or chance < np.exp((now - found) / heat):
            now = found
            if found < least:
                least = found
                for one in range(count):
                    best[one, 0], best[one, 1] = placing.start[one], placing.offer[one]
        else:
            aims[work], shifts[task], bound[task] = aim, shift, offer
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
    let_kernels_call(splitmix, scaled, cost_if, put, listed_cost, sort_list, place_list)
    return compile_kept(anneal)
