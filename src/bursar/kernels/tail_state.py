"""Machines and tasks in the tail of a bag, and what can happen to them, for the kernels.

Attempts start, are cancelled and end; tasks finish; machines fall idle and leave. Each of these
keeps all that is known of machines and tasks in step, so that hardly anything must be searched for.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from bursar.kernels.bag import NEVER, Array, Shop, bits, leaves
from bursar.kernels.tail_sample import Sample, gather, learn, make_sample

STOCHASTIC: Final = 1
RANDOM: Final = 2
STOCHASTIC_RANDOM: Final = 3
MIGRATE: Final = 4
PERFECT: Final = 5

IDLE: Final = 0
BUSY: Final = 1
"""an attempt runs, or the machine boots (then it has no task)"""
CANCELLING: Final = 2
GONE: Final = 3


class Bench(NamedTuple):
    """What changes while a bag runs; made once and used for many executions."""

    status: Array
    """[machine]: IDLE, BUSY, CANCELLING or GONE"""
    task: Array
    """[machine]: what it runs; -1: nothing that may give a result"""
    started: Array
    """[machine]: when its attempt was; LONG_AGO where it runs nothing"""
    turn: Array
    """[machine]: the number of its attempt, in the order of starting"""
    mate: Array
    """[machine]: another one that runs the same task, in a ring; itself where there is none"""
    slowness: Array
    """[machine]: where it is the first of its task, the pace of the slowest; else -1"""
    tree: Array
    """when attempts end, with the machine's number in the low bits; the least is at the root"""
    until: Array
    """[offer]: its machines are paid until then"""
    present: Array
    """[offer]: machines that are not gone"""
    spare: Array
    """[offer]: idle machines"""
    newest: Array
    """[offer]: no attempt on its machines has started later"""
    horizon: Array
    """[offer]: from then on no task would end sooner on it than where it runs"""
    since: Array
    """[offer]: attempts on its machines are worth a replica only if they started later"""
    hopeful: Array
    """[offer]: whether there may be a task for its machines in this call for replicas"""
    running: Array
    """[pace]: tasks that run, by the slowest of their machines"""
    picked: Array
    """[machine]: tasks that got a replica in this round, the first so many"""
    copies: Array
    """[task]: live attempts"""
    owner: Array
    """[task]: the machine of its oldest attempt; the others are replicas"""
    front: Array
    """[task]: the machine with the lowest number that runs it"""
    soonest: Array
    """[task]: when the first of its attempts ends"""
    sample: Sample
    young: Array
    """machines whose attempts are not too old to be worth a replica"""
    noted: Array
    """tasks that may be replicated"""
    left: Array
    """[note]: how long the task is expected to run on; 0 once it was picked"""
    source: Array
    """[note]: the machine whose attempt is expected to end first"""
    cancelled: Array
    """machines whose attempts are being cancelled"""
    count: Array
    """single numbers, by the names below"""
    draws: Array
    """[0] the counter of the random numbers"""


DONE: Final = 0
"""tasks done"""
NEXT: Final = 1
"""the next ready task's place in the order"""
STARTED: Final = 2
"""attempts started"""
NOW: Final = 3
LEASE: Final = 4
"""the next end of a lease"""
CANCELS: Final = 5
"""attempts being cancelled"""
SPARE: Final = 6
"""idle machines"""
STRATEGY: Final = 7
SHIFT: Final = 8
"""the low bits of the tree's values that are the machine's number"""
NUMBERS: Final = 9

LONG_AGO: Final = -(1 << 60)


def make_bench(shop: Shop) -> Bench:
    machines = len(shop.offer)
    offers, tasks = shop.runtimes.shape
    return Bench(
        status=np.empty(machines, np.int64),
        task=np.empty(machines, np.int64),
        started=np.empty(machines, np.int64),
        turn=np.empty(machines, np.int64),
        mate=np.empty(machines, np.int64),
        slowness=np.empty(machines, np.int64),
        tree=np.empty(2 * leaves(machines), np.int64),
        until=np.empty(offers, np.int64),
        present=np.empty(offers, np.int64),
        spare=np.empty(offers, np.int64),
        newest=np.empty(offers, np.int64),
        horizon=np.empty(offers, np.int64),
        since=np.empty(offers, np.int64),
        hopeful=np.empty(offers, np.bool_),
        running=np.empty(offers, np.int64),
        picked=np.empty(machines, np.int64),
        copies=np.empty(tasks, np.int64),
        owner=np.zeros(tasks, np.int64),
        front=np.empty(tasks, np.int64),
        soonest=np.empty(tasks, np.int64),
        sample=make_sample(shop),
        young=np.empty(machines + 1, np.int64),
        noted=np.empty(machines, np.int64),
        left=np.empty(machines, np.int64),
        source=np.empty(machines, np.int64),
        cancelled=np.empty(machines, np.int64),
        count=np.empty(NUMBERS, np.int64),
        draws=np.zeros(1, np.uint64),
    )


# --- machines ------------------------------------------------------------------------------------


def put(bench: Bench, machine: int, value: int) -> None:
    """Change a leaf of the tree, and what is above it."""
    tree = bench.tree
    node = (len(tree) >> 1) + machine
    while node > 1:
        tree[node] = value
        value = min(value, tree[node ^ 1])
        node >>= 1
    tree[1] = value


def ends(bench: Bench, machine: int) -> int:
    """When a machine's attempt ends if nothing intervenes."""
    return int(bench.tree[(len(bench.tree) >> 1) + machine] >> bench.count[SHIFT])


def free(shop: Shop, bench: Bench, machine: int) -> None:
    bench.count[SPARE] += 1
    bench.spare[shop.offer[machine]] += 1
    bench.status[machine] = IDLE
    bench.task[machine] = -1
    bench.started[machine] = LONG_AGO
    put(bench, machine, NEVER)


def cancel(bench: Bench, machine: int) -> None:
    bench.status[machine] = CANCELLING
    bench.task[machine] = -1
    bench.started[machine] = LONG_AGO
    bench.cancelled[bench.count[CANCELS]] = machine
    bench.count[CANCELS] += 1
    put(bench, machine, NEVER)


def leave(shop: Shop, bench: Bench, machine: int) -> None:
    offer, task = shop.offer[machine], bench.task[machine]
    if bench.status[machine] == IDLE:
        bench.count[SPARE] -= 1
        bench.spare[offer] -= 1
    bench.present[offer] -= 1
    bench.status[machine] = GONE
    bench.task[machine] = -1
    bench.started[machine] = LONG_AGO
    put(bench, machine, NEVER)
    if task >= 0:
        survey(shop, bench, task)


def start(shop: Shop, bench: Bench, task: int, machine: int) -> None:
    now, offer = bench.count[NOW], shop.offer[machine]
    end = now + shop.runtimes[offer, task]
    bench.count[SPARE] -= 1
    bench.spare[offer] -= 1
    bench.status[machine] = BUSY
    bench.task[machine] = task
    bench.started[machine] = now
    bench.newest[offer] = now
    bench.turn[machine] = bench.count[STARTED]
    bench.count[STARTED] += 1
    put(bench, machine, end << bench.count[SHIFT] | machine)
    if bench.copies[task] == 0:
        bench.owner[task] = machine
    enrol(shop, bench, task, machine, end)


# --- tasks ---------------------------------------------------------------------------------------


def enrol(shop: Shop, bench: Bench, task: int, machine: int, end: int) -> None:
    """A task runs on one more machine."""
    offer = shop.offer[machine]
    pace, front, soonest = shop.pace[offer], machine, end
    bench.mate[machine] = machine
    if bench.copies[task] > 0:
        bench.mate[machine] = bench.mate[bench.front[task]]
        bench.mate[bench.front[task]] = machine
        front, soonest = min(front, bench.front[task]), min(soonest, bench.soonest[task])
        pace = max(pace, bench.slowness[bench.front[task]])
        strike(bench, task)
    bench.copies[task] += 1
    bench.front[task] = front
    bench.soonest[task] = soonest
    bench.slowness[front] = pace
    bench.running[pace] += 1
    if bench.count[STRATEGY] == PERFECT:
        for new in range(len(shop.pace)):
            bench.horizon[new] = max(bench.horizon[new], soonest - shop.runtimes[new, task])


def strike(bench: Bench, task: int) -> None:
    """Take a task from those that run."""
    front = bench.front[task]
    bench.running[bench.slowness[front]] -= 1
    bench.slowness[front] = -1


def survey(shop: Shop, bench: Bench, task: int) -> None:
    """Find out anew on which machines a task runs, after it was lost on one."""
    strike(bench, task)
    bench.copies[task] = 0
    for machine in range(len(shop.offer)):
        if bench.task[machine] == task:
            enrol(shop, bench, task, machine, ends(bench, machine))


def finish(shop: Shop, bench: Bench, task: int, machine: int) -> None:
    """A task is done: of attempts that end together, the one that was started first has won.

    Its time is learned, the other attempts are cancelled.
    """
    winner, rival = machine, bench.mate[machine]
    while rival != machine:
        if ends(bench, rival) != bench.count[NOW]:
            cancel(bench, rival)
        else:
            if bench.turn[rival] < bench.turn[winner]:
                winner = rival
            free(shop, bench, rival)
        rival = bench.mate[rival]
    strike(bench, task)
    bench.copies[task] = 0
    bench.count[DONE] += 1
    if bench.count[STRATEGY] not in (RANDOM, PERFECT):
        learn(shop, bench.sample, shop.unified[shop.offer[winner], task])
    free(shop, bench, machine)


# --- the beginning -------------------------------------------------------------------------------


def take_over(
    shop: Shop, bench: Bench, strategy: int, order: Array, begun: int, tree: Array, task: Array
) -> None:
    """Go on after the first `begun` tasks of an order were taken.

    `tree` is when machines are idle again, `task` what each runs, and bench.owner who took a task.
    """
    bench.count[:] = 0
    bench.count[STRATEGY] = strategy
    bench.count[NEXT] = begun
    bench.count[STARTED] = begun
    bench.count[DONE] = begun
    bench.count[SHIFT] = bits(len(tree) >> 1)
    bench.present[:] = 0
    bench.spare[:] = 0
    bench.newest[:] = LONG_AGO
    bench.horizon[:] = LONG_AGO
    bench.running[:] = 0
    bench.slowness[:] = -1
    bench.copies[:] = 0
    bench.status[:] = BUSY
    bench.started[:] = LONG_AGO
    bench.turn[:] = 0
    for node in range(len(tree)):
        bench.tree[node] = tree[node]
    for machine in range(len(shop.offer)):
        bench.present[shop.offer[machine]] += 1
        bench.task[machine] = task[machine]
        if task[machine] >= 0:
            resume(shop, bench, task[machine], machine)
    begin_leases(shop, bench)
    if strategy not in (RANDOM, PERFECT):
        for place in range(begun, len(order)):
            bench.copies[order[place]] = 1
        gather(shop, bench.sample, bench.owner, bench.copies)
        for place in range(begun, len(order)):
            bench.copies[order[place]] = 0


def resume(shop: Shop, bench: Bench, task: int, machine: int) -> None:
    """An attempt was started before the tail began."""
    offer = shop.offer[machine]
    end = ends(bench, machine)
    bench.started[machine] = end - shop.runtimes[offer, task]
    bench.newest[offer] = max(bench.newest[offer], bench.started[machine])
    bench.count[DONE] -= 1
    enrol(shop, bench, task, machine, end)


def begin_leases(shop: Shop, bench: Bench) -> None:
    """Machines are paid until the end of the unit in which the next attempt ends."""
    moment = bench.tree[1] >> bench.count[SHIFT]
    for offer in range(len(shop.billing)):
        billing = shop.billing[offer]
        bench.until[offer] = (max(moment, shop.paid[offer]) + billing - 1) // billing * billing
    find_lease(bench)


def find_lease(bench: Bench) -> None:
    """The next end of a lease: machines of an offer are all paid until the same moment."""
    lease = NEVER
    for offer in range(len(bench.until)):
        if bench.present[offer] > 0:
            lease = min(lease, bench.until[offer])
    bench.count[LEASE] = lease


ALLOCATING: Final = (make_bench,)
PARTS: Final = (
    put, ends, free, cancel, leave, start, enrol, strike, survey, finish, take_over, resume,
    begin_leases, find_lease,
)  # fmt: skip
