"""Machines and tasks in the tail of a bag, and what can happen to them, for the kernels.

Attempts start, are cancelled and end; tasks finish; machines fall idle and leave. Each of these
keeps all that is known of machines and tasks in step, so that hardly anything must be searched for.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from bursar.kernels.bag import NEVER, Array, BagOnFleet, bits, leaves
from bursar.kernels.tail_sample import FinishedSample, gather, learn, make_sample

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


class TailState(NamedTuple):
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
    sample: FinishedSample
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


def make_tail_state(setup: BagOnFleet) -> TailState:
    machines = len(setup.offer)
    offers, tasks = setup.runtimes.shape
    return TailState(
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
        sample=make_sample(setup),
        young=np.empty(machines + 1, np.int64),
        noted=np.empty(machines, np.int64),
        left=np.empty(machines, np.int64),
        source=np.empty(machines, np.int64),
        cancelled=np.empty(machines, np.int64),
        count=np.empty(NUMBERS, np.int64),
        draws=np.zeros(1, np.uint64),
    )


# --- machines ------------------------------------------------------------------------------------


def put(tail: TailState, machine: int, value: int) -> None:
    """Change a leaf of the tree, and what is above it."""
    tree = tail.tree
    node = (len(tree) >> 1) + machine
    while node > 1:
        tree[node] = value
        value = min(value, tree[node ^ 1])
        node >>= 1
    tree[1] = value


def ends(tail: TailState, machine: int) -> int:
    """When a machine's attempt ends if nothing intervenes."""
    return int(tail.tree[(len(tail.tree) >> 1) + machine] >> tail.count[SHIFT])


def free(setup: BagOnFleet, tail: TailState, machine: int) -> None:
    tail.count[SPARE] += 1
    tail.spare[setup.offer[machine]] += 1
    tail.status[machine] = IDLE
    tail.task[machine] = -1
    tail.started[machine] = LONG_AGO
    put(tail, machine, NEVER)


def cancel(tail: TailState, machine: int) -> None:
    tail.status[machine] = CANCELLING
    tail.task[machine] = -1
    tail.started[machine] = LONG_AGO
    tail.cancelled[tail.count[CANCELS]] = machine
    tail.count[CANCELS] += 1
    put(tail, machine, NEVER)


def leave(setup: BagOnFleet, tail: TailState, machine: int) -> None:
    offer, task = setup.offer[machine], tail.task[machine]
    if tail.status[machine] == IDLE:
        tail.count[SPARE] -= 1
        tail.spare[offer] -= 1
    tail.present[offer] -= 1
    tail.status[machine] = GONE
    tail.task[machine] = -1
    tail.started[machine] = LONG_AGO
    put(tail, machine, NEVER)
    if task >= 0:
        survey(setup, tail, task)


def start(setup: BagOnFleet, tail: TailState, task: int, machine: int) -> None:
    now, offer = tail.count[NOW], setup.offer[machine]
    end = now + setup.runtimes[offer, task]
    tail.count[SPARE] -= 1
    tail.spare[offer] -= 1
    tail.status[machine] = BUSY
    tail.task[machine] = task
    tail.started[machine] = now
    tail.newest[offer] = now
    tail.turn[machine] = tail.count[STARTED]
    tail.count[STARTED] += 1
    put(tail, machine, end << tail.count[SHIFT] | machine)
    if tail.copies[task] == 0:
        tail.owner[task] = machine
    enrol(setup, tail, task, machine, end)


# --- tasks ---------------------------------------------------------------------------------------


def enrol(setup: BagOnFleet, tail: TailState, task: int, machine: int, end: int) -> None:
    """A task runs on one more machine."""
    offer = setup.offer[machine]
    pace, front, soonest = setup.pace[offer], machine, end
    tail.mate[machine] = machine
    if tail.copies[task] > 0:
        tail.mate[machine] = tail.mate[tail.front[task]]
        tail.mate[tail.front[task]] = machine
        front, soonest = min(front, tail.front[task]), min(soonest, tail.soonest[task])
        pace = max(pace, tail.slowness[tail.front[task]])
        strike(tail, task)
    tail.copies[task] += 1
    tail.front[task] = front
    tail.soonest[task] = soonest
    tail.slowness[front] = pace
    tail.running[pace] += 1
    if tail.count[STRATEGY] == PERFECT:
        for new in range(len(setup.pace)):
            tail.horizon[new] = max(tail.horizon[new], soonest - setup.runtimes[new, task])


def strike(tail: TailState, task: int) -> None:
    """Take a task from those that run."""
    front = tail.front[task]
    tail.running[tail.slowness[front]] -= 1
    tail.slowness[front] = -1


def survey(setup: BagOnFleet, tail: TailState, task: int) -> None:
    """Find out again on which machines a task runs, after it was lost on one."""
    strike(tail, task)
    tail.copies[task] = 0
    for machine in range(len(setup.offer)):
        if tail.task[machine] == task:
            enrol(setup, tail, task, machine, ends(tail, machine))


def finish(setup: BagOnFleet, tail: TailState, task: int, machine: int) -> None:
    """A task is done: of attempts that end together, the one that was started first has won.

    Its time is learned, the other attempts are cancelled.
    """
    winner, rival = machine, tail.mate[machine]
    while rival != machine:
        if ends(tail, rival) != tail.count[NOW]:
            cancel(tail, rival)
        else:
            if tail.turn[rival] < tail.turn[winner]:
                winner = rival
            free(setup, tail, rival)
        rival = tail.mate[rival]
    strike(tail, task)
    tail.copies[task] = 0
    tail.count[DONE] += 1
    if tail.count[STRATEGY] not in (RANDOM, PERFECT):
        learn(setup, tail.sample, setup.unified[setup.offer[winner], task])
    free(setup, tail, machine)


# --- the beginning -------------------------------------------------------------------------------


def take_over(
    setup: BagOnFleet,
    tail: TailState,
    strategy: int,
    order: Array,
    begun: int,
    tree: Array,
    task: Array,
) -> None:
    """Go on after the first `begun` tasks of an order were taken.

    `tree` is when machines are idle again, `task` what each runs, and tail.owner who took a task.
    """
    tail.count[:] = 0
    tail.count[STRATEGY] = strategy
    tail.count[NEXT] = begun
    tail.count[STARTED] = begun
    tail.count[DONE] = begun
    tail.count[SHIFT] = bits(len(tree) >> 1)
    tail.present[:] = 0
    tail.spare[:] = 0
    tail.newest[:] = LONG_AGO
    tail.horizon[:] = LONG_AGO
    tail.running[:] = 0
    tail.slowness[:] = -1
    tail.copies[:] = 0
    tail.status[:] = BUSY
    tail.started[:] = LONG_AGO
    tail.turn[:] = 0
    for node in range(len(tree)):
        tail.tree[node] = tree[node]
    for machine in range(len(setup.offer)):
        tail.present[setup.offer[machine]] += 1
        tail.task[machine] = task[machine]
        if task[machine] >= 0:
            resume(setup, tail, task[machine], machine)
    begin_leases(setup, tail)
    if strategy not in (RANDOM, PERFECT):
        for place in range(begun, len(order)):
            tail.copies[order[place]] = 1
        gather(setup, tail.sample, tail.owner, tail.copies)
        for place in range(begun, len(order)):
            tail.copies[order[place]] = 0


def resume(setup: BagOnFleet, tail: TailState, task: int, machine: int) -> None:
    """An attempt was started before the tail began."""
    offer = setup.offer[machine]
    end = ends(tail, machine)
    tail.started[machine] = end - setup.runtimes[offer, task]
    tail.newest[offer] = max(tail.newest[offer], tail.started[machine])
    tail.count[DONE] -= 1
    enrol(setup, tail, task, machine, end)


def begin_leases(setup: BagOnFleet, tail: TailState) -> None:
    """Machines are paid until the end of the unit in which the next attempt ends."""
    moment = tail.tree[1] >> tail.count[SHIFT]
    for offer in range(len(setup.billing)):
        billing = setup.billing[offer]
        tail.until[offer] = (max(moment, setup.paid[offer]) + billing - 1) // billing * billing
    find_lease(tail)


def find_lease(tail: TailState) -> None:
    """The next end of a lease: machines of an offer are all paid until the same moment."""
    lease = NEVER
    for offer in range(len(tail.until)):
        if tail.present[offer] > 0:
            lease = min(lease, tail.until[offer])
    tail.count[LEASE] = lease


ALLOCATING: Final = (make_tail_state,)
PARTS: Final = (
    put, ends, free, cancel, leave, start, enrol, strike, survey, finish, take_over, resume,
    begin_leases, find_lease,
)  # fmt: skip
