"""What a simulated workload is written down on, in plain functions that numba compiles.

The tasks of a work stand together, and what is kept of them by work (heaps, trees) has as much room
as the work has tasks, at the same place. A heap holds numbers, the one with the least key first; of
equal keys the least number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from bursar.kernels import placing_rows as row
from bursar.model.workload_arrays import WorkloadArrays

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""

WAITS: Final = 0
"""for its parents, or has not arrived"""
ELIGIBLE: Final = 1
RUNS: Final = 2
DONE: Final = 3

# Places in `PlacingState.numbers`.
NOW: Final = 0
ARRIVED: Final = 1
"""works"""
RUNNING: Final = 2
"""tasks, and the size of their heap"""
IDLE: Final = 3
"""and the size of their heap"""
QUEUED: Final = 4
"""works with tasks that wait for a machine"""
FRESH: Final = 5
"""tasks that have become eligible in this instant"""
ENDED: Final = 6
"""tasks"""
TAKEN: Final = 7
"""what the tasks that ended last took in all ..."""
EXPECTED: Final = 8
"""... and what they were expected to take"""
DUE: Final = 9
"""the size of the heap of running tasks by their expected ends ..."""
OVERDUE: Final = 10
"""... and of those that should have ended"""
SPEEDS: Final = 11
"""different speeds among the machines that are idle"""
UNDONE: Final = 12
"""works that have arrived and are not done"""
HELD: Final = 13
"""idle machines that are reserved"""
JUDGED: Final = 14
"""works that ended and were compared with the one before"""
AGREED: Final = 15
"""the sum of the last verdicts ..."""
COMPARED: Final = 16
"""... and how many of them are not 0"""
LAST_TOOK: Final = 17
"""of the work that ended last: what the second half of its tasks took"""
LEARNED: Final = 18
"""tasks that ended, where run times are learned ..."""
LEARNED_TOOK: Final = 19
"""... and what they took"""

# What is given, in the same places.
GROUPS: Final = 20
"""different speeds of machines"""
MACHINES: Final = 21
"""that there may ever be"""
WORKS: Final = 22
LEARNS: Final = 23
"""1: run times are learned by the kind of task"""
HISTORY: Final = 24
"""verdicts that count"""
REMEMBERED: Final = 25
"""tasks that the correction coefficient is made of"""
SEED: Final = 26
POWER: Final = 27
"""of `stretch`"""
MOST_WORKS: Final = 28
"""that may be there at once; 0: any number"""
AT_ONCE: Final = 29
"""1: something may be placed before the next event, as after machines were added"""
READING: Final = 30
"""of tokens"""
DEPTH: Final = 31
"""of generations"""
SHARE: Final = 32
"""of the level of parallelism that is reserved, in millionths"""
LAZY: Final = 33
"""1: later works keep their idle machines until it is their turn"""
FORGETS_OVERDUE: Final = 34
"""1: `owm` never waits for a machine whose task should have ended"""
MOST_LOGGED: Final = 35
"""0: tasks are placed at every moment; else starts and ends are logged, and where it stops, at the
latest after about so many of them, who calls says when to place"""
LOGGED: Final = 36
"""starts and ends that nobody has read"""
PAUSED: Final = 37
"""1: the events of this moment have come, and no task was placed since"""
NUMBERS: Final = 38

CLASSES: Final = 64
"""of works by size"""


class PlacingState(NamedTuple):
    """Where a simulation stands."""

    table: Array
    """whole numbers, in the rows that `placing_rows` tells"""
    ratio: Array
    """other numbers"""
    parents: Array
    """of all tasks, one after the other"""
    children: Array
    numbers: Array
    """single ones"""


def push(table: Array, heap: int, base: int, size: int, item: int, key: int) -> None:
    """Add an item to the heap of a size at a place of a row, by the keys of another row.

    Who calls counts.
    """
    place = size
    value = table[key, item]
    while place > 0:
        above = (place - 1) >> 1
        other = table[heap, base + above]
        if table[key, other] < value or (table[key, other] == value and other < item):
            break
        table[heap, base + place] = other
        place = above
    table[heap, base + place] = item


def pop(table: Array, heap: int, base: int, size: int, key: int) -> int:
    """Take the first item of a heap that is not empty; who calls counts."""
    first: int = table[heap, base]
    size -= 1
    item, place = table[heap, base + size], 0
    value = table[key, item]
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        child = table[heap, base + below]
        if below + 1 < size:
            other = table[heap, base + below + 1]
            if table[key, other] < table[key, child] or (
                table[key, other] == table[key, child] and other < child
            ):
                child = other
                below += 1
        if value < table[key, child] or (value == table[key, child] and item < child):
            break
        table[heap, base + place] = child
        place = below
    table[heap, base + place] = item
    return first


def enqueue(state: PlacingState, work: int) -> None:
    """Put a work into the queue, or to its place there after its key has changed."""
    table, numbers = state.table, state.numbers
    place = table[row.SPOT, work]
    if place < 0:
        place = numbers[QUEUED]
        numbers[QUEUED] += 1
    settle(state, place, work)


def dequeue(state: PlacingState, work: int) -> None:
    """Take a work out of the queue."""
    table, numbers = state.table, state.numbers
    place = table[row.SPOT, work]
    table[row.SPOT, work] = -1
    numbers[QUEUED] -= 1
    size = numbers[QUEUED]
    if place < size:
        settle(state, place, table[row.QUEUE, size])


def settle(state: PlacingState, place: int, work: int) -> None:
    """Put a work at a place of the queue, or above, or below."""
    table, ratio, numbers = state.table, state.ratio, state.numbers
    size = numbers[QUEUED]
    value = ratio[row.KEY, work]
    while place > 0:
        above = (place - 1) >> 1
        other = table[row.QUEUE, above]
        key = ratio[row.KEY, other]
        if key < value or (key == value and other < work):
            break
        table[row.QUEUE, place] = other
        table[row.SPOT, other] = place
        place = above
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        child = table[row.QUEUE, below]
        key = ratio[row.KEY, child]
        if below + 1 < size:
            other = table[row.QUEUE, below + 1]
            other_key = ratio[row.KEY, other]
            if other_key < key or (other_key == key and other < child):
                child, key = other, other_key
                below += 1
        if value < key or (value == key and work < child):
            break
        table[row.QUEUE, place] = child
        table[row.SPOT, child] = place
        place = below
    table[row.QUEUE, place] = work
    table[row.SPOT, work] = place


def append(state: PlacingState, work: int) -> None:
    """Put a work into a queue without an order."""
    table, numbers = state.table, state.numbers
    if table[row.SPOT, work] < 0:
        size = numbers[QUEUED]
        table[row.QUEUE, size] = work
        table[row.SPOT, work] = size
        numbers[QUEUED] += 1


def drop(state: PlacingState, work: int) -> None:
    """Take a work out of a queue without an order."""
    table, numbers = state.table, state.numbers
    numbers[QUEUED] -= 1
    last = table[row.QUEUE, numbers[QUEUED]]
    place = table[row.SPOT, work]
    table[row.QUEUE, place] = last
    table[row.SPOT, last] = place
    table[row.SPOT, work] = -1


def note(state: PlacingState, entry: int) -> None:
    """Log that a task was started, or its complement: it has ended."""
    table, numbers = state.table, state.numbers
    place = numbers[LOGGED]
    table[row.LOG + (place & 1), place >> 1] = entry
    numbers[LOGGED] = place + 1


def make_state(
    arrays: WorkloadArrays, speed: Array, estimates: Array, kinds: Array, rest: Mapping[int, int]
) -> PlacingState:
    """Nothing has arrived, and no machine is there.

    `kinds` are empty where nothing is learned. `rest` has those of the numbers that are given and
    do not follow from the others.
    """
    tasks, works, machines = len(arrays), len(arrays.arrived), len(speed)
    numbers = np.zeros(NUMBERS, np.int64)
    numbers[WORKS], numbers[MACHINES], numbers[LEARNS] = works, machines, len(kinds) > 0
    for place, number in rest.items():
        numbers[place] = number
    longest = max(tasks + 1, works + 1, machines, CLASSES, kinds.max(initial=0) + 1)
    longest = max(longest, numbers[HISTORY], numbers[REMEMBERED])
    table = np.zeros((row.ROWS, longest), np.int64)
    for given, values in (
        (row.ARRIVED, arrays.arrived),
        (row.FIRST, arrays.first),
        (row.WORK, arrays.work),
        (row.RUNTIME, arrays.runtimes),
        (row.TRANSFER, arrays.transfers),
        (row.ESTIMATE, estimates),
        (row.PARENTS_START, arrays.parents.starts),
        (row.CHILDREN_START, arrays.children.starts),
        (row.KIND, kinds),
        (row.GROUP, np.unique(speed, return_inverse=True)[1]),
    ):
        table[given, : len(values)] = values
    numbers[GROUPS] = table[row.GROUP].max() + 1
    table[row.ORDER, :machines] = numbers[GROUPS] - 1 - table[row.GROUP, :machines]
    table[[row.START, row.END, row.MACHINE], :tasks] = -1
    table[[row.TARGET, row.SPOT], :works] = -1
    ratio = np.ones((row.RATIO_ROWS, max(works + 1, machines)))
    ratio[row.HALF_LEFT] = 0
    ratio[row.SPEED, :machines] = speed
    parents, children = arrays.parents.items, arrays.children.items
    return PlacingState(table, ratio, parents.astype(np.int64), children.astype(np.int64), numbers)


PARTS: Final = (push, pop, enqueue, dequeue, settle, append, drop, note)
"""what the compiler is to know"""
