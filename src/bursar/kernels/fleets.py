"""Many fleets for one bag, each executed many times, in plain functions that numba compiles.

A slot takes a task when it is up and at each of its completions, until none is left. So a slot's
instants of taking do not depend on the other slots, and a bag of `N` tasks is empty at the N-th
earliest of all instants. Every slot goes its own way through a table of run times, the same in
every fleet: fleets differ by their machines, not by luck. Times are whole microseconds.

- `walk_once` finds the N-th instant among those near the expected one, without a queue of slots.
- `list_once` does the same step by step with a queue; it serves where the expectation was wrong.
- `long_run_once` is for slots that do many tasks each: the law of renewals says when the bag is
  empty, and what is left then of the tasks under way.

Of an offer with very many machines some stand for all, and weigh accordingly.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""

LATER: Final = (1 << 62) - 1
MOST_MODELLED_SLOTS: Final = 256
"""of an offer; those beyond are stood for by these"""
EXACT_TASKS: Final = 1_500
"""Bags up to this size are executed task by task."""
EXACT_TASKS_A_SLOT: Final = 25
"""Beyond that, fleets whose slots do no more than this, too."""
FEWEST_TASKS_A_SLOT: Final = 8
"""Slots that do no more are followed task by task, however much run times differ."""
FIRST_TAIL: Final = 256
TAIL_RATIO: Final = 16
TAILS: Final = 4
"""Levels: the first is of so many slots, each further of 16 times as many as the one before."""
FEWEST_SKIPPED: Final = 5
"""Tasks of a slot whose sum is taken as normal."""
APART: Final = 0.6180339887498949
"""The golden section: multiples of it, without their whole parts, lie farthest from each other."""


class FleetBag(NamedTuple):
    """A bag on a market, as far as fleets have it in common."""

    tasks: int
    runtimes: Array
    """[offer, draw, place]: at least one microsecond each"""
    mean: Array
    """[offer, draw]"""
    variance: Array
    """[offer, draw]"""
    residuals: Array
    """[offer, draw, slot]: what is left of tasks that are met at a random instant"""
    tails: Array
    """[offer, draw, level]: the longest that is left of the tasks on many slots, see `TAILS`"""
    luck: Array
    """[draw]: standard normal, of the time at which the bag is empty"""
    sums: Array
    """[draw, slot]: standard normal, of the sum of many tasks of a slot"""
    boot: Array
    """[offer]"""
    slots: Array
    """[offer]: of a machine"""
    billing: Array
    """[offer]: length of a billing unit"""
    least: Array
    """[offer]: the shortest stay that is charged"""


class FleetScratch(NamedTuple):
    """Room for one execution, made once and used for many."""

    modelled: Array
    """[offer]: machines that are looked at one by one"""
    weight: Array
    """[offer]: machines that one of them stands for"""
    instants: Array
    """of taking a task, slot by slot, from the first that may be the last of all"""
    first: Array
    """[slot]: where its instants begin"""
    chosen: Array
    """a copy of the instants, put in order as far as needed"""
    weights: Array
    """of the copy"""
    ends: Array
    """[slot]: when it has done its last task; -1: it got none"""


def make_scratch(bag: FleetBag, most_slots: int) -> FleetScratch:
    offers = len(bag.boot)
    room = 4 * most_slots + 2 * min(bag.tasks, EXACT_TASKS_A_SLOT * most_slots) + 64
    return FleetScratch(
        modelled=np.zeros(offers, np.int64),
        weight=np.ones(offers, np.float64),
        instants=np.empty(room, np.int64),
        first=np.empty(most_slots + 1, np.int64),
        chosen=np.empty(room, np.int64),
        weights=np.empty(room, np.float64),
        ends=np.empty(most_slots + 1, np.int64),
    )


def model(bag: FleetBag, counts: Array, scratch: FleetScratch) -> int:
    """Which machines are looked at one by one; how many slots all have together."""
    total = 0
    for offer in range(len(counts)):
        most = max(1, MOST_MODELLED_SLOTS // bag.slots[offer])
        scratch.modelled[offer] = min(counts[offer], most)
        scratch.weight[offer] = max(1.0, counts[offer] / most)
        total += counts[offer] * bag.slots[offer]
    return total


def expect(bag: FleetBag, counts: Array, draw: int) -> tuple[float, float]:
    """When the bag is empty, by the law of renewals, and the deviation of that.

    By time t a slot has started t/m + (v/m^2 + 1)/2 tasks on average, with variance t v/m^3, for
    run times of mean m and variance v. A machine that boots longer than all takes does nothing.
    """
    empty = float(LATER)
    spread = 0.0
    for _ in range(len(counts)):
        rate, ahead, noise = 0.0, 0.0, 0.0
        for offer in range(len(counts)):
            if counts[offer] and bag.boot[offer] < empty:
                mean, variance = bag.mean[offer, draw], bag.variance[offer, draw]
                slots = counts[offer] * bag.slots[offer]
                rate += slots / mean
                ahead += slots * ((variance / mean**2 + 1) / 2 - bag.boot[offer] / mean)
                noise += slots * variance / mean**3
        if rate == 0:  # all tasks are taken when the machines come up
            break
        found = max(0.0, (bag.tasks - ahead) / rate)
        spread = (noise * found) ** 0.5 / rate
        if found >= empty:
            break
        is_same = True
        for offer in range(len(counts)):
            if counts[offer] and found <= bag.boot[offer] < empty:
                is_same = False
        empty = found
        if is_same:
            break
    return empty, spread


def place_of(bag: FleetBag, offer: int, slot: int) -> int:
    """Where a slot's way through the table begins; offers begin apart."""
    size: int = bag.runtimes.shape[2]
    return (slot + offer * (size // len(bag.boot))) % size


def stride_of(bag: FleetBag) -> int:
    """From one task of a slot to its next.

    The golden section of the table: `s` slots and `k` tasks of each meet no place twice, whatever
    the two are, while s x k is less than the size over the root of 5 (a Fibonacci lattice).
    """
    return int(bag.runtimes.shape[2] * APART)


def walk_once(
    bag: FleetBag, draw: int, scratch: FleetScratch, low: float, high: float
) -> tuple[int, bool]:
    """When the last task is taken, and whether that is between the two; fills the slots' ends."""
    size, stride, room = bag.runtimes.shape[2], stride_of(bag), len(scratch.instants)
    before, kept, slot = 0.0, 0, 0
    is_weighted = False
    for offer in range(len(bag.boot)):
        is_weighted = is_weighted or scratch.weight[offer] > 1
    for offer in range(len(bag.boot)):
        if not scratch.modelled[offer]:
            continue
        times = bag.runtimes[offer, draw]
        mean, variance = bag.mean[offer, draw], bag.variance[offer, draw]
        skipped = surely_done(bag, mean, variance, low - bag.boot[offer])
        usual, spread = skipped * mean, (skipped * variance) ** 0.5
        for own in range(scratch.modelled[offer] * bag.slots[offer]):
            place = place_of(bag, offer, own)
            now, taken = bag.boot[offer], 0
            if skipped:
                taken = skipped
                place = (place + taken * stride) % size
                now += np.int64(max(1.0, usual + bag.sums[draw, own] * spread))
            while now < low:
                now += times[place]
                taken += 1
                place += stride
                if place >= size:
                    place -= size
            before += taken * scratch.weight[offer]
            scratch.first[slot] = kept
            slot += 1
            while True:
                if kept >= room:
                    return 0, False
                scratch.instants[kept] = now
                scratch.chosen[kept] = now
                if is_weighted:
                    scratch.weights[kept] = scratch.weight[offer]
                kept += 1
                if now > high:
                    break
                now += times[place]
                place += stride
                if place >= size:
                    place -= size
    scratch.first[slot] = kept
    wanted = bag.tasks - before
    if wanted <= 0:
        return 0, False
    if is_weighted:
        last, below = weighted_rank(scratch.chosen, scratch.weights, kept, wanted)
    elif wanted > kept:
        return 0, False
    else:
        last, below = plain_rank(scratch.chosen, kept, int(wanted))
    if last > high:
        return 0, False
    end_slots(bag, scratch, last, wanted - below)
    return last, True


def surely_done(bag: FleetBag, mean: float, variance: float, time: float) -> int:
    """Tasks that a slot has done by then almost surely, and need not be looked at one by one.

    Their sum is taken as normal. In small bags every task is looked at.
    """
    if bag.tasks <= EXACT_TASKS or time <= 0:
        return 0
    usual = time / mean
    done = int(usual - 3 * (usual * variance) ** 0.5 / mean - 1)
    return done if done >= FEWEST_SKIPPED else 0


def plain_rank(values: Array, count: int, wanted: int) -> tuple[int, float]:
    """The value of this rank, from 1, and how many are below it; reorders the values."""
    low, high, place = 0, count - 1, wanted - 1
    while low < high:
        pivot = values[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if place <= right:
            high = right
        elif place >= left:
            low = left
        else:
            break
    found, below = values[place], 0
    for number in range(place):
        if values[number] < found:
            below += 1
    return found, float(below)


def weighted_rank(values: Array, weights: Array, count: int, wanted: float) -> tuple[int, float]:
    """The value at which the weights up to it reach what is wanted, and the weight below it."""
    low, high, below = 0, count - 1, 0.0
    while low < high:
        pivot = values[(low + high) // 2]
        left, right, weight = low, high, 0.0
        # values before `left` are below the pivot, those from `place` to `right` not yet seen
        place = low
        equal = 0.0
        while place <= right:
            if values[place] < pivot:
                weight += weights[place]
                values[left], values[place] = values[place], values[left]
                weights[left], weights[place] = weights[place], weights[left]
                left += 1
                place += 1
            elif values[place] > pivot:
                values[right], values[place] = values[place], values[right]
                weights[right], weights[place] = weights[place], weights[right]
                right -= 1
            else:
                equal += weights[place]
                place += 1
        if below + weight >= wanted:
            high = left - 1
        elif below + weight + equal >= wanted or right == high:
            return pivot, below + weight
        else:
            below += weight + equal
            low = right + 1
    return values[low], below


def end_slots(bag: FleetBag, scratch: FleetScratch, last: int, left: float) -> None:
    """Each slot ends with the task that it took last; of those that want one at the last instant,
    the first ones get it.
    """
    slot = 0
    for offer in range(len(bag.boot)):
        for _ in range(scratch.modelled[offer] * bag.slots[offer]):
            place = scratch.first[slot]
            while scratch.instants[place] < last:
                place += 1
            if scratch.instants[place] == last and left > 0:
                left -= scratch.weight[offer]
                place += 1
            end = scratch.instants[place]
            scratch.ends[slot] = -1 if end == bag.boot[offer] else end
            slot += 1


def list_once(bag: FleetBag, draw: int, scratch: FleetScratch) -> int:
    """When the last task is taken, step by step; fills the slots' ends."""
    size, stride = bag.runtimes.shape[2], stride_of(bag)
    slots = 0
    for offer in range(len(bag.boot)):
        slots += scratch.modelled[offer] * bag.slots[offer]
    queue, place = np.empty(slots, np.int64), np.empty(slots, np.int64)
    free, offers = np.empty(slots, np.int64), np.empty(slots, np.int64)
    slot = 0
    for offer in range(len(bag.boot)):
        for own in range(scratch.modelled[offer] * bag.slots[offer]):
            queue[slot], free[slot], offers[slot] = slot, bag.boot[offer], offer
            place[slot] = place_of(bag, offer, own)
            scratch.ends[slot] = -1
            slot += 1
    for start in range(slots // 2 - 1, -1, -1):
        sink(queue, free, start)
    left, last = float(bag.tasks), 0
    while left > 0:
        slot = queue[0]
        offer = offers[slot]
        last = free[slot]
        free[slot] += bag.runtimes[offer, draw, place[slot]]
        scratch.ends[slot] = free[slot]
        place[slot] = (place[slot] + stride) % size
        left -= scratch.weight[offer]
        sink(queue, free, 0)
    return last


def sink(queue: Array, free: Array, start: int) -> None:
    """Put the slot at this place of the queue where it belongs; the lower number is first."""
    slot, node = queue[start], start
    while 2 * node + 1 < len(queue):
        child = 2 * node + 1
        if child + 1 < len(queue) and is_before(queue[child + 1], queue[child], free):
            child += 1
        if not is_before(queue[child], slot, free):
            break
        queue[node] = queue[child]
        node = child
    queue[node] = slot


def is_before(one: int, other: int, free: Array) -> bool:
    return free[one] < free[other] or (free[one] == free[other] and one < other)


def is_long_run(bag: FleetBag, counts: Array, draw: int, tasks_a_slot: float) -> bool:
    """Whether slots do so many tasks that it no longer matters that all began at once.

    The more run times differ, the sooner: it takes 2 over the square of their relative deviation.
    """
    if tasks_a_slot > EXACT_TASKS_A_SLOT:
        return True
    if tasks_a_slot < FEWEST_TASKS_A_SLOT:
        return False
    for offer in range(len(counts)):
        mean, variance = bag.mean[offer, draw], bag.variance[offer, draw]
        if counts[offer] and tasks_a_slot * variance < 2 * mean * mean:
            return False
    return True


def long_run_once(bag: FleetBag, draw: int, scratch: FleetScratch, empty: float) -> int:
    """Slots are met at work when the bag is empty; fills their ends."""
    slot = 0
    for offer in range(len(bag.boot)):
        since = max(np.int64(empty), bag.boot[offer])
        for own in range(scratch.modelled[offer] * bag.slots[offer]):
            scratch.ends[slot] = since + bag.residuals[offer, draw, own]
            slot += 1
    return int(empty)


def longest_of_others(bag: FleetBag, counts: Array, draw: int, scratch: FleetScratch) -> int:
    """The longest that is left of the tasks on machines that others stand for."""
    found = 0.0
    for offer in range(len(counts)):
        others = (counts[offer] - scratch.modelled[offer]) * bag.slots[offer]
        if others > 0:
            height = (np.log2(others) - np.log2(FIRST_TAIL)) / np.log2(TAIL_RATIO)
            height = min(max(height, 0.0), TAILS - 1.0)
            level = min(int(height), TAILS - 2)
            share = height - level
            low, high = bag.tails[offer, draw, level], bag.tails[offer, draw, level + 1]
            found = max(found, low + share * (high - low))
    return int(found)


def settle_fleet(
    bag: FleetBag, counts: Array, draw: int, scratch: FleetScratch, last: int, units: Array
) -> int:
    """The makespan; fills the billing units that machines of each offer are charged for.

    A machine stays until the last task of its slots has ended. One that got none is released when
    it is up, or at the end of all.
    """
    makespan, slot = 0, 0
    for offer in range(len(counts)):
        for _ in range(scratch.modelled[offer] * bag.slots[offer]):
            makespan = max(makespan, scratch.ends[slot])
            slot += 1
    makespan = max(makespan, last + longest_of_others(bag, counts, draw, scratch))
    slot = 0
    for offer in range(len(counts)):
        total = 0
        billing = bag.billing[offer]
        for _ in range(scratch.modelled[offer]):
            end = -1
            for _ in range(bag.slots[offer]):
                end = max(end, scratch.ends[slot])
                slot += 1
            stay = min(bag.boot[offer], makespan) if end < 0 else end
            total += (max(stay, bag.least[offer], 1) + billing - 1) // billing
        if scratch.modelled[offer] < counts[offer]:
            total = int(np.rint(total * scratch.weight[offer]))
        units[offer] = total
    return makespan


def execute_fleets(
    bag: FleetBag,
    counts: Array,
    first: int,
    last: int,
    most_slots: int,
    makespans: Array,
    units: Array,
) -> None:
    """`makespans[fleet, draw]` and `units[fleet, draw, offer]` of `counts[fleet, offer]`."""
    scratch = make_scratch(bag, most_slots)
    is_large = bag.tasks > EXACT_TASKS
    for draw in range(first, last):  # whose run times are at hand then, whatever the fleet
        for fleet in range(len(counts)):
            slots = model(bag, counts[fleet], scratch)
            empty, spread = expect(bag, counts[fleet], draw)
            if is_large and is_long_run(bag, counts[fleet], draw, bag.tasks / slots):
                late = max(0.0, empty + bag.luck[draw] * spread)
                taken = long_run_once(bag, draw, scratch, late)
            else:
                longest = 0.0
                for offer in range(len(counts[fleet])):
                    if counts[fleet, offer]:
                        longest = max(longest, bag.mean[offer, draw])
                reach = 3 * spread + longest * min(1.0, 0.15 + 2 * slots / bag.tasks)
                taken, is_found = walk_once(bag, draw, scratch, empty - reach, empty + reach)
                if not is_found:
                    taken = list_once(bag, draw, scratch)
            makespans[fleet, draw] = settle_fleet(
                bag, counts[fleet], draw, scratch, taken, units[fleet, draw]
            )


def fill_residuals(runtimes: Array, points: Array, residuals: Array) -> None:
    """What is left at random points of each row, if its tasks follow each other in their order."""
    size = runtimes.shape[2]
    heap = np.empty(size, np.int64)
    for offer in range(runtimes.shape[0]):
        for draw in range(runtimes.shape[1]):
            total = 0
            for place in range(size):
                total += runtimes[offer, draw, place]
                heap[place] = total
            for slot in range(residuals.shape[2]):
                share = (points[draw, slot] + offer * APART) % 1.0
                point = np.int64(share * total)
                low, high = 0, size - 1
                while low < high:
                    middle = (low + high) // 2
                    if heap[middle] > point:
                        high = middle
                    else:
                        low = middle + 1
                residuals[offer, draw, slot] = max(1, heap[low] - point)


ALLOCATING: Final = (make_scratch, list_once)
PARTS: Final = (
    model, expect, place_of, stride_of, weighted_rank, end_slots, is_before, sink,
    surely_done, plain_rank, walk_once, long_run_once, is_long_run, longest_of_others, settle_fleet,
)  # fmt: skip
"""what the compiler is to know"""
