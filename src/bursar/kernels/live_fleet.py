"""Fleets for the rest of a bag, judged one by one, in plain functions that numba compiles.

`plan.bag.live_fleet` says what is computed, and why. A plan judges some hundred fleets of a few
groups of machines, which are too few for arrays: there each call of numpy costs more than its work.

What is known of groups is one table with a row for each of the names below and a column for each
group; times are seconds from now, money is billionths.
"""

from __future__ import annotations

from math import ceil, exp, floor, inf, log, log1p, pi, sqrt
from typing import Any, Final

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""

IS_NEW, ROOM, SLOTS, SPEED, BEGIN, PRICE, UNIT, PAID, HELD, RUNNING, SPEED_DOUBT = range(11)
"""Rows of a table of groups that are given ..."""
HERE: Final = 11
"""... and those that follow from them: machines that are there ..."""
RATE: Final = 12
"""... work of one in a second ..."""
PER_SECOND: Final = 13
"""... what it costs ..."""
LONGEST: Final = 14
"""... the mean of the longest rest of the tasks that its slots have at any moment, as work ..."""
TAIL_SQUARE: Final = 15
"""... the square of what it may cost more or less because of its last tasks ..."""
UNSEEN_COST: Final = 16
"""... and more because of tasks longer than any seen so far ..."""
LAST: Final = 17
"""... how long it stays after no other task is ready, for the longest of its own ..."""
BEGUN: Final = 18
"""... and by how much longer where all of them have just begun ..."""
AT_ONCE: Final = 19
"""... how long it stays where all tasks that are ready begin at once ..."""
PAID_HERE: Final = 20
"""... until when one that is there costs nothing more ..."""
LEAST_UNITS: Final = 21
"""... units that are charged for, however short a stay is ..."""
TAIL_UNITS: Final = 22
"""... deviation of its end, in units ..."""
SPEED_COST: Final = 23
"""... what its speed is in doubt by, in money for a second ..."""
GONE_COST: Final = 24
"""... what it costs to let it end its tasks and leave ..."""
UNDONE: Final = 25
"""... work that it has not done when no task is ready any more, because it came up late, or more
(below zero) because its slots have tasks under way then ..."""
FREE: Final = 26
"""... slots that have nothing to do when it comes up ..."""
WHOLE: Final = 27
"""... the mean of the longest of tasks that all its slots have just begun, as work ..."""
DEVIATION: Final = 28
"""... the deviation of the longest rest ..."""
ORDER: Final = 29
"""... and the groups in the order in which they come up."""
ROWS: Final = 30

READY, UNDER_WAY, ATTEMPTS, MONEY, DEADLINE, MEAN, SPREAD, UNSEEN, LONGER, LATE, EACH = range(11)
"""Places of what is known of the work that is left and of run times: `LATE` is what the time that
all work takes deviates by, as a share of it, and `EACH` what is left of that beside shifts ..."""
REST: Final = 11
"""... the mean rest of a task that is interrupted at any moment ..."""
IS_LONG: Final = 12
"""... whether units of time are long ..."""
EXACT: Final = 13
"""... and rounds of tasks from which on the closed form is the more exact the more there are."""
FIGURES: Final = 14

LIKELY: Final = 1.2816
"""Deviations that are not exceeded nine times in ten."""
FORM: Final = 0.01
"""By how much the closed form may be wrong, as a share of the cost ..."""
FORM_IN_ROUNDS: Final = 0.05
"""... and more in the last rounds of tasks that end together."""
NEVER: Final = 1e15
USELESS: Final = 1.0
"""A share of slots for which there is no task lengthens the time by so much of it: they cost."""
SURELY: Final = 1e-6
"""The share of a unit by which one must be entered to be charged."""
ASIDE, ASIDE_WEIGHT, AMID_WEIGHT = 1.1, 0.3, 0.4
"""A stay is somewhere around its mean: by so many deviations before or after, or there."""
LOG_HALF: Final = log(0.5)
LOG_OFTEN: Final = log(0.9)
ROOT_OF_2: Final = sqrt(2.0)
FAR: Final = -4.0
"""Below, the series of the tail of the normal distribution is the better one."""


def describe(groups: Array, curve: Array, known: Array) -> None:
    """Fill the rows of groups that follow from others.

    `curve` has the points of the run times, and at each the chance that what is left of a task that
    is interrupted at any moment is below it, and the chance that a task is.
    """
    order_by_begin(groups)
    for group in range(groups.shape[1]):
        same = 0
        while groups[SLOTS, same] != groups[SLOTS, group]:
            same += 1
        if same == group:
            slots = groups[SLOTS, group]
            groups[LONGEST, group], groups[DEVIATION, group] = longest_of(curve, 1, slots)
            groups[WHOLE, group], _ = longest_of(curve, 2, slots)
        else:
            groups[LONGEST, group] = groups[LONGEST, same]
            groups[DEVIATION, group] = groups[DEVIATION, same]
            groups[WHOLE, group] = groups[WHOLE, same]
        describe_one(groups, group, known)


def order_by_begin(groups: Array) -> None:
    for group in range(groups.shape[1]):
        place = group
        while place and groups[BEGIN, int(groups[ORDER, place - 1])] > groups[BEGIN, group]:
            groups[ORDER, place] = groups[ORDER, place - 1]
            place -= 1
        groups[ORDER, place] = group


def describe_one(groups: Array, group: int, known: Array) -> None:
    slots, speed, unit = groups[SLOTS, group], groups[SPEED, group], groups[UNIT, group]
    is_new, begin, paid = groups[IS_NEW, group] > 0, groups[BEGIN, group], groups[PAID, group]
    held, running = groups[HELD, group], groups[RUNNING, group]
    rate, per_second = slots * speed, groups[PRICE, group] / unit
    longest, whole = groups[LONGEST, group], groups[WHOLE, group]
    some = 1 - (1 - min(1.0, known[UNSEEN])) ** slots
    tail = (groups[DEVIATION, group] / speed) ** 2
    if not known[IS_LONG]:
        tail += unit * unit / 12
    tail = sqrt(tail)
    groups[HERE, group] = 0.0 if is_new else groups[ROOM, group]
    groups[RATE, group] = rate
    groups[PER_SECOND, group] = per_second
    groups[TAIL_SQUARE, group] = (per_second * tail) ** 2
    groups[UNSEEN_COST, group] = per_second * some * known[LONGER] / speed
    groups[LAST, group] = longest / speed
    groups[BEGUN, group] = max(0.0, whole - known[MEAN] - longest + known[REST]) / speed
    groups[AT_ONCE, group] = held if running > 0 else begin + whole / speed
    groups[PAID_HERE, group] = 0.0 if is_new else paid
    groups[LEAST_UNITS, group] = paid / unit - SURELY if is_new else 0.0
    groups[TAIL_UNITS, group] = tail / unit
    groups[SPEED_COST, group] = per_second * groups[SPEED_DOUBT, group]
    over = max(held, paid) if is_new else held - paid
    groups[GONE_COST, group] = groups[PRICE, group] * max(0.0, ceil(over / unit - SURELY))
    groups[UNDONE, group] = rate * begin - slots * known[REST]
    groups[FREE, group] = 0.0 if running > 0 else slots


def longest_of(curve: Array, row: int, slots: float) -> tuple[float, float]:
    """Mean and deviation of the longest of so many rests of tasks, or tasks."""
    mean = square = 0.0
    before_point, before = curve[0, 0], 1 - curve[row, 0] ** slots
    for place in range(1, curve.shape[1]):
        point, more = curve[0, place], 1 - curve[row, place] ** slots
        step = (point - before_point) / 2
        mean += (more + before) * step
        square += (more * point + before * before_point) * step
        before_point, before = point, more
    return mean, sqrt(max(0.0, 2 * square - mean * mean))


def judge_one(
    fleets: Array,
    fleet: int,
    groups: Array,
    curve: Array,
    known: Array,
    moves: Array,
    found: Array,
) -> None:
    """The middle and the likely time of a fleet, its cost, and the logarithm of its chance.

    `moves` has the shifts of the end of all machines, as shares of the time that the work takes,
    and how likely each is; in a third row is room for what a fleet costs with each.
    """
    ready, mean, spread = known[READY], known[MEAN], known[SPREAD]
    tasks, count = ready + known[ATTEMPTS], groups.shape[1]
    work, ending, ended = ready * mean + known[UNDER_WAY], 1.0, 0.0
    all_slots, fewest = 0.0, inf
    for group in range(count):  # what goes, and what stays
        there = fleets[fleet, group]
        gone = max(0.0, groups[HERE, group] - there)
        if gone > 0:
            work -= gone * groups[RUNNING, group]
            ending += gone * groups[GONE_COST, group]
            ended = max(ended, groups[HELD, group])
        if there > 0:
            all_slots += there * groups[SLOTS, group]
            fewest = min(fewest, groups[SLOTS, group])
    empty, is_at_once = queue_empty(fleets, fleet, groups, work, ready)
    rate = slots = begin = per_second = tail = unseen = speed_cost = 0.0
    for group in range(count):
        used = fleets[fleet, group]
        if used > 0 and groups[BEGIN, group] <= empty:
            rate += used * groups[RATE, group]
            slots += used * groups[SLOTS, group]
            begin += used * groups[RATE, group] * groups[BEGIN, group]
            per_second += used * groups[PER_SECOND, group]
            tail += used * groups[TAIL_SQUARE, group]
            unseen += used * groups[UNSEEN_COST, group]
            cost = used * groups[SPEED_COST, group] * (empty - groups[BEGIN, group])
            speed_cost += cost * cost
    if ready > 0 and rate <= 0:
        found[fleet, 0] = found[fleet, 1] = found[fleet, 2] = NEVER
        found[fleet, 3] = -NEVER
        return
    rate, slots = max(1e-9, rate), max(1.0, slots)
    rounds = tasks / slots
    begun = min(max(2 - rounds, 0.0), 1.0)  # how far the last tasks have just begun at the end
    # Slots end together so far; their phases part as renewals do.
    together = 0.0 if is_at_once else exp(-2 * pi**2 * spread**2 * rounds)
    round_time, up = mean * slots / rate, begin / rate
    ahead = ceil(ready / slots - 1e-9) * round_time
    in_rounds = max(up, known[UNDER_WAY] / rate) + ahead * (1 + 0.5 * spread)
    middle, end = last_ends(fleets, fleet, groups, curve, empty, begun)
    middle = (1 - together) * middle + together * in_rounds
    end = (1 - together) * end + together * in_rounds
    alone = work / rate
    late, each = known[LATE] * alone, known[EACH] * alone
    charge(
        *(fleets, fleet, groups, known, moves),
        *(empty, is_at_once, begun, together, rounds, up, round_time, alone),
    )
    total = 0.0
    for move in range(moves.shape[1]):
        moves[2, move] += ending
        if not known[IS_LONG] and moves.shape[1] > 1:
            moved = moves[2, move] + moves[0, move] * alone * per_second
            moves[2, move] = max(moved, ending)
        total += moves[1, move] * moves[2, move]
    form = FORM * min(1.0, known[EXACT] / rounds) + FORM_IN_ROUNDS * together / max(1.0, rounds)
    squares = (each * per_second) ** 2 + (form * total) ** 2 + unseen**2 + tail + speed_cost
    chance = mixed_chance(known, moves, sqrt(squares) + 1e-9, end, alone, each + 0.2 * mean)
    useless = 1 + USELESS * max(0.0, all_slots - fewest - tasks) / max(1.0, tasks)
    found[fleet, 0] = max(middle * useless, ended)
    found[fleet, 1] = max((end + LIKELY * late) * useless, ended)
    found[fleet, 2] = total
    found[fleet, 3] = chance


def queue_empty(
    fleets: Array, fleet: int, groups: Array, work: float, ready: float
) -> tuple[float, bool]:
    """When no task is ready any more, and whether that is because all begin at once.

    Slots end their tasks one by one, as renewals do; but where those that come up with nothing to
    do suffice for all that is ready, nobody waits for any end.
    """
    rates = undone = free = 0.0
    last = at_once = inf
    count = groups.shape[1]
    for place in range(count):
        group = int(groups[ORDER, place])
        there, begin = fleets[fleet, group], groups[BEGIN, group]
        rates += there * groups[RATE, group]
        undone += there * groups[UNDONE, group]
        free += there * groups[FREE, group]
        if free >= ready:
            at_once = min(at_once, begin)
        if rates > 0:
            until = max((work + undone) / max(rates, 1e-12), begin)
            if place + 1 == count or until <= groups[BEGIN, int(groups[ORDER, place + 1])]:
                last = min(last, until)
    if last == inf:
        last = 0.0
    if at_once < last:
        return at_once, True
    return last, False


def last_ends(
    fleets: Array, fleet: int, groups: Array, curve: Array, empty: float, begun: float
) -> tuple[float, float]:
    """When the last task has ended, half of the time, and nine times in ten.

    The longest of some is within what each of them is within so often.
    """
    half = often = half_whole = often_whole = 0.0
    for group in range(groups.shape[1]):
        used = fleets[fleet, group]
        if used > 0 and groups[BEGIN, group] <= empty:
            slots, speed = used * groups[SLOTS, group], groups[SPEED, group]
            one, other = exp(LOG_HALF / slots), exp(LOG_OFTEN / slots)
            half = max(half, within(curve, 1, one) / speed)
            often = max(often, within(curve, 1, other) / speed)
            if begun > 0:
                half_whole = max(half_whole, within(curve, 2, one) / speed)
                often_whole = max(often_whole, within(curve, 2, other) / speed)
    middle = empty + half + begun * max(0.0, half_whole - half)
    return middle, empty + often + begun * max(0.0, often_whole - often)


def within(curve: Array, row: int, chance: float) -> float:
    """What one rest of a task, or a task, does not exceed with this chance."""
    low, high = 0, curve.shape[1] - 1
    if chance >= curve[row, high]:
        return float(curve[0, high])
    if chance < curve[row, 0]:
        return float(curve[0, 0])
    while high - low > 1:  # the last place that is not above
        middle = (low + high) // 2
        if curve[row, middle] <= chance:
            low = middle
        else:
            high = middle
    slope = (curve[0, high] - curve[0, low]) / (curve[row, high] - curve[row, low])
    return float(slope * (chance - curve[row, low]) + curve[0, low])


def charge(
    fleets: Array,
    fleet: int,
    groups: Array,
    known: Array,
    moves: Array,
    empty: float,
    is_at_once: bool,
    begun: float,
    together: float,
    rounds: float,
    up: float,
    round_time: float,
    alone: float,
) -> None:
    """What machines cost that stay for the longest of what their slots have at the end.

    A shift moves the end of all that are up; where units are short, it is charged afterwards.
    """
    whole = floor(rounds + 1e-9)
    none = 1 - max(0.0, rounds - whole)
    for move in range(moves.shape[1]):
        moves[2, move] = 0.0
    for group in range(groups.shape[1]):
        there = fleets[fleet, group]
        if there <= 0:
            continue
        is_up, held = groups[BEGIN, group] <= empty, groups[HELD, group]
        stay = held
        if is_up and is_at_once:
            stay = groups[AT_ONCE, group]
        elif is_up:
            mixed = empty + groups[LAST, group] + begun * groups[BEGUN, group]
            stay = (1 - together) * max(mixed, held)
            if together > 0:
                # Of slots that end together some have another task: one of them holds a machine.
                some = 1 - none ** groups[SLOTS, group]
                stay += together * max(up + (whole + some) * round_time, held)
        unit, least = groups[UNIT, group], groups[LEAST_UNITS, group]
        stay = (stay - groups[PAID_HERE, group]) / unit - SURELY
        aside = ASIDE * groups[TAIL_UNITS, group] if is_up else 0.0
        price = there * groups[PRICE, group]
        moved_by = alone / unit if is_up and known[IS_LONG] else 0.0
        for move in range(moves.shape[1]):
            amid = stay + moves[0, move] * moved_by
            units = ASIDE_WEIGHT * ceil(max(amid - aside, least))
            units += AMID_WEIGHT * ceil(max(amid, least))
            units += ASIDE_WEIGHT * ceil(max(amid + aside, least))
            moves[2, move] += price * units


def mixed_chance(
    known: Array, moves: Array, deviation: float, end: float, alone: float, late: float
) -> float:
    """The logarithm of the chance that all is done within money and time, over all shifts."""
    money, deadline = known[MONEY], known[DEADLINE]
    highest, total = -inf, 0.0
    for move in range(moves.shape[1]):
        chance = 0.0
        if money < inf:
            # What is not known of run times makes them longer by factors, not by terms.
            form = log1p((deviation / moves[2, move]) ** 2)
            room = log(max(money, 1.0) / moves[2, move])
            chance = log_below((room + form / 2) / sqrt(form))
        if deadline < inf:
            moved = end + moves[0, move] * alone
            chance += log_below((deadline - moved) / max(late, 1e-6))
        if moves.shape[1] == 1:
            return chance
        chance += log(moves[1, move])
        if chance > highest:
            total = total * exp(highest - chance) + 1.0
            highest = chance
        else:
            total += exp(chance - highest)
    return min(highest + log(total), 0.0)


def log_below(z: float) -> float:
    """The logarithm of the chance that a normal number is at most z, as `beliefs.normal` has it."""
    if z < FAR:
        return -0.5 * z * z - log(-z * sqrt(2 * pi)) + log1p(-1.0 / (z * z))
    x = abs(z) / ROOT_OF_2
    t = 1.0 / (1.0 + 0.3275911 * x)
    tail = (((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t
    tail = (tail + 0.254829592) * 0.5 * t * exp(-x * x)
    return log(1.0 - tail if z >= 0 else tail)


PARTS: Final = (
    *(longest_of, order_by_begin, describe_one, queue_empty, within, last_ends, charge),
    *(log_below, mixed_chance, judge_one),
)
