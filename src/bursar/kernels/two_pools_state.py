"""What ExPERT's estimator works on: a model, and a rep with its heap, queues and dues.

Plain functions on arrays, which numba compiles; `two_pools` has the process itself.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from bursar.kernels.bag import Array

TASKS: Final = 0
MACHINES: Final = 1
DEFAULT_DEADLINE: Final = 2
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
"""places in a model's figures, and their number"""

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
"""places in a rep's counters, and their number"""

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
one array, since each array of a rep is handed on to every function"""

DUE: Final = 1 << 60
NEVER: Final = -1
SUCCESS: Final = 1
ON_RELIABLE: Final = 2
LOST: Final = 4
FLAGS: Final = 8


FOUND: Final = 6
"""figures of a repetition: makespan, tail, what is paid on each pool, reliable machines used at
once, and the longest queue for them"""


class PoolModel(NamedTuple):
    turnarounds: Array
    """of successes, ascending"""
    boundaries: Array
    """moments at which the reliability changes, ascending, since the estimate's beginning"""
    reliability: Any
    """before each of them, and after the last one: one more"""
    losses: Array
    """how long after it was sent an instance was known to be lost; none: nobody ever hears of it"""
    ages: Array
    """of the instances under way, if the estimate begins with the tail, a task each"""
    figures: Array


class Repetition(NamedTuple):
    """One repetition of one strategy."""

    tasks: Array
    """[field, task]; a rep of the tail has only the tasks that remain, in the same order"""
    moments: Array
    codes: Array
    """the heap: task and flags of what ends, or DUE and the task"""
    counters: Array


def make_repetition(tasks: int, room: int) -> Repetition:
    """For a bag of so many tasks, with room for so many instances that have not ended."""
    return Repetition(
        tasks=np.zeros((FIELDS, tasks), np.int64),
        moments=np.zeros(room + tasks, np.int64),
        codes=np.zeros(room + tasks, np.int64),
        counters=np.zeros(COUNTERS, np.int64),
    )


def keep_remaining(rep: Repetition) -> None:
    """Drop the tasks that have a result, and renumber the others.

    Nothing is queued, and what runs belongs to those that remain.
    """
    counters, numbers = rep.counters, rep.tasks[STAGE]
    kept = 0
    for task in range(counters[SIZE]):
        if not rep.tasks[IS_DONE, task]:
            numbers[task] = kept
            rep.tasks[NAME, kept] = rep.tasks[NAME, task]
            rep.tasks[SENT_AT, kept] = rep.tasks[SENT_AT, task]
            rep.tasks[INSTANCES, kept] = rep.tasks[INSTANCES, task]
            for field in range(LIVE, ENDS + 2):
                rep.tasks[field, kept] = rep.tasks[field, task]
            kept += 1
    for place in range(counters[HEAP]):
        code = rep.codes[place]
        rep.codes[place] = numbers[code // FLAGS] * FLAGS + code % FLAGS
    counters[SIZE] = kept
    counters[HEAD] = 0


def copy_tail(rep: Repetition, origin: Repetition, rules: Array) -> None:
    """Stand where another rep stood when its tail began; it has only what remained."""
    heap, size = origin.counters[HEAP], origin.counters[SIZE]
    for task in range(size):
        rep.tasks[NAME, task] = origin.tasks[NAME, task]
        rep.tasks[IS_DONE, task] = 0
        rep.tasks[SENT_AT, task] = origin.tasks[SENT_AT, task]
        rep.tasks[INSTANCES, task] = origin.tasks[INSTANCES, task]
        rep.tasks[STAGE, task] = 0
        rep.tasks[DUE_AT, task] = NEVER
        rep.tasks[IS_LISTED, task] = 0
    for field in range(LIVE, ENDS + 2):
        for task in range(size):
            rep.tasks[field, task] = origin.tasks[field, task]
    for place in range(heap):
        rep.moments[place] = origin.moments[place]
        rep.codes[place] = origin.codes[place]
    for counter in range(COUNTERS):
        rep.counters[counter] = origin.counters[counter]
    rep.counters[FREE_RELIABLE] = rules[RELIABLE]
    rep.counters[LEAST_FREE] = rules[RELIABLE]


def clear(model: PoolModel, rules: Array, rep: Repetition) -> None:
    """Nothing was queued or sent yet."""
    tasks = model.figures[TASKS]
    rep.tasks[IS_DONE] = 0
    rep.tasks[SENT_AT] = 0
    rep.tasks[INSTANCES] = 0
    rep.tasks[STAGE] = 0
    rep.tasks[DUE_AT] = NEVER
    rep.tasks[IS_LISTED] = 0
    rep.tasks[LIVE : ENDS + 2] = 0
    counters = rep.counters
    counters[:] = 0
    counters[SIZE] = tasks
    counters[REMAINING] = tasks
    counters[FREE] = model.figures[MACHINES]
    counters[FREE_RELIABLE] = rules[RELIABLE]
    counters[LEAST_FREE] = rules[RELIABLE]


def begin(model: PoolModel, rules: Array, rep: Repetition) -> None:
    """All tasks are queued, for the pool that the strategy begins with."""
    tasks = model.figures[TASKS]
    clear(model, rules, rep)
    if rules[KIND] == ALL_RELIABLE:
        rep.tasks[STAGE] = rules[COPIES] + 1
    for task in range(tasks):
        rep.tasks[NAME, task] = task
        if rules[KIND] == ALL_RELIABLE:
            queue_reliable(rep, task)
        else:
            queue_unreliable(rep, task)


# --- the heap and the queues ---------------------------------------------------------------------


def push(rep: Repetition, moment: int, code: int) -> None:
    moments, codes = rep.moments, rep.codes
    place = rep.counters[HEAP]
    rep.counters[HEAP] = place + 1
    while place > 0:
        above = (place - 1) >> 1
        if moments[above] < moment or (moments[above] == moment and codes[above] <= code):
            break
        moments[place] = moments[above]
        codes[place] = codes[above]
        place = above
    moments[place] = moment
    codes[place] = code


def pop(rep: Repetition) -> int:
    """Take the code of the first moment away."""
    moments, codes = rep.moments, rep.codes
    first = codes[0]
    size = rep.counters[HEAP] - 1
    rep.counters[HEAP] = size
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


def set_due(rep: Repetition, task: int, moment: int) -> None:
    """Its next instance is due then; never sooner than was set before."""
    rep.tasks[DUE_AT, task] = moment
    if not rep.tasks[IS_LISTED, task]:
        rep.tasks[IS_LISTED, task] = 1
        push(rep, moment, DUE + task)


def queue_unreliable(rep: Repetition, task: int) -> None:
    counters = rep.counters
    place = counters[HEAD] + counters[QUEUED]
    size = rep.tasks.shape[1]
    rep.tasks[QUEUE, place if place < size else place - size] = task
    counters[QUEUED] += 1


def unqueue(rep: Repetition) -> int:
    counters = rep.counters
    task = rep.tasks[QUEUE, counters[HEAD]]
    counters[HEAD] = counters[HEAD] + 1 if counters[HEAD] + 1 < rep.tasks.shape[1] else 0
    counters[QUEUED] -= 1
    return int(task)


def queue_reliable(rep: Repetition, task: int) -> None:
    counters = rep.counters
    rep.tasks[RELIABLE_QUEUE, counters[RELIABLE_END]] = task
    counters[RELIABLE_END] += 1
    waiting = counters[RELIABLE_END] - counters[RELIABLE_HEAD]
    counters[LONGEST_QUEUE] = max(counters[LONGEST_QUEUE], waiting)


def next_due(rep: Repetition) -> int:
    """Take the first by number of the tasks whose next instance is due now; below 0: none is."""
    counters, now = rep.counters, rep.counters[NOW]
    while counters[HEAP] > 0 and rep.moments[0] == now and rep.codes[0] >= DUE:
        task = rep.codes[0] - DUE
        if rep.tasks[DUE_AT, task] == now:
            break
        pop(rep)
        rep.tasks[IS_LISTED, task] = 0
        if rep.tasks[DUE_AT, task] != NEVER:
            set_due(rep, task, rep.tasks[DUE_AT, task])
    is_listed = counters[HEAP] > 0 and rep.moments[0] == now and rep.codes[0] >= DUE
    first, place = rep.codes[0] - DUE if is_listed else -1, -1
    for other in range(counters[URGENT]):
        task = rep.tasks[URGENT_TASK, other]
        if first < 0 or task <= first:
            first, place = task, other
    if place >= 0:
        counters[URGENT] -= 1
        rep.tasks[URGENT_TASK, place] = rep.tasks[URGENT_TASK, counters[URGENT]]
    elif first >= 0:
        pop(rep)
        rep.tasks[IS_LISTED, first] = 0
    return int(first)


ALLOCATING: Final = (make_repetition,)
TOOLS: Final = (
    keep_remaining, copy_tail, clear, begin, push, pop, set_due, queue_unreliable, unqueue,
    queue_reliable, next_due,
)  # fmt: skip
