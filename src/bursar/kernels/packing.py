"""A workflow packed onto rented machines, in plain functions that numba compiles.

What the provisioner `prob`, the placer `assigned` and the guard do, where money is no obstacle and
machines are reliable. Offers meet only in the precedence of tasks, so that each is served on its
own, in every instant in which something happened:

1. All ends of tasks and boots of that instant are applied. With the last task everything is over.
2. Machines are rented where more tasks are ready than slots are free, booting ones included, up to
   the cap. One that boots in no time is up at once.
3. The most urgent tasks go to the oldest machines that are up.
4. Machines that are empty now are given back if their time has come, else looked at when it comes.
   With long billing units that is the end of each lease, and then also of those that boot, unless
   more is ready than older ones will take. With short units it is shortly before the end of the one
   in which they have been idle for as long as they boot, and used up the minimum charge.

The engine asks for the last before placing, for what will be empty then: the outcome is the same.

A release never leaves more tasks ready than slots free, and each task becomes ready once: so of no
offer more machines are rented, one after the other, than it has tasks.
"""

from __future__ import annotations

from typing import Final

from bursar.kernels.packing_state import (
    BEGIN,
    BILLING,
    BOOT,
    BOOTING,
    BUSY,
    CAP,
    COUNT,
    FIRST,
    FREE,
    GONE,
    LEASE,
    LIVE,
    LOOK,
    MACHINE,
    MINIMUM,
    MISSING,
    NEEDS,
    NEVER,
    OFFER,
    OWNER,
    PEAK,
    PLACE,
    READY,
    RENTED,
    SINCE,
    SLOTS,
    STATUS,
    UNITS,
    UP,
    Array,
    PackedExecution,
    Site,
    drop,
    find_first,
    make_execution,
    pop,
    push,
    put,
)
from bursar.model.release import EARLIEST, EARLY_PART

# --- what happens --------------------------------------------------------------------------------


def clear(site: Site, run: PackedExecution) -> None:
    """Nothing has happened yet; what has no parents is ready."""
    run.offers[:] = 0
    run.ready[:] = 0
    run.idle[:] = 0
    for task in range(site.plan.shape[0]):
        needs = site.plan[task, NEEDS]
        run.tasks[task, MISSING] = needs
        if needs == 0:
            make_ready(site.plan[task], site.terms, run.offers, run.ready)


def make_ready(plan: Array, terms: Array, offers: Array, ready: Array) -> None:
    offer = plan[OFFER]
    offers[offer, READY] += 1
    put(ready, terms[offer], plan[PLACE])


def end_task(site: Site, run: PackedExecution, task: int, now: int) -> int:
    """Its children may be ready, its slot is free; the machine."""
    for edge in range(site.children_start[task], site.children_start[task + 1]):
        child = site.children[edge]
        run.tasks[child, MISSING] -= 1
        if run.tasks[child, MISSING] == 0:
            make_ready(site.plan[child], site.terms, run.offers, run.ready)
    offer, number = site.plan[task, OFFER], run.tasks[task, MACHINE]
    machine, terms = run.machines[number], site.terms[offer]
    run.offers[offer, FREE] += 1
    machine[BUSY] -= 1
    machine[SINCE] = now
    put(run.idle, terms, number - terms[FIRST])
    return int(number)


def look_at(machine: Array, terms: Array, idle: Array, number: int, now: int) -> None:
    """It may have booted by now."""
    machine[LOOK] = NEVER
    if machine[STATUS] == BOOTING and now >= machine[RENTED] + terms[BOOT]:
        machine[STATUS] = UP
        machine[SINCE] = now
        put(idle, terms, number - terms[FIRST])


# --- renting and placing -------------------------------------------------------------------------


def serve(
    site: Site, run: PackedExecution, offer: int, runtimes: Array, now: int, size: int
) -> int:
    """Rent what is needed for the ready tasks, and start them; the size of the heap."""
    terms, known = site.terms[offer], run.offers[offer]
    if known[READY] > known[FREE]:
        size = rent(run, site.plan.shape[0], offer, terms, now, size)
    while known[READY] > 0:
        place = find_first(run.idle, terms)
        if place < 0:
            break
        number = terms[FIRST] + place
        machine = run.machines[number]
        while known[READY] > 0 and machine[BUSY] < terms[SLOTS]:
            urgent = find_first(run.ready, terms)
            drop(run.ready, terms, urgent)
            task = site.tasks[terms[FIRST] + urgent]
            run.tasks[task, MACHINE] = number
            run.tasks[task, BEGIN] = now
            known[READY] -= 1
            known[FREE] -= 1
            machine[BUSY] += 1
            size = push(run.heap, size, now + runtimes[task], task)
        if machine[BUSY] == terms[SLOTS]:
            drop(run.idle, terms, place)
    return size


def rent(run: PackedExecution, tasks: int, offer: int, terms: Array, now: int, size: int) -> int:
    """As many machines as are needed and allowed; the size of the heap."""
    known = run.offers[offer]
    while known[READY] > known[FREE] and known[LIVE] < terms[CAP]:
        number = terms[FIRST] + known[COUNT]
        known[COUNT] += 1
        known[LIVE] += 1
        known[FREE] += terms[SLOTS]
        machine = run.machines[number]
        machine[OWNER] = offer
        machine[RENTED] = now
        machine[BUSY] = 0
        machine[STATUS] = BOOTING
        if terms[BOOT] == 0:
            look_at(machine, terms, run.idle, number, now)
        else:
            machine[LOOK] = next_while_booting(machine, terms, now)
            size = push(run.heap, size, machine[LOOK], tasks + number)
    known[PEAK] = max(known[PEAK], known[LIVE])
    return size


# --- giving back ---------------------------------------------------------------------------------


def settle(site: Site, run: PackedExecution, number: int, now: int, size: int) -> int:
    """Give an empty machine back, or look at it later; the size of the heap."""
    machine, tasks = run.machines[number], site.plan.shape[0]
    if machine[STATUS] == GONE or machine[BUSY] > 0:
        return size
    offer = machine[OWNER]
    terms, known = site.terms[offer], run.offers[offer]
    if machine[STATUS] == UP:
        until = kept_until(machine, terms, now)
        if until <= now:
            drop(run.idle, terms, number - terms[FIRST])
    elif is_needed(run.machines, number, known[READY], terms, now):
        until = next_while_booting(machine, terms, now)
    else:
        until = now
    if until <= now:
        release(machine, terms, known, now)
    elif machine[LOOK] == NEVER:
        machine[LOOK] = until
        size = push(run.heap, size, until, tasks + number)
    return size


def kept_until(machine: Array, terms: Array, now: int) -> int:
    """When a machine that is empty, and stays so, is given back."""
    if terms[LEASE] > 0:
        return lease_end(machine, terms, now)
    billing, rented = terms[BILLING], machine[RENTED]
    early = min(billing // EARLY_PART, EARLIEST)
    wanted = max(machine[SINCE] + terms[BOOT] - rented, terms[MINIMUM])
    paid = max((wanted + billing - 1) // billing, 1) * billing
    return int(rented + max(wanted, paid - early))


def next_while_booting(machine: Array, terms: Array, now: int) -> int:
    """When a machine is up, or before, when its lease ends."""
    up = machine[RENTED] + terms[BOOT]
    return int(min(up, lease_end(machine, terms, now + 1)) if terms[LEASE] > 0 else up)


def lease_end(machine: Array, terms: Array, now: int) -> int:
    """The first from now on, with long billing units."""
    billing, end = terms[BILLING], machine[RENTED] + terms[LEASE]
    if end < now:
        end += (now - end + billing - 1) // billing * billing
    return int(end)


def is_needed(machines: Array, number: int, ready: int, terms: Array, now: int) -> bool:
    """Whether more is ready than older machines will take that boot as this one does."""
    older = number - 1
    while ready > 0 and older >= terms[FIRST] and machines[older, RENTED] + terms[BOOT] > now:
        if machines[older, STATUS] == BOOTING:
            ready -= terms[SLOTS]
        older -= 1
    return ready > 0


def release(machine: Array, terms: Array, known: Array, now: int) -> None:
    machine[STATUS] = GONE
    known[LIVE] -= 1
    known[FREE] -= terms[SLOTS]
    stay = max(now - machine[RENTED], terms[MINIMUM], 1)
    known[UNITS] += (stay + terms[BILLING] - 1) // terms[BILLING]


# --- whole executions ----------------------------------------------------------------------------


def run_once(site: Site, run: PackedExecution, runtimes: Array) -> int:
    """One execution, to the end of the last task, which is returned."""
    clear(site, run)
    left, now, size = site.plan.shape[0], 0, 0
    while True:
        touched = 0
        while size > 0 and run.heap[0, 0] == now:
            thing = run.heap[0, 1]
            size = pop(run.heap, size)
            number = thing - site.plan.shape[0]
            if number < 0:
                left -= 1
                number = end_task(site, run, thing, now)
            else:
                machine = run.machines[number]
                look_at(machine, site.terms[machine[OWNER]], run.idle, number, now)
            run.touched[touched] = number
            touched += 1
        if left == 0:
            break
        for offer in range(site.terms.shape[0]):
            if run.offers[offer, READY] > 0:
                size = serve(site, run, offer, runtimes, now, size)
        for at in range(touched):
            size = settle(site, run, run.touched[at], now, size)
        now = run.heap[0, 0]
    release_all(site, run, now)
    return now


def release_all(site: Site, run: PackedExecution, now: int) -> None:
    for offer in range(site.terms.shape[0]):
        terms, known = site.terms[offer], run.offers[offer]
        for number in range(terms[FIRST], terms[FIRST] + known[COUNT]):
            if run.machines[number, STATUS] != GONE:
                release(run.machines[number], terms, known, now)


def copy_rows(source: Array, target: Array) -> None:
    for row in range(source.shape[0]):
        for column in range(source.shape[1]):
            target[row, column] = source[row, column]


def run_many(
    site: Site,
    runtimes: Array,
    first: int,
    last: int,
    makespans: Array,
    offers: Array,
    tasks: Array,
) -> None:
    """Tell of the samples from first to last: their makespans, what is known of the offers in the
    end, and, of as many as there is room for, what is known of the tasks.
    """
    run = make_execution(site)
    for sample in range(first, last):
        makespans[sample] = run_once(site, run, runtimes[sample])
        copy_rows(run.offers, offers[sample])
        if sample < len(tasks):
            copy_rows(run.tasks, tasks[sample])


PARTS: Final = (
    make_ready,
    clear,
    end_task,
    look_at,
    lease_end,
    next_while_booting,
    kept_until,
    rent,
    serve,
    is_needed,
    release,
    settle,
    release_all,
    run_once,
    copy_rows,
)
"""what the compiler is to know"""
