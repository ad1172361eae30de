"""The tail of a bag with replicas (BaTS thesis, chapter 5), in plain functions that numba compiles.

The same rules, in the same order, as the engine with `fixed`, a placer that follows an order, and a
replicator: in every instant first all attempts end, then leases end, then ready tasks are placed,
then idle machines get replicas; what was cancelled frees its machine one step later, in the same
instant. Until few tasks are ready, the bag runs as in `bag`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from bursar.kernels.bag import (
    GOLDEN,
    Array,
    BagOnFleet,
    leaves,
    make_pair,
    plant,
    prepare,
    run_noting,
    run_pair,
    shuffle,
    stream,
)
from bursar.kernels.tail_pick import replicate
from bursar.kernels.tail_state import (
    CANCELLING,
    CANCELS,
    DONE,
    GONE,
    IDLE,
    LEASE,
    NEXT,
    NOW,
    SHIFT,
    SPARE,
    TailState,
    find_lease,
    finish,
    free,
    leave,
    make_tail_state,
    start,
    take_over,
)


def run_tail(
    setup: BagOnFleet, tail: TailState, order: Array, early: int, completions: Array, units: Array
) -> int:
    """From a tail that has taken over to the end of the bag; the makespan."""
    tasks = len(order)
    units[:] = 0
    while tail.count[DONE] < tasks:
        end_attempts(setup, tail, completions)
        again = True
        while again and tail.count[DONE] < tasks:
            if tail.count[LEASE] == tail.count[NOW]:
                end_leases(setup, tail, tasks, units)
            again = decide(setup, tail, order, early)
    for offer in range(len(units)):
        units[offer] += tail.present[offer] * entered(setup, tail, offer)
    return int(tail.count[NOW])


def end_attempts(setup: BagOnFleet, tail: TailState, completions: Array) -> None:
    """To the next moment in which an attempt or a lease ends; what ends then ends."""
    shift, mask = tail.count[SHIFT], (len(tail.tree) >> 1) - 1
    now = min(tail.tree[1] >> shift, tail.count[LEASE])
    tail.count[NOW] = now
    while tail.tree[1] >> shift == now:
        machine = tail.tree[1] & mask
        task = tail.task[machine]
        if task < 0:
            free(setup, tail, machine)
        else:
            completions[task] = now
            finish(setup, tail, task, machine)


def end_leases(setup: BagOnFleet, tail: TailState, tasks: int, units: Array) -> None:
    """A machine is renewed while tasks are ready, or for the oldest attempt of a task."""
    now, ready = tail.count[NOW], tail.count[NEXT] < tasks
    for machine in range(len(setup.offer)):
        offer, task = setup.offer[machine], tail.task[machine]
        if ready or tail.until[offer] != now or tail.status[machine] == GONE:
            continue
        if task < 0 or tail.owner[task] != machine:
            leave(setup, tail, machine)
            units[offer] += entered(setup, tail, offer)
    for offer in range(len(setup.billing)):
        if tail.until[offer] == now:
            tail.until[offer] = now + setup.billing[offer]
    find_lease(tail)


def entered(setup: BagOnFleet, tail: TailState, offer: int) -> int:
    """The billing units that a machine of an offer has entered until now."""
    stay, billing = max(tail.count[NOW], setup.least[offer]), setup.billing[offer]
    return int((stay + billing - 1) // billing)


def decide(setup: BagOnFleet, tail: TailState, order: Array, early: int) -> bool:
    """One step; whether another follows in the same instant."""
    left = len(order) - tail.count[NEXT]
    if 0 < left <= early:
        replicate(setup, tail, True)
    if left > 0:
        place(setup, tail, order)
    if tail.count[NEXT] == len(order):
        replicate(setup, tail, False)
    return free_cancelled(setup, tail)


def place(setup: BagOnFleet, tail: TailState, order: Array) -> None:
    """Ready tasks in their order to idle machines in theirs."""
    for machine in range(len(setup.offer)):
        if tail.count[SPARE] == 0 or tail.count[NEXT] == len(order):
            return
        if tail.status[machine] == IDLE:
            start(setup, tail, order[tail.count[NEXT]], machine)
            tail.count[NEXT] += 1


def free_cancelled(setup: BagOnFleet, tail: TailState) -> bool:
    """Cancelled attempts have ended: their machines are idle from here on; whether there were."""
    cancels = tail.count[CANCELS]
    for index in range(cancels):
        machine = tail.cancelled[index]
        if tail.status[machine] == CANCELLING:
            free(setup, tail, machine)
    tail.count[CANCELS] = 0
    return bool(cancels > 0)


# --- whole bags ----------------------------------------------------------------------------------


def tail_many(
    setup: BagOnFleet,
    strategy: int,
    early: int,
    seed: Any,
    first: int,
    last: int,
    makespans: Array,
    units: Array,
) -> None:
    """Executions first to last of a bag, each with the tasks in a random order of its own."""
    machines, tasks = len(setup.offer), setup.runtimes.shape[1]
    ticks = setup.runtimes.ravel() * leaves(machines)
    row = setup.offer * tasks
    completions = np.empty(tasks, np.int64)
    pair, tail = make_pair(machines, tasks), make_tail_state(setup)
    begun = before_tail(tasks, early)
    drawn = np.uint64(GOLDEN) * np.uint64(begun // 2)
    for execution in range(first, last, 2):
        other = min(execution + 1, last - 1)
        prepare(setup, pair, 0)
        prepare(setup, pair, 1)
        pair.running[:] = -1
        run_pair(pair, ticks, row, stream(seed, execution), stream(seed, other), begun, True)
        for side in range(other - execution + 1):
            number, order = execution + side, pair.orders[side]
            tail.draws[0] = shuffle(order, begun, stream(seed, number) + drawn)
            tail.owner[:] = pair.owner[side]
            take_over(setup, tail, strategy, order, begun, pair.trees[side], pair.running[side])
            makespans[number] = run_tail(setup, tail, order, early, completions, units[number])


def before_tail(tasks: int, early: int) -> int:
    """How many tasks to take first: an even number, and more are ready then than are early."""
    return max(0, tasks - early - 1) // 2 * 2


def tail_once(
    setup: BagOnFleet,
    order: Array,
    strategy: int,
    early: int,
    draws: Any,
    completions: Array,
    units: Array,
) -> int:
    """Execute a bag once in a given order; the makespan. Random numbers begin at `draws`."""
    machines = len(setup.offer)
    width = leaves(machines)
    tree, task = np.empty(2 * width, np.int64), np.full(machines, -1, np.int64)
    tail = make_tail_state(setup)
    tail.draws[0] = draws
    plant(tree, setup.boot, machines, width)
    begun = before_tail(len(order), early)
    run_noting(setup, order[:begun], tree, width, task, tail.owner, completions)
    take_over(setup, tail, strategy, order, begun, tree, task)
    return run_tail(setup, tail, order, early, completions, units)


ALLOCATING: Final = ()
PARTS: Final = (
    run_tail, end_attempts, end_leases, entered, decide, place, free_cancelled, before_tail,
)  # fmt: skip
