"""The process that ExPERT's estimator simulates (section 4.4), in plain functions numba compiles.

At each moment at which something happens: results and given-up instances come first; then a task
without a result, whose timeout has passed and which is in no queue, is queued, tasks in the order
of their numbers; then free machines take from the queues, first come, first served, and what has a
result by then is dropped. With a timeout of 0 the last two are repeated until nothing changes. The
tail begins at the end of the first moment that leaves fewer tasks than unreliable machines.

Machines of a pool are alike, so that only their number counts. What happens later is kept in a heap
of moments; its codes put all results of a moment before the timeouts of the same moment.

The random number of an instance belongs to the repetition, its task and its number among the task's
instances: every strategy meets the same luck. All strategies that leave the reliable pool idle
until the tail share the throughput phase of a repetition.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from bursar.simulate.kernels_list import GOLDEN, Array, splitmix, stream

TASKS: Final = 0
MACHINES: Final = 1
PATIENCE: Final = 2
RELIABLE_TIME: Final = 3
UNRELIABLE_PERIOD: Final = 4
RELIABLE_PERIOD: Final = 5
UNRELIABLE_PRICE: Final = 6
RELIABLE_PRICE: Final = 7
"""places in a world's figures"""

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
"""the kinds of `bursar.plan.strategies` that differ before the tail"""

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
COUNTERS: Final = 16
"""places in a desk's counters, and their number"""

DUE: Final = 1 << 60
SUCCESS: Final = 1
ON_RELIABLE: Final = 2
FLAGS: Final = 4


class World(NamedTuple):
    turnarounds: Array
    """of successes, ascending"""
    reliability: float
    figures: Array


class Desk(NamedTuple):
    """One repetition of one strategy."""

    names: Array
    """[task]: its number in the bag; a desk of the tail has only what remains, in the same order"""
    done: Array
    """[task]: whether it has a result"""
    sent: Array
    """[task]: when its last instance was sent to the unreliable pool"""
    instances: Array
    """[task]: how many were"""
    stage: Array
    """[task]: instances queued in the tail; more than N: no other will be"""
    moments: Array
    codes: Array
    """the heap: task and flags of what ends, or DUE and the task"""
    queue: Array
    """a ring for the unreliable pool; a task is in it once at most"""
    reliable_queue: Array
    """a task enters it once at most"""
    counters: Array


def make_desk(tasks: int, machines: int) -> Desk:
    """Room for a bag on so many machines of both pools together."""
    return Desk(
        names=np.zeros(tasks, np.int64),
        done=np.zeros(tasks, np.int8),
        sent=np.zeros(tasks, np.int64),
        instances=np.zeros(tasks, np.int64),
        stage=np.zeros(tasks, np.int64),
        moments=np.zeros(machines + 2 * tasks, np.int64),
        codes=np.zeros(machines + 2 * tasks, np.int64),
        queue=np.zeros(tasks, np.int64),
        reliable_queue=np.zeros(tasks, np.int64),
        counters=np.zeros(COUNTERS, np.int64),
    )


def keep_remaining(desk: Desk) -> None:
    """Drop the tasks that have a result, and number the others anew.

    Nothing is queued, and what runs belongs to those that remain.
    """
    counters, numbers = desk.counters, desk.stage
    kept = 0
    for task in range(counters[SIZE]):
        if not desk.done[task]:
            numbers[task] = kept
            desk.names[kept] = desk.names[task]
            desk.sent[kept] = desk.sent[task]
            desk.instances[kept] = desk.instances[task]
            kept += 1
    for place in range(counters[HEAP]):
        code = desk.codes[place]
        desk.codes[place] = numbers[code // FLAGS] * FLAGS + code % FLAGS
    counters[SIZE] = kept
    counters[HEAD] = 0


def copy_tail(desk: Desk, origin: Desk, rules: Array) -> None:
    """Stand where another desk stood when its tail began; it has only what remained."""
    heap, size = origin.counters[HEAP], origin.counters[SIZE]
    desk.names[:size] = origin.names[:size]
    desk.done[:size] = 0
    desk.sent[:size] = origin.sent[:size]
    desk.instances[:size] = origin.instances[:size]
    desk.stage[:size] = 0
    desk.moments[:heap] = origin.moments[:heap]
    desk.codes[:heap] = origin.codes[:heap]
    desk.counters[:] = origin.counters
    desk.counters[FREE_RELIABLE] = rules[RELIABLE]


def begin(world: World, rules: Array, desk: Desk) -> None:
    """All tasks are queued, for the pool that the strategy begins with."""
    tasks = world.figures[TASKS]
    desk.done[:] = 0
    desk.sent[:] = 0
    desk.instances[:] = 0
    desk.stage[:] = 0
    counters = desk.counters
    counters[:] = 0
    counters[SIZE] = tasks
    counters[REMAINING] = tasks
    counters[FREE] = world.figures[MACHINES]
    counters[FREE_RELIABLE] = rules[RELIABLE]
    if rules[KIND] == ALL_RELIABLE:
        desk.stage[:] = rules[COPIES] + 1
    for task in range(tasks):
        desk.names[task] = task
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


def queue_unreliable(desk: Desk, task: int) -> None:
    counters = desk.counters
    place = counters[HEAD] + counters[QUEUED]
    size = len(desk.queue)
    desk.queue[place if place < size else place - size] = task
    counters[QUEUED] += 1


def unqueue(desk: Desk) -> int:
    counters = desk.counters
    task = desk.queue[counters[HEAD]]
    counters[HEAD] = counters[HEAD] + 1 if counters[HEAD] + 1 < len(desk.queue) else 0
    counters[QUEUED] -= 1
    return int(task)


def queue_reliable(desk: Desk, task: int) -> None:
    desk.reliable_queue[desk.counters[RELIABLE_END]] = task
    desk.counters[RELIABLE_END] += 1


# --- sending -------------------------------------------------------------------------------------


def drawn(luck: Any, task: int, instance: int) -> float:
    """A number from 0 to below 1."""
    own = splitmix(luck + np.uint64(GOLDEN) * np.uint64(task + 1))
    bits = splitmix(own + np.uint64(GOLDEN) * np.uint64(instance + 1))
    return float(np.float64(bits >> np.uint64(11)) * 2.0**-53)


def turnaround(world: World, luck: Any, task: int, instance: int) -> int:
    """The solution t of F(t) = x for a uniform x; 0: no result ever."""
    chance = drawn(luck, task, instance)
    if chance >= world.reliability:
        return 0
    known = len(world.turnarounds)
    place = int(chance / world.reliability * known)
    return int(world.turnarounds[min(place, known - 1)])


def periods(time: int, period: int) -> int:
    return int((time + period - 1) // period)


def send(world: World, rules: Array, desk: Desk, luck: Any, task: int) -> None:
    """To the unreliable pool. A result is paid for even if it comes too late to be of use."""
    counters, figures = desk.counters, world.figures
    now, is_tail = counters[NOW], counters[IS_TAIL] != 0
    deadline = rules[DEADLINE] if is_tail else figures[PATIENCE]
    takes = turnaround(world, luck, desk.names[task], desk.instances[task])
    desk.instances[task] += 1
    desk.sent[task] = now
    counters[FREE] -= 1
    if 0 < takes < deadline:
        counters[UNITS] += periods(takes, figures[UNRELIABLE_PERIOD])
        push(desk, now + takes, task * FLAGS + SUCCESS)
    else:
        push(desk, now + deadline, task * FLAGS)
    if is_tail and desk.stage[task] <= rules[COPIES]:
        push(desk, now + rules[TIMEOUT], DUE + task)


def send_reliable(world: World, rules: Array, desk: Desk, task: int) -> None:
    """To the reliable pool: no other instance will be needed."""
    counters, figures = desk.counters, world.figures
    desk.stage[task] = rules[COPIES] + 1
    counters[FREE_RELIABLE] -= 1
    counters[RELIABLE_UNITS] += periods(figures[RELIABLE_TIME], figures[RELIABLE_PERIOD])
    ends = counters[NOW] + figures[RELIABLE_TIME]
    push(desk, ends, task * FLAGS + SUCCESS + ON_RELIABLE)


def dispatch(world: World, rules: Array, desk: Desk, luck: Any) -> None:
    counters = desk.counters
    while counters[FREE] > 0 and counters[QUEUED] > 0:
        task = unqueue(desk)
        if not desk.done[task]:
            send(world, rules, desk, luck, task)
    while counters[FREE_RELIABLE] > 0 and counters[RELIABLE_HEAD] < counters[RELIABLE_END]:
        task = desk.reliable_queue[counters[RELIABLE_HEAD]]
        counters[RELIABLE_HEAD] += 1
        if not desk.done[task]:
            send_reliable(world, rules, desk, task)
    is_tail = counters[IS_TAIL] != 0
    if rules[KIND] == COMBINED or (rules[KIND] == COMBINED_THEN_BOTH and not is_tail):
        while counters[FREE_RELIABLE] > 0 and counters[QUEUED] > 0:
            task = unqueue(desk)
            if not desk.done[task]:
                send_reliable(world, rules, desk, task)


# --- the steps of a moment -----------------------------------------------------------------------


def take_ends(world: World, desk: Desk) -> None:
    """Go to the next moment: results come in, and hopeless instances are given up."""
    counters, figures = desk.counters, world.figures
    now = desk.moments[0]
    counters[NOW] = now
    while counters[HEAP] > 0 and desk.moments[0] == now and desk.codes[0] < DUE:
        code = pop(desk)
        task = code // FLAGS
        is_reliable = code & ON_RELIABLE != 0
        if is_reliable:
            counters[FREE_RELIABLE] += 1
        else:
            counters[FREE] += 1
        if code & SUCCESS == 0:
            if counters[IS_TAIL] == 0:
                push(desk, now, DUE + task)
        elif not desk.done[task]:
            desk.done[task] = 1
            counters[REMAINING] -= 1
            if not is_reliable:
                taken = periods(now - desk.sent[task], figures[UNRELIABLE_PERIOD])
                counters[SPENT] += taken * figures[UNRELIABLE_PRICE]


def take_dues(rules: Array, desk: Desk) -> None:
    """Queue an instance of each task whose timeout has passed."""
    counters, now = desk.counters, desk.counters[NOW]
    while counters[HEAP] > 0 and desk.moments[0] == now and desk.codes[0] >= DUE:
        task = pop(desk) - DUE
        if desk.done[task] or desk.stage[task] > rules[COPIES] or counters[HAS_PAID]:
            continue
        if counters[IS_TAIL] == 0 or desk.stage[task] < rules[COPIES]:
            queue_unreliable(desk, task)
        else:
            queue_reliable(desk, task)
        desk.stage[task] += counters[IS_TAIL]


def spend_budget(world: World, rules: Array, desk: Desk) -> None:
    """Replicate all that remains on the reliable pool, once what is left of the budget pays it."""
    counters, figures = desk.counters, world.figures
    if rules[KIND] != WITH_BUDGET or counters[HAS_PAID]:
        return
    each = periods(figures[RELIABLE_TIME], figures[RELIABLE_PERIOD]) * figures[RELIABLE_PRICE]
    if counters[REMAINING] * each > rules[BUDGET] - counters[SPENT]:
        return
    counters[HAS_PAID] = 1
    for task in range(desk.counters[SIZE]):
        if not desk.done[task]:
            queue_reliable(desk, task)


def open_tail(rules: Array, desk: Desk) -> None:
    """From now on the strategy's own timeout counts, since a task was last sent."""
    counters, now = desk.counters, desk.counters[NOW]
    counters[IS_TAIL] = 1
    counters[TAIL] = now
    for task in range(desk.counters[SIZE]):
        if desk.done[task] or desk.stage[task] > rules[COPIES]:
            continue
        if rules[KIND] == COMBINED_THEN_BOTH:
            queue_unreliable(desk, task)
            queue_reliable(desk, task)
            desk.stage[task] = rules[COPIES] + 1
        else:
            push(desk, max(now, desk.sent[task] + rules[TIMEOUT]), DUE + task)


def throughput(world: World, rules: Array, desk: Desk, luck: Any) -> None:
    """From the beginning until fewer tasks remain than there are unreliable machines.

    Then each of them has been sent, and no instance is queued: with one instance for each task, a
    queue means that all machines have another task.
    """
    begin(world, rules, desk)
    while True:
        spend_budget(world, rules, desk)
        take_dues(rules, desk)
        dispatch(world, rules, desk, luck)
        if desk.counters[REMAINING] < world.figures[MACHINES]:
            break
        take_ends(world, desk)


def tail(world: World, rules: Array, desk: Desk, luck: Any) -> None:
    """From then on to the last result."""
    open_tail(rules, desk)
    while desk.counters[REMAINING] > 0:
        spend_budget(world, rules, desk)
        take_dues(rules, desk)
        dispatch(world, rules, desk, luck)
        take_ends(world, desk)


def estimate_many(
    world: World, table: Array, seed: Any, first: int, last: int, machines: int, found: Array
) -> None:
    """Repetitions first to last of all strategies, the rows of the table.

    `found[strategy, repetition]` gets the makespan, the makespan of the tail, and the charging
    periods paid on the unreliable and on the reliable pool. `machines` are the most of both pools.
    """
    tasks = world.figures[TASKS]
    common, desk = make_desk(tasks, machines), make_desk(tasks, machines)
    idle = np.zeros(RULES, np.int64)
    for repetition in range(first, last):
        luck = stream(seed, repetition)
        throughput(world, idle, common, luck)
        keep_remaining(common)
        for number in range(len(table)):
            rules = table[number]
            if rules[KIND] == 0:
                copy_tail(desk, common, rules)
            else:
                throughput(world, rules, desk, luck)
            tail(world, rules, desk, luck)
            counters = desk.counters
            found[number, repetition, 0] = counters[NOW]
            found[number, repetition, 1] = counters[NOW] - counters[TAIL]
            found[number, repetition, 2] = counters[UNITS]
            found[number, repetition, 3] = counters[RELIABLE_UNITS]


ALLOCATING: Final = (make_desk,)
PARTS: Final = (
    keep_remaining, copy_tail, begin, push, pop, queue_unreliable, unqueue, queue_reliable, drawn,
    turnaround, periods, send, send_reliable, dispatch, take_ends, take_dues, spend_budget,
    open_tail, throughput, tail,
)  # fmt: skip
