"""What ExPERT's estimator works on: a world, and a desk with its heap, queues and dues.

Plain functions on arrays, which numba compiles; `estimator_kernel` has the process itself.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from bursar.kernels.bag import Array

TASKS: Final = 0
MACHINES: Final = 1
PATIENCE: Final = 2
RELIABLE_TIME: Final = 3
UNRELIABLE_PERIOD: Final = 4
RELIABLE_PERIOD: Final = 5
UNRELIABLE_PRICE: Final = 6
RELIABLE_PRICE: Final = 7
IS_REAL: Final = 8
HAS_OWN_TIMES: Final = 9
LIFE: Final = 10
REPLACING: Final = 11
MEAN: Final = 12
TAIL_TASKS: Final = 13
FIGURES: Final = 14
"""places in a world's figures, and their number"""

COPIES: Final = 0
TIMEOUT: Final = 1
DEADLINE: Final = 2
RELIABLE: Final = 3
KIND: Final = 4
BUDGET: Final = 5
RULES: Final = 6
"""places in a strategy's row, and their number"""

ALL_RELIABLE: Final = 1
WITH_BUDGET: Final = 2
COMBINED: Final = 3
COMBINED_THEN_BOTH: Final = 4
"""the kinds of `bursar.plan.pools.strategies` that differ before the tail"""

NOW: Final = 0
REMAINING: Final = 1
FREE: Final = 2
FREE_RELIABLE: Final = 3
HEAP: Final = 4
HEAD: Final = 5
QUEUED: Final = 6
RELIABLE_HEAD: Final = 7
RELIABLE_END: Final = 8
UNITS: Final = 9
RELIABLE_UNITS: Final = 10
SPENT: Final = 11
TAIL: Final = 12
IS_TAIL: Final = 13
HAS_PAID: Final = 14
SIZE: Final = 15
LONGEST_QUEUE: Final = 16
LEAST_FREE: Final = 17
URGENT: Final = 18
ORIGIN: Final = 19
COUNTERS: Final = 20
"""places in a desk's counters, and their number"""

NAME: Final = 0
IS_DONE: Final = 1
SENT_AT: Final = 2
INSTANCES: Final = 3
STAGE: Final = 4
DUE_AT: Final = 5
IS_LISTED: Final = 6
LIVE: Final = 7
ENDS: Final = 9
QUEUE: Final = 11
RELIABLE_QUEUE: Final = 12
URGENT_TASK: Final = 13
FIELDS: Final = 14
"""fields of a task, and their number: its number in the bag; whether it has a result; when its last
instance was sent to the unreliable pool, and how many were; instances queued in the tail (with more
than N no other will be); when the next one is due, or NEVER; whether the heap has a code DUE for
it, which comes no later; instances under way on the unreliable and on the reliable pool, and the
sums of when they end. Then places of three queues: a ring for the unreliable pool, in which a task
is once at most; one for the reliable pool; and tasks whose instance is known to be lost. All are in
one array, since each array of a desk is handed on to every function"""

DUE: Final = 1 << 60
NEVER: Final = -1
SUCCESS: Final = 1
ON_RELIABLE: Final = 2
LOST: Final = 4
FLAGS: Final = 8


FOUND: Final = 6
"""figures of a repetition: makespan, tail, what is paid on each pool, reliable machines used at
once, and the longest queue for them"""


class World(NamedTuple):
    turnarounds: Array
    """of successes, ascending"""
    boundaries: Array
    """moments at which the reliability changes, ascending, since the estimate's beginning"""
    reliability: Any
    """before each of them, and after the last one: one more"""
    losses: Array
    """how long after it was sent an instance was known to be lost; none: nobody is ever told"""
    ages: Array
    """of the instances under way, if the estimate begins with the tail, a task each"""
    figures: Array


class Desk(NamedTuple):
    """One repetition of one strategy."""

    tasks: Array
    """[field, task]; a desk of the tail has only the tasks that remain, in the same order"""
    moments: Array
    codes: Array
    """the heap: task and flags of what ends, or DUE and the task"""
    counters: Array


def make_desk(tasks: int, room: int) -> Desk:
    """For a bag of so many tasks, with room for so many instances that have not ended."""
    return Desk(
        tasks=np.zeros((FIELDS, tasks), np.int64),
        moments=np.zeros(room + tasks, np.int64),
        codes=np.zeros(room + tasks, np.int64),
        counters=np.zeros(COUNTERS, np.int64),
    )


def keep_remaining(desk: Desk) -> None:
    """Drop the tasks that have a result, and number the others anew.

    Nothing is queued, and what runs belongs to those that remain.
    """
    counters, numbers = desk.counters, desk.tasks[STAGE]
    kept = 0
    for task in range(counters[SIZE]):
        if not desk.tasks[IS_DONE, task]:
            numbers[task] = kept
            desk.tasks[NAME, kept] = desk.tasks[NAME, task]
            desk.tasks[SENT_AT, kept] = desk.tasks[SENT_AT, task]
            desk.tasks[INSTANCES, kept] = desk.tasks[INSTANCES, task]
            for field in range(LIVE, ENDS + 2):
                desk.tasks[field, kept] = desk.tasks[field, task]
            kept += 1
    for place in range(counters[HEAP]):
        code = desk.codes[place]
        desk.codes[place] = numbers[code // FLAGS] * FLAGS + code % FLAGS
    counters[SIZE] = kept
    counters[HEAD] = 0


def copy_tail(desk: Desk, origin: Desk, rules: Array) -> None:
    """Stand where another desk stood when its tail began; it has only what remained."""
    heap, size = origin.counters[HEAP], origin.counters[SIZE]
    desk.tasks[NAME, :size] = origin.tasks[NAME, :size]
    desk.tasks[IS_DONE, :size] = 0
    desk.tasks[SENT_AT, :size] = origin.tasks[SENT_AT, :size]
    desk.tasks[INSTANCES, :size] = origin.tasks[INSTANCES, :size]
    desk.tasks[STAGE, :size] = 0
    desk.tasks[DUE_AT, :size] = NEVER
    desk.tasks[IS_LISTED, :size] = 0
    desk.tasks[LIVE : ENDS + 2, :size] = origin.tasks[LIVE : ENDS + 2, :size]
    desk.moments[:heap] = origin.moments[:heap]
    desk.codes[:heap] = origin.codes[:heap]
    desk.counters[:] = origin.counters
    desk.counters[FREE_RELIABLE] = rules[RELIABLE]
    desk.counters[LEAST_FREE] = rules[RELIABLE]


def clear(world: World, rules: Array, desk: Desk) -> None:
    """Nothing was queued or sent yet."""
    tasks = world.figures[TASKS]
    desk.tasks[IS_DONE] = 0
    desk.tasks[SENT_AT] = 0
    desk.tasks[INSTANCES] = 0
    desk.tasks[STAGE] = 0
    desk.tasks[DUE_AT] = NEVER
    desk.tasks[IS_LISTED] = 0
    desk.tasks[LIVE : ENDS + 2] = 0
    counters = desk.counters
    counters[:] = 0
    counters[SIZE] = tasks
    counters[REMAINING] = tasks
    counters[FREE] = world.figures[MACHINES]
    counters[FREE_RELIABLE] = rules[RELIABLE]
    counters[LEAST_FREE] = rules[RELIABLE]


def begin(world: World, rules: Array, desk: Desk) -> None:
    """All tasks are queued, for the pool that the strategy begins with."""
    tasks = world.figures[TASKS]
    clear(world, rules, desk)
    if rules[KIND] == ALL_RELIABLE:
        desk.tasks[STAGE] = rules[COPIES] + 1
    for task in range(tasks):
        desk.tasks[NAME, task] = task
        if rules[KIND] == ALL_RELIABLE:
            queue_reliable(desk, task)
        else:
            queue_unreliable(desk, task)


# --- the heap and the queues ---------------------------------------------------------------------


def push(desk: Desk, moment: int, code: int) -> None:
    moments, codes = desk.moments, desk.codes
    place = desk.counters[HEAP]
    desk.counters[HEAP] = place + 1
    while place > 0:
        above = (place - 1) >> 1
        if moments[above] < moment or (moments[above] == moment and codes[above] <= code):
            break
        moments[place] = moments[above]
        codes[place] = codes[above]
        place = above
    moments[place] = moment
    codes[place] = code


def pop(desk: Desk) -> int:
    """Take the code of the first moment away."""
    moments, codes = desk.moments, desk.codes
    first = codes[0]
    size = desk.counters[HEAP] - 1
    desk.counters[HEAP] = size
    moment, code = moments[size], codes[size]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        other = below + 1
        if other < size and (
            moments[other] < moments[below]
            or (moments[other] == moments[below] and codes[other] < codes[below])
        ):
            below = other
        if moment < moments[below] or (moment == moments[below] and code <= codes[below]):
            break
        moments[place] = moments[below]
        codes[place] = codes[below]
        place = below
    moments[place] = moment
    codes[place] = code
    return int(first)


def set_due(desk: Desk, task: int, moment: int) -> None:
    """Its next instance is due then; never sooner than was set before."""
    desk.tasks[DUE_AT, task] = moment
    if not desk.tasks[IS_LISTED, task]:
        desk.tasks[IS_LISTED, task] = 1
        push(desk, moment, DUE + task)


def queue_unreliable(desk: Desk, task: int) -> None:
    counters = desk.counters
    place = counters[HEAD] + counters[QUEUED]
    size = desk.tasks.shape[1]
    desk.tasks[QUEUE, place if place < size else place - size] = task
    counters[QUEUED] += 1


def unqueue(desk: Desk) -> int:
    counters = desk.counters
    task = desk.tasks[QUEUE, counters[HEAD]]
    counters[HEAD] = counters[HEAD] + 1 if counters[HEAD] + 1 < desk.tasks.shape[1] else 0
    counters[QUEUED] -= 1
    return int(task)


def queue_reliable(desk: Desk, task: int) -> None:
    counters = desk.counters
    desk.tasks[RELIABLE_QUEUE, counters[RELIABLE_END]] = task
    counters[RELIABLE_END] += 1
    waiting = counters[RELIABLE_END] - counters[RELIABLE_HEAD]
    counters[LONGEST_QUEUE] = max(counters[LONGEST_QUEUE], waiting)


def next_due(desk: Desk) -> int:
    """Take the first by number of the tasks whose next instance is due now; below 0: none is."""
    counters, now = desk.counters, desk.counters[NOW]
    while counters[HEAP] > 0 and desk.moments[0] == now and desk.codes[0] >= DUE:
        task = desk.codes[0] - DUE
        if desk.tasks[DUE_AT, task] == now:
            break
        pop(desk)
        desk.tasks[IS_LISTED, task] = 0
        if desk.tasks[DUE_AT, task] != NEVER:
            set_due(desk, task, desk.tasks[DUE_AT, task])
    is_listed = counters[HEAP] > 0 and desk.moments[0] == now and desk.codes[0] >= DUE
    first, place = desk.codes[0] - DUE if is_listed else -1, -1
    for other in range(counters[URGENT]):
        task = desk.tasks[URGENT_TASK, other]
        if first < 0 or task <= first:
            first, place = task, other
    if place >= 0:
        counters[URGENT] -= 1
        desk.tasks[URGENT_TASK, place] = desk.tasks[URGENT_TASK, counters[URGENT]]
    elif first >= 0:
        pop(desk)
        desk.tasks[IS_LISTED, first] = 0
    return int(first)


ALLOCATING: Final = (make_desk,)
TOOLS: Final = (
    keep_remaining, copy_tail, clear, begin, push, pop, set_due, queue_unreliable, unqueue,
    queue_reliable, next_due,
)  # fmt: skip
