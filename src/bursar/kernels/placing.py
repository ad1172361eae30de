"""Workloads of workflows on machines: one event loop for all placers, which numba compiles.

All events of an instant come first, completions before arrivals; then tasks are placed, the work
with the least key first (`placing_keys`), each on the fastest machine that is idle. Tasks that take
no time end in the same instant, in another round. Times are whole microseconds.

`advance` goes on to a moment and returns, so that who calls may add or take machines there.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from bursar.kernels import placing_keys as keys
from bursar.kernels import placing_state as ps
from bursar.kernels.placing_keys import (
    by_arrival,
    drawn,
    highest_rank,
    is_trusted,
    lowest_rank,
    most_delayed,
    share_left,
    stretched,
)
from bursar.kernels.placing_learning import expect, learn, look_half_way, remember, taking
from bursar.kernels.placing_state import (
    PlacedMachines,
    PlacedWorks,
    PlacingState,
    append,
    count_in,
    dequeue,
    drop,
    enqueue,
    find_in,
    pop,
    push,
)
from bursar.kernels.tokens import kept_idle, largest_generation, scaled_target

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""


def advance(
    rule: int,
    works: PlacedWorks,
    machines: PlacedMachines,
    state: PlacingState,
    until: int,
    options: Array,
) -> int:
    """Simulate to a moment, which is included; how many works are then there and not done.

    `options` are in `placing_state`.
    """
    numbers = state.numbers
    if options[ps.AT_ONCE]:
        place_tasks(rule, works, machines, state, options)
    while options[ps.MOST_WORKS] == 0 or numbers[ps.UNDONE] <= options[ps.MOST_WORKS]:
        then = until + 1
        if numbers[ps.RUNNING] > 0:
            then = state.end[state.running[0]]
        if numbers[ps.ARRIVED] < len(works.arrived):
            then = min(then, works.arrived[numbers[ps.ARRIVED]])
        if then > until:
            break
        numbers[ps.NOW] = then
        while numbers[ps.RUNNING] > 0 and state.end[state.running[0]] == then:
            complete(rule, works, machines, state)
        while numbers[ps.ARRIVED] < len(works.arrived):
            if works.arrived[numbers[ps.ARRIVED]] > then:
                break
            arrive(rule, works, state)
        place_tasks(rule, works, machines, state, options)
    return int(numbers[ps.UNDONE])


def complete(rule: int, works: PlacedWorks, machines: PlacedMachines, state: PlacingState) -> None:
    """The task that ends first has ended."""
    numbers = state.numbers
    task = pop(state.running, 0, numbers[ps.RUNNING], state.end)
    numbers[ps.RUNNING] -= 1
    state.status[task] = ps.DONE
    state.missing[task] = -1
    work, machine = works.work[task], state.machine[task]
    push(state.idle, 0, numbers[ps.IDLE], machine, machines.order)
    numbers[ps.IDLE] += 1
    if state.idle_of[machines.group[machine]] == 0:
        numbers[ps.SPEEDS] += 1
    state.idle_of[machines.group[machine]] += 1
    state.left[work] -= 1
    state.active[work] -= 1
    state.target[work] = -1
    if rule == keys.RESERVE:
        state.held[work] += 1
        numbers[ps.HELD] += 1
    if state.left[work] == 0:
        numbers[ps.UNDONE] -= 1
        if rule == keys.RESERVE:
            leave(state, work)
    remember(state, state.end[task] - state.start[task], state.due_key[task])
    if rule > keys.BACKFILL:
        learn(works, machines, state, task)
    for edge in range(works.children_start[task], works.children_start[task + 1]):
        child = works.children[edge]
        state.missing[child] -= 1
        if state.missing[child] == 0:
            state.fresh[numbers[ps.FRESH]] = child
            numbers[ps.FRESH] += 1
    if state.waiting[work] > 0 and (rule == keys.FDWS or len(works.kinds) > 0):
        refresh(rule, works, state, work)


def arrive(rule: int, works: PlacedWorks, state: PlacingState) -> None:
    """The next work: its ranks, and the tasks that need no others."""
    numbers = state.numbers
    work = numbers[ps.ARRIVED]
    numbers[ps.ARRIVED] += 1
    begin, end = works.first[work], works.first[work + 1]
    state.left[work] = end - begin
    if end == begin:
        return
    numbers[ps.UNDONE] += 1
    if rule == keys.RESERVE:
        state.queue[numbers[ps.QUEUED]] = work
        numbers[ps.QUEUED] += 1
    if rule > keys.BACKFILL:
        expect(works, state, work)
        rank_tasks(works, state, work)
    for task in range(begin, end):
        state.missing[task] = works.parents_start[task + 1] - works.parents_start[task]
        if state.missing[task] == 0:
            state.fresh[numbers[ps.FRESH]] = task
            numbers[ps.FRESH] += 1
        if rule <= keys.BACKFILL:
            state.pool[task] = 0
        if rule >= keys.FWP:
            push(state.ahead, begin, task - begin, task, state.fall)
            state.work_left[work] += works.estimates[task]
    state.ahead_size[work] = end - begin


def rank_tasks(works: PlacedWorks, state: PlacingState, work: int) -> None:
    """Fill the upward ranks of a work, from its last tasks on, and its critical path."""
    begin, end = works.first[work], works.first[work + 1]
    order, rank, open_children = state.pool, state.rank, state.missing
    last = begin
    for task in range(begin, end):
        rank[task] = 0
        open_children[task] = works.children_start[task + 1] - works.children_start[task]
        if open_children[task] == 0:
            order[last] = task
            last += 1
    path = 0
    for place in range(begin, end):
        task = order[place]
        rank[task] += works.estimates[task]
        state.fall[task] = -rank[task]
        path = max(path, rank[task])
        for edge in range(works.parents_start[task], works.parents_start[task + 1]):
            parent = works.parents[edge]
            rank[parent] = max(rank[parent], rank[task])
            open_children[parent] -= 1
            if open_children[parent] == 0:
                order[last] = parent
                last += 1
    state.path[work] = path


def admit(rule: int, works: PlacedWorks, state: PlacingState) -> None:
    """The tasks that have become eligible wait for machines."""
    numbers = state.numbers
    for place in range(numbers[ps.FRESH]):
        task = state.fresh[place]
        work = works.work[task]
        base = works.first[work]
        state.status[task] = ps.ELIGIBLE
        if rule <= keys.BACKFILL:
            count_in(state.pool, base, works.first[work + 1] - base, task - base, 1)
        else:
            push(state.pool, base, state.pool_size[work], task, state.fall)
            state.pool_size[work] += 1
        if rule == keys.HR:
            push(state.low, base, state.low_size[work], task, state.rank)
            state.low_size[work] += 1
        state.waiting[work] += 1
        refresh(rule, works, state, work)
    numbers[ps.FRESH] = 0


def refresh(rule: int, works: PlacedWorks, state: PlacingState, work: int) -> None:
    """Put a work where it belongs in the queue, after something of it has changed."""
    if rule == keys.RESERVE:
        return
    if rule >= keys.FWP:
        if state.waiting[work] > 0:
            append(state, work)
        elif state.spot[work] >= 0:
            drop(state, work)
        return
    if state.waiting[work] == 0:
        if state.spot[work] >= 0:
            dequeue(state, work)
        return
    base = works.first[work]
    if rule == keys.FDWS:
        tasks = works.first[work + 1] - base
        state.key[work] = share_left(state.left[work], tasks, state.path[work] * state.factor[work])
    elif rule == keys.OWM:
        state.key[work] = lowest_rank(state.rank[state.pool[base]] * state.factor[work])
    elif rule == keys.OWM_HIGHEST:
        state.key[work] = highest_rank(state.rank[state.pool[base]] * state.factor[work])
    elif rule == keys.HR:
        while state.status[state.low[base]] != ps.ELIGIBLE:
            pop(state.low, base, state.low_size[work], state.rank)
            state.low_size[work] -= 1
        state.key[work] = lowest_rank(state.rank[state.low[base]] * state.factor[work])
    else:
        state.key[work] = by_arrival()
    enqueue(state, work)


def place_tasks(
    rule: int, works: PlacedWorks, machines: PlacedMachines, state: PlacingState, options: Array
) -> None:
    """Start tasks while machines are idle."""
    admit(rule, works, state)
    if rule == keys.RESERVE:
        place_reserved(works, machines, state, options)
        return
    numbers = state.numbers
    postponed = 0
    scale = time_scale(machines, state)
    while numbers[ps.IDLE] > 0 and numbers[ps.QUEUED] > 0:
        work = state.queue[0]
        if rule >= keys.FWP:
            work = most_urgent(rule, works, state, scale, options[ps.POWER])
        elif keys.OWM <= rule <= keys.OWM_HIGHEST and is_better_later(
            works, machines, state, state.pool[works.first[work]]
        ):
            dequeue(state, work)
            state.aside[postponed] = work
            postponed += 1
            continue
        task = take(rule, works, state, work, options[ps.SEED])
        begin(rule, works, machines, state, task)
        refresh(rule, works, state, work)
    for place in range(postponed):
        enqueue(state, state.aside[place])


def place_reserved(
    works: PlacedWorks, machines: PlacedMachines, state: PlacingState, options: Array
) -> None:
    """Walk the works in the order of arrival: start what waits, and reserve up to the target.

    Machines that a work has reserved are idle and count as free for it and, unless reservations are
    lazy, for those that arrived before.
    """
    numbers = state.numbers
    is_lazy = options[ps.LAZY] == 1
    free = numbers[ps.IDLE]
    if is_lazy:
        free -= numbers[ps.HELD]
    else:
        numbers[ps.HELD] = 0
    for place in range(numbers[ps.QUEUED]):
        if free == 0 and (not is_lazy or numbers[ps.HELD] == 0):
            break
        work = state.queue[place]
        if is_lazy:
            numbers[ps.HELD] -= state.held[work]
            free += state.held[work]
        if state.target[work] < 0:
            state.target[work] = reservation(works, state, work, options)
        kept = kept_idle(state.waiting[work], state.active[work], state.target[work], free)
        while state.waiting[work] > 0 and free > 0:
            begin(keys.RESERVE, works, machines, state, take(0, works, state, work, options[0]))
            free -= 1
        state.held[work] = kept
        numbers[ps.HELD] += kept
        free -= kept


def reservation(works: PlacedWorks, state: PlacingState, work: int, options: Array) -> int:
    """How many machines a work is to have at least."""
    scratch = (state.due, state.low, state.ahead, state.overdue)
    most = largest_generation(
        works.first[work],
        works.first[work + 1],
        state.missing,
        works.children_start,
        works.children,
        options[ps.READING],
        options[ps.DEPTH],
        scratch,
    )
    return scaled_target(most, options[ps.SHARE])


def leave(state: PlacingState, work: int) -> None:
    """A work is done: it leaves the line, and its machines are free."""
    numbers, queue = state.numbers, state.queue
    numbers[ps.HELD] -= state.held[work]
    state.held[work] = 0
    numbers[ps.QUEUED] -= 1
    place = 0
    while queue[place] != work:
        place += 1
    for later in range(place, numbers[ps.QUEUED]):
        queue[later] = queue[later + 1]


def time_scale(machines: PlacedMachines, state: PlacingState) -> float:
    """What times on the clock are multiplied by to compare them with estimates at speed 1."""
    scale = machines.mean
    if state.numbers[ps.TAKEN] > 0 and state.numbers[ps.EXPECTED] > 0:
        scale *= state.numbers[ps.EXPECTED] / state.numbers[ps.TAKEN]
    return scale


def most_urgent(
    rule: int, works: PlacedWorks, state: PlacingState, scale: float, power: int
) -> int:
    """The work with the least key, of those with tasks that wait: keys change with time."""
    numbers = state.numbers
    now, history = numbers[ps.NOW], len(state.verdicts)
    least_verdicts = max(1, history // 10)
    trusted = is_trusted(numbers[ps.AGREED], numbers[ps.COMPARED], least_verdicts)
    best, least = -1, np.inf
    for place in range(state.numbers[ps.QUEUED]):
        work = state.queue[place]
        age = now - works.arrived[work]
        factor = state.factor[work]
        path, path_left = (
            state.path[work] * factor,
            state.rank[state.ahead[works.first[work]]] * factor,
        )
        if rule == keys.FWP:
            key = most_delayed(age, scale, path_left, path)
        elif trusted:
            key = stretched(age, scale, path_left, path, state.work_left[work] * factor, power)
        else:
            key = by_arrival()
        if key < least or (key == least and work < best):
            best, least = work, key
    return best


def take(rule: int, works: PlacedWorks, state: PlacingState, work: int, seed: int) -> int:
    """The task of a work that is started next."""
    base = works.first[work]
    if rule <= keys.BACKFILL:
        index = drawn(seed, work, state.draws[work], state.waiting[work])
        state.draws[work] += 1
        size = works.first[work + 1] - base
        place = find_in(state.pool, base, size, index)
        count_in(state.pool, base, size, place, -1)
        task = base + place
    elif rule == keys.HR and state.numbers[ps.QUEUED] > 1:
        task = pop(state.low, base, state.low_size[work], state.rank)
        state.low_size[work] -= 1
    else:
        task = pop(state.pool, base, state.pool_size[work], state.fall)
        state.pool_size[work] -= 1
        while state.status[task] != ps.ELIGIBLE:  # `hr` has taken it from the other heap
            task = pop(state.pool, base, state.pool_size[work], state.fall)
            state.pool_size[work] -= 1
    state.waiting[work] -= 1
    return int(task)


def begin(
    rule: int, works: PlacedWorks, machines: PlacedMachines, state: PlacingState, task: int
) -> None:
    """Start a task on the fastest idle machine."""
    numbers = state.numbers
    machine = pop(state.idle, 0, numbers[ps.IDLE], machines.order)
    numbers[ps.IDLE] -= 1
    state.idle_of[machines.group[machine]] -= 1
    if state.idle_of[machines.group[machine]] == 0:
        numbers[ps.SPEEDS] -= 1
    now, work = numbers[ps.NOW], works.work[task]
    runtime = int(np.rint(works.runtimes[task] / machines.speed[machine]))
    state.start[task], state.end[task], state.machine[task] = now, now + runtime, machine
    if len(state.verdicts) > 0:
        look_half_way(works, state, task)
    state.status[task] = ps.RUNS
    state.active[work] += 1
    push(state.running, 0, numbers[ps.RUNNING], task, state.end)
    numbers[ps.RUNNING] += 1
    if rule >= keys.FWP:
        state.due_key[task] = taking(works, machines, state, task, machine)
        base = works.first[work]
        state.work_left[work] -= works.estimates[task]
        size = state.ahead_size[work]
        while size > 0 and state.status[state.ahead[base]] >= ps.RUNS:
            pop(state.ahead, base, size, state.fall)
            size -= 1
        state.ahead_size[work] = size
    elif keys.OWM <= rule <= keys.OWM_HIGHEST and len(state.idle_of) > 1:
        expected = now + taking(works, machines, state, task, machine)
        state.due_key[task] = expected * len(machines.speed) + machine
        push(state.due, 0, numbers[ps.DUE], task, state.due_key)
        numbers[ps.DUE] += 1


def is_better_later(
    works: PlacedWorks, machines: PlacedMachines, state: PlacingState, task: int
) -> bool:
    """Whether `owm` postpones a task: the machine that is idle next would end it sooner (3.3.4).

    Only where all machines that are idle are equally fast.
    """
    numbers = state.numbers
    if len(state.idle_of) == 1 or numbers[ps.SPEEDS] > 1:
        return False
    count, now = len(machines.speed), numbers[ps.NOW]
    while numbers[ps.DUE] > 0:
        first = state.due[0]
        if state.status[first] != ps.DONE and state.due_key[first] // count > now:
            break
        pop(state.due, 0, numbers[ps.DUE], state.due_key)
        numbers[ps.DUE] -= 1
        if state.status[first] != ps.DONE:
            state.due_key[first] = state.machine[first]
            push(state.overdue, 0, numbers[ps.OVERDUE], first, state.due_key)
            numbers[ps.OVERDUE] += 1
    while numbers[ps.OVERDUE] > 0 and state.status[state.overdue[0]] == ps.DONE:
        pop(state.overdue, 0, numbers[ps.OVERDUE], state.due_key)
        numbers[ps.OVERDUE] -= 1
    if numbers[ps.OVERDUE] > 0:
        other, free = state.machine[state.overdue[0]], now
    elif numbers[ps.DUE] > 0:
        first = state.due[0]
        other, free = state.machine[first], state.due_key[first] // count
    else:
        return False
    here = now + taking(works, machines, state, task, state.idle[0])
    return bool(free + taking(works, machines, state, task, other) < here)


PARTS: Final = (
    complete,
    arrive,
    rank_tasks,
    admit,
    refresh,
    place_tasks,
    place_reserved,
    reservation,
    leave,
    time_scale,
    most_urgent,
    take,
    begin,
    is_better_later,
)
"""what the compiler is to know"""
