"""Workloads of workflows on machines: one event loop for all placers, which numba compiles.

All events of an instant come first, completions before arrivals; then tasks are placed, the work
with the least key first (`placing_keys`), each on the fastest machine that is idle. Tasks that take
no time end in the same instant, in another round. Times are whole microseconds.

`advance` goes on to a moment and returns, so that who calls may add or take machines there; if that
one wants to do so before tasks are placed, it stops in between, and tells all that was started and
has ended (`placing_state.MOST_LOGGED`).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bursar.kernels import placing_keys as keys
from bursar.kernels import placing_rows as row
from bursar.kernels import placing_state as ps
from bursar.kernels.placing_keys import (
    by_arrival,
    highest_rank,
    lowest_rank,
    most_delayed,
    share_left,
    stretched,
    trust,
)
from bursar.kernels.placing_learning import expect, learn, look_half_way, remember, taking
from bursar.kernels.placing_state import (
    PlacingState,
    append,
    dequeue,
    drop,
    enqueue,
    note,
    pop,
    push,
)
from bursar.kernels.tokens import kept_idle, largest_generation, scaled_target
from bursar.model.picking import count_in, drawn, find_in


def advance(rule: int, state: PlacingState, until: int) -> int:
    """Simulate to a moment, which is included; how many works are then there and not done."""
    table, numbers = state.table, state.numbers
    if numbers[ps.AT_ONCE]:
        place_tasks(rule, state)
    most_logged, numbers[ps.PAUSED] = numbers[ps.MOST_LOGGED], 0
    while numbers[ps.MOST_WORKS] == 0 or numbers[ps.UNDONE] <= numbers[ps.MOST_WORKS]:
        then = until + 1
        if numbers[ps.RUNNING] > 0:
            then = table[row.END, table[row.RUNNING, 0]]
        if numbers[ps.ARRIVED] < numbers[ps.WORKS]:
            arrival = table[row.ARRIVED, numbers[ps.ARRIVED]]
            then = arrival if arrival < then else then
        if then > until:
            break
        numbers[ps.NOW] = then
        while numbers[ps.RUNNING] > 0 and table[row.END, table[row.RUNNING, 0]] == then:
            complete(rule, state)
        while numbers[ps.ARRIVED] < numbers[ps.WORKS]:
            if table[row.ARRIVED, numbers[ps.ARRIVED]] > then:
                break
            arrive(rule, state)
        if most_logged > 0 and (then == until or numbers[ps.LOGGED] >= most_logged):
            numbers[ps.PAUSED] = 1
            break
        place_tasks(rule, state)
    undone: int = numbers[ps.UNDONE]
    return undone


def complete(rule: int, state: PlacingState) -> None:
    """The task that ends first has ended."""
    table, numbers = state.table, state.numbers
    task = pop(table, row.RUNNING, 0, numbers[ps.RUNNING], row.END)
    numbers[ps.RUNNING] -= 1
    if numbers[ps.MOST_LOGGED] > 0:
        note(state, ~task)
    table[row.STATUS, task] = ps.DONE
    table[row.MISSING, task] = -1
    work, machine = table[row.WORK, task], table[row.MACHINE, task]
    push(table, row.IDLE, 0, numbers[ps.IDLE], machine, row.ORDER)
    numbers[ps.IDLE] += 1
    group = table[row.GROUP, machine]
    if table[row.IDLE_OF, group] == 0:
        numbers[ps.SPEEDS] += 1
    table[row.IDLE_OF, group] += 1
    table[row.LEFT, work] -= 1
    table[row.ACTIVE, work] -= 1
    table[row.TARGET, work] = -1
    if rule == keys.RESERVE:
        table[row.HELD, work] += 1
        numbers[ps.HELD] += 1
    if table[row.LEFT, work] == 0:
        numbers[ps.UNDONE] -= 1
        if rule == keys.RESERVE:
            leave(state, work)
    took = table[row.END, task] - table[row.START, task]
    remember(state, took, table[row.DUE_KEY, task])
    if rule > keys.BACKFILL:
        learn(state, task)
    for edge in range(table[row.CHILDREN_START, task], table[row.CHILDREN_START, task + 1]):
        child = state.children[edge]
        table[row.MISSING, child] -= 1
        if table[row.MISSING, child] == 0:
            table[row.FRESH, numbers[ps.FRESH]] = child
            numbers[ps.FRESH] += 1
    if table[row.WAITING, work] > 0 and (rule == keys.FDWS or numbers[ps.LEARNS]):
        refresh(rule, state, work)


def arrive(rule: int, state: PlacingState) -> None:
    """The next work: its ranks, and the tasks that need no others."""
    table, numbers = state.table, state.numbers
    work = numbers[ps.ARRIVED]
    numbers[ps.ARRIVED] += 1
    begin, end = table[row.FIRST, work], table[row.FIRST, work + 1]
    table[row.LEFT, work] = end - begin
    if end == begin:
        return
    numbers[ps.UNDONE] += 1
    if rule == keys.RESERVE:
        table[row.QUEUE, numbers[ps.QUEUED]] = work
        numbers[ps.QUEUED] += 1
    if rule > keys.BACKFILL:
        expect(state, work)
        rank_tasks(state, work)
    for task in range(begin, end):
        table[row.MISSING, task] = (
            table[row.PARENTS_START, task + 1] - table[row.PARENTS_START, task]
        )
        if table[row.MISSING, task] == 0:
            table[row.FRESH, numbers[ps.FRESH]] = task
            numbers[ps.FRESH] += 1
        if rule <= keys.BACKFILL:
            table[row.POOL, task] = 0
        if rule >= keys.FWP:
            push(table, row.AHEAD, begin, task - begin, task, row.FALL)
            table[row.WORK_LEFT, work] += table[row.ESTIMATE, task]
    table[row.AHEAD_SIZE, work] = end - begin
    table[row.PATH_LEFT, work] = table[row.PATH, work]


def rank_tasks(state: PlacingState, work: int) -> None:
    """Fill the upward ranks of a work, from its last tasks on, and its critical path.

    Until it is done, the pool has the tasks in order, and `MISSING` children instead of parents.
    """
    table = state.table
    begin, end = table[row.FIRST, work], table[row.FIRST, work + 1]
    last = begin
    for task in range(begin, end):
        table[row.RANK, task] = 0
        children = table[row.CHILDREN_START, task + 1] - table[row.CHILDREN_START, task]
        table[row.MISSING, task] = children
        if children == 0:
            table[row.POOL, last] = task
            last += 1
    path = 0
    for place in range(begin, end):
        task = table[row.POOL, place]
        rank = table[row.RANK, task] + table[row.ESTIMATE, task]
        table[row.RANK, task] = rank
        table[row.FALL, task] = -rank
        path = rank if rank > path else path
        for edge in range(table[row.PARENTS_START, task], table[row.PARENTS_START, task + 1]):
            parent = state.parents[edge]
            above = table[row.RANK, parent]
            table[row.RANK, parent] = rank if rank > above else above
            table[row.MISSING, parent] -= 1
            if table[row.MISSING, parent] == 0:
                table[row.POOL, last] = parent
                last += 1
    table[row.PATH, work] = path


def admit(rule: int, state: PlacingState) -> None:
    """The tasks that have become eligible wait for machines."""
    table, numbers = state.table, state.numbers
    for place in range(numbers[ps.FRESH]):
        task = table[row.FRESH, place]
        work = table[row.WORK, task]
        base = table[row.FIRST, work]
        table[row.STATUS, task] = ps.ELIGIBLE
        if rule <= keys.BACKFILL:
            count_in(table[row.POOL], base, table[row.FIRST, work + 1] - base, task - base, 1)
        else:
            push(table, row.POOL, base, table[row.POOL_SIZE, work], task, row.FALL)
            table[row.POOL_SIZE, work] += 1
        if rule == keys.HR:
            push(table, row.LOW, base, table[row.LOW_SIZE, work], task, row.RANK)
            table[row.LOW_SIZE, work] += 1
        table[row.WAITING, work] += 1
        refresh(rule, state, work)
    numbers[ps.FRESH] = 0


def refresh(rule: int, state: PlacingState, work: int) -> None:
    """Put a work where it belongs in the queue, after something of it has changed."""
    table, ratio = state.table, state.ratio
    if rule == keys.RESERVE:
        return
    if rule >= keys.FWP:
        if table[row.WAITING, work] > 0:
            append(state, work)
        elif table[row.SPOT, work] >= 0:
            drop(state, work)
        return
    if table[row.WAITING, work] == 0:
        if table[row.SPOT, work] >= 0:
            dequeue(state, work)
        return
    if rule <= keys.CPP and table[row.SPOT, work] >= 0:
        return  # its key is when it arrived: it is where it belongs
    base, factor = table[row.FIRST, work], ratio[row.FACTOR, work]
    key = by_arrival()
    if rule == keys.FDWS:
        tasks, left = table[row.FIRST, work + 1] - base, table[row.LEFT, work]
        key = share_left(left, tasks, table[row.PATH, work] * factor)
    elif rule == keys.HR:
        while table[row.STATUS, table[row.LOW, base]] != ps.ELIGIBLE:
            pop(table, row.LOW, base, table[row.LOW_SIZE, work], row.RANK)
            table[row.LOW_SIZE, work] -= 1
        key = lowest_rank(table[row.RANK, table[row.LOW, base]] * factor)
    elif keys.OWM <= rule <= keys.OWM_HIGHEST:
        rank = table[row.RANK, table[row.POOL, base]] * factor
        key = lowest_rank(rank) if rule == keys.OWM else highest_rank(rank)
    ratio[row.KEY, work] = key
    enqueue(state, work)


def place_tasks(rule: int, state: PlacingState) -> None:
    """Start tasks while machines are idle."""
    table, numbers = state.table, state.numbers
    admit(rule, state)
    if rule == keys.RESERVE:
        place_reserved(state)
        return
    postponed = 0
    scale = time_scale(state)
    while numbers[ps.IDLE] > 0 and numbers[ps.QUEUED] > 0:
        work = table[row.QUEUE, 0]
        if rule >= keys.FWP:
            work = most_urgent(rule, state, scale, numbers[ps.POWER])
        elif keys.OWM <= rule <= keys.OWM_HIGHEST and is_better_later(
            state, table[row.POOL, table[row.FIRST, work]]
        ):
            dequeue(state, work)
            table[row.ASIDE, postponed] = work
            postponed += 1
            continue
        task = take(rule, state, work, numbers[ps.SEED])
        begin(rule, state, task)
        refresh(rule, state, work)
    for place in range(postponed):
        enqueue(state, table[row.ASIDE, place])


def place_reserved(state: PlacingState) -> None:
    """Walk the works in the order of arrival: start what waits, and reserve up to the target.

    Machines that a work has reserved are idle and count as free for it and, unless reservations are
    lazy, for those that arrived before.
    """
    table, numbers = state.table, state.numbers
    is_lazy = numbers[ps.LAZY] == 1
    free = numbers[ps.IDLE]
    if is_lazy:
        give_up(state, numbers[ps.HELD] - free)
        free -= numbers[ps.HELD]
    else:
        numbers[ps.HELD] = 0
    for place in range(numbers[ps.QUEUED]):
        if free == 0 and (not is_lazy or numbers[ps.HELD] == 0):
            break
        work = table[row.QUEUE, place]
        if is_lazy:
            numbers[ps.HELD] -= table[row.HELD, work]
            free += table[row.HELD, work]
        if table[row.TARGET, work] < 0:
            table[row.TARGET, work] = reservation(state, work)
        waiting, active = table[row.WAITING, work], table[row.ACTIVE, work]
        kept = kept_idle(waiting, active, table[row.TARGET, work], free)
        while table[row.WAITING, work] > 0 and free > 0:
            begin(keys.RESERVE, state, take(0, state, work, numbers[ps.SEED]))
            free -= 1
        table[row.HELD, work] = kept
        numbers[ps.HELD] += kept
        free -= kept


def give_up(state: PlacingState, machines: int) -> None:
    """Machines that were reserved have left: works that arrived last give theirs up first."""
    table, numbers = state.table, state.numbers
    place = numbers[ps.QUEUED]
    while machines > 0 and place > 0:
        place -= 1
        work = table[row.QUEUE, place]
        lost = min(machines, table[row.HELD, work])
        table[row.HELD, work] -= lost
        numbers[ps.HELD] -= lost
        machines -= lost


def reservation(state: PlacingState, work: int) -> int:
    """How many machines a work is to have at least."""
    table, numbers = state.table, state.numbers
    scratch = (table[row.DUE], table[row.LOW], table[row.AHEAD], table[row.OVERDUE])
    most = largest_generation(
        table[row.FIRST, work],
        table[row.FIRST, work + 1],
        table[row.MISSING],
        table[row.CHILDREN_START],
        state.children,
        numbers[ps.READING],
        numbers[ps.DEPTH],
        scratch,
    )
    return scaled_target(most, numbers[ps.SHARE])


def leave(state: PlacingState, work: int) -> None:
    """A work is done: it leaves the line, and its machines are free."""
    table, numbers = state.table, state.numbers
    numbers[ps.HELD] -= table[row.HELD, work]
    table[row.HELD, work] = 0
    numbers[ps.QUEUED] -= 1
    place = 0
    while table[row.QUEUE, place] != work:
        place += 1
    for later in range(place, numbers[ps.QUEUED]):
        table[row.QUEUE, later] = table[row.QUEUE, later + 1]


def time_scale(state: PlacingState) -> float:
    """What times on the clock are multiplied by to compare them with estimates at speed 1."""
    ratio, numbers = state.ratio, state.numbers
    scale: float = ratio[row.MEAN, 0]
    if numbers[ps.TAKEN] > 0 and numbers[ps.EXPECTED] > 0:
        scale *= numbers[ps.EXPECTED] / numbers[ps.TAKEN]
    return scale


def most_urgent(rule: int, state: PlacingState, scale: float, power: int) -> int:
    """The work with the least key, of those with tasks that wait: keys change with time."""
    table, ratio, numbers = state.table, state.ratio, state.numbers
    now, history = numbers[ps.NOW], numbers[ps.HISTORY]
    least_verdicts = history // 10 if history >= 20 else 1
    trusted = trust(numbers[ps.AGREED], numbers[ps.COMPARED], least_verdicts)
    best, least = -1, np.inf
    for place in range(numbers[ps.QUEUED]):
        work = table[row.QUEUE, place]
        age = now - table[row.ARRIVED, work]
        factor = ratio[row.FACTOR, work]
        path, path_left = table[row.PATH, work] * factor, table[row.PATH_LEFT, work] * factor
        if rule == keys.FWP:
            key = most_delayed(age, scale, path_left, path)
        elif trusted == keys.RIGHT:
            work_left = table[row.WORK_LEFT, work] * factor
            key = stretched(age, scale, path_left, path, work_left, power)
        elif trusted == keys.ROUGH:
            tasks = table[row.FIRST, work + 1] - table[row.FIRST, work]
            key = share_left(table[row.LEFT, work], tasks, path)
        else:
            key = by_arrival()
        if key < least or (key == least and work < best):
            best, least = work, key
    return best


def take(rule: int, state: PlacingState, work: int, seed: int) -> int:
    """The task of a work that is started next."""
    table, numbers = state.table, state.numbers
    base: int = table[row.FIRST, work]
    if rule <= keys.BACKFILL:
        index = drawn(seed, work, table[row.DRAWS, work], table[row.WAITING, work])
        table[row.DRAWS, work] += 1
        size = table[row.FIRST, work + 1] - base
        tree = table[row.POOL]
        place = find_in(tree, base, size, index)
        count_in(tree, base, size, place, -1)
        task = base + place
    elif rule == keys.HR and numbers[ps.QUEUED] > 1:
        task = pop(table, row.LOW, base, table[row.LOW_SIZE, work], row.RANK)
        table[row.LOW_SIZE, work] -= 1
    else:
        task = pop(table, row.POOL, base, table[row.POOL_SIZE, work], row.FALL)
        table[row.POOL_SIZE, work] -= 1
        while table[row.STATUS, task] != ps.ELIGIBLE:  # `hr` has taken it from the other heap
            task = pop(table, row.POOL, base, table[row.POOL_SIZE, work], row.FALL)
            table[row.POOL_SIZE, work] -= 1
    table[row.WAITING, work] -= 1
    return task


def begin(rule: int, state: PlacingState, task: int) -> None:
    """Start a task on the fastest idle machine."""
    table, ratio, numbers = state.table, state.ratio, state.numbers
    machine = pop(table, row.IDLE, 0, numbers[ps.IDLE], row.ORDER)
    numbers[ps.IDLE] -= 1
    group = table[row.GROUP, machine]
    table[row.IDLE_OF, group] -= 1
    if table[row.IDLE_OF, group] == 0:
        numbers[ps.SPEEDS] -= 1
    now, work = numbers[ps.NOW], table[row.WORK, task]
    runtime = np.int64(np.rint(table[row.RUNTIME, task] / ratio[row.SPEED, machine]))
    table[row.START, task] = now
    table[row.END, task] = now + runtime + table[row.TRANSFER, task]
    table[row.MACHINE, task] = machine
    if numbers[ps.MOST_LOGGED] > 0:
        note(state, task)
    if numbers[ps.HISTORY] > 0:
        look_half_way(state, task)
    table[row.STATUS, task] = ps.RUNS
    table[row.ACTIVE, work] += 1
    push(table, row.RUNNING, 0, numbers[ps.RUNNING], task, row.END)
    numbers[ps.RUNNING] += 1
    if rule >= keys.FWP:
        table[row.DUE_KEY, task] = taking(state, task, machine)
        base = table[row.FIRST, work]
        table[row.WORK_LEFT, work] -= table[row.ESTIMATE, task]
        size = table[row.AHEAD_SIZE, work]
        while size > 0 and table[row.STATUS, table[row.AHEAD, base]] >= ps.RUNS:
            pop(table, row.AHEAD, base, size, row.FALL)
            size -= 1
        table[row.AHEAD_SIZE, work] = size
        table[row.PATH_LEFT, work] = table[row.RANK, table[row.AHEAD, base]] if size > 0 else 0
    elif keys.OWM <= rule <= keys.OWM_HIGHEST and numbers[ps.GROUPS] > 1:
        expected = now + taking(state, task, machine)
        table[row.DUE_KEY, task] = expected * numbers[ps.MACHINES] + machine
        push(table, row.DUE, 0, numbers[ps.DUE], task, row.DUE_KEY)
        numbers[ps.DUE] += 1


def is_better_later(state: PlacingState, task: int) -> bool:
    """Whether `owm` postpones a task: the machine that is idle next would end it sooner (3.3.4).

    Only where all machines that are idle are equally fast.
    """
    table, numbers = state.table, state.numbers
    if numbers[ps.GROUPS] == 1 or numbers[ps.SPEEDS] > 1:
        return False
    count, now = numbers[ps.MACHINES], numbers[ps.NOW]
    drop_due(state)
    if numbers[ps.OVERDUE] > 0:
        other, free = table[row.MACHINE, table[row.OVERDUE, 0]], now
    elif numbers[ps.DUE] > 0:
        first = table[row.DUE, 0]
        other, free = table[row.MACHINE, first], table[row.DUE_KEY, first] // count
    else:
        return False
    here = now + taking(state, task, table[row.IDLE, 0])
    return bool(free + taking(state, task, other) < here)


def drop_due(state: PlacingState) -> None:
    """Leave what is expected to end later in `DUE`; what should have ended is in `OVERDUE`.

    Tasks that are done may stay in both, but not at their fronts.
    """
    table, numbers = state.table, state.numbers
    count, now = numbers[ps.MACHINES], numbers[ps.NOW]
    while numbers[ps.DUE] > 0:
        first = table[row.DUE, 0]
        is_done = table[row.STATUS, first] == ps.DONE
        if not is_done and table[row.DUE_KEY, first] // count > now:
            break
        pop(table, row.DUE, 0, numbers[ps.DUE], row.DUE_KEY)
        numbers[ps.DUE] -= 1
        if not is_done and not numbers[ps.FORGETS_OVERDUE]:
            table[row.DUE_KEY, first] = table[row.MACHINE, first]
            push(table, row.OVERDUE, 0, numbers[ps.OVERDUE], first, row.DUE_KEY)
            numbers[ps.OVERDUE] += 1
    while numbers[ps.OVERDUE] > 0 and table[row.STATUS, table[row.OVERDUE, 0]] == ps.DONE:
        pop(table, row.OVERDUE, 0, numbers[ps.OVERDUE], row.DUE_KEY)
        numbers[ps.OVERDUE] -= 1


FOR_EACH_TASK: Final = (complete, arrive, admit, begin, take)
"""what runs for each task, and is compiled where it is called: a call hands on five arrays"""
PARTS: Final = (
    rank_tasks,
    refresh,
    place_tasks,
    place_reserved,
    give_up,
    reservation,
    leave,
    time_scale,
    most_urgent,
    is_better_later,
    drop_due,
)
"""what else the compiler is to know"""
