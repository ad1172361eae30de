"""Which task gets a replica, by the strategies of the BaTS thesis (section 5.1), for the kernels.

The same choices as those of `bursar.policies.replicate`. Offers for which there can be no task are
found out first, by what is known of all attempts together; only if one is left are attempts judged.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bursar.kernels.bag import GOLDEN, BagOnFleet, splitmix
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
    TailState,
    cancel,
    start,
    strike,
)


def replicate(setup: BagOnFleet, tail: TailState, migrating: bool) -> None:
    """Offer replicas to all idle machines, the fastest first."""
    if tail.count[SPARE] == 0:
        return
    hopes = look_out(setup, tail)
    if hopes == 0:
        return
    notes = judge(setup, tail)
    if notes == 0:
        hopes = look_for_slower(setup, tail)
    picks = 0
    for target in setup.swiftest:
        if hopes == 0:
            return
        offer = setup.offer[target]
        if tail.status[target] != IDLE or not tail.hopeful[offer]:
            continue
        task = pick(setup, tail, notes, picks, offer)
        if task < 0:
            tail.hopeful[offer] = False
            hopes -= 1
            continue
        if migrating:
            withdraw(setup, tail, task)
        start(setup, tail, task, target)
        tail.picked[picks] = task
        picks += 1


def pick(setup: BagOnFleet, tail: TailState, notes: int, picks: int, offer: int) -> int:
    """The task that a machine of an offer is to run; -1: there is none."""
    task = best_candidate(setup, tail, notes, offer) if notes > 0 else -1
    if task < 0 and tail.count[STRATEGY] in (RANDOM, STOCHASTIC_RANDOM):
        task = random_candidate(setup, tail, picks, offer)
    return task


def withdraw(setup: BagOnFleet, tail: TailState, task: int) -> None:
    """Cancel all attempts of a task that moves."""
    front = tail.front[task]
    cancel(tail, front)
    machine = tail.mate[front]
    while machine != front:
        cancel(tail, machine)
        machine = tail.mate[machine]
    strike(tail, task)
    tail.copies[task] = 0


# --- offers --------------------------------------------------------------------------------------


def look_out(setup: BagOnFleet, tail: TailState) -> int:
    """Mark the offers of idle machines for which there may be a task; how many."""
    strategy, hopes = tail.count[STRATEGY], 0
    if strategy == RANDOM:
        return look_for_slower(setup, tail)
    for offer in range(len(setup.pace)):
        hope = False
        if tail.spare[offer] > 0:
            if strategy == PERFECT:
                hope = tail.horizon[offer] > tail.count[NOW]
            else:
                hope = in_reach(tail, offer)
            if strategy == STOCHASTIC_RANDOM:
                hope = hope or slower(tail, setup.pace[offer]) > 0
        tail.hopeful[offer] = hope
        hopes += hope
    return hopes


def look_for_slower(setup: BagOnFleet, tail: TailState) -> int:
    """Mark the offers of idle machines for which a task may be picked at random; how many."""
    by_chance, hopes = tail.count[STRATEGY] in (RANDOM, STOCHASTIC_RANDOM), 0
    for offer in range(len(setup.pace)):
        hope = by_chance and tail.spare[offer] > 0 and slower(tail, setup.pace[offer]) > 0
        tail.hopeful[offer] = hope
        hopes += hope
    return hopes


def in_reach(tail: TailState, offer: int) -> bool:
    """Whether there is an attempt that is not too old to be worth a replica on an offer."""
    now = tail.count[NOW]
    for source in range(len(tail.newest)):
        if now - tail.newest[source] < tail.sample.reach[source, offer]:
            return True
    return False


def slower(tail: TailState, pace: int) -> int:
    """How many tasks run on a machine that is slower."""
    tasks = 0
    for rank in range(pace + 1, len(tail.running)):
        tasks += tail.running[rank]
    return tasks


# --- tasks ---------------------------------------------------------------------------------------


def judge(setup: BagOnFleet, tail: TailState) -> int:
    """Note the tasks that may be replicated on idle machines; how many."""
    if tail.count[STRATEGY] == RANDOM:
        return 0
    if tail.count[STRATEGY] == PERFECT:
        return note_ends(tail)
    swiftest = -1
    for offer in range(len(setup.slope)):
        if tail.hopeful[offer] and (swiftest < 0 or setup.slope[offer] > setup.slope[swiftest]):
            swiftest = offer
    return note_expected(setup, tail, swiftest)


def note_ends(tail: TailState) -> int:
    """Every task, with the time that it runs on."""
    notes = 0
    for machine in range(len(tail.task)):
        if tail.slowness[machine] >= 0:
            task = tail.task[machine]
            tail.noted[notes] = task
            tail.left[notes] = tail.soonest[task] - tail.count[NOW]
            notes += 1
    return notes


def note_expected(setup: BagOnFleet, tail: TailState, target: int) -> int:
    """Tasks with an attempt that may be expected to end later than a new one on the target's offer.

    It counts only if no other attempt of the task is expected to end sooner. What is noted as left
    is not too little, but for SLACK; the truth is found out only where it matters.
    """
    notes = 0
    for index in range(find_young(setup, tail, target)):
        machine = tail.young[index]
        inverse, elapsed = setup.inverse[setup.offer[machine]], elapsed_of(tail, machine)
        most = most_expected(tail.sample, work_done(setup, tail, machine))
        if most * (inverse - setup.inverse[target]) + SLACK <= elapsed:
            continue
        if tail.mate[machine] == machine or is_soonest(setup, tail, machine):
            tail.noted[notes] = tail.task[machine]
            tail.source[notes] = machine
            tail.left[notes] = max(1, int(most * inverse - elapsed))
            notes += 1
    put_first(tail, notes)
    return notes


def put_first(tail: TailState, notes: int) -> None:
    """Let the note with the most left be the first: the truth about most others does not matter."""
    first = 0
    for index in range(notes):
        first = index if tail.left[index] > tail.left[first] else first
    for column in (tail.noted, tail.source, tail.left):
        column[0], column[first] = column[first], column[0]


def find_young(setup: BagOnFleet, tail: TailState, target: int) -> int:
    """Find the attempts that are not too old to be worth a replica on the target's offer; how many.

    Without a branch: which ones it is cannot be foreseen.
    """
    since, started, offers, young = tail.since, tail.started, setup.offer, tail.young
    for offer in range(len(since)):
        since[offer] = tail.count[NOW] - int(tail.sample.reach[offer, target])
    found = 0
    for machine in range(len(started)):
        young[found] = machine
        found += int(started[machine] >= since[offers[machine]])
    return found


def is_soonest(setup: BagOnFleet, tail: TailState, machine: int) -> bool:
    """Whether an attempt is expected to end before all others of its task.

    Of equal ones it is that on the machine with the lowest number.
    """
    least = least_left(setup, tail, machine)
    mate = tail.mate[machine]
    while mate != machine:
        if most_left(setup, tail, mate) < least:
            return False
        mate = tail.mate[mate]
    left = expected_left(setup, tail, machine, expected_total(setup, tail, machine))
    mate = tail.mate[machine]
    while mate != machine:
        rest = expected_left(setup, tail, mate, expected_total(setup, tail, mate))
        if rest < left or (rest == left and mate < machine):
            return False
        mate = tail.mate[mate]
    return True


def elapsed_of(tail: TailState, machine: int) -> int:
    """For how long an attempt has run."""
    return int(tail.count[NOW] - tail.started[machine])


def work_done(setup: BagOnFleet, tail: TailState, machine: int) -> int:
    """For how long an attempt has run, on the first offer."""
    return int(elapsed_of(tail, machine) * setup.slope[setup.offer[machine]] // MILLION)


def most_left(setup: BagOnFleet, tail: TailState, machine: int) -> float:
    """A bound above the time that an attempt is expected to run on."""
    most = most_expected(tail.sample, work_done(setup, tail, machine))
    left = most * setup.inverse[setup.offer[machine]] - elapsed_of(tail, machine)
    return float(left + SLACK)


def least_left(setup: BagOnFleet, tail: TailState, machine: int) -> float:
    """A bound below the time that an attempt is expected to run on: means are rounded down."""
    least = least_expected(tail.sample, work_done(setup, tail, machine)) - 1.0
    left = least * setup.inverse[setup.offer[machine]] - elapsed_of(tail, machine)
    return float(left - SLACK)


def expected_left(setup: BagOnFleet, tail: TailState, machine: int, total: int) -> int:
    """How long an attempt is expected to run on that takes so long in all on the first offer."""
    slope = setup.slope[setup.offer[machine]]
    return int(quotient(total * MILLION, slope) - elapsed_of(tail, machine))


def expected_total(setup: BagOnFleet, tail: TailState, machine: int) -> int:
    """What an attempt is expected to take in all on the first offer."""
    return expected(tail.sample, work_done(setup, tail, machine))


def best_candidate(setup: BagOnFleet, tail: TailState, notes: int, offer: int) -> int:
    """The task with the most expected time left that the offer is expected to finish sooner.

    Of equal ones that whose first machine has the lowest number.
    """
    perfect = tail.count[STRATEGY] == PERFECT
    margin = 0 if perfect else int(SLACK)
    chosen, longest = -1, 0
    for index in range(notes):
        left = tail.left[index]
        if left < longest - margin or left <= 0:
            continue
        if perfect:
            needed = setup.runtimes[offer, tail.noted[index]]
        else:
            total = expected_total(setup, tail, tail.source[index])
            left = expected_left(setup, tail, tail.source[index], total)
            needed = quotient(total * MILLION, setup.slope[offer])
        if left > needed and (
            left > longest or (left == longest and is_before(tail, index, chosen))
        ):
            chosen, longest = index, left
    if chosen >= 0:
        tail.left[chosen] = 0
        return int(tail.noted[chosen])
    if perfect:
        tail.horizon[offer] = horizon(setup, tail, notes, offer)
    return -1


def is_before(tail: TailState, one: int, other: int) -> bool:
    """Whether a noted task is before another in the order of the machines."""
    return bool(tail.front[tail.noted[one]] < tail.front[tail.noted[other]])


def horizon(setup: BagOnFleet, tail: TailState, notes: int, offer: int) -> int:
    """Until when one of the tasks would end sooner on an offer than where it runs."""
    latest = LONG_AGO
    for index in range(notes):
        task = tail.noted[index]
        latest = max(latest, tail.soonest[task] - setup.runtimes[offer, task])
    return latest


def random_candidate(setup: BagOnFleet, tail: TailState, picks: int, offer: int) -> int:
    """A task at random of those that run on a slower machine and were not picked in this round."""
    pace = setup.pace[offer]
    tasks = slower(tail, pace)
    for index in range(picks):
        tasks -= tail.slowness[tail.front[tail.picked[index]]] > pace
    if tasks == 0:
        return -1
    tail.draws[0] += np.uint64(GOLDEN)
    chance = np.float64(splitmix(tail.draws[0]) >> np.uint64(11)) * 2.0**-53
    ahead = int(chance * tasks)
    machine = -1
    while ahead >= 0:
        machine += 1
        if tail.slowness[machine] > pace and not was_picked(tail, picks, tail.task[machine]):
            ahead -= 1
    return int(tail.task[machine])


def was_picked(tail: TailState, picks: int, task: int) -> bool:
    """Whether a task got a replica in this round."""
    found = False
    for index in range(picks):
        found |= tail.picked[index] == task
    return found


ALLOCATING: Final = ()
PARTS: Final = (
    replicate, pick, withdraw, look_out, look_for_slower, in_reach, slower, judge, note_ends,
    note_expected, put_first, find_young, is_soonest, elapsed_of, work_done, most_left, least_left,
    expected_left, expected_total, best_candidate, is_before, horizon, random_candidate,
    was_picked,
)  # fmt: skip
