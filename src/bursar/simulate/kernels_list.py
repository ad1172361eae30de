"""A bag on a fleet by self-scheduling, in plain functions that numba compiles.

Each machine that falls idle takes the next task of a given order; of machines that fall idle in the
same instant, the one with the lower number is first. Times are whole microseconds. A machine's next
moment and its number are one integer, the number in the low bits, so that one comparison orders
both; the least of all stands at the root of a tree of pairwise minima (a winner tree).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""

NEVER: Final = (1 << 63) - 1
GOLDEN: Final = 0x9E3779B97F4A7C15
MIX_1: Final = 0xBF58476D1CE4E5B9
MIX_2: Final = 0x94D049BB133111EB


class Shop(NamedTuple):
    """A bag and a fleet; machines are numbered in the order in which they are rented."""

    runtimes: Array
    """[offer, task]: at least one microsecond each"""
    offer: Array
    """[machine]"""
    boot: Array
    """[machine]: when it is up"""
    billing: Array
    """[offer]: length of a billing unit"""
    paid: Array
    """[offer]: end of the first lease"""
    slope: Array
    """[offer]: millionths; a run time times this is that of the task on the first offer"""
    swiftest: Array
    """machines in the order in which they are offered replicas: faster offers first"""
    pace: Array
    """[offer]: rank by speed, equal where equally fast, 0 the fastest"""


def splitmix(state: Any) -> Any:
    """The random number that belongs to a counter's value."""
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_2)
    return z ^ (z >> np.uint64(31))


def stream(seed: Any, execution: Any) -> Any:
    """Where the random numbers of an execution begin; executions do not share any."""
    return splitmix(np.uint64(seed) + np.uint64(GOLDEN) * np.uint64(execution + 1))


def shuffle(order: Array, state: Any) -> Any:
    """Put the tasks in random order; where the random numbers go on."""
    left = len(order)
    while left > 1:
        state += np.uint64(GOLDEN)
        drawn = splitmix(state)
        pick = np.int64(((drawn & np.uint64(0xFFFFFFFF)) * np.uint64(left)) >> np.uint64(32))
        left -= 1
        order[left], order[pick] = order[pick], order[left]
        if left > 1:
            pick = np.int64(((drawn >> np.uint64(32)) * np.uint64(left)) >> np.uint64(32))
            left -= 1
            order[left], order[pick] = order[pick], order[left]
    return state


def plant(tree: Array, boot: Array, machines: int, width: int) -> None:
    """Leaves are the machines' first moments; every inner node is the least below it."""
    for machine in range(width):
        tree[width + machine] = (boot[machine] * width | machine) if machine < machines else NEVER
    for node in range(width - 1, 0, -1):
        tree[node] = min(tree[2 * node], tree[2 * node + 1])


def bits(width: int) -> int:
    shift = 0
    while (1 << shift) < width:
        shift += 1
    return shift


def run_tasks(shop: Shop, order: Array, tree: Array, width: int) -> int:
    """Let machines take all tasks; the moment at which the last was taken."""
    runtimes, offer = shop.runtimes, shop.offer
    mask, shift = width - 1, bits(width)
    least = tree[1]
    taken = 0
    for task in order:
        machine = least & mask
        taken = least
        value = least + (runtimes[offer[machine], task] << shift)
        node = width + machine
        while node > 1:
            tree[node] = value
            value = min(value, tree[node ^ 1])
            node >>= 1
        least = value
    tree[1] = least
    return taken >> shift


def run_noting(
    shop: Shop,
    order: Array,
    tree: Array,
    width: int,
    task: Array,
    owner: Array,
    completions: Array,
) -> int:
    """The same, noting each machine's last task, and each task's machine and completion."""
    runtimes, offer = shop.runtimes, shop.offer
    mask, shift = width - 1, bits(width)
    least = tree[1]
    taken = 0
    for number in order:
        machine = least & mask
        taken = least
        value = least + (runtimes[offer[machine], number] << shift)
        task[machine] = number
        owner[number] = machine
        completions[number] = value >> shift
        node = width + machine
        while node > 1:
            tree[node] = value
            value = min(value, tree[node ^ 1])
            node >>= 1
        least = value
    tree[1] = least
    return taken >> shift


def leaves(machines: int) -> int:
    """The width of the tree: a power of two."""
    width = 1
    while width < machines:
        width *= 2
    return width


def list_once(shop: Shop, order: Array, completions: Array, units: Array) -> int:
    """Execute a bag once; the makespan. Fills each task's completion and each offer's units."""
    machines, tasks = len(shop.offer), len(order)
    width = leaves(machines)
    tree = np.empty(2 * width, np.int64)
    plant(tree, shop.boot, machines, width)
    task, owner = np.empty(machines, np.int64), np.empty(tasks, np.int64)
    taken = run_noting(shop, order, tree, width, task, owner, completions)
    return settle(shop, tree, width, taken, units)


def settle(shop: Shop, tree: Array, width: int, taken: int, units: Array) -> int:
    """The makespan, and the billing units that machines entered.

    A machine is renewed while tasks are ready, so one whose lease ends in the very moment in which
    the last task is taken by another enters one more unit.
    """
    makespan = 0
    for offer in range(len(shop.billing)):
        units[offer] = 0
    for machine in range(len(shop.offer)):
        end = tree[width + machine] // width
        makespan = max(makespan, end)
        offer = shop.offer[machine]
        billing, paid = shop.billing[offer], shop.paid[offer]
        stay = max(end, paid)
        entered = (stay + billing - 1) // billing
        if end == taken and end >= paid and end % billing == 0:
            entered += 1
        units[offer] += entered
    return makespan


def list_many(shop: Shop, seed: Any, first: int, last: int, makespans: Array, units: Array) -> None:
    """Executions first to last of a bag, each with the tasks in a random order of its own."""
    machines, tasks = len(shop.offer), shop.runtimes.shape[1]
    width = leaves(machines)
    tree = np.empty(2 * width, np.int64)
    order = np.arange(tasks)
    for execution in range(first, last):
        draw_order(order, seed, execution)
        plant(tree, shop.boot, machines, width)
        taken = run_tasks(shop, order, tree, width)
        makespans[execution] = settle(shop, tree, width, taken, units[execution])


def draw_order(order: Array, seed: Any, execution: int) -> Any:
    """The tasks in the random order of an execution; where its random numbers go on."""
    for task in range(len(order)):
        order[task] = task
    return shuffle(order, stream(seed, execution))
