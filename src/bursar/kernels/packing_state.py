"""What an execution of a packed workflow is written down on, in plain functions numba compiles.

Few arrays with named columns: functions of many arrays are slow to call, and what belongs to one
machine lies together. Machines and tasks are numbered within their offer, and one array holds those
of all offers, offer by offer.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""

NEVER: Final = (1 << 63) - 1

# Columns of `Site.plan`, by task.
NEEDS: Final = 0
"""how many parents"""
OFFER: Final = 1
PLACE: Final = 2
"""among the tasks of its offer, the most urgent first"""
PLAN: Final = 3

# Columns of `Site.terms`, by offer.
FIRST: Final = 0
"""where its tasks and machines begin"""
CAP: Final = 1
"""the most machines at once"""
SLOTS: Final = 2
BOOT: Final = 3
BILLING: Final = 4
MINIMUM: Final = 5
LEASE: Final = 6
"""how long the first lease lasts; 0: billing units are short"""
WORDS: Final = 7
"""where the words of its sets begin, see `put`"""
GROUPS: Final = 8
"""where the groups of its sets begin"""
LAST_GROUP: Final = 9
"""where they end"""
TERMS: Final = 10

# Columns of `PackedExecution.tasks`.
MISSING: Final = 0
"""parents that are not done"""
MACHINE: Final = 1
"""where it runs or ran"""
BEGIN: Final = 2
OF_TASK: Final = 3

# Columns of `PackedExecution.machines`.
OWNER: Final = 0
"""its offer"""
RENTED: Final = 1
"""when"""
SINCE: Final = 2
"""when it came up, or its last attempt ended"""
BUSY: Final = 3
"""attempts"""
STATUS: Final = 4
LOOK: Final = 5
"""when it will be looked at, or NEVER; there is one such entry in the heap"""
OF_MACHINE: Final = 6

BOOTING: Final = 0
UP: Final = 1
GONE: Final = 2

# Columns of `PackedExecution.offers`.
READY: Final = 0
"""tasks"""
FREE: Final = 1
"""slots of machines that are up or boot"""
LIVE: Final = 2
"""machines"""
COUNT: Final = 3
"""machines rented so far"""
PEAK: Final = 4
"""the most machines at once so far"""
UNITS: Final = 5
"""billing units of machines that are gone"""
OF_OFFER: Final = 6

SEQUENCE: Final = 0x022FDD63CC95386D
"""each six bits of it in a row are different (de Bruijn)"""
BIT: Final = np.argsort([(SEQUENCE << bit & (1 << 64) - 1) >> 58 for bit in range(64)])
"""[those six bits]: by how many bits it was shifted"""


class Site(NamedTuple):
    """A workflow and where each task is meant to run; the same for all samples."""

    children_start: Array
    children: Array
    plan: Array
    """[task, column]"""
    tasks: Array
    """[first of the offer + place]: the task"""
    terms: Array
    """[offer, column]"""


class PackedExecution(NamedTuple):
    """One execution; made once and used for many."""

    tasks: Array
    """[task, column]"""
    machines: Array
    """[machine, column]"""
    offers: Array
    """[offer, column]"""
    ready: Array
    """sets of tasks by their places, see `put`"""
    idle: Array
    """sets of machines that are up and have a free slot, by number"""
    heap: Array
    """[entry, moment or thing]: the earliest moment first; a thing is the end of a task, or, from
    the number of tasks on, a look at a machine"""
    touched: Array
    """machines to look at in this instant"""


def make_execution(site: Site) -> PackedExecution:
    """For each machine there is a task, and at most one look ahead."""
    tasks, offers = site.plan.shape[0], site.terms.shape[0]
    bits = site.terms[offers - 1, LAST_GROUP]
    return PackedExecution(
        tasks=np.empty((tasks, OF_TASK), np.int64),
        machines=np.empty((tasks, OF_MACHINE), np.int64),
        offers=np.empty((offers, OF_OFFER), np.int64),
        ready=np.empty(bits, np.uint64),
        idle=np.empty(bits, np.uint64),
        heap=np.empty((2 * tasks, 2), np.int64),
        touched=np.empty(2 * tasks, np.int64),
    )


# --- sets of places, of which the first is wanted ------------------------------------------------


def put(bits: Array, terms: Array, place: int) -> None:
    """64 places of an offer are a word, 64 words a group; a place may be put again."""
    one = np.uint64(1)
    bits[terms[WORDS] + (place >> 6)] |= one << np.uint64(place & 63)
    bits[terms[GROUPS] + (place >> 12)] |= one << np.uint64((place >> 6) & 63)


def drop(bits: Array, terms: Array, place: int) -> None:
    one = np.uint64(1)
    word = terms[WORDS] + (place >> 6)
    bits[word] &= ~(one << np.uint64(place & 63))
    if bits[word] == np.uint64(0):
        bits[terms[GROUPS] + (place >> 12)] &= ~(one << np.uint64((place >> 6) & 63))


def find_first(bits: Array, terms: Array) -> int:
    """The first place, or -1."""
    begin = terms[GROUPS]
    for group in range(begin, terms[LAST_GROUP]):
        if bits[group] != np.uint64(0):
            word = 64 * (group - begin) + lowest_bit(bits[group])
            return int(64 * word + lowest_bit(bits[terms[WORDS] + word]))
    return -1


def lowest_bit(word: Any) -> int:
    """The number of the lowest bit of a word that is not 0."""
    alone = word & (~word + np.uint64(1))
    return int(BIT[(alone * np.uint64(SEQUENCE)) >> np.uint64(58)])


# --- the heap ------------------------------------------------------------------------------------


def push(heap: Array, size: int, moment: int, thing: int) -> int:
    """The size is one more then."""
    hole = size
    while hole > 0:
        above = (hole - 1) >> 1
        if heap[above, 0] <= moment:
            break
        heap[hole, 0], heap[hole, 1] = heap[above, 0], heap[above, 1]
        hole = above
    heap[hole, 0], heap[hole, 1] = moment, thing
    return size + 1


def pop(heap: Array, size: int) -> int:
    """The first is taken away; the size is one less then."""
    last = size - 1
    moment, thing, hole = heap[last, 0], heap[last, 1], 0
    below = 1
    while below < last:
        if below + 1 < last and heap[below + 1, 0] < heap[below, 0]:
            below += 1
        if heap[below, 0] >= moment:
            break
        heap[hole, 0], heap[hole, 1] = heap[below, 0], heap[below, 1]
        hole, below = below, 2 * below + 1
    heap[hole, 0], heap[hole, 1] = moment, thing
    return last


PARTS: Final = (lowest_bit, put, drop, find_first, push, pop)
"""what the compiler is to know"""
