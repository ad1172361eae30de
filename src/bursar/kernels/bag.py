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
LOW: Final = 0xFFFFFFFF
MIX_1: Final = 0xBF58476D1CE4E5B9
MIX_2: Final = 0x94D049BB133111EB


class BagOnFleet(NamedTuple):
    """A bag and a fleet; machines are numbered in the order in which they are rented."""

    runtimes: Array
    """[offer, task]: at least one microsecond each"""
    offer: Array
    """[machine]"""
    boot: Array
    """[machine]: when it is up"""
    billing: Array
    """[offer]: length of a billing unit"""
    least: Array
    """[offer]: what is charged at least, a multiple of the billing unit"""
    paid: Array
    """[offer]: end of the first lease"""
    slope: Array
    """[offer]: millionths; a run time times this is that of the task on the first offer"""
    inverse: Array
    """[offer]: its reciprocal, near enough to tell what is hopeless"""
    unified: Array
    """[offer, task]: the run times, converted to the first offer by the slopes"""
    origin: int
    """where the cells of `kernels_sample` begin"""
    shift: int
    """the exponent of their width"""
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


def shuffle(order: Array, first: int, state: Any) -> Any:
    """Put tasks in random order, from an even place on; where the random numbers go on."""
    tasks = len(order)
    for place in range(first, tasks, 2):
        state += np.uint64(GOLDEN)
        drawn = splitmix(state)
        pick = place + scaled(drawn & np.uint64(LOW), tasks - place)
        order[place], order[pick] = order[pick], order[place]
        if place + 1 < tasks:
            pick = place + 1 + scaled(drawn >> np.uint64(32), tasks - place - 1)
            order[place + 1], order[pick] = order[pick], order[place + 1]
    return state


def scaled(drawn: Any, count: int) -> Any:
    """A number below count from 32 random bits."""
    return np.int64((drawn * np.uint64(count)) >> np.uint64(32))


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


class Pair(NamedTuple):
    """Two executions side by side, made once and used for many."""

    orders: Array
    """[side, place]: tasks; drawn from the first on, what was taken is not kept"""
    trees: Array
    """[side, node]"""
    running: Array
    """[side, machine]: the task that it took last"""
    owner: Array
    """[side, task]: the machine that took it"""


def make_pair(machines: int, tasks: int) -> Pair:
    return Pair(
        orders=np.empty((2, tasks), np.int64),
        trees=np.empty((2, 2 * leaves(machines)), np.int64),
        running=np.empty((2, machines), np.int64),
        owner=np.zeros((2, tasks), np.int64),
    )


def prepare(setup: BagOnFleet, pair: Pair, side: int) -> None:
    """Nothing is taken yet."""
    machines = len(setup.offer)
    plant(pair.trees[side], setup.boot, machines, leaves(machines))
    for task in range(pair.orders.shape[1]):
        pair.orders[side, task] = task


def run_pair(
    pair: Pair, ticks: Array, row: Array, state: Any, other_state: Any, count: int, noting: bool
) -> tuple[int, int]:
    """Let machines take so many tasks in an order drawn on the way; when the last were taken.

    Two executions, because each waits for its tree most of the time. `ticks` are the run times by
    offer and task in units of the tree, `row[machine]` is where those of the machine's offer begin.
    Who took what is noted on demand only.
    """
    tasks, width = pair.orders.shape[1], pair.trees.shape[1] // 2
    shift = bits(width)
    order, other_order = pair.orders[0], pair.orders[1]
    tree, other_tree = pair.trees[0], pair.trees[1]
    least, other_least = tree[1], other_tree[1]
    taken, other_taken = least, other_least
    drawn, other_drawn = np.uint64(0), np.uint64(0)
    for place in range(count):
        if place & 1:
            drawn >>= np.uint64(32)
            other_drawn >>= np.uint64(32)
        else:
            state += np.uint64(GOLDEN)
            other_state += np.uint64(GOLDEN)
            drawn, other_drawn = splitmix(state), splitmix(other_state)
        pick = place + scaled(drawn & np.uint64(LOW), tasks - place)
        other_pick = place + scaled(other_drawn & np.uint64(LOW), tasks - place)
        task, other_task = order[pick], other_order[other_pick]
        order[pick], other_order[other_pick] = order[place], other_order[place]
        taken, other_taken = least, other_least
        machine, other_machine = least & (width - 1), other_least & (width - 1)
        if noting:
            pair.running[0, machine], pair.running[1, other_machine] = task, other_task
            pair.owner[0, task], pair.owner[1, other_task] = machine, other_machine
        least += ticks[row[machine] + task]
        other_least += ticks[row[other_machine] + other_task]
        node, other_node = width + machine, width + other_machine
        for _ in range(shift):
            tree[node] = least
            other_tree[other_node] = other_least
            least = min(least, tree[node ^ 1])
            other_least = min(other_least, other_tree[other_node ^ 1])
            node >>= 1
            other_node >>= 1
    tree[1], other_tree[1] = least, other_least
    return taken >> shift, other_taken >> shift


def run_noting(
    setup: BagOnFleet,
    order: Array,
    tree: Array,
    width: int,
    task: Array,
    owner: Array,
    completions: Array,
) -> int:
    """Let machines take all tasks in their order; the moment at which the last was taken.

    Notes each machine's last task, and each task's machine and completion.
    """
    runtimes, offer = setup.runtimes, setup.offer
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


def list_once(setup: BagOnFleet, order: Array, completions: Array, units: Array) -> int:
    """Execute a bag once; the makespan. Fills each task's completion and each offer's units."""
    machines, tasks = len(setup.offer), len(order)
    width = leaves(machines)
    tree = np.empty(2 * width, np.int64)
    plant(tree, setup.boot, machines, width)
    task, owner = np.empty(machines, np.int64), np.empty(tasks, np.int64)
    taken = run_noting(setup, order, tree, width, task, owner, completions)
    return settle(setup, tree, width, taken, units)


def settle(setup: BagOnFleet, tree: Array, width: int, taken: int, units: Array) -> int:
    """The makespan, and the billing units that machines entered.

    A machine is renewed while tasks are ready, so one whose lease ends in the very moment in which
    the last task is taken by another enters one more unit. One that still boots then comes too late
    for a task, and is not renewed again.
    """
    makespan = 0
    for offer in range(len(setup.billing)):
        units[offer] = 0
    for machine in range(len(setup.offer)):
        end = tree[width + machine] // width
        if end == setup.boot[machine]:
            end = min(end, taken)
        makespan = max(makespan, end)
        offer = setup.offer[machine]
        billing, paid = setup.billing[offer], setup.paid[offer]
        stay = max(end, setup.least[offer])
        entered = (stay + billing - 1) // billing
        if end == taken and end >= paid and end % billing == 0:
            entered += 1
        units[offer] += entered
    return makespan


def list_many(
    setup: BagOnFleet, seed: Any, first: int, last: int, makespans: Array, units: Array
) -> None:
    """Executions first to last of a bag, each with the tasks in a random order of its own."""
    machines, tasks = len(setup.offer), setup.runtimes.shape[1]
    width = leaves(machines)
    ticks = setup.runtimes.ravel() * width
    row = setup.offer * tasks
    pair = make_pair(machines, tasks)
    for execution in range(first, last, 2):
        other = min(execution + 1, last - 1)
        prepare(setup, pair, 0)
        prepare(setup, pair, 1)
        state, other_state = stream(seed, execution), stream(seed, other)
        taken, other_taken = run_pair(pair, ticks, row, state, other_state, tasks, False)
        makespans[other] = settle(setup, pair.trees[1], width, other_taken, units[other])
        makespans[execution] = settle(setup, pair.trees[0], width, taken, units[execution])


ALLOCATING: Final = (make_pair,)
PARTS: Final = (
    splitmix, stream, shuffle, scaled, plant, bits, prepare, run_pair, run_noting, leaves, settle,
)  # fmt: skip
"""what the compiler is to know, here and in the modules of the tail"""
