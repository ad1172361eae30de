"""Fleets for the rest of a bag, judged many at once in numpy's arrays: what the kernel must equal.

Inside, arrays are `[group, fleet]`.
"""

from __future__ import annotations

from math import isfinite, pi, sqrt
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.bag_times import ENOUGH, BagTimes
from bursar.beliefs.normal import log_below
from bursar.beliefs.work_forms import SLICES
from bursar.plan.bag.live_fleet import FleetVerdicts, MachineGroups, Residuals, WorkLeft

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]

LOG_OFTEN: Final = np.log([[0.5], [0.9]])
"""Half of the time, and nine times in ten."""
LIKELY: Final = 1.2816
"""Deviations that are not exceeded nine times in ten."""
FORM: Final = 0.01
"""By how much the closed form may be wrong, as a share of the cost ..."""
FORM_IN_ROUNDS: Final = 0.05
"""... and more in the last rounds of tasks that end together."""
EXACT_FROM: Final = 5.0
"""Rounds of tasks after which it errs by less."""
NEVER: Final = 1e15
USELESS: Final = 1.0
"""A share of slots for which there is no task lengthens the time by so much of it: they cost."""
SURELY: Final = 1e-6
"""The share of a unit by which one must be entered to be charged."""
QUARTERS: Final = ((-1.1, 0.3), (0.0, 0.4), (1.1, 0.3))
"""A stay is somewhere around its mean: deviations from it, and their weights."""
SHIFTS: Final = (
    (-2.4, 0.02),
    (-1.6, 0.09),
    (-0.8, 0.23),
    (0.0, 0.32),
    (0.8, 0.23),
    (1.6, 0.09),
    (2.4, 0.02),
)
"""The same of the end of all machines, which is later or earlier by the same work for all."""
BETWEEN_SHIFTS: Final = 0.25
"""Deviations of what lies between two of them."""
_SHIFTED: Final = np.array([shift for shift, _ in SHIFTS])[:, np.newaxis]
_SHARES: Final = np.array([part for _, part in SHIFTS])
_SLICES: Final = np.array(SLICES)
_UNMOVED: Final = np.zeros((1, 1))
_ONE: Final = np.ones(1)
_QUARTERS: Final = np.array([shift for shift, _ in QUARTERS])[:, np.newaxis, np.newaxis]
LONG_UNIT: Final = 300.0
"""Seconds from which on units are long: whether an end falls before or after theirs is all."""


MANY: Final = 8
"""Groups in no fleet that are worth being left out."""


class _Moves(msgspec.Struct, frozen=True):
    """By how much all machines of a fleet may end later or earlier together."""

    shifts: Floats
    """seconds: `[shift, fleet]` ..."""
    weights: Floats
    """... how likely each shift is ..."""
    each: Floats
    """... and how much the end of a fleet deviates from it, in seconds"""


class PlainFleetJudge:
    """Judges fleets, numbers of machines of each group, for what is left to do."""

    def __init__(
        self, groups: MachineGroups, left: WorkLeft, times: BagTimes, speed_doubt: Floats
    ) -> None:
        self.groups, self.left, self.times = groups, left, times
        self.residuals = Residuals(times)
        speed, slots = groups.speed, groups.slots
        rate, per_second = slots * speed, groups.price / groups.unit
        self.longest, deviation = self.residuals.longest(slots)
        whole, _ = self.residuals.longest(slots, whole=True)
        some = 1 - np.power(1 - min(1.0, times.unseen), slots)
        unseen = per_second * some * times.longer / speed
        """what a machine may cost more because of tasks longer than any seen so far"""
        self._long = float(groups.unit.max()) >= LONG_UNIT
        tail = np.square(deviation / speed)
        tail = np.sqrt(tail if self._long else tail + np.square(groups.unit) / 12)
        """deviation of the end of a machine"""
        self._sums = np.array(
            [rate, slots, rate * groups.begin, per_second, np.square(per_second * tail), unseen]
        )
        """what of each machine is added up over those of a fleet, see `_FleetSums`"""
        begun = np.maximum(0.0, whole - times.mean - self.longest + self.residuals.mean)
        at_once = np.where(groups.running > 0, groups.held, groups.begin + whole / speed)
        self._has_speed_cost = bool(speed_doubt.any())
        self._each = _EachMachine(
            *np.array(
                [
                    np.where(groups.is_new, 0.0, groups.room),
                    slots,
                    groups.begin,
                    groups.held,
                    groups.price,
                    groups.unit,
                    np.where(groups.is_new, 0.0, groups.paid),
                    np.where(groups.is_new, groups.paid / groups.unit - SURELY, 0.0),
                    tail / groups.unit,
                    self.longest / speed,
                    begun / speed,
                    at_once,
                    per_second * speed_doubt,
                ]
            )[:, :, np.newaxis]
        )
        self._are_here = not groups.is_new.all()
        self._gone = np.array([groups.running, groups.charge(groups.held)])
        """work that a machine takes along which takes no more tasks, and what it costs"""
        self._arrivals = Arrivals(groups.begin, rate, slots, groups.running, self.residuals.mean)

    def judge(self, fleets: Floats) -> FleetVerdicts:
        """Fleets are `[fleet, group]`."""
        left, times, held = self.left, self.times, self._each.held
        counts = np.ascontiguousarray(fleets.T)
        gone, work, ending = self._goes(counts)
        empty, is_up, at_once = self._arrivals.queue_empty(counts, work, left.ready)
        used = counts * is_up
        sums = _FleetSums(*(self._sums @ used))
        shape = _Shape(sums, left, times, at_once)
        stay = np.where(is_up, self._stays(empty, shape), held)
        if at_once is not None:
            stay = np.where(at_once, np.where(is_up, self._each.at_once, held), stay)
        middle, end = self._ends(empty, used, shape)
        alone = work / shape.rate
        moves = self._moves(alone)
        charges = self._charges(counts, stay, is_up, moves.shifts if self._long else None)
        totals = charges + ending
        if not self._long and len(moves.weights) > 1:
            totals = np.maximum(totals + moves.shifts * sums.per_second, ending)
        total = moves.weights @ totals
        deviation = self._deviation(used, total, empty, moves.each, shape)
        ends, spread = end + moves.shifts, moves.each + 0.2 * times.mean
        chance = _mixed_chance(left, moves.weights, totals, deviation, ends, spread)
        time = end + LIKELY * self._share(times.doubt) * alone
        useless = _useless(self._each.slots, counts, left)
        if useless is not None:
            middle, time = middle * useless, time * useless
        if gone is not None:
            ended = np.where(gone > 0, held, 0.0).max(axis=0)
            middle, time = np.maximum(middle, ended), np.maximum(time, ended)
        cannot = sums.rate <= 0
        if left.ready and cannot.any():
            middle[cannot] = time[cannot] = total[cannot] = NEVER
            chance[cannot] = -NEVER
        return FleetVerdicts(middle, time, total, chance)

    def _goes(self, counts: Floats) -> tuple[Floats | None, Floats | float, Floats | float]:
        """Machines that fleets drop (None: they drop none), the work that is left, and what it
        costs to let dropped ones end their tasks.
        """
        work = self.left.ready * self.times.mean + self.left.running
        if not self._are_here or not (counts < self._each.here).any():
            return None, work, 1.0
        gone = np.maximum(0.0, self._each.here - counts)
        taken, cost = self._gone @ gone
        return gone, work - taken, cost + 1.0

    def _share(self, doubt: float) -> float:
        """The deviation of all work that is left, where its mean is in doubt by a share."""
        return sqrt(doubt**2 + self.times.spread**2 / max(1, self.left.tasks))

    def _moves(self, alone: Floats) -> _Moves:
        """How the ends of fleets move together; `alone` is how long each takes for the work."""
        times = self.times
        if times.factors is not None:
            shifts = (times.factors - 1)[:, np.newaxis] * alone
            return _Moves(shifts, _SLICES, self._share(times.noise) * alone)
        late = self._share(times.doubt) * alone
        if self._long:
            return _Moves(_SHIFTED * late, _SHARES, BETWEEN_SHIFTS * late)
        return _Moves(_UNMOVED, _ONE, late)

    def _charges(
        self, counts: Floats, stay: Floats, is_up: Truths, shifts: Floats | None = None
    ) -> Floats:
        """What machines cost that stay about so long: `[shift, fleet]`.

        A shift moves the end of all that are up by some seconds; without, there is one of zero.
        """
        each = self._each
        some = counts.any(axis=1)
        if len(counts) - np.count_nonzero(some) >= MANY:  # those in no fleet cost nothing
            counts, stay, is_up = counts[some], stay[some], is_up[some]
            each = _EachMachine(*(column[some] for column in each))
        stay = (stay - each.paid) / each.unit - SURELY
        quarters = _QUARTERS * (each.tail * is_up)
        if shifts is None:
            stays = (stay + quarters)[np.newaxis]
        else:
            moved = shifts[:, np.newaxis, np.newaxis] * (is_up / each.unit)
            stays = stay + moved + quarters
        units = np.ceil(np.maximum(stays, each.least_units))
        (_, first), (_, second), (_, third) = QUARTERS
        mean = first * units[:, 0] + second * units[:, 1] + third * units[:, 2]
        found: Floats = (counts * each.price * mean).sum(axis=1)
        return found

    def _stays(self, empty: Floats, shape: _Shape) -> Floats:
        """How long each machine stays: for the longest of what its slots have at the end."""
        each, weight = self._each, shape.together
        mixed = empty + each.last
        if shape.some_begin:
            mixed += shape.begun * each.begun
        # Of slots that end together some have another task, and one of them holds a machine.
        whole = np.floor(shape.rounds + 1e-9)
        none = 1 - np.maximum(0.0, shape.rounds - whole)
        some = 1 - np.power(none, each.slots)
        even = shape.up + (whole + some) * shape.round_time
        stays: Floats = (1 - weight) * np.maximum(mixed, each.held) + weight * np.maximum(
            even, each.held
        )
        return stays

    def _ends(self, empty: Floats, used: Floats, shape: _Shape) -> Floats:
        """When the last task has ended, which it has half of the time, and nine times in ten."""
        places = used.nonzero()
        groups, fleets = places
        # The longest of some is within what each of them is within so often.
        chances = np.exp(LOG_OFTEN / (used[places] * self.groups.slots[groups]))
        speed = self.groups.speed[groups]
        each = np.zeros((2, *used.shape))

        def last(*, whole: bool) -> Floats:
            each[:, groups, fleets] = self.residuals.within(chances, whole=whole) / speed
            found: Floats = each.max(axis=1)
            return found

        tail = last(whole=False)
        mixed = empty + tail
        if shape.some_begin:
            mixed += shape.begun * np.maximum(0.0, last(whole=True) - tail)
        ends: Floats = (1 - shape.together) * mixed + shape.together * shape.in_rounds
        return ends

    def _deviation(
        self, used: Floats, total: Floats, empty: Floats, late: Floats, shape: _Shape
    ) -> Floats:
        """What the cost deviates by: the mean, the sum, the last tasks, speeds, and the form."""
        sums = shape.sums
        exact = EXACT_FROM if self.times.count >= ENOUGH else np.inf
        form = FORM * np.minimum(1.0, exact / shape.rounds)
        form += FORM_IN_ROUNDS * shape.together / np.maximum(1.0, shape.rounds)
        # Tasks of a kind that was not seen are the same for all machines: their doubts add up.
        squares = (late * sums.per_second) ** 2 + (form * total) ** 2 + sums.unseen**2 + sums.tail
        if self._has_speed_cost:
            time = np.maximum(0.0, empty - self._each.begin)
            squares += np.square(used * self._each.speed_cost * time).sum(axis=0)
        found: Floats = np.sqrt(squares) + 1e-9
        return found


class _EachMachine(NamedTuple):
    """What is the same of all machines of a group: a column `[group, 1]` each."""

    here: Floats
    """how many are there"""
    slots: Floats
    begin: Floats
    held: Floats
    price: Floats
    unit: Floats
    paid: Floats
    """until when one that is there costs nothing more"""
    least_units: Floats
    """units that are charged for, however short a stay is"""
    tail: Floats
    """deviation of its end, in units"""
    last: Floats
    """how long it stays after no other task is ready, for the longest of its own ..."""
    begun: Floats
    """... and by how much longer where all of them have just begun"""
    at_once: Floats
    """how long it stays where all tasks that are ready begin at once"""
    speed_cost: Floats
    """what its speed is in doubt by, in money for a second"""


class _FleetSums(NamedTuple):
    """What the machines of each fleet that come up in time have together."""

    rate: Floats
    """work in a second"""
    slots: Floats
    begin: Floats
    """when they come up, by their rate"""
    per_second: Floats
    """what they cost"""
    tail: Floats
    """the squares of what their last tasks may cost more or less"""
    unseen: Floats
    """what tasks longer than any seen so far may cost more"""


class _Shape:
    """How many rounds of tasks fleets do, and how far their slots end together."""

    def __init__(
        self, sums: _FleetSums, left: WorkLeft, times: BagTimes, at_once: Truths | None
    ) -> None:
        self.sums = sums
        self.rate = np.maximum(1e-9, sums.rate)
        slots = np.maximum(1.0, sums.slots)
        self.rounds = left.tasks / slots
        self.begun = np.minimum(np.maximum(2 - self.rounds, 0.0), 1.0)
        """how far the last tasks have just begun when no other is ready"""
        self.some_begin = bool(self.begun.any())
        self.together = np.exp(-2 * pi**2 * times.spread**2 * self.rounds)
        """weight of slots that end together; their phases part as renewals do"""
        if at_once is not None:
            self.together[at_once] = 0.0
        self.round_time = times.mean * slots / self.rate
        self.up = sums.begin / self.rate
        under_way = np.maximum(self.up, left.running / self.rate)
        ahead = np.ceil(left.ready / slots - 1e-9) * self.round_time
        self.in_rounds = under_way + ahead * (1 + 0.5 * times.spread)


def _useless(slots: Floats, counts: Floats, left: WorkLeft) -> Floats | None:
    """By how much slots beyond one for each task lengthen the time, if a machine could be spared.

    None: no fleet has any.
    """
    all_slots = (counts * slots).sum(axis=0)
    if all_slots.max() <= left.tasks:
        return None
    fewest = np.where(counts > 0, slots, np.inf).min(axis=0)
    spare: Floats = np.maximum(0.0, all_slots - fewest - left.tasks)
    return 1 + USELESS * spare / max(1, left.tasks)


def _log_chance(
    left: WorkLeft, cost: Floats, deviation: Floats, end: Floats, late: Floats
) -> Floats:
    found = np.zeros_like(cost)
    if isfinite(left.money):
        # What is not known of run times makes them longer by factors, not by terms.
        form = np.log1p(np.square(deviation / cost))
        room = np.log(max(left.money, 1.0) / cost)
        found = log_below((room + form / 2) / np.sqrt(form))
    if isfinite(left.deadline):
        found = found + log_below((left.deadline - end) / np.maximum(late, 1e-6))
    return found


def _mixed_chance(
    left: WorkLeft,
    weights: Floats,
    costs: Floats,
    deviation: Floats,
    ends: Floats,
    late: Floats,
) -> Floats:
    """The same for costs and ends `[shift, fleet]`, where each shift has a weight."""
    each = _log_chance(left, costs, deviation, ends, late)
    if len(weights) == 1:
        only: Floats = each[0]
        return only
    logs = np.log(weights)[:, np.newaxis]
    chance: Floats = np.minimum(np.logaddexp.reduce(logs + each, axis=0), 0.0)
    return chance


class Arrivals:
    """Groups in the order in which they come up."""

    def __init__(
        self, begin: Floats, rate: Floats, slots: Floats, running: Floats, rest: float
    ) -> None:
        """By group: when it comes up, and of each machine the work that it does in a second, its
        slots, and the work that runs there. `rest` is what is left on average of a task that runs.
        """
        order = np.argsort(begin, kind="stable")
        self._begins = begin[:, np.newaxis]
        self._begin = self._begins[order]
        self._following = np.append(self._begin[1:], [[np.inf]], axis=0)
        free = np.where(running > 0, 0.0, slots)
        each = np.array([rate, rate * begin - slots * rest, free])
        self._order, self._each = order, each[:, order, np.newaxis]
        """of each machine: work in a second, that which is not done when no task is ready any more,
        and slots that have nothing to do when they come up"""

    def queue_empty(
        self, counts: Floats, work: Floats | float, ready: int
    ) -> tuple[Floats, Truths, Truths | None]:
        """When no task is ready any more, which groups have come up by then, and whether at once.

        Slots end their tasks one by one, as renewals do; but where those that come up with nothing
        to do suffice for all that is ready, nobody waits for any end. None: they do nowhere.
        """
        rates, done, free = (counts[self._order] * self._each).cumsum(axis=1)
        until = np.where(rates > 0, (work + done) / np.maximum(rates, 1e-12), np.inf)
        empty = np.maximum(until, self._begin)
        last = np.where(empty <= self._following, empty, np.inf).min(axis=0)
        found = np.where(last < np.inf, last, 0.0)
        may_be_at_once = free[-1] >= ready
        if not may_be_at_once.any():
            return found, self._begins <= found, None
        suffices = np.where(free >= ready, self._begin, np.inf)
        at_once = suffices.min(axis=0)
        is_at_once = at_once < found
        found = np.where(is_at_once, at_once, found)
        return found, self._begins <= found, is_at_once
