"""The tail of a bag with replicas (BaTS thesis, chapter 5), in plain functions that numba compiles.

The same rules, in the same order, as the engine with `fixed`, a placer that follows an order, and a
replicator: in every instant first all attempts end, then leases end, then ready tasks are placed,
then idle machines get replicas; what was cancelled frees its machine one step later, in the same
instant. Until few tasks are ready, the bag runs as in `kernels_list`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from bursar.kernels.bag import (
    GOLDEN,
    Array,
    Shop,
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
    Bench,
    find_lease,
    finish,
    free,
    leave,
    make_bench,
    start,
    take_over,
)


def run_tail(
    shop: Shop, bench: Bench, order: Array, early: int, completions: Array, units: Array
) -> int:
    """From a bench that has taken over to the end of the bag; the makespan."""
    tasks = len(order)
    units[:] = 0
    while bench.count[DONE] < tasks:
        end_attempts(shop, bench, completions)
        again = True
        while again and bench.count[DONE] < tasks:
            if bench.count[LEASE] == bench.count[NOW]:
                end_leases(shop, bench, tasks, units)
            again = decide(shop, bench, order, early)
    for offer in range(len(units)):
        units[offer] += bench.present[offer] * entered(shop, bench, offer)
    return int(bench.count[NOW])


def end_attempts(shop: Shop, bench: Bench, completions: Array) -> None:
    """To the next moment in which an attempt or a lease ends; what ends then ends."""
    shift, mask = bench.count[SHIFT], (len(bench.tree) >> 1) - 1
    now = min(bench.tree[1] >> shift, bench.count[LEASE])
    bench.count[NOW] = now
    while bench.tree[1] >> shift == now:
        machine = bench.tree[1] & mask
        task = bench.task[machine]
        if task < 0:
            free(shop, bench, machine)
        else:
            completions[task] = now
            finish(shop, bench, task, machine)


def end_leases(shop: Shop, bench: Bench, tasks: int, units: Array) -> None:
    """A machine is renewed while tasks are ready, or for the oldest attempt of a task."""
    now, ready = bench.count[NOW], bench.count[NEXT] < tasks
    for machine in range(len(shop.offer)):
        offer, task = shop.offer[machine], bench.task[machine]
        if ready or bench.until[offer] != now or bench.status[machine] == GONE:
            continue
        if task < 0 or bench.owner[task] != machine:
            leave(shop, bench, machine)
            units[offer] += entered(shop, bench, offer)
    for offer in range(len(shop.billing)):
        if bench.until[offer] == now:
            bench.until[offer] = now + shop.billing[offer]
    find_lease(bench)


def entered(shop: Shop, bench: Bench, offer: int) -> int:
    """The billing units that a machine of an offer has entered until now."""
    stay, billing = max(bench.count[NOW], shop.least[offer]), shop.billing[offer]
    return int((stay + billing - 1) // billing)


def decide(shop: Shop, bench: Bench, order: Array, early: int) -> bool:
    """One step; whether another follows in the same instant."""
    left = len(order) - bench.count[NEXT]
    if 0 < left <= early:
        replicate(shop, bench, True)
    if left > 0:
        place(shop, bench, order)
    if bench.count[NEXT] == len(order):
        replicate(shop, bench, False)
    return free_cancelled(shop, bench)


def place(shop: Shop, bench: Bench, order: Array) -> None:
    """Ready tasks in their order to idle machines in theirs."""
    for machine in range(len(shop.offer)):
        if bench.count[SPARE] == 0 or bench.count[NEXT] == len(order):
            return
        if bench.status[machine] == IDLE:
            start(shop, bench, order[bench.count[NEXT]], machine)
            bench.count[NEXT] += 1


def free_cancelled(shop: Shop, bench: Bench) -> bool:
    """Cancelled attempts have ended: their machines are idle from here on; whether there were."""
    cancels = bench.count[CANCELS]
    for index in range(cancels):
        machine = bench.cancelled[index]
        if bench.status[machine] == CANCELLING:
            free(shop, bench, machine)
    bench.count[CANCELS] = 0
    return bool(cancels > 0)


# --- whole bags ----------------------------------------------------------------------------------


def tail_many(
    shop: Shop,
    strategy: int,
    early: int,
    seed: Any,
    first: int,
    last: int,
    makespans: Array,
    units: Array,
) -> None:
    """Executions first to last of a bag, each with the tasks in a random order of its own."""
    machines, tasks = len(shop.offer), shop.runtimes.shape[1]
    ticks = shop.runtimes.ravel() * leaves(machines)
    row = shop.offer * tasks
    completions = np.empty(tasks, np.int64)
    pair, bench = make_pair(machines, tasks), make_bench(shop)
    begun = before_tail(tasks, early)
    drawn = np.uint64(GOLDEN) * np.uint64(begun // 2)
    for execution in range(first, last, 2):
        other = min(execution + 1, last - 1)
        prepare(shop, pair, 0)
        prepare(shop, pair, 1)
        pair.running[:] = -1
        run_pair(pair, ticks, row, stream(seed, execution), stream(seed, other), begun, True)
        for side in range(other - execution + 1):
            number, order = execution + side, pair.orders[side]
            bench.draws[0] = shuffle(order, begun, stream(seed, number) + drawn)
            bench.owner[:] = pair.owner[side]
            take_over(shop, bench, strategy, order, begun, pair.trees[side], pair.running[side])
            makespans[number] = run_tail(shop, bench, order, early, completions, units[number])


def before_tail(tasks: int, early: int) -> int:
    """How many tasks to take first: an even number, and more are ready then than are early."""
    return max(0, tasks - early - 1) // 2 * 2


def tail_once(
    shop: Shop,
    order: Array,
    strategy: int,
    early: int,
    draws: Any,
    completions: Array,
    units: Array,
) -> int:
    """Execute a bag once in a given order; the makespan. Random numbers begin at `draws`."""
    machines = len(shop.offer)
    width = leaves(machines)
    tree, task = np.empty(2 * width, np.int64), np.full(machines, -1, np.int64)
    bench = make_bench(shop)
    bench.draws[0] = draws
    plant(tree, shop.boot, machines, width)
    begun = before_tail(len(order), early)
    run_noting(shop, order[:begun], tree, width, task, bench.owner, completions)
    take_over(shop, bench, strategy, order, begun, tree, task)
    return run_tail(shop, bench, order, early, completions, units)


ALLOCATING: Final = ()
PARTS: Final = (
    run_tail, end_attempts, end_leases, entered, decide, place, free_cancelled, before_tail,
)  # fmt: skip
