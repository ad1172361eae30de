"""The process that ExPERT's estimator simulates (section 4.4), in plain functions numba compiles.

At each moment at which something happens: results and given-up instances come first; then a task
without a result, whose timeout has passed and which is in no queue, is queued, tasks in the order
of their numbers; then free machines take from the queues, first come, first served, and what has a
result by then is dropped. With a timeout of 0 the last two are repeated until nothing changes. The
tail begins at the end of the first moment that leaves fewer tasks than unreliable machines, or as
few as remained when a real tail began (section 6.3).

Machines of a pool are alike, so that only their number counts. What happens later is kept in a heap
of moments; its codes put all results of a moment before the timeouts of the same moment.

Two ways to run and to pay. As published, an instance that was sent is never called back; each that
returns a result is paid for by periods, needed or not, and the others cost nothing. In real life
the rivals of a result are called back, an instance may be known to be lost, which brings the next
one at once, and all time on machines is paid for.

The random number of an instance belongs to the repetition, its task and its number among the task's
instances: every strategy meets the same luck. All strategies that leave the reliable pool idle
until the tail share the throughput phase of a repetition.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from bursar.kernels.bag import GOLDEN, Array, splitmix, stream
from bursar.kernels.two_pools_state import (
    BUDGET,
    COMBINED,
    COMBINED_THEN_BOTH,
    COPIES,
    DEADLINE,
    DEFAULT_DEADLINE,
    DUE,
    DUE_AT,
    ENDS,
    FLAGS,
    FREE,
    FREE_RELIABLE,
    HAS_OWN_TIMES,
    HAS_PAID,
    HEAP,
    INSTANCES,
    IS_DONE,
    IS_REAL,
    IS_TAIL,
    KIND,
    LEAST_FREE,
    LIFE,
    LIVE,
    LONGEST_QUEUE,
    LOST,
    MEAN,
    NAME,
    NEVER,
    NOW,
    ON_RELIABLE,
    ORIGIN,
    QUEUED,
    RELIABLE,
    RELIABLE_END,
    RELIABLE_HEAD,
    RELIABLE_PERIOD,
    RELIABLE_PRICE,
    RELIABLE_QUEUE,
    RELIABLE_TIME,
    RELIABLE_UNITS,
    REMAINING,
    REPLACING,
    RULES,
    SENT_AT,
    SIZE,
    SPENT,
    STAGE,
    SUCCESS,
    TAIL,
    TAIL_TASKS,
    TASKS,
    TIMEOUT,
    UNITS,
    UNRELIABLE_PERIOD,
    UNRELIABLE_PRICE,
    URGENT,
    URGENT_TASK,
    WITH_BUDGET,
    PoolModel,
    Repetition,
    begin,
    clear,
    copy_tail,
    keep_remaining,
    make_repetition,
    next_due,
    pop,
    push,
    queue_reliable,
    queue_unreliable,
    set_due,
    unqueue,
)

ENDLESS: Final = 1 << 40
"""N where there is no end of copies."""

# --- sending -------------------------------------------------------------------------------------


def drawn(luck: Any, task: int, instance: int) -> float:
    """A number from 0 to below 1."""
    own = splitmix(luck + np.uint64(GOLDEN) * np.uint64(task + 1))
    bits = splitmix(own + np.uint64(GOLDEN) * np.uint64(instance + 1))
    return float(np.float64(bits >> np.uint64(11)) * 2.0**-53)


def reliability_at(model: PoolModel, moment: int) -> float:
    """Gamma of what is sent then."""
    return float(model.reliability[count_up_to(model.boundaries, moment)])


def count_up_to(values: Array, most: int) -> int:
    """How many of the values, which ascend, are not above this one."""
    first, last = 0, len(values)
    while first < last:
        middle = (first + last) >> 1
        if values[middle] <= most:
            first = middle + 1
        else:
            last = middle
    return first


def turnaround(model: PoolModel, chance: float, gamma: float) -> int:
    """The solution t of F(t) = x for a uniform x; below 0: lost, known after so long; 0: silent."""
    if chance < gamma:
        return int(quantile(model.turnarounds, chance / gamma))
    if len(model.losses) == 0 or gamma >= 1.0:
        return 0
    return -int(quantile(model.losses, (chance - gamma) / (1.0 - gamma)))


def own_time(model: PoolModel, luck: Any, name: int) -> int:
    """What a task takes each time that it is sent to the unreliable pool and returns."""
    return int(quantile(model.turnarounds, drawn(luck, name, -1)))


def fate(model: PoolModel, own: int, chance: float, gamma: float) -> int:
    """As `turnaround` for a task with a time of its own.

    Where machines have a life, a long task is lost with them more often than a short one.
    """
    life = model.figures[LIFE]
    if life > 0:
        lives = 1 + int(-np.log(1.0 - chance) * life)
        return own if own <= lives else -(lives + model.figures[REPLACING])
    return own if chance < gamma else min(0, turnaround(model, chance, gamma))


def quantile(values: Array, share: float) -> int:
    place = int(share * len(values))
    return int(values[min(place, len(values) - 1)])


def remaining_chance(model: PoolModel, chance: float, gamma: float, age: int) -> float:
    """The chance of an instance that has not returned at this age, and is not known to be lost.

    It is as if drawn again until it fits: results later than the age, then losses.
    """
    known, lost = len(model.turnarounds), len(model.losses)
    place = count_up_to(model.turnarounds, age)
    late = gamma * (known - place) / known
    away = 0.0 if lost == 0 else count_up_to(model.losses, age) / lost
    silent = (1.0 - gamma) * (1.0 - away)
    if late + silent <= 0.0:
        return 1.0
    share = chance * (late + silent)
    if share < late:
        return float(gamma * (place / known) + share)
    return float(gamma + (1.0 - gamma) * away + (share - late))


def periods(time: int, period: int) -> int:
    return int((time + period - 1) // period)


def send(model: PoolModel, rules: Array, rep: Repetition, luck: Any, task: int) -> None:
    """To the unreliable pool. A result is paid for even if it comes too late to be of use."""
    counters = rep.counters
    now, is_tail = counters[NOW], counters[IS_TAIL] != 0
    deadline = rules[DEADLINE] if is_tail else model.figures[DEFAULT_DEADLINE]
    gamma = reliability_at(model, now - counters[ORIGIN])
    chance = drawn(luck, rep.tasks[NAME, task], rep.tasks[INSTANCES, task])
    if model.figures[HAS_OWN_TIMES]:
        own = own_time(model, luck, rep.tasks[NAME, task])
        takes = fate(model, own, chance, gamma)
        if takes >= deadline and not (is_tail and rules[COPIES] < ENDLESS):
            # It is given up once; then it is known to be long, and waited for.
            takes += deadline
            deadline = takes + 1
    else:
        takes = turnaround(model, chance, gamma)
    rep.tasks[INSTANCES, task] += 1
    rep.tasks[SENT_AT, task] = now
    counters[FREE] -= 1
    follow(model, rep, task, now, takes, deadline)
    if is_tail and rep.tasks[STAGE, task] <= rules[COPIES]:
        set_due(rep, task, now + rules[TIMEOUT])


def follow(
    model: PoolModel, rep: Repetition, task: int, sent: int, takes: int, deadline: int
) -> None:
    """Note how an instance on the unreliable pool will end, and what is paid for it."""
    figures = model.figures
    if 0 < takes < deadline:
        flags, time = SUCCESS, takes
    elif -deadline < takes < 0:
        flags, time = LOST, -takes
    else:
        flags, time = 0, deadline
    push(rep, sent + time, task * FLAGS + flags)
    if figures[IS_REAL]:
        rep.tasks[LIVE, task] += 1
        rep.tasks[ENDS, task] += sent + time
        rep.counters[UNITS] += time
    elif flags == SUCCESS:
        rep.counters[UNITS] += periods(time, figures[UNRELIABLE_PERIOD])


def send_reliable(model: PoolModel, rules: Array, rep: Repetition, luck: Any, task: int) -> None:
    """To the reliable pool: no other instance will be needed."""
    counters, figures = rep.counters, model.figures
    takes = figures[RELIABLE_TIME]
    if figures[HAS_OWN_TIMES]:
        own = own_time(model, luck, rep.tasks[NAME, task])
        takes = max(1, int(float(takes) * float(own) / float(figures[MEAN])))
    rep.tasks[STAGE, task] = rules[COPIES] + 1
    rep.tasks[DUE_AT, task] = NEVER
    counters[FREE_RELIABLE] -= 1
    counters[LEAST_FREE] = min(counters[LEAST_FREE], counters[FREE_RELIABLE])
    ends = counters[NOW] + takes
    push(rep, ends, task * FLAGS + SUCCESS + ON_RELIABLE)
    if figures[IS_REAL]:
        rep.tasks[LIVE + 1, task] += 1
        rep.tasks[ENDS + 1, task] += ends
        counters[RELIABLE_UNITS] += takes
    else:
        counters[RELIABLE_UNITS] += periods(takes, figures[RELIABLE_PERIOD])


def dispatch(model: PoolModel, rules: Array, rep: Repetition, luck: Any) -> None:
    counters = rep.counters
    while counters[FREE] > 0 and counters[QUEUED] > 0:
        task = unqueue(rep)
        if not rep.tasks[IS_DONE, task]:
            send(model, rules, rep, luck, task)
    while counters[FREE_RELIABLE] > 0 and counters[RELIABLE_HEAD] < counters[RELIABLE_END]:
        task = rep.tasks[RELIABLE_QUEUE, counters[RELIABLE_HEAD]]
        counters[RELIABLE_HEAD] += 1
        if not rep.tasks[IS_DONE, task]:
            send_reliable(model, rules, rep, luck, task)
    is_tail = counters[IS_TAIL] != 0
    if rules[KIND] == COMBINED or (rules[KIND] == COMBINED_THEN_BOTH and not is_tail):
        while counters[FREE_RELIABLE] > 0 and counters[QUEUED] > 0:
            task = unqueue(rep)
            if not rep.tasks[IS_DONE, task]:
                send_reliable(model, rules, rep, luck, task)


# --- the steps of a moment -----------------------------------------------------------------------


def take_ends(model: PoolModel, rep: Repetition) -> None:
    """Go to the next moment: results come in, and hopeless instances are given up."""
    counters, figures = rep.counters, model.figures
    now = rep.moments[0]
    counters[NOW] = now
    while counters[HEAP] > 0 and rep.moments[0] == now and rep.codes[0] < DUE:
        code = pop(rep)
        task = code // FLAGS
        is_reliable = code & ON_RELIABLE != 0
        if rep.tasks[IS_DONE, task] and figures[IS_REAL]:
            continue  # it was called back
        if is_reliable:
            counters[FREE_RELIABLE] += 1
        else:
            counters[FREE] += 1
        if figures[IS_REAL]:
            pool = 1 if is_reliable else 0
            rep.tasks[LIVE + pool, task] -= 1
            rep.tasks[ENDS + pool, task] -= now
        if code & SUCCESS == 0:
            if counters[IS_TAIL] == 0:
                set_due(rep, task, now)
            elif code & LOST != 0 and rep.tasks[DUE_AT, task] != NEVER:
                rep.tasks[URGENT_TASK, counters[URGENT]] = task
                counters[URGENT] += 1
        elif not rep.tasks[IS_DONE, task]:
            rep.tasks[IS_DONE, task] = 1
            counters[REMAINING] -= 1
            if not is_reliable:
                taken = periods(now - rep.tasks[SENT_AT, task], figures[UNRELIABLE_PERIOD])
                counters[SPENT] += taken * figures[UNRELIABLE_PRICE]
            if figures[IS_REAL]:
                call_back(rep, task)


def call_back(rep: Repetition, task: int) -> None:
    """End all other instances of a task that is done; what was paid ahead is given back."""
    counters, now = rep.counters, rep.counters[NOW]
    counters[FREE] += rep.tasks[LIVE, task]
    counters[FREE_RELIABLE] += rep.tasks[LIVE + 1, task]
    counters[UNITS] -= rep.tasks[ENDS, task] - rep.tasks[LIVE, task] * now
    counters[RELIABLE_UNITS] -= rep.tasks[ENDS + 1, task] - rep.tasks[LIVE + 1, task] * now


def take_dues(rules: Array, rep: Repetition) -> None:
    """Queue an instance of each task whose timeout has passed."""
    counters = rep.counters
    while True:
        task = next_due(rep)
        if task < 0:
            return
        is_due = rep.tasks[DUE_AT, task] != NEVER
        rep.tasks[DUE_AT, task] = NEVER
        if (
            not is_due
            or rep.tasks[IS_DONE, task]
            or rep.tasks[STAGE, task] > rules[COPIES]
            or counters[HAS_PAID]
        ):
            continue
        if counters[IS_TAIL] == 0 or rep.tasks[STAGE, task] < rules[COPIES]:
            queue_unreliable(rep, task)
        else:
            queue_reliable(rep, task)
        rep.tasks[STAGE, task] += counters[IS_TAIL]


def spend_budget(model: PoolModel, rules: Array, rep: Repetition) -> None:
    """Replicate all that remains on the reliable pool, once what is left of the budget pays it."""
    counters, figures = rep.counters, model.figures
    if rules[KIND] != WITH_BUDGET or counters[HAS_PAID]:
        return
    each = periods(figures[RELIABLE_TIME], figures[RELIABLE_PERIOD]) * figures[RELIABLE_PRICE]
    if counters[REMAINING] * each > rules[BUDGET] - counters[SPENT]:
        return
    counters[HAS_PAID] = 1
    for task in range(rep.counters[SIZE]):
        if not rep.tasks[IS_DONE, task]:
            queue_reliable(rep, task)


def open_tail(rules: Array, rep: Repetition) -> None:
    """From now on the strategy's own timeout counts, since a task was last sent."""
    counters, now = rep.counters, rep.counters[NOW]
    counters[IS_TAIL] = 1
    counters[TAIL] = now
    for task in range(rep.counters[SIZE]):
        if rep.tasks[IS_DONE, task] or rep.tasks[STAGE, task] > rules[COPIES]:
            continue
        if rules[KIND] == COMBINED_THEN_BOTH:
            queue_unreliable(rep, task)
            queue_reliable(rep, task)
            rep.tasks[STAGE, task] = rules[COPIES] + 1
        else:
            set_due(rep, task, max(now, rep.tasks[SENT_AT, task] + rules[TIMEOUT]))


def throughput(model: PoolModel, rules: Array, rep: Repetition, luck: Any) -> None:
    """From the beginning until fewer tasks remain than there are unreliable machines, or fewer yet.

    Then each of them has been sent, and no instance is queued: with one instance for each task, a
    queue means that all machines have another task.
    """
    begin(model, rules, rep)
    while True:
        spend_budget(model, rules, rep)
        take_dues(rules, rep)
        dispatch(model, rules, rep, luck)
        if rep.counters[REMAINING] <= model.figures[TAIL_TASKS]:
            break
        take_ends(model, rep)


def resume(model: PoolModel, rules: Array, rep: Repetition, luck: Any) -> None:
    """The tail begins now: each task has an instance under way, of a known age."""
    clear(model, rules, rep)
    counters, figures = rep.counters, model.figures
    origin = 0
    for age in model.ages:
        origin = max(origin, age)
    counters[NOW] = counters[ORIGIN] = origin
    for task in range(figures[TASKS]):
        age = model.ages[task]
        rep.tasks[NAME, task] = task
        rep.tasks[SENT_AT, task] = origin - age
        rep.tasks[INSTANCES, task] = 1
        counters[FREE] -= 1
        gamma = reliability_at(model, -age)
        chance = remaining_chance(model, drawn(luck, task, 0), gamma, age)
        takes = turnaround(model, chance, gamma)
        follow(model, rep, task, origin - age, takes, max(figures[DEFAULT_DEADLINE], age + 1))
        if figures[IS_REAL]:
            counters[UNITS] -= age


def tail(model: PoolModel, rules: Array, rep: Repetition, luck: Any) -> None:
    """From then on to the last result."""
    open_tail(rules, rep)
    while rep.counters[REMAINING] > 0:
        spend_budget(model, rules, rep)
        take_dues(rules, rep)
        dispatch(model, rules, rep, luck)
        take_ends(model, rep)


def estimate_many(
    model: PoolModel, table: Array, seed: Any, first: int, last: int, room: int, found: Array
) -> None:
    """Repetitions first to last of all strategies, the rows of the table.

    `found[strategy, repetition]` gets the makespan, the makespan of the tail, and the charging
    periods paid on the unreliable and on the reliable pool, or the time; then the reliable machines
    used at once and the longest queue for them. `room` is for instances that have not ended.
    """
    tasks, in_tail = model.figures[TASKS], len(model.ages) > 0
    common, rep = make_repetition(tasks, room), make_repetition(tasks, room)
    idle = np.zeros(RULES, np.int64)
    for repetition in range(first, last):
        luck = stream(seed, repetition)
        if in_tail:
            resume(model, idle, common, luck)
        else:
            throughput(model, idle, common, luck)
            keep_remaining(common)
        for number in range(len(table)):
            rules = table[number]
            if rules[KIND] == 0 or in_tail:
                copy_tail(rep, common, rules)
            else:
                throughput(model, rules, rep, luck)
            tail(model, rules, rep, luck)
            counters = rep.counters
            began = common.counters[NOW] if in_tail else 0
            found[number, repetition, 0] = counters[NOW] - began
            found[number, repetition, 1] = counters[NOW] - counters[TAIL]
            found[number, repetition, 2] = counters[UNITS]
            found[number, repetition, 3] = counters[RELIABLE_UNITS]
            found[number, repetition, 4] = rules[RELIABLE] - counters[LEAST_FREE]
            found[number, repetition, 5] = counters[LONGEST_QUEUE]


PARTS: Final = (
    drawn, reliability_at, count_up_to, turnaround, own_time, fate, quantile, remaining_chance,
    periods, send, follow, send_reliable, dispatch, take_ends, call_back, take_dues, spend_budget,
    open_tail, throughput, resume, tail,
)  # fmt: skip
