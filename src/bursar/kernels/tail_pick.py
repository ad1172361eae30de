"""Which task gets a replica, by the strategies of the BaTS thesis (section 5.1), for the kernels.

The same choices as those of `bursar.policies.replicate`. Offers for which there can be no task are
found out first, by what is known of all attempts together; only if one is left are attempts judged.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bursar.kernels.bag import GOLDEN, Shop, splitmix
from bursar.kernels.tail_sample import (
    MILLION,
    SLACK,
    expected,
    least_expected,
    most_expected,
    quotient,
)
from bursar.kernels.tail_state import (
    IDLE,
    LONG_AGO,
    NOW,
    PERFECT,
    RANDOM,
    SPARE,
    STOCHASTIC_RANDOM,
    STRATEGY,
    Bench,
    cancel,
    start,
    strike,
)


def replicate(shop: Shop, bench: Bench, migrating: bool) -> None:
    """Offer replicas to all idle machines, the fastest first."""
    if bench.count[SPARE] == 0:
        return
    hopes = look_out(shop, bench)
    if hopes == 0:
        return
    notes = judge(shop, bench)
    if notes == 0:
        hopes = look_for_slower(shop, bench)
    picks = 0
    for target in shop.swiftest:
        if hopes == 0:
            return
        offer = shop.offer[target]
        if bench.status[target] != IDLE or not bench.hopeful[offer]:
            continue
        task = pick(shop, bench, notes, picks, offer)
        if task < 0:
            bench.hopeful[offer] = False
            hopes -= 1
            continue
        if migrating:
            withdraw(shop, bench, task)
        start(shop, bench, task, target)
        bench.picked[picks] = task
        picks += 1


def pick(shop: Shop, bench: Bench, notes: int, picks: int, offer: int) -> int:
    """The task that a machine of an offer is to run; -1: there is none."""
    task = best_candidate(shop, bench, notes, offer) if notes > 0 else -1
    if task < 0 and bench.count[STRATEGY] in (RANDOM, STOCHASTIC_RANDOM):
        task = random_candidate(shop, bench, picks, offer)
    return task


def withdraw(shop: Shop, bench: Bench, task: int) -> None:
    """Cancel all attempts of a task that moves."""
    front = bench.front[task]
    cancel(bench, front)
    machine = bench.mate[front]
    while machine != front:
        cancel(bench, machine)
        machine = bench.mate[machine]
    strike(bench, task)
    bench.copies[task] = 0


# --- offers --------------------------------------------------------------------------------------


def look_out(shop: Shop, bench: Bench) -> int:
    """Mark the offers of idle machines for which there may be a task; how many."""
    strategy, hopes = bench.count[STRATEGY], 0
    if strategy == RANDOM:
        return look_for_slower(shop, bench)
    for offer in range(len(shop.pace)):
        hope = False
        if bench.spare[offer] > 0:
            if strategy == PERFECT:
                hope = bench.horizon[offer] > bench.count[NOW]
            else:
                hope = in_reach(bench, offer)
            if strategy == STOCHASTIC_RANDOM:
                hope = hope or slower(bench, shop.pace[offer]) > 0
        bench.hopeful[offer] = hope
        hopes += hope
    return hopes


def look_for_slower(shop: Shop, bench: Bench) -> int:
    """Mark the offers of idle machines for which a task may be picked at random; how many."""
    by_chance, hopes = bench.count[STRATEGY] in (RANDOM, STOCHASTIC_RANDOM), 0
    for offer in range(len(shop.pace)):
        hope = by_chance and bench.spare[offer] > 0 and slower(bench, shop.pace[offer]) > 0
        bench.hopeful[offer] = hope
        hopes += hope
    return hopes


def in_reach(bench: Bench, offer: int) -> bool:
    """Whether there is an attempt that is not too old to be worth a replica on an offer."""
    now = bench.count[NOW]
    for source in range(len(bench.newest)):
        if now - bench.newest[source] < bench.sample.reach[source, offer]:
            return True
    return False


def slower(bench: Bench, pace: int) -> int:
    """How many tasks run on a machine that is slower."""
    tasks = 0
    for rank in range(pace + 1, len(bench.running)):
        tasks += bench.running[rank]
    return tasks


# --- tasks ---------------------------------------------------------------------------------------


def judge(shop: Shop, bench: Bench) -> int:
    """Note the tasks that may be replicated on idle machines; how many."""
    if bench.count[STRATEGY] == RANDOM:
        return 0
    if bench.count[STRATEGY] == PERFECT:
        return note_ends(bench)
    swiftest = -1
    for offer in range(len(shop.slope)):
        if bench.hopeful[offer] and (swiftest < 0 or shop.slope[offer] > shop.slope[swiftest]):
            swiftest = offer
    return note_expected(shop, bench, swiftest)


def note_ends(bench: Bench) -> int:
    """Every task, with the time that it runs on."""
    notes = 0
    for machine in range(len(bench.task)):
        if bench.slowness[machine] >= 0:
            task = bench.task[machine]
            bench.noted[notes] = task
            bench.left[notes] = bench.soonest[task] - bench.count[NOW]
            notes += 1
    return notes


def note_expected(shop: Shop, bench: Bench, target: int) -> int:
    """Tasks with an attempt that may be expected to end later than a new one on the target's offer.

    It counts only if no other attempt of the task is expected to end sooner. What is noted as left
    is not too little, but for SLACK; the truth is found out only where it matters.
    """
    notes = 0
    for index in range(find_young(shop, bench, target)):
        machine = bench.young[index]
        inverse, elapsed = shop.inverse[shop.offer[machine]], elapsed_of(bench, machine)
        most = most_expected(bench.sample, work_done(shop, bench, machine))
        if most * (inverse - shop.inverse[target]) + SLACK <= elapsed:
            continue
        if bench.mate[machine] == machine or is_soonest(shop, bench, machine):
            bench.noted[notes] = bench.task[machine]
            bench.source[notes] = machine
            bench.left[notes] = max(1, int(most * inverse - elapsed))
            notes += 1
    put_first(bench, notes)
    return notes


def put_first(bench: Bench, notes: int) -> None:
    """Let the note with the most left be the first: the truth about most others does not matter."""
    first = 0
    for index in range(notes):
        first = index if bench.left[index] > bench.left[first] else first
    for column in (bench.noted, bench.source, bench.left):
        column[0], column[first] = column[first], column[0]


def find_young(shop: Shop, bench: Bench, target: int) -> int:
    """Find the attempts that are not too old to be worth a replica on the target's offer; how many.

    Without a branch: which ones it is cannot be foreseen.
    """
    since, started, offers, young = bench.since, bench.started, shop.offer, bench.young
    for offer in range(len(since)):
        since[offer] = bench.count[NOW] - int(bench.sample.reach[offer, target])
    found = 0
    for machine in range(len(started)):
        young[found] = machine
        found += int(started[machine] >= since[offers[machine]])
    return found


def is_soonest(shop: Shop, bench: Bench, machine: int) -> bool:
    """Whether an attempt is expected to end before all others of its task.

    Of equal ones it is that on the machine with the lowest number.
    """
    least = least_left(shop, bench, machine)
    mate = bench.mate[machine]
    while mate != machine:
        if most_left(shop, bench, mate) < least:
            return False
        mate = bench.mate[mate]
    left = expected_left(shop, bench, machine, expected_total(shop, bench, machine))
    mate = bench.mate[machine]
    while mate != machine:
        rest = expected_left(shop, bench, mate, expected_total(shop, bench, mate))
        if rest < left or (rest == left and mate < machine):
            return False
        mate = bench.mate[mate]
    return True


def elapsed_of(bench: Bench, machine: int) -> int:
    """For how long an attempt has run."""
    return int(bench.count[NOW] - bench.started[machine])


def work_done(shop: Shop, bench: Bench, machine: int) -> int:
    """For how long an attempt has run, on the first offer."""
    return int(elapsed_of(bench, machine) * shop.slope[shop.offer[machine]] // MILLION)


def most_left(shop: Shop, bench: Bench, machine: int) -> float:
    """A bound above the time that an attempt is expected to run on."""
    most = most_expected(bench.sample, work_done(shop, bench, machine))
    left = most * shop.inverse[shop.offer[machine]] - elapsed_of(bench, machine)
    return float(left + SLACK)


def least_left(shop: Shop, bench: Bench, machine: int) -> float:
    """A bound below the time that an attempt is expected to run on: means are rounded down."""
    least = least_expected(bench.sample, work_done(shop, bench, machine)) - 1.0
    left = least * shop.inverse[shop.offer[machine]] - elapsed_of(bench, machine)
    return float(left - SLACK)


def expected_left(shop: Shop, bench: Bench, machine: int, total: int) -> int:
    """How long an attempt is expected to run on that takes so long in all on the first offer."""
    slope = shop.slope[shop.offer[machine]]
    return int(quotient(total * MILLION, slope) - elapsed_of(bench, machine))


def expected_total(shop: Shop, bench: Bench, machine: int) -> int:
    """What an attempt is expected to take in all on the first offer."""
    return expected(bench.sample, work_done(shop, bench, machine))


def best_candidate(shop: Shop, bench: Bench, notes: int, offer: int) -> int:
    """The task with the most expected time left that the offer is expected to finish sooner.

    Of equal ones that whose first machine has the lowest number.
    """
    perfect = bench.count[STRATEGY] == PERFECT
    margin = 0 if perfect else int(SLACK)
    chosen, longest = -1, 0
    for index in range(notes):
        left = bench.left[index]
        if left < longest - margin or left <= 0:
            continue
        if perfect:
            needed = shop.runtimes[offer, bench.noted[index]]
        else:
            total = expected_total(shop, bench, bench.source[index])
            left = expected_left(shop, bench, bench.source[index], total)
            needed = quotient(total * MILLION, shop.slope[offer])
        if left > needed and (
            left > longest or (left == longest and is_before(bench, index, chosen))
        ):
            chosen, longest = index, left
    if chosen >= 0:
        bench.left[chosen] = 0
        return int(bench.noted[chosen])
    if perfect:
        bench.horizon[offer] = horizon(shop, bench, notes, offer)
    return -1


def is_before(bench: Bench, one: int, other: int) -> bool:
    """Whether a noted task is before another in the order of the machines."""
    return bool(bench.front[bench.noted[one]] < bench.front[bench.noted[other]])


def horizon(shop: Shop, bench: Bench, notes: int, offer: int) -> int:
    """Until when one of the tasks would end sooner on an offer than where it runs."""
    latest = LONG_AGO
    for index in range(notes):
        task = bench.noted[index]
        latest = max(latest, bench.soonest[task] - shop.runtimes[offer, task])
    return latest


def random_candidate(shop: Shop, bench: Bench, picks: int, offer: int) -> int:
    """A task at random of those that run on a slower machine and were not picked in this round."""
    pace = shop.pace[offer]
    tasks = slower(bench, pace)
    for index in range(picks):
        tasks -= bench.slowness[bench.front[bench.picked[index]]] > pace
    if tasks == 0:
        return -1
    bench.draws[0] += np.uint64(GOLDEN)
    chance = np.float64(splitmix(bench.draws[0]) >> np.uint64(11)) * 2.0**-53
    ahead = int(chance * tasks)
    machine = -1
    while ahead >= 0:
        machine += 1
        if bench.slowness[machine] > pace and not was_picked(bench, picks, bench.task[machine]):
            ahead -= 1
    return int(bench.task[machine])


def was_picked(bench: Bench, picks: int, task: int) -> bool:
    """Whether a task got a replica in this round."""
    found = False
    for index in range(picks):
        found |= bench.picked[index] == task
    return found


ALLOCATING: Final = ()
PARTS: Final = (
    replicate, pick, withdraw, look_out, look_for_slower, in_reach, slower, judge, note_ends,
    note_expected, put_first, find_young, is_soonest, elapsed_of, work_done, most_left, least_left,
    expected_left, expected_total, best_candidate, is_before, horizon, random_candidate,
    was_picked,
)  # fmt: skip
