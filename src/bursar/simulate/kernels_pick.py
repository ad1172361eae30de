"""Which task gets a replica, by the strategies of the BaTS thesis (section 5.1), for the kernels.

The same choices as those of `bursar.policies.replicate`. Offers for which there can be no task are
found out first, by what is known of all attempts together; only if one is left are attempts judged.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bursar.simulate.kernels_bench import (
    CALL,
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
from bursar.simulate.kernels_list import GOLDEN, Shop, splitmix
from bursar.simulate.kernels_sample import KNOWN, MILLION, SLACK, first_above, quotient

UNKNOWN: Final = -1
"""notes, before attempts were judged"""


def replicate(shop: Shop, bench: Bench, migrating: bool) -> None:
    """Offer replicas to all idle machines, the fastest first."""
    if bench.count[SPARE] == 0:
        return
    hopes = look_out(shop, bench)
    if hopes == 0:
        return
    notes = UNKNOWN
    for target in shop.swiftest:
        offer = shop.offer[target]
        if bench.status[target] != IDLE or not bench.hopeful[offer]:
            continue
        task = -1
        if bench.count[STRATEGY] != RANDOM:
            if notes == UNKNOWN:
                notes = judge(shop, bench)
                if notes == 0 and bench.count[STRATEGY] != STOCHASTIC_RANDOM:
                    return
            task = best_candidate(shop, bench, notes, offer)
        if task < 0 and bench.count[STRATEGY] in (RANDOM, STOCHASTIC_RANDOM):
            task = random_candidate(shop, bench, offer)
        if task < 0:
            bench.hopeful[offer] = False
            hopes -= 1
            if hopes == 0:
                return
            continue
        if migrating:
            withdraw(shop, bench, task)
        start(shop, bench, task, target)


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
    for offer in range(len(shop.pace)):
        hope = False
        if bench.spare[offer] > 0:
            if strategy == PERFECT:
                hope = bench.horizon[offer] > bench.count[NOW]
            elif strategy != RANDOM:
                hope = in_reach(bench, offer)
            if strategy in (RANDOM, STOCHASTIC_RANDOM):
                hope = hope or slower(bench, shop.pace[offer]) > 0
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
    """How many tasks run on machines only that are slower."""
    tasks = 0
    for rank in range(pace + 1, len(bench.running)):
        tasks += bench.running[rank]
    return tasks


# --- tasks ---------------------------------------------------------------------------------------


def judge(shop: Shop, bench: Bench) -> int:
    """Note the tasks that may be replicated on idle machines; how many."""
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
    """Tasks with an attempt that is expected to end later than a new one on the target's offer."""
    notes = 0
    bench.count[CALL] += 1
    for index in range(find_young(shop, bench, target)):
        machine = bench.young[index]
        if bench.mate[machine] == machine:
            if is_worse(shop, bench, machine, target):
                notes = note(shop, bench, machine, notes)
        elif not is_outdone(shop, bench, machine, target):
            notes = note_soonest(shop, bench, machine, target, notes)
    return notes


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


def is_outdone(shop: Shop, bench: Bench, machine: int, target: int) -> bool:
    """Whether an attempt is sure not to be the reason for a replica, by what its mates have done.

    It is the reason if it is expected to end after a new attempt on the target's offer, but before
    its mates. A mate that has done no more is expected to take no more work in all, and none takes
    more than the longest value: if that lets the mate end before the new attempt, it is outdone.
    """
    sample, slope, inverse = bench.sample, shop.slope, shop.inverse
    known, done = sample.size[KNOWN], work_done(shop, bench, machine)
    longer, above = 0.0, 0.0
    mate = bench.mate[machine]
    while mate != machine:
        offer = shop.offer[mate]
        is_behind = work_done(shop, bench, mate) <= done
        if is_behind and slope[offer] >= slope[target]:
            return True
        if longer == 0.0:
            place = first_above(sample, done)
            longer, above = float(known - place), float(sample.sums[known] - sample.sums[place])
        most = above if is_behind else sample.values[known - 1] * longer
        elapsed = bench.count[NOW] - bench.started[mate]
        if most * inverse[offer] - elapsed * longer + SLACK * longer <= above * inverse[target]:
            return True
        mate = bench.mate[mate]
    return False


def work_done(shop: Shop, bench: Bench, machine: int) -> int:
    """For how long an attempt has run, on the first offer."""
    elapsed = bench.count[NOW] - bench.started[machine]
    return int(elapsed * shop.slope[shop.offer[machine]] // MILLION)


def note_soonest(shop: Shop, bench: Bench, machine: int, target: int, notes: int) -> int:
    """Note a task with several attempts by that which is expected to end first, and only once."""
    task = bench.task[machine]
    if bench.judged[task] == bench.count[CALL]:
        return notes
    bench.judged[task] = bench.count[CALL]
    chosen = soonest_attempt(shop, bench, machine)
    if chosen < 0 or not is_worse(shop, bench, chosen, target):
        return notes
    return note(shop, bench, chosen, notes)


def is_worse(shop: Shop, bench: Bench, machine: int, target: int) -> bool:
    """Whether an attempt may be expected to end later than a new one: true where it is close."""
    sample, offer = bench.sample, shop.offer[machine]
    place, known = look_up(shop, bench, machine), sample.size[KNOWN]
    longer, above = float(known - place), float(sample.sums[known] - sample.sums[place])
    lead = shop.inverse[offer] - shop.inverse[target]
    elapsed = bench.count[NOW] - bench.started[machine]
    return bool(above * lead + SLACK * longer > elapsed * longer)


def look_up(shop: Shop, bench: Bench, machine: int) -> int:
    """Where the values begin that are longer than an attempt has run."""
    place = first_above(bench.sample, work_done(shop, bench, machine))
    bench.passed[machine] = place
    return place


def note(shop: Shop, bench: Bench, machine: int, notes: int) -> int:
    """Note the task of an attempt that was looked up in this instant; how many notes there are.

    What is left is within SLACK of the truth, which is found out only where it matters.
    """
    bench.noted[notes] = bench.task[machine]
    bench.source[notes] = machine
    bench.left[notes] = max(1, int(roughly_left(shop, bench, machine)))
    return notes + 1


def roughly_left(shop: Shop, bench: Bench, machine: int) -> float:
    """How long an attempt that was looked up in this instant is expected to run on."""
    sample, place = bench.sample, bench.passed[machine]
    known = sample.size[KNOWN]
    mean = float(sample.sums[known] - sample.sums[place]) / float(known - place)
    elapsed = float(bench.count[NOW] - bench.started[machine])
    return float(mean * shop.inverse[shop.offer[machine]] - elapsed)


def soonest_attempt(shop: Shop, bench: Bench, first: int) -> int:
    """Of a machine and its mates that of the attempt that is expected to end first.

    -1 where one has run for longer than all values: then nothing can be expected of a replica.
    """
    chosen, least, machine = -1, np.inf, first
    while True:
        if look_up(shop, bench, machine) == bench.sample.size[KNOWN]:
            return -1
        left = roughly_left(shop, bench, machine)
        is_less = left < least - SLACK
        if not is_less and left < least + SLACK:
            is_less = is_sooner(shop, bench, machine, chosen)
        if is_less:
            chosen, least = machine, left
        machine = bench.mate[machine]
        if machine == first:
            return chosen


def is_sooner(shop: Shop, bench: Bench, one: int, other: int) -> bool:
    """Whether an attempt is expected to end before another, exactly."""
    left = expected_left(shop, bench, one, expected_total(bench, one))
    rest = expected_left(shop, bench, other, expected_total(bench, other))
    return left < rest or (left == rest and one < other)


def expected_left(shop: Shop, bench: Bench, machine: int, total: int) -> int:
    """How long an attempt is expected to run on that takes so long in all on the first offer."""
    elapsed = bench.count[NOW] - bench.started[machine]
    return int(quotient(total * MILLION, shop.slope[shop.offer[machine]]) - elapsed)


def expected_total(bench: Bench, machine: int) -> int:
    """The mean of the values that are longer than an attempt has run; there are such."""
    sample, place = bench.sample, bench.passed[machine]
    known = sample.size[KNOWN]
    return quotient(sample.sums[known] - sample.sums[place], known - place)


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
            total = expected_total(bench, bench.source[index])
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


def random_candidate(shop: Shop, bench: Bench, offer: int) -> int:
    """A task at random of those that run on slower machines only.

    One that was picked in this call is none of them: it runs on an idle machine that was faster.
    """
    pace = shop.pace[offer]
    tasks = slower(bench, pace)
    if tasks == 0:
        return -1
    bench.draws[0] += np.uint64(GOLDEN)
    chance = np.float64(splitmix(bench.draws[0]) >> np.uint64(11)) * 2.0**-53
    ahead = int(chance * tasks)
    machine = -1
    while ahead >= 0:
        machine += 1
        ahead -= bench.slowness[machine] > pace
    return int(bench.task[machine])


ALLOCATING: Final = ()
PARTS: Final = (
    replicate, withdraw, look_out, in_reach, slower, judge, note_ends, note_expected, find_young,
    is_outdone, work_done, note_soonest, is_worse, look_up, note, roughly_left, soonest_attempt,
    is_sooner, expected_left, expected_total, best_candidate, is_before, horizon, random_candidate,
)  # fmt: skip
