"""The tail of a bag with replicas (BaTS thesis, chapter 5), in plain functions that numba compiles.

The same rules, in the same order, as the engine with `fixed`, a placer that follows an order, and a
replicator: in every instant first all attempts end, then leases end, then ready tasks are placed,
then idle machines get replicas; what was cancelled frees its machine one step later, in the same
instant. Until few tasks are ready, the bag runs as in `kernels_list`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from bursar.simulate.kernels_list import (
    GOLDEN,
    NEVER,
    Array,
    Shop,
    draw_order,
    leaves,
    plant,
    run_noting,
    splitmix,
)

STOCHASTIC: Final = 1
RANDOM: Final = 2
STOCHASTIC_RANDOM: Final = 3
MIGRATE: Final = 4
PERFECT: Final = 5

IDLE: Final = 0
BUSY: Final = 1
"""an attempt runs, or the machine boots (then its task is -1)"""
CANCELLING: Final = 2
GONE: Final = 3

MILLION: Final = 1_000_000


class Bench(NamedTuple):
    """What changes while a bag runs; made once and used for many executions."""

    status: Array
    """[machine]: IDLE, BUSY, CANCELLING or GONE"""
    task: Array
    """[machine]: what it runs"""
    started: Array
    ends: Array
    """[machine]: when its attempt ends if nothing intervenes; NEVER while it has none"""
    until: Array
    """[machine]: paid until"""
    turn: Array
    """[machine]: the number of its attempt, in the order of starting"""
    passed: Array
    """[machine]: values that are known not to exceed its attempt's elapsed time"""
    remaining: Array
    """[machine]: expected, where the machine is the first of its task: the least of the task"""
    total: Array
    """[machine]: expected, on the first offer, of the attempt with the least remaining time"""
    done: Array
    """[task]"""
    owner: Array
    """[task]: the machine of its oldest attempt; the others are replicas"""
    front: Array
    """[task]: the machine with the lowest number that runs it"""
    fastest: Array
    """[task]: the pace of the fastest machine that runs it"""
    hopeful: Array
    """[task]: whether it may be a candidate"""
    picked: Array
    """[task]: the call for replicas in which it was last picked"""
    values: Array
    """run times of finished tasks on the first offer, ascending"""
    sums: Array
    """sums[i] is the sum of the first i values"""
    grid: Array
    """grid[c] values are below origin + c * 2**shift: where to begin to look"""
    count: Array
    """[0] tasks done, [1] next ready task's place in the order, [2] attempts started,
    [3] values, [4] calls for replicas, [5] the moment, [6] the next end of a lease,
    [7] attempts being cancelled, [8] machines that are idle, [9] origin and
    [10] shift of the grid"""
    draws: Array
    """[0] the counter of the random numbers"""
    noted: Array
    """first machines of tasks that may be replicated, in the order of their numbers"""
    choice: Array
    """the tasks that are drawn from"""
    hopeless: Array
    """[offer]: the last call for replicas in which there was none for its machines"""


DONE: Final = 0
NEXT: Final = 1
STARTED: Final = 2
VALUES: Final = 3
CALL: Final = 4
NOW: Final = 5
LEASE: Final = 6
CANCELS: Final = 7
SPARE: Final = 8
ORIGIN: Final = 9
SHIFT: Final = 10
CELLS: Final = 256


def make_bench(machines: int, tasks: int, offers: int) -> Bench:
    return Bench(
        status=np.empty(machines, np.int64),
        task=np.empty(machines, np.int64),
        started=np.empty(machines, np.int64),
        ends=np.empty(machines, np.int64),
        until=np.empty(machines, np.int64),
        turn=np.empty(machines, np.int64),
        passed=np.empty(machines, np.int64),
        remaining=np.empty(machines, np.int64),
        total=np.empty(machines, np.int64),
        done=np.empty(tasks, np.bool_),
        owner=np.empty(tasks, np.int64),
        front=np.empty(tasks, np.int64),
        fastest=np.empty(tasks, np.int64),
        hopeful=np.empty(tasks, np.bool_),
        picked=np.empty(tasks, np.int64),
        values=np.empty(tasks + 1, np.int64),
        sums=np.empty(tasks + 1, np.int64),
        grid=np.empty(CELLS, np.int64),
        count=np.zeros(11, np.int64),
        draws=np.zeros(1, np.uint64),
        noted=np.empty(machines, np.int64),
        choice=np.empty(machines, np.int64),
        hopeless=np.zeros(offers, np.int64),
    )


def quotient(amount: int, parts: int) -> int:
    """Divide and round down what is not negative, by a division of floats: much faster."""
    guess = int(float(amount) / float(parts))
    rest = amount - guess * parts
    if rest < 0:
        return guess - 1
    return guess + 1 if rest >= parts else guess


# --- knowledge -----------------------------------------------------------------------------------


def learn(bench: Bench, value: int) -> None:
    """Insert a finished run time; what is longer moves up."""
    values, sums, count = bench.values, bench.sums, bench.count
    place = count[VALUES]
    count[VALUES] = place + 1
    while place > 0 and values[place - 1] > value:
        values[place] = values[place - 1]
        sums[place + 1] = sums[place] + value
        place -= 1
    values[place] = value
    sums[place + 1] = sums[place] + value
    if count[SHIFT] >= 0:
        origin, shift = count[ORIGIN], count[SHIFT]
        first = ((value - origin) >> shift) + 1 if value >= origin else 0
        for cell in range(min(first, CELLS), CELLS):
            bench.grid[cell] += 1


def lay_grid(bench: Bench) -> None:
    """Make the grid for the values so far; from here on `learn` keeps it."""
    values, known, grid = bench.values, bench.count[VALUES], bench.grid
    origin = values[0] if known else 0
    span = values[known - 1] - origin if known else 0
    shift = 0
    while (span >> shift) >= CELLS:
        shift += 1
    place = 0
    for cell in range(CELLS):
        while place < known and values[place] < origin + (cell << shift):
            place += 1
        grid[cell] = place
    bench.count[ORIGIN] = origin
    bench.count[SHIFT] = shift


def look_around(shop: Shop, bench: Bench, strategy: int, target: int) -> int:
    """Note the tasks that may be replicated, the target being the fastest idle machine; how many.

    A task is noted by its first machine, with the least expected remaining time of its attempts.
    """
    status, tasks, front, remaining = bench.status, bench.task, bench.front, bench.remaining
    expected, fastest = bench.total, bench.fastest
    if strategy == PERFECT:
        for machine in range(len(status)):
            remaining[machine] = bench.ends[machine] - bench.count[NOW]
    elif strategy == RANDOM:
        remaining[:] = -1
    else:
        forecast(shop, bench, shop.inverse[shop.offer[target]])
    pace = shop.pace[shop.offer[target]] if strategy in (RANDOM, STOCHASTIC_RANDOM) else 1 << 30
    noted = 0
    for machine in range(len(status)):
        task = tasks[machine]
        if status[machine] != BUSY or task < 0:
            continue
        chief = front[task]
        if chief == machine:
            if remaining[machine] > 0 or fastest[task] > pace:
                bench.noted[noted] = machine
                noted += 1
        elif remaining[machine] < remaining[chief]:
            remaining[chief] = remaining[machine]
            expected[chief] = expected[machine]
    return noted


def forecast(shop: Shop, bench: Bench, target: float) -> None:
    """For every attempt its expected remaining time, and its total on the first offer.

    A task is a candidate for the fastest idle machine, of whose slope `target` is the reciprocal,
    only if one of its attempts is worse than a new one there would be. That is told without a
    division; where it is not so, the remaining time is -1.
    """
    status, tasks, started = bench.status, bench.task, bench.started
    offers, slopes, inverses = shop.offer, shop.slope, shop.inverse
    now, known, sums = bench.count[NOW], bench.count[VALUES], bench.sums
    hopeful, front = bench.hopeful, bench.front
    for machine in range(len(status)):
        task = tasks[machine]
        if status[machine] != BUSY or task < 0:
            continue
        bench.remaining[machine] = -1
        if front[task] == machine:
            hopeful[task] = False
        lead = inverses[offers[machine]] - target
        if lead > 0:
            elapsed = now - started[machine]
            place = locate(bench, machine, elapsed * slopes[offers[machine]] // MILLION)
            longer, above = known - place, sums[known] - sums[place]
            if float(above) * lead + 2.0 * longer > float(elapsed) * longer:
                hopeful[task] = True
    for machine in range(len(status)):
        task = tasks[machine]
        if status[machine] == BUSY and task >= 0 and hopeful[task]:
            slope = slopes[offers[machine]]
            elapsed = now - started[machine]
            place = locate(bench, machine, elapsed * slope // MILLION)
            if place < known:
                mean = quotient(sums[known] - sums[place], known - place)
                bench.total[machine] = mean
                bench.remaining[machine] = quotient(mean * MILLION, slope) - elapsed


def locate(bench: Bench, machine: int, so_far: int) -> int:
    """Where the values begin that are above what the attempt on a machine has run so far."""
    values, known = bench.values, bench.count[VALUES]
    place, origin = bench.passed[machine], bench.count[ORIGIN]
    if so_far >= origin:
        place = max(place, bench.grid[min((so_far - origin) >> bench.count[SHIFT], CELLS - 1)])
    while place < known and values[place] <= so_far:
        place += 1
    bench.passed[machine] = place
    return int(place)


def best_candidate(shop: Shop, bench: Bench, noted: int, target: int, perfect: bool) -> int:
    """The task with the most expected time left that the target is expected to finish sooner."""
    offer = shop.offer[target]
    slope = shop.slope[offer]
    call = bench.count[CALL]
    chosen, longest = -1, 0
    for index in range(noted):
        machine = bench.noted[index]
        task, left = bench.task[machine], bench.remaining[machine]
        if left <= longest or bench.picked[task] == call:
            continue
        if perfect:
            needed = shop.runtimes[offer, task]
        else:
            needed = quotient(bench.total[machine] * MILLION, slope)
        if left > needed:
            chosen, longest = task, left
    return chosen


def random_candidate(shop: Shop, bench: Bench, noted: int, target: int) -> int:
    """A task at random of those that run on slower machines only."""
    pace, call = shop.pace[shop.offer[target]], bench.count[CALL]
    found = 0
    for index in range(noted):
        task = bench.task[bench.noted[index]]
        if bench.fastest[task] > pace and bench.picked[task] != call:
            bench.choice[found] = task
            found += 1
    if found == 0:
        return -1
    bench.draws[0] += np.uint64(GOLDEN)
    chance = np.float64(splitmix(bench.draws[0]) >> np.uint64(11)) * 2.0**-53
    return int(bench.choice[int(chance * found)])


# --- steps ---------------------------------------------------------------------------------------


def survey(shop: Shop, bench: Bench, task: int) -> None:
    """Find out anew on which machines a task runs."""
    front, fastest = -1, 1 << 30
    for machine in range(len(shop.offer)):
        if bench.task[machine] == task and bench.status[machine] == BUSY:
            if front < 0:
                front = machine
            fastest = min(fastest, shop.pace[shop.offer[machine]])
    bench.front[task] = front
    bench.fastest[task] = fastest


def start(shop: Shop, bench: Bench, task: int, machine: int) -> None:
    now = bench.count[NOW]
    bench.count[SPARE] -= 1
    bench.status[machine] = BUSY
    bench.task[machine] = task
    bench.started[machine] = now
    bench.ends[machine] = now + shop.runtimes[shop.offer[machine], task]
    bench.turn[machine] = bench.count[STARTED]
    bench.passed[machine] = 0
    bench.count[STARTED] += 1


def cancel(bench: Bench, machine: int) -> None:
    bench.status[machine] = CANCELLING
    bench.ends[machine] = NEVER
    bench.count[CANCELS] += 1


def free(bench: Bench, machine: int) -> None:
    bench.count[SPARE] += 1
    bench.status[machine] = IDLE
    bench.task[machine] = -1
    bench.ends[machine] = NEVER


def end_attempts(shop: Shop, bench: Bench, completions: Array) -> None:
    """What ends now ends. A task's first success is learned, and its rivals are cancelled."""
    now = bench.count[NOW]
    for machine in range(len(shop.offer)):
        if bench.ends[machine] == now:
            task = bench.task[machine]
            if task >= 0 and not bench.done[task]:
                finish(shop, bench, task, machine, completions)
            free(bench, machine)


def finish(shop: Shop, bench: Bench, task: int, machine: int, completions: Array) -> None:
    """A task is done: of attempts that end together, the one that was started first has won."""
    now = bench.count[NOW]
    winner = machine
    for rival in range(len(shop.offer)):
        if rival != machine and bench.task[rival] == task and bench.status[rival] == BUSY:
            if bench.ends[rival] != now:
                cancel(bench, rival)
            elif bench.turn[rival] < bench.turn[winner]:
                winner = rival
    bench.done[task] = True
    bench.count[DONE] += 1
    completions[task] = now
    offer = shop.offer[winner]
    learn(bench, shop.runtimes[offer, task] * shop.slope[offer] // MILLION)


def end_leases(shop: Shop, bench: Bench, tasks: int, units: Array) -> None:
    """A machine is renewed while tasks are ready, or for the oldest attempt of a task."""
    now, ready = bench.count[NOW], bench.count[NEXT] < tasks
    for machine in range(len(shop.offer)):
        if bench.until[machine] != now:
            continue
        task = bench.task[machine]
        works = bench.status[machine] == BUSY and task >= 0
        offer = shop.offer[machine]
        if ready or (works and bench.owner[task] == machine):
            bench.until[machine] = now + shop.billing[offer]
            continue
        leave(shop, bench, machine, units)
        if works:
            survey(shop, bench, task)


def leave(shop: Shop, bench: Bench, machine: int, units: Array) -> None:
    offer = shop.offer[machine]
    stay = max(bench.count[NOW], shop.least[offer])
    units[offer] += (stay + shop.billing[offer] - 1) // shop.billing[offer]
    bench.count[SPARE] -= bench.status[machine] == IDLE
    bench.status[machine] = GONE
    bench.task[machine] = -1
    bench.ends[machine] = NEVER
    bench.until[machine] = NEVER


def place(shop: Shop, bench: Bench, order: Array) -> None:
    """Ready tasks in their order to idle machines in theirs."""
    for machine in range(len(shop.offer)):
        if bench.count[NEXT] == len(order):
            return
        if bench.status[machine] == IDLE:
            task = order[bench.count[NEXT]]
            bench.count[NEXT] += 1
            start(shop, bench, task, machine)
            bench.owner[task] = machine
            survey(shop, bench, task)


def replicate(shop: Shop, bench: Bench, strategy: int, migrating: bool) -> None:
    """Offer replicas to all idle machines, the fastest first."""
    if bench.count[SPARE] == 0:
        return
    bench.count[CALL] += 1
    call, noted = bench.count[CALL], -1
    for target in shop.swiftest:
        offer = shop.offer[target]
        if bench.status[target] != IDLE or bench.hopeless[offer] == call:
            continue
        if noted < 0:
            noted = look_around(shop, bench, strategy, target)
        if noted == 0:
            return
        task = -1
        if strategy != RANDOM:
            task = best_candidate(shop, bench, noted, target, strategy == PERFECT)
        if task < 0 and (strategy in (RANDOM, STOCHASTIC_RANDOM)):
            task = random_candidate(shop, bench, noted, target)
        if task < 0:
            bench.hopeless[offer] = call
            continue
        bench.picked[task] = call
        if migrating:
            for machine in range(len(shop.offer)):
                if bench.task[machine] == task and bench.status[machine] == BUSY:
                    cancel(bench, machine)
            bench.owner[task] = target
        start(shop, bench, task, target)
        survey(shop, bench, task)


def free_cancelled(shop: Shop, bench: Bench) -> bool:
    """Cancelled attempts have ended: their machines are idle from here on."""
    if bench.count[CANCELS] == 0:
        return False
    for machine in range(len(shop.offer)):
        if bench.status[machine] == CANCELLING:
            free(bench, machine)
    bench.count[CANCELS] = 0
    return True


def advance(shop: Shop, bench: Bench) -> None:
    """To the next moment in which an attempt or a lease ends."""
    moment, lease = NEVER, NEVER
    for machine in range(len(shop.offer)):
        moment = min(moment, bench.ends[machine])
        lease = min(lease, bench.until[machine])
    bench.count[NOW] = min(moment, lease)
    bench.count[LEASE] = lease


def run_tail(
    shop: Shop,
    bench: Bench,
    order: Array,
    strategy: int,
    early: int,
    completions: Array,
    units: Array,
) -> int:
    """From a bench that is set up to the end of the bag; the makespan."""
    tasks = len(order)
    while bench.count[DONE] < tasks:
        advance(shop, bench)
        end_attempts(shop, bench, completions)
        again = True
        while again and bench.count[DONE] < tasks:
            if bench.count[LEASE] == bench.count[NOW]:
                end_leases(shop, bench, tasks, units)
            again = decide(shop, bench, order, strategy, early)
    for machine in range(len(shop.offer)):
        if bench.status[machine] != GONE:
            leave(shop, bench, machine, units)
    return int(bench.count[NOW])


def decide(shop: Shop, bench: Bench, order: Array, strategy: int, early: int) -> bool:
    """One step; whether another follows in the same instant."""
    left = len(order) - bench.count[NEXT]
    if 0 < left <= early:
        replicate(shop, bench, strategy, True)
    if left > 0 and bench.count[SPARE]:
        place(shop, bench, order)
    if strategy > 0 and bench.count[NEXT] == len(order):
        replicate(shop, bench, strategy, False)
    return free_cancelled(shop, bench)


# --- whole bags ----------------------------------------------------------------------------------


def set_up(
    shop: Shop,
    bench: Bench,
    order: Array,
    by_length: Array,
    begun: int,
    tree: Array,
    width: int,
) -> None:
    """Take over from the tree after `begun` tasks were taken; bench.task is what each runs."""
    bench.count[:] = 0
    bench.count[NEXT] = begun
    bench.count[STARTED] = begun
    bench.count[SHIFT] = -1
    bench.done[:] = True
    bench.picked[:] = 0
    bench.hopeless[:] = 0
    bench.sums[0] = 0
    for index in range(begun, len(order)):
        bench.done[order[index]] = False
    moment = tree[1] // width
    for machine in range(len(shop.offer)):
        offer, task = shop.offer[machine], bench.task[machine]
        bench.status[machine] = BUSY
        bench.ends[machine] = tree[width + machine] // width
        billing, paid = shop.billing[offer], shop.paid[offer]
        bench.until[machine] = (max(moment, paid) + billing - 1) // billing * billing
        bench.turn[machine] = 0
        bench.passed[machine] = 0
        if task >= 0:
            bench.done[task] = False
            bench.started[machine] = bench.ends[machine] - shop.runtimes[offer, task]
            bench.owner[task] = machine
            bench.front[task] = machine
            bench.fastest[task] = shop.pace[offer]
    for place_in_length in range(len(order)):
        task = by_length[place_in_length]
        if bench.done[task]:
            offer = shop.offer[bench.owner[task]]
            learn(bench, shop.runtimes[offer, task] * shop.slope[offer] // MILLION)
            bench.count[DONE] += 1
    lay_grid(bench)


def tail_once(
    shop: Shop,
    bench: Bench,
    order: Array,
    by_length: Array,
    strategy: int,
    early: int,
    tree: Array,
    width: int,
    completions: Array,
    units: Array,
) -> int:
    """Execute a bag once; the makespan. `bench.draws` says where the random numbers begin."""
    machines, tasks = len(shop.offer), len(order)
    plant(tree, shop.boot, machines, width)
    bench.task[:] = -1
    begun = max(0, tasks - early - 1)  # the next step begins with more ready than are early
    run_noting(shop, order[:begun], tree, width, bench.task, bench.owner, completions)
    for offer in range(len(shop.billing)):
        units[offer] = 0
    set_up(shop, bench, order, by_length, begun, tree, width)
    return run_tail(shop, bench, order, strategy, early, completions, units)


def tail_many(
    shop: Shop,
    by_length: Array,
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
    width = leaves(machines)
    tree, order = np.empty(2 * width, np.int64), np.empty(tasks, np.int64)
    completions = np.empty(tasks, np.int64)
    bench = make_bench(machines, tasks, len(shop.billing))
    for execution in range(first, last):
        bench.draws[0] = draw_order(order, seed, execution)
        makespans[execution] = tail_once(
            shop,
            bench,
            order,
            by_length,
            strategy,
            early,
            tree,
            width,
            completions,
            units[execution],
        )


def tail_traced(
    shop: Shop,
    order: Array,
    by_length: Array,
    strategy: int,
    early: int,
    draws: Any,
    completions: Array,
    units: Array,
) -> int:
    """Execute a bag once in a given order; the makespan."""
    machines = len(shop.offer)
    width = leaves(machines)
    tree = np.empty(2 * width, np.int64)
    bench = make_bench(machines, len(order), len(shop.billing))
    bench.draws[0] = draws
    return tail_once(
        shop, bench, order, by_length, strategy, early, tree, width, completions, units
    )
