"""The search among fleets for the rest of a bag, in plain functions that numba compiles.

`plan.bag.live_plan` says which fleets are tried, and why. Fleets that were tried are the rows of a
table; beside it stands what was found of each (`kernels.live_fleet`), with its value in the end.
"""

from __future__ import annotations

from math import inf, log
from typing import Any, Final

from bursar.kernels.live_fleet import DEADLINE, HERE, judge_one

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""

MIDDLE, LIKELY_TIME, COST, LOG_CHANCE, VALUE = range(5)
"""Columns of what is found of a fleet."""
FIGURES: Final = 5
ELAPSED, SPENT, IS_BEGUN, PRICE_OF_CHANCE, PAYABLE = range(5)
"""Places of what makes a value of time, cost and chance: see `plan.bag.live_plan`."""


def try_fleets(
    fleets: Array,
    tried: Array,
    found: Array,
    count: int,
    groups: Array,
    curve: Array,
    known: Array,
    moves: Array,
    worth: Array,
) -> int:
    """Judge the fleets that are not among those tried, of which there are `count`; how many then.

    Where nothing makes a value of them, all are judged.
    """
    for fleet in range(fleets.shape[0]):
        for group in range(fleets.shape[1]):
            tried[count, group] = fleets[fleet, group]
        if len(worth) and is_among(tried, count):
            continue
        judge_one(tried, count, groups, curve, known, moves, found)
        if len(worth):
            found[count, VALUE] = value_of(tried, found, count, groups, known, worth)
        count += 1
    return count


def is_among(tried: Array, last: int) -> bool:
    """Whether a row is the same as one before it."""
    for row in range(last):
        group = 0
        while group < tried.shape[1] and tried[row, group] == tried[last, group]:
            group += 1
        if group == tried.shape[1]:
            return True
    return False


def value_of(
    tried: Array, found: Array, row: int, groups: Array, known: Array, worth: Array
) -> float:
    """The less the better."""
    log_chance = found[row, LOG_CHANCE]
    if known[DEADLINE] < inf:
        taken = log(worth[SPENT] + found[row, COST] + 1.0)
    else:
        # The middle, since a kind of long tasks that is possible, but not likely, makes any fleet
        # late: it would hide what more machines save.
        taken = log(worth[ELAPSED] + found[row, MIDDLE] + 1e-3)
        if worth[IS_BEGUN] and log_chance < worth[PAYABLE] and only_adds(tried, row, groups):
            return inf
    return float(taken - worth[PRICE_OF_CHANCE] * log_chance)


def only_adds(tried: Array, row: int, groups: Array) -> bool:
    """Whether a fleet has machines more than those that are there, and none less."""
    is_more = False
    for group in range(groups.shape[1]):
        if tried[row, group] < groups[HERE, group]:
            return False
        is_more = is_more or tried[row, group] > groups[HERE, group]
    return is_more


def list_neighbours(
    fleets: Array, floor: Array, room: Array, is_cheap: Array, most: int, found: Array
) -> int:
    """One machine more or less of a group, a tenth more or less, or another in its place.

    Of the machines of a fleet, those of `most` groups, and of others those whose work is cheap.
    """
    count = 0
    for kind in range(4):
        step = 1.0 if kind < 2 else -1.0
        for fleet in range(fleets.shape[0]):
            some = 0
            for group in range(fleets.shape[1]):
                there = fleets[fleet, group]
                some += 1 if there > 0 else 0
                if not (is_cheap[group] or (there > 0 and some <= most)):
                    continue
                if (there >= room[group]) if step > 0 else (there <= floor[group]):
                    continue
                by = round(there / 10) if kind % 2 else 1
                if kind % 2 and by <= 1:
                    continue
                copy_within(fleets, fleet, floor, room, group, step * by, -1, found, count)
                count += 1
    for fleet in range(fleets.shape[0]):
        some = 0
        for gone in range(fleets.shape[1]):
            some += 1 if fleets[fleet, gone] > 0 else 0
            if fleets[fleet, gone] <= max(0.0, floor[gone]) or some > most:
                continue
            for group in range(fleets.shape[1]):
                if is_cheap[group] and fleets[fleet, group] < room[group]:
                    copy_within(fleets, fleet, floor, room, group, 1.0, gone, found, count)
                    count += 1
    return count


def copy_within(
    fleets: Array,
    fleet: int,
    floor: Array,
    room: Array,
    group: int,
    more: float,
    gone: int,
    found: Array,
    row: int,
) -> None:
    """A fleet with more or less of a group and one less of another (-1: none), within bounds."""
    for place in range(fleets.shape[1]):
        there = fleets[fleet, place]
        if place == gone:
            there -= 1
        if place == group:
            there += more
        found[row, place] = min(max(there, floor[place]), room[place])


PARTS: Final = (is_among, only_adds, value_of, copy_within)
