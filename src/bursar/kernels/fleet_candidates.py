"""The first fleets that a plan for the rest of a bag tries, in plain functions that numba compiles.

`plan.bag.live_plan` says which they are, and why. Groups of machines and what is known of the work
are the tables of `kernels.live_fleet`; fleets are rows of numbers of machines.
"""

from __future__ import annotations

from math import ceil, inf, log10
from typing import Any, Final

from bursar.kernels.live_fleet import (
    ATTEMPTS,
    BEGIN,
    HELD,
    HERE,
    IS_NEW,
    LONGEST,
    MEAN,
    PAID,
    PER_SECOND,
    PRICE,
    RATE,
    READY,
    REST,
    ROOM,
    RUNNING,
    SLOTS,
    SPEED,
    SPEED_DOUBT,
    SURELY,
    UNDER_WAY,
    UNIT,
    within,
)

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""

ENDS: Final = 32
"""Finishing times that covers are made for."""
LATEST: Final = 400.0
"""The latest of them, by the earliest."""
PLAIN: Final = 10
"""Numbers of machines of one offer that are tried alone."""
DEAR: Final = 1.12
"""A machine is dropped where its work costs so many times what it costs elsewhere."""
LIKELY_END: Final = 0.9
"""A task that fits paid time ends within it so often."""
FLOOR, IS_CHEAP, VALUE, DONE, PLACE = range(5)
"""Rows of what is noted of groups: the least number of machines, whether its work is cheap; the
rest is room to work in."""
NOTES: Final = 5


def most_fleets(groups: int, cheapest: int) -> int:
    """How many are listed at most."""
    return 1 + 2 * ENDS + 2 * PLAIN * min(groups, cheapest) + 2 * groups


def list_first_fleets(
    groups: Array,
    curve: Array,
    known: Array,
    cheapest: int,
    is_early: bool,
    may_drop: bool,
    notes: Array,
    found: Array,
) -> int:
    """What is there, covers, machines of one offer, and, where some may go, fewer of the dearest.

    How many fleets that are; one where nothing of what is there can go, and nothing be rented.
    """
    is_begun = can_change = False
    note_floor(groups, curve, is_early, notes)
    note_cheapest(groups, cheapest, notes)
    for group in range(groups.shape[1]):
        found[0, group] = groups[HERE, group]
        is_begun = is_begun or groups[HERE, group] > 0
        can_change = can_change or notes[FLOOR, group] != groups[ROOM, group]
    count = 1
    if is_begun and not can_change:
        return count
    count = list_covers(groups, known, notes, found, count)
    count = list_plain(groups, known, cheapest, notes, found, count)
    if may_drop and not is_early:
        count = list_fewer(groups, notes, found, count)
    for row in range(count):
        for group in range(groups.shape[1]):
            machines = max(found[row, group], notes[FLOOR, group])
            found[row, group] = min(machines, groups[ROOM, group])
    return count


def note_floor(groups: Array, curve: Array, is_early: bool, notes: Array) -> None:
    """What is not dropped: a machine at work whose work costs little more than elsewhere.

    Elsewhere it may cost more than it seems, where speeds are in doubt. Its boot is paid, and the
    time that some of its slots idle at its end comes sooner or later.
    Nor one whose paid time is long enough for another task: that can be decided later.
    """
    elsewhere, task = inf, within(curve, 2, LIKELY_END)
    for group in range(groups.shape[1]):
        price = groups[PER_SECOND, group] / groups[RATE, group]
        elsewhere = min(elsewhere, price * (1 + groups[SPEED_DOUBT, group]))
    for group in range(groups.shape[1]):
        price = groups[PER_SECOND, group] / groups[RATE, group]
        is_fair = is_early or (price <= DEAR * elsewhere and groups[RUNNING, group] > 0)
        if groups[PAID, group] >= groups[BEGIN, group] + task / groups[SPEED, group]:
            is_fair = True
        notes[FLOOR, group] = groups[HERE, group] if is_fair else 0.0


def note_cheapest(groups: Array, cheapest: int, notes: Array) -> None:
    """The groups whose work costs least: so many of them."""
    count = groups.shape[1]
    for group in range(count):
        notes[VALUE, group] = groups[PER_SECOND, group] / groups[RATE, group]
        notes[IS_CHEAP, group] = 0.0
    sort_places(notes, count)
    for place in range(min(cheapest, count)):
        notes[IS_CHEAP, int(notes[PLACE, place])] = 1.0


def sort_places(notes: Array, count: int) -> None:
    """Places by their values, those that come first before others of the same value."""
    for group in range(count):
        place = group
        while place and notes[VALUE, int(notes[PLACE, place - 1])] > notes[VALUE, group]:
            notes[PLACE, place] = notes[PLACE, place - 1]
            place -= 1
        notes[PLACE, place] = group


def list_covers(groups: Array, known: Array, notes: Array, found: Array, row: int) -> int:
    """For each finishing time, machines by what a piece of work costs until all is covered.

    Then each of them again, with one machine less of the group that it took last.
    """
    count, mean = groups.shape[1], known[MEAN]
    work = known[READY] * mean + known[UNDER_WAY]
    rates, first, last, fastest, slowest = 0.0, inf, 0.0, 0.0, inf
    for group in range(count):
        rates += groups[RATE, group] * groups[ROOM, group]
        first, last = min(first, groups[BEGIN, group]), max(last, groups[BEGIN, group])
        fastest = max(fastest, groups[SPEED, group])
        slowest = min(slowest, groups[RATE, group])
    earliest = first + max(0.5 * mean / fastest, work / max(1e-9, rates))
    latest = min(last + 2 * (work + mean) / slowest, earliest * LATEST)
    for step in range(ENDS):
        end = rising(earliest, latest, step, ENDS)
        value_until(end, groups, known, notes)
        sort_places(notes, count)
        cover(work, groups, notes, found, row + step, row + ENDS + step)
    return row + 2 * ENDS


def rising(first: float, last: float, step: int, steps: int) -> float:
    """One of some numbers in equal ratios."""
    if step == 0:
        return first
    if step == steps - 1:
        return last
    low = log10(first)
    return float(10.0 ** (step * ((log10(last) - low) / (steps - 1)) + low))


def value_until(end: float, groups: Array, known: Array, notes: Array) -> None:
    """What a machine of each group does until then, and what a piece of that work costs."""
    for group in range(groups.shape[1]):
        lost = groups[SLOTS, group] * max(0.0, groups[LONGEST, group] - known[REST])
        done = max(0.0, groups[RATE, group] * (end - groups[BEGIN, group]) - lost)
        stay, paid = max(end, groups[HELD, group]), groups[PAID, group]
        over = max(stay, paid) if groups[IS_NEW, group] > 0 else stay - paid
        units = max(0.0, ceil(over / groups[UNIT, group] - SURELY))
        notes[DONE, group] = done
        notes[VALUE, group] = groups[PRICE, group] * units / done if done > 0 else inf


def cover(work: float, groups: Array, notes: Array, found: Array, row: int, less: int) -> None:
    """Machines of the groups in their order until all is covered; in another row one less."""
    covered, last = 0.0, 0
    for place in range(groups.shape[1]):
        group = int(notes[PLACE, place])
        done = notes[DONE, group]
        most = groups[ROOM, group] if done > 0 else 0.0
        before = covered
        covered += done * most
        machines = min(max(float(ceil((work - before) / max(done, 1e-9))), 0.0), most)
        found[row, group] = found[less, group] = machines
        if machines > 0:
            last = group
    found[less, last] = max(0.0, found[less, last] - 1)


def list_plain(
    groups: Array, known: Array, cheapest: int, notes: Array, found: Array, row: int
) -> int:
    """Machines of one offer alone, and added to those that are there: of the cheapest new ones."""
    count, tasks = groups.shape[1], known[READY] + known[ATTEMPTS]
    for group in range(count):
        is_new = groups[IS_NEW, group] > 0
        price = groups[PER_SECOND, group] / groups[RATE, group]
        notes[VALUE, group] = price if is_new else inf
        notes[DONE, group] = 0.0
    sort_places(notes, count)
    for place in range(min(cheapest, count)):
        notes[DONE, int(notes[PLACE, place])] = 1.0
    for group in range(count):
        most = min(groups[ROOM, group], float(ceil(tasks / groups[SLOTS, group])))
        if notes[DONE, group] <= 0 or groups[IS_NEW, group] <= 0 or most < 1:
            continue
        for step in range(PLAIN):
            more = float(round(rising(1.0, most, step, PLAIN)))
            for other in range(count):
                found[row, other] = 0.0
                found[row + 1, other] = groups[HERE, other]
            found[row, group] += more
            found[row + 1, group] += more
            row += 2
    return row


def list_fewer(groups: Array, notes: Array, found: Array, row: int) -> int:
    """What is there, without some or all machines of the groups whose work costs most."""
    count = groups.shape[1]
    for group in range(count):
        notes[VALUE, group] = -groups[PER_SECOND, group] / groups[RATE, group]
        notes[DONE, group] = groups[HERE, group]
    sort_places(notes, count)
    for place in range(count):
        group = int(notes[PLACE, place])
        if groups[HERE, group] <= 0:
            continue
        for part in range(2):
            notes[DONE, group] = float(ceil(groups[HERE, group] / 2)) if part == 0 else 0.0
            for other in range(count):
                found[row, other] = notes[DONE, other]
            row += 1
    return row


PARTS: Final = (
    *(sort_places, rising, note_floor, note_cheapest, value_until, cover),
    *(list_covers, list_plain, list_fewer),
)
