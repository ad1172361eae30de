"""One workflow in many samples, to see which tasks matter; plain functions that numba compiles.

All arrays [task, lane] hold a sample in each lane; the lanes are a multiple of four. The luck of a
task is that of `makespan_kernel`: its times are the first that `WorkflowTimes.sample` draws with
the same seed.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from bursar.kernels.bag import GOLDEN, LOW, scaled, splitmix
from bursar.kernels.makespan import add_times

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""

HALVINGS: Final = 24
LOWEST_PRICE: Final = 1e-30
HIGHEST_PRICE: Final = 1e30


def draw_times(table: Array, rows: Array, seed: Any, drawn: Array) -> None:
    """Fill `drawn[task, offer, lane]`: what a task takes on each offer, with the same luck."""
    tasks, offers, lanes = drawn.shape
    luck = np.empty(lanes, dtype=np.int64)
    for task in range(tasks):
        state = splitmix(np.uint64(seed) + np.uint64(GOLDEN) * np.uint64(task + 1))
        for pair in range(lanes // 2):
            hashed = splitmix(state + np.uint64(GOLDEN) * np.uint64(pair))
            luck[2 * pair] = scaled(hashed & np.uint64(LOW), table.shape[1])
            luck[2 * pair + 1] = scaled(hashed >> np.uint64(32), table.shape[1])
        for offer in range(offers):
            of_offer = table[rows[task, offer]]
            for lane in range(lanes):
                drawn[task, offer, lane] = of_offer[luck[lane]]


def blend(drawn: Array, offers: Array, share: float, times: Array) -> None:
    """Move `times` by a share of the way to those on `offers[task]`; 1 is all the way."""
    for task in range(len(offers)):
        wanted, mixed = drawn[task, offers[task]], times[task]
        for lane in range(len(mixed)):
            if share == 1.0:
                mixed[lane] = wanted[lane]
            else:
                mixed[lane] += share * (wanted[lane] - mixed[lane])


def run_forward(
    parents_start: Array,
    parents: Array,
    moves: Array,
    order: Array,
    is_last: Array,
    times: Array,
    ends: Array,
    makespans: Array,
) -> None:
    """Fill `ends[task, lane]` and `makespans[lane]`."""
    lanes = len(makespans)
    makespans[:] = 0.0
    for task in order:
        end = ends[task]
        end[:] = 0.0
        for edge in range(parents_start[task], parents_start[task + 1]):
            before, move = ends[parents[edge]], moves[edge]
            for lane in range(lanes):
                arrival = before[lane] + move
                end[lane] = arrival if arrival > end[lane] else end[lane]
        taken = times[task]
        for lane in range(lanes):
            end[lane] += taken[lane]
        if is_last[task]:
            for lane in range(lanes):
                makespans[lane] = end[lane] if end[lane] > makespans[lane] else makespans[lane]


def run_backward(
    parents_start: Array, parents: Array, moves: Array, order: Array, times: Array, tails: Array
) -> None:
    """Fill `tails[task, lane]`: the longest way from the end of a task to the end of all."""
    lanes = tails.shape[1]
    tails[:] = 0.0
    for place in range(len(order) - 1, -1, -1):
        task = order[place]
        taken, tail = times[task], tails[task]
        for edge in range(parents_start[task], parents_start[task + 1]):
            before, move = tails[parents[edge]], moves[edge]
            for lane in range(lanes):
                way = move + taken[lane] + tail[lane]
                before[lane] = way if way > before[lane] else before[lane]


def price_times(
    parents_start: Array,
    parents: Array,
    moves: Array,
    order: Array,
    is_last: Array,
    drawn: Array,
    times: Array,
    ends: Array,
    makespans: Array,
    weights: Array,
    softness: float,
    flow: Array,
    burden: Array,
) -> None:
    """Fill `burden[task, offer]`: what a task adds to the makespan by its time on each offer.

    The weight of each lane flows from the end of all to the tasks that it waited for, and on to
    those that they waited for. A parent that ended less than `softness` before the last one takes a
    part of it, the later the more: it would be the last one, if that were shortened.
    """
    lanes = len(makespans)
    flow[:] = 0.0
    burden[:] = 0.0
    total = np.empty(lanes)
    total[:] = 0.0
    steep = 1.0 / softness
    for task in order:
        if is_last[task]:
            for lane in range(lanes):
                near = 1.0 - (makespans[lane] - ends[task, lane]) * steep
                near = near if near > 0.0 else 0.0
                flow[task, lane] = weights[lane] * near * near
                total[lane] += near * near
    for task in order:
        if is_last[task]:
            for lane in range(lanes):
                flow[task, lane] /= total[lane]
    for place in range(len(order) - 1, -1, -1):
        task = order[place]
        carried = flow[task]
        if largest(carried) == 0.0:
            continue
        for offer in range(burden.shape[1]):
            burden[task, offer] = weighed(carried, drawn[task, offer])
        first, last = parents_start[task], parents_start[task + 1]
        if last == first + 1:
            only = flow[parents[first]]
            for lane in range(lanes):
                only[lane] += carried[lane]
        elif last > first:
            hand_on(parents, moves, first, last, task, times, ends, steep, flow, total)


def hand_on(
    parents: Array,
    moves: Array,
    first: int,
    last: int,
    task: int,
    times: Array,
    ends: Array,
    steep: float,
    flow: Array,
    total: Array,
) -> None:
    """Share what a task carries among its parents."""
    lanes = len(total)
    carried, begin = flow[task], np.empty(lanes)
    for lane in range(lanes):
        begin[lane] = ends[task, lane] - times[task, lane]
        total[lane] = 0.0
    for edge in range(first, last):
        before, move = ends[parents[edge]], moves[edge]
        for lane in range(lanes):
            near = 1.0 - (begin[lane] - before[lane] - move) * steep
            near = near if near > 0.0 else 0.0
            total[lane] += near * near
    part = np.empty(lanes)
    for lane in range(lanes):
        part[lane] = carried[lane] / total[lane]
    for edge in range(first, last):
        before, move, share = ends[parents[edge]], moves[edge], flow[parents[edge]]
        for lane in range(lanes):
            near = 1.0 - (begin[lane] - before[lane] - move) * steep
            near = near if near > 0.0 else 0.0
            share[lane] += part[lane] * near * near


def largest(weights: Array) -> float:
    most = weights[0]
    for lane in range(1, len(weights)):
        most = weights[lane] if weights[lane] > most else most
    return float(most)


def weighed(weights: Array, values: Array) -> float:
    """The sum of the products; four at a time, so that none waits for the one before."""
    one = two = three = four = 0.0
    for lane in range(0, len(values), 4):
        one += weights[lane] * values[lane]
        two += weights[lane + 1] * values[lane + 1]
        three += weights[lane + 2] * values[lane + 2]
        four += weights[lane + 3] * values[lane + 3]
    return one + two + three + four


def judge_changes(
    drawn: Array,
    chosen: Array,
    costs: Array,
    times: Array,
    ends: Array,
    tails: Array,
    floor: Array,
    losses: Array,
) -> int:
    """Fill `losses[task, offer]`: how much longer it takes if this task alone is moved there.

    That is exact, as the sum over lanes of what passes `floor[lane]`, for a change that makes the
    task longer. Only cheaper offers are judged; the others have an infinite loss. How many were.
    """
    tasks, offers, lanes = drawn.shape
    judged = 0
    room = np.empty(lanes)
    for task in range(tasks):
        now = costs[task, chosen[task]]
        is_known = False
        for offer in range(offers):
            losses[task, offer] = np.inf
            if costs[task, offer] >= now:
                continue
            judged += 1
            if not is_known:
                is_known = True
                for lane in range(lanes):
                    begin = ends[task, lane] - times[task, lane]
                    room[lane] = floor[lane] - begin - tails[task, lane]
            losses[task, offer] = passed(drawn[task, offer], room)
    return judged


def passed(values: Array, room: Array) -> float:
    """By how much values pass the room that they have, in all; four at a time, too."""
    one = two = three = four = 0.0
    for lane in range(0, len(values), 4):
        one += max(values[lane] - room[lane], 0.0)
        two += max(values[lane + 1] - room[lane + 1], 0.0)
        three += max(values[lane + 2] - room[lane + 2], 0.0)
        four += max(values[lane + 3] - room[lane + 3], 0.0)
    return one + two + three + four


def pick_within(burden: Array, costs: Array, budget: float, chosen: Array) -> float:
    """Fill `chosen[task]` so that the burdens are least, within the budget; the price of money.

    That is the Lagrangian of the knapsack: the least price at which what is wanted can be paid for.
    The cheapest of all must be within the budget.
    """
    if pick_cheapest(burden, costs, 0.0, chosen) <= budget:
        return 0.0
    all_burden = all_costs = 0.0
    for task in range(len(chosen)):
        for offer in range(burden.shape[1]):
            all_burden += burden[task, offer]
            all_costs += costs[task, offer]
    high = all_burden / all_costs
    low = high
    while pick_cheapest(burden, costs, high, chosen) > budget and high < HIGHEST_PRICE:
        low, high = high, 4.0 * high
    while pick_cheapest(burden, costs, low, chosen) <= budget and low > LOWEST_PRICE:
        low, high = 0.25 * low, low
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if pick_cheapest(burden, costs, middle, chosen) <= budget:
            high = middle
        else:
            low = middle
    pick_cheapest(burden, costs, high, chosen)
    return high


def pick_cheapest(burden: Array, costs: Array, price: float, chosen: Array) -> float:
    """Fill `chosen[task]` with the least of burden plus price times cost; the cost of all."""
    spent = 0.0
    for task in range(len(chosen)):
        best = 0
        for offer in range(1, burden.shape[1]):
            gain = burden[task, best] - burden[task, offer]
            if gain > price * (costs[task, offer] - costs[task, best]):
                best = offer
        chosen[task] = best
        spent += costs[task, best]
    return spent


def sample_costs(
    table: Array, row: Array, rates: Array, seed: Any, first: int, last: int, costs: Array
) -> None:
    """Add to `costs[block, lane]` what the tasks cost at `rates[task]` a second.

    They take the times that `makespan_kernel.sample_blocks` draws with the same seed.
    """
    priced = np.empty(table.shape[1])
    for task in range(len(row)):
        luck = splitmix(np.uint64(seed) + np.uint64(GOLDEN) * np.uint64(task + 1))
        for place in range(len(priced)):
            priced[place] = rates[task] * table[row[task], place]
        for block in range(first, last):
            add_times(costs[block], priced, luck, block)


PARTS: Final = (splitmix, scaled, add_times, hand_on, largest, weighed, passed, pick_cheapest)
"""what the compiler is to know"""
