"""What a simulated workload is written down on, in plain functions that numba compiles.

The tasks of a work stand together, and what is kept of them by work (heaps, trees) has as much room
as the work has tasks, at the same place. A heap holds numbers, the one with the least key first; of
equal keys the least number.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""

WAITS: Final = 0
"""for its parents, or has not arrived"""
ELIGIBLE: Final = 1
RUNS: Final = 2
DONE: Final = 3

# Places in `PlacingState.numbers`.
NOW: Final = 0
ARRIVED: Final = 1
"""works"""
RUNNING: Final = 2
"""tasks, and the size of their heap"""
IDLE: Final = 3
"""machines, and the size of their heap"""
QUEUED: Final = 4
"""works with tasks that wait for a machine"""
FRESH: Final = 5
"""tasks that have become eligible in this instant"""
ENDED: Final = 6
"""tasks"""
TAKEN: Final = 7
"""what the tasks that ended last took in all ..."""
EXPECTED: Final = 8
"""... and what they were expected to take"""
DUE: Final = 9
"""the size of the heap of running tasks by their expected ends ..."""
OVERDUE: Final = 10
"""... and of those that should have ended"""
SPEEDS: Final = 11
"""different speeds among the machines that are idle"""
UNDONE: Final = 12
"""works that have arrived and are not done"""
HELD: Final = 13
"""idle machines that are reserved"""
JUDGED: Final = 14
"""works that ended and were compared with the one before"""
AGREED: Final = 15
"""the sum of the last verdicts ..."""
COMPARED: Final = 16
"""... and how many of them are not 0"""
LAST_TOOK: Final = 17
"""of the work that ended last: what the second half of its tasks took"""
LEARNED: Final = 18
"""tasks that ended, where run times are learned ..."""
LEARNED_TOOK: Final = 19
"""... and what they took"""
NUMBERS: Final = 20

CLASSES: Final = 64
"""of works by size"""

# Places in `options`.
SEED: Final = 0
POWER: Final = 1
"""of `stretch`"""
MOST_WORKS: Final = 2
"""that may be there at once; 0: any number"""
AT_ONCE: Final = 3
"""1: something may be placed before the next event, as after machines were added"""
READING: Final = 4
"""of tokens"""
DEPTH: Final = 5
"""of generations"""
SHARE: Final = 6
"""of the level of parallelism that is reserved, in millionths"""
LAZY: Final = 7
"""1: later works keep their idle machines until it is their turn"""
OPTIONS: Final = 8


class PlacedWorks(NamedTuple):
    """What arrives, as in `bursar.model.workload_arrays`, and what is expected of it."""

    arrived: Array
    first: Array
    work: Array
    runtimes: Array
    estimates: Array
    """by task, in microseconds at speed 1"""
    parents_start: Array
    parents: Array
    children_start: Array
    children: Array
    kinds: Array
    """by task, if run times are learned by the kind of task; else empty"""


class PlacedMachines(NamedTuple):
    """One task at a time each."""

    speed: Array
    order: Array
    """by machine, its place among all: the fastest first, then the smallest number"""
    group: Array
    """by machine, which of the different speeds it has"""
    mean: float
    """of their speeds"""


class PlacingState(NamedTuple):
    """Where a simulation stands."""

    start: Array
    """by task; -1: not yet"""
    end: Array
    machine: Array
    rank: Array
    """by task: the upward rank (3.1)"""
    fall: Array
    """by task: the negative of it, so that the highest comes first"""
    missing: Array
    """by task: parents that are not done; -1: it is done itself"""
    status: Array
    pool: Array
    """by work: tasks that wait for a machine, as a heap of falling ranks or a tree of counts"""
    low: Array
    """by work: the same as a heap of rising ranks; what has been started is dropped when met"""
    ahead: Array
    """by work: tasks that have not been started, as a heap of falling ranks; dropped when met"""
    waiting: Array
    """by work: how many tasks wait for a machine"""
    pool_size: Array
    low_size: Array
    ahead_size: Array
    left: Array
    """by work: tasks that are not done"""
    path: Array
    """by work: the critical path (3.2)"""
    work_left: Array
    """by work: the estimates of the tasks that have not been started"""
    draws: Array
    """by work: how many tasks were picked at random"""
    total: Array
    """by work: the estimates of all tasks ..."""
    expected: Array
    """... of those that are done ..."""
    took: Array
    """... and what these took, at speed 1"""
    half_took: Array
    """by work: what those of the second half of its tasks took that are done ..."""
    half_left: Array
    """... and what all were expected to take when the first was started; at the end: of the work
    that ended last"""
    is_second: Array
    """by task: whether it was started in the second half"""
    factor: Array
    """by work: what corrects its estimates"""
    first_factor: Array
    """by work: the same when it arrived"""
    class_took: Array
    """by size class of works: what those that ended took ..."""
    class_expected: Array
    """... and were expected to take when they arrived"""
    kind_count: Array
    """by kind: tasks that ended ..."""
    kind_took: Array
    """... and what they took, at speed 1"""
    verdicts: Array
    """on the works that ended last; see `verdict`"""
    active: Array
    """by work: tasks that run"""
    target: Array
    """by work: machines to be reserved; -1: to be found out"""
    held: Array
    """by work: idle machines that are reserved"""
    key: Array
    """by work"""
    queue: Array
    """works with tasks that wait, as a heap; in no order where keys change with time; where
    machines are reserved all works that are not done, in the order of arrival"""
    spot: Array
    """by work: its place in the queue; -1: it is not there"""
    running: Array
    """tasks that run, as a heap by their ends"""
    idle: Array
    """machines, as a heap by their order"""
    idle_of: Array
    """by group of machines: how many are idle"""
    due: Array
    overdue: Array
    due_key: Array
    """by task: its expected end, and its machine; for `fwp` what it is expected to take there"""
    fresh: Array
    aside: Array
    """works whose task was postponed"""
    ring: Array
    """[place, 0 or 1]: what the tasks that ended last took, and were expected to take"""
    numbers: Array


def push(heap: Array, base: int, size: int, item: int, key: Array) -> None:
    """Add an item to the heap of a size at a place; who calls counts."""
    place = size
    value = key[item]
    while place > 0:
        above = (place - 1) >> 1
        other = heap[base + above]
        if key[other] < value or (key[other] == value and other < item):
            break
        heap[base + place] = other
        place = above
    heap[base + place] = item


def pop(heap: Array, base: int, size: int, key: Array) -> int:
    """Take the first item of a heap that is not empty; who calls counts."""
    first = heap[base]
    item = heap[base + size - 1]
    settle(heap, base, size - 1, 0, item, key)
    return int(first)


def settle(heap: Array, base: int, size: int, place: int, item: int, key: Array) -> None:
    """Put an item at a place, or below."""
    value = key[item]
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        child = heap[base + below]
        if below + 1 < size:
            other = heap[base + below + 1]
            if key[other] < key[child] or (key[other] == key[child] and other < child):
                child = other
                below += 1
        if value < key[child] or (value == key[child] and item < child):
            break
        heap[base + place] = child
        place = below
    heap[base + place] = item


def enqueue(state: PlacingState, work: int) -> None:
    """Put a work into the queue, or to its place there after its key has changed."""
    queue, spot, key = state.queue, state.spot, state.key
    place = spot[work]
    if place < 0:
        place = state.numbers[QUEUED]
        state.numbers[QUEUED] += 1
    rise(queue, spot, key, place, work)
    sink(queue, spot, key, state.numbers[QUEUED], spot[work], work)


def dequeue(state: PlacingState, work: int) -> None:
    """Take a work out of the queue."""
    queue, spot, key = state.queue, state.spot, state.key
    place = spot[work]
    spot[work] = -1
    state.numbers[QUEUED] -= 1
    size = state.numbers[QUEUED]
    if place < size:
        last = queue[size]
        rise(queue, spot, key, place, last)
        sink(queue, spot, key, size, spot[last], last)


def rise(queue: Array, spot: Array, key: Array, place: int, work: int) -> None:
    """Put a work at a place of the queue, or above."""
    value = key[work]
    while place > 0:
        above = (place - 1) >> 1
        other = queue[above]
        if key[other] < value or (key[other] == value and other < work):
            break
        queue[place] = other
        spot[other] = place
        place = above
    queue[place] = work
    spot[work] = place


def sink(queue: Array, spot: Array, key: Array, size: int, place: int, work: int) -> None:
    """Put a work at a place of the queue, or below."""
    value = key[work]
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        child = queue[below]
        if below + 1 < size:
            other = queue[below + 1]
            if key[other] < key[child] or (key[other] == key[child] and other < child):
                child = other
                below += 1
        if value < key[child] or (value == key[child] and work < child):
            break
        queue[place] = child
        spot[child] = place
        place = below
    queue[place] = work
    spot[work] = place


def append(state: PlacingState, work: int) -> None:
    """Put a work into a queue without an order."""
    if state.spot[work] < 0:
        size = state.numbers[QUEUED]
        state.queue[size] = work
        state.spot[work] = size
        state.numbers[QUEUED] += 1


def drop(state: PlacingState, work: int) -> None:
    """Take a work out of a queue without an order."""
    state.numbers[QUEUED] -= 1
    last = state.queue[state.numbers[QUEUED]]
    place = state.spot[work]
    state.queue[place] = last
    state.spot[last] = place
    state.spot[work] = -1


def count_in(tree: Array, base: int, size: int, place: int, change: int) -> None:
    """Add to the count of a place in a tree of counts (a Fenwick tree)."""
    at = place + 1
    while at <= size:
        tree[base + at - 1] += change
        at += at & -at


def find_in(tree: Array, base: int, size: int, index: int) -> int:
    """The place of a one in a tree of counts, so many ones from the first."""
    step = 1
    while 2 * step <= size:
        step *= 2
    place = 0
    while step > 0:
        after = place + step
        if after <= size and tree[base + after - 1] <= index:
            place = after
            index -= tree[base + after - 1]
        step >>= 1
    return place


def make_state(
    tasks: int,
    works: int,
    machines: int,
    groups: int,
    remembered: int,
    history: int,
    kinds: int,
) -> PlacingState:
    """Nothing has arrived, and no machine is there."""
    return PlacingState(
        start=np.full(tasks, -1, np.int64),
        end=np.full(tasks, -1, np.int64),
        machine=np.full(tasks, -1, np.int32),
        rank=np.zeros(tasks, np.int64),
        fall=np.zeros(tasks, np.int64),
        missing=np.zeros(tasks, np.int32),
        status=np.zeros(tasks, np.int8),
        pool=np.zeros(tasks, np.int32),
        low=np.zeros(tasks, np.int32),
        ahead=np.zeros(tasks, np.int32),
        waiting=np.zeros(works, np.int64),
        pool_size=np.zeros(works, np.int64),
        low_size=np.zeros(works, np.int64),
        ahead_size=np.zeros(works, np.int64),
        left=np.zeros(works, np.int64),
        path=np.zeros(works, np.int64),
        work_left=np.zeros(works, np.int64),
        draws=np.zeros(works, np.int64),
        total=np.zeros(works, np.int64),
        expected=np.zeros(works, np.int64),
        took=np.zeros(works, np.int64),
        half_took=np.zeros(works, np.int64),
        half_left=np.zeros(works + 1, np.float64),
        is_second=np.zeros(tasks, np.int8),
        factor=np.ones(works, np.float64),
        first_factor=np.ones(works, np.float64),
        class_took=np.zeros(CLASSES, np.int64),
        class_expected=np.zeros(CLASSES, np.int64),
        kind_count=np.zeros(kinds, np.int64),
        kind_took=np.zeros(kinds, np.int64),
        verdicts=np.zeros(history, np.int8),
        active=np.zeros(works, np.int64),
        target=np.full(works, -1, np.int64),
        held=np.zeros(works, np.int64),
        key=np.zeros(works, np.float64),
        queue=np.zeros(works, np.int32),
        spot=np.full(works, -1, np.int32),
        running=np.zeros(machines, np.int32),
        idle=np.zeros(machines, np.int32),
        idle_of=np.zeros(groups, np.int64),
        due=np.zeros(tasks, np.int32),
        overdue=np.zeros(tasks, np.int32),
        due_key=np.zeros(tasks, np.int64),
        fresh=np.zeros(tasks, np.int32),
        aside=np.zeros(works, np.int32),
        ring=np.zeros((remembered, 2), np.int64),
        numbers=np.zeros(NUMBERS, np.int64),
    )


PARTS: Final = (
    push,
    pop,
    settle,
    enqueue,
    dequeue,
    rise,
    sink,
    append,
    drop,
    count_in,
    find_in,
)
"""what the compiler is to know"""
