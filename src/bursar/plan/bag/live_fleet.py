"""A closed form that judges fleets for the rest of a bag: the time, the cost and the chance.

A fleet is so many machines of each group. A group is machines that are alike: those of an offer
that are there, with their paid time and what runs on them, or new ones. `kernels.live_fleet` does
the sums.

Tasks are taken by whatever slot is free. Until the queue is empty every slot works; from then on a
slot has what is left of its last task, and a machine stays for the longest of its slots. What is
left of a task that is interrupted at any moment has the density of the chance to go on (the
residual of renewal theory), so that the mean and the quantiles of the longest of some slots are
figures of the run times' form alone. Where run times hardly vary, slots end at the same moments
instead, in rounds; the fewer the rounds and the smaller the deviation, the more this counts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from math import inf, sqrt
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.bag_times import ENOUGH, BagTimes
from bursar.beliefs.work_forms import SLICES
from bursar.kernels import fleet_candidates, fleet_search, live_fleet
from bursar.kernels.compiling import compile_kept, let_kernels_call, stamp_of
from bursar.kernels.fleet_candidates import FLOOR, IS_CHEAP, NOTES, most_fleets
from bursar.kernels.fleet_search import FIGURES, VALUE
from bursar.kernels.live_fleet import LONGEST, ROOM, ROWS, SURELY

Floats = NDArray[np.float64]

SHIFTS: Final = (
    (-2.4, 0.02),
    (-1.6, 0.09),
    (-0.8, 0.23),
    (0.0, 0.32),
    (0.8, 0.23),
    (1.6, 0.09),
    (2.4, 0.02),
)
"""The end of all machines is later or earlier by the same work for all: deviations, and weights."""
BETWEEN_SHIFTS: Final = 0.25
"""Deviations of what lies between two of them."""
EXACT_FROM: Final = 5.0
"""Rounds of tasks from which on the closed form errs by less than its usual share: on 30 markets
costs of executions differed by 0.4 % with 8 to 16 rounds, and by 0.1 % with more than 32. Until
enough has ended, the usual share also stands for what results may tell."""
LONG_UNIT: Final = 300.0
"""Seconds from which on units are long: whether an end falls before or after theirs is all."""
_SHIFTED: Final = np.array([shift for shift, _ in SHIFTS])
_SHARES: Final = np.array([part for _, part in SHIFTS])
_UNMOVED, _ONE = np.zeros(1), np.ones(1)
_NO_WORTH: Final = np.zeros(0)


class MachineGroups(msgspec.Struct, frozen=True):
    """Machines that are alike, a row each; times in seconds from now, money in billionths."""

    offer: NDArray[np.int64]
    """places in the market"""
    is_new: NDArray[np.bool_]
    room: Floats
    """the most machines that there can be"""
    slots: Floats
    speed: Floats
    begin: Floats
    """when tasks can begin"""
    price: Floats
    """of a unit"""
    unit: Floats
    paid: Floats
    """until when nothing more is charged; of new ones, the least that is"""
    held: Floats
    """until when what runs there is expected to have ended"""
    running: Floats
    """work that is left of what runs there, in seconds at speed 1"""

    def __len__(self) -> int:
        return len(self.slots)

    def charge(self, stay: Floats) -> Floats:
        """What machines cost from now on that stay so long, each."""
        over = np.where(self.is_new, np.maximum(stay, self.paid), stay - self.paid)
        charged: Floats = self.price * np.maximum(0.0, np.ceil(over / self.unit - SURELY))
        return charged


class WorkLeft(msgspec.Struct, frozen=True):
    """What is to be done, and with what."""

    ready: int
    """tasks that do not run"""
    running: float
    """work that is left of those that do, in seconds at speed 1"""
    attempts: int
    money: float
    """that may still be spent, in billionths; infinite: no matter how much"""
    deadline: float
    """seconds from now; infinite: none"""
    elapsed: float
    """seconds that the run has taken"""
    spent: float
    """in billionths"""

    @property
    def tasks(self) -> int:
        return self.ready + self.attempts


class FleetVerdicts(msgspec.Struct, frozen=True):
    """What is to be expected of each fleet from now on."""

    middle: Floats
    """time to the end, which is exceeded as often as not ..."""
    time: Floats
    """... and not exceeded nine times in ten"""
    cost: Floats
    """on average, in billionths"""
    log_chance: Floats
    """logarithm of the chance that all is done within money and time"""


class FirstFleets(msgspec.Struct, frozen=True):
    """Fleets that are tried first; the first is the one that is there."""

    fleets: Floats
    """one where nothing can go, and nothing be rented"""
    floor: Floats
    """by group, machines that are not dropped"""
    is_cheap: Floats
    """whether its work is among the cheapest: 1 or 0"""


class Residuals:
    """What is left of tasks that are interrupted at any moment, in work; by number of slots."""

    def __init__(self, times: BagTimes) -> None:
        curve = times.curve
        self.points = curve.points
        self.chance: Floats = 1 - curve.after / curve.after[0]
        self.whole: Floats = 1 - curve.alive
        """the same of tasks that have just begun"""
        self.mean = times.mean * (1 + times.spread**2) / 2
        self._steps = (self.points[1:] - self.points[:-1]) / 2
        self._known: dict[tuple[float, bool], tuple[float, float]] = {}

    def longest(self, slots: Floats, *, whole: bool = False) -> tuple[Floats, Floats]:
        """Mean and deviation of the longest of so many."""
        found = [self._longest(count, whole) for count in slots.tolist()]
        return np.array([one for one, _ in found]), np.array([other for _, other in found])

    def _longest(self, slots: float, whole: bool) -> tuple[float, float]:
        if (slots, whole) not in self._known:
            more = 1 - (self.whole if whole else self.chance) ** slots
            mean = float((more[1:] + more[:-1]) @ self._steps)
            second = more * self.points
            square = 2 * float((second[1:] + second[:-1]) @ self._steps)
            self._known[slots, whole] = mean, sqrt(max(0.0, square - mean * mean))
        return self._known[slots, whole]

    def within(self, chances: Floats, *, whole: bool = False) -> Floats:
        """What one does not exceed with these chances."""
        return np.interp(chances, self.whole if whole else self.chance, self.points)


class LiveFleetJudge:
    """Judges fleets, numbers of machines of each group, for what is left to do."""

    def __init__(
        self, groups: MachineGroups, left: WorkLeft, times: BagTimes, speed_doubt: Floats
    ) -> None:
        self.groups, self.left, self.times = groups, left, times
        curve, mean, spread = times.curve, times.mean, times.spread
        is_long = float(groups.unit.max()) >= LONG_UNIT
        shifts, weights, each = _moves(left, times, is_long=is_long)
        self.rest = mean * (1 + spread**2) / 2
        """the mean of what is left of a task that is interrupted at any moment"""
        self._kernels = _compiled()
        self._table = np.empty((ROWS, len(groups)))
        self._table[: len(_GIVEN)] = [*(getattr(groups, name) for name in _GIVEN[:-1]), speed_doubt]
        self._curve = np.array(
            (curve.points, 1 - curve.after / curve.after[0], 1 - curve.alive), np.float64
        )
        self._moves = np.array((shifts, weights, weights), np.float64)
        self._known = np.array(
            (
                *(left.ready, left.running, left.attempts, left.money, left.deadline),
                *(mean, spread, times.unseen, times.longer),
                *(_share(left, times, times.doubt), each, self.rest, is_long),
                EXACT_FROM if times.count >= ENOUGH else inf,
            ),
            np.float64,
        )
        self._kernels.describe(self._table, self._curve, self._known)
        self.longest: Floats = self._table[LONGEST]
        """by group, the mean of the longest rest of the tasks that a machine has at any moment"""

    @property
    def room(self) -> Floats:
        """By group, the most machines that there can be."""
        found: Floats = self._table[ROOM]
        return found

    def judge(self, fleets: Floats) -> FleetVerdicts:
        """Fleets are `[fleet, group]`."""
        tried, found = np.empty(fleets.shape), np.empty((len(fleets), FIGURES))
        self.judge_new(fleets, tried, found, 0, _NO_WORTH)
        return FleetVerdicts(*np.ascontiguousarray(found[:, :VALUE].T))

    def judge_new(
        self, fleets: Floats, tried: Floats, found: Floats, count: int, worth: Floats
    ) -> int:
        """Judge those that are not among the first `count` of `tried`, and note them there.

        How many there are then; `found` gets what was found of each, see `kernels.fleet_search`.
        """
        given = self._table, self._curve, self._known, self._moves
        fleets = np.array(fleets, np.float64)
        return int(self._kernels.judge(fleets, tried, found, count, *given, worth))

    def candidates(self, cheapest: int, *, is_early: bool, may_drop: bool) -> FirstFleets:
        """What is tried first: see `kernels.fleet_candidates`."""
        groups = len(self.groups)
        notes, fleets = np.empty((NOTES, groups)), np.empty((most_fleets(groups, cheapest), groups))
        given = self._table, self._curve, self._known
        count = self._kernels.candidates(*given, cheapest, is_early, may_drop, notes, fleets)
        return FirstFleets(fleets[:count], notes[FLOOR], notes[IS_CHEAP])

    def neighbours(self, fleets: Floats, floor: Floats, is_cheap: Floats, most: int) -> Floats:
        """One machine more or less of a group, a tenth more or less, or another in its place."""
        rows, groups = fleets.shape
        found = np.empty((rows * (4 * groups + min(groups, most) ** 2), groups))
        count = self._kernels.neighbours(fleets, floor, self.room, is_cheap, most, found)
        return found[:count]


def _share(left: WorkLeft, times: BagTimes, doubt: float) -> float:
    """The deviation of all work that is left, where its mean is in doubt by a share."""
    return sqrt(doubt**2 + times.spread**2 / max(1, left.tasks))


def _moves(left: WorkLeft, times: BagTimes, *, is_long: bool) -> tuple[Floats, Floats, float]:
    """By how much all machines of a fleet may end later or earlier together: shifts, how likely
    each is, and how much ends deviate from that; as shares of the time that the work takes.
    """
    if times.factors is not None:
        return times.factors - 1, np.array(SLICES), _share(left, times, times.noise)
    late = _share(left, times, times.doubt)
    if is_long:
        return _SHIFTED * late, _SHARES, BETWEEN_SHIFTS * late
    return _UNMOVED, _ONE, late


# --- compiling -----------------------------------------------------------------------------------

_GIVEN: Final = (
    *("is_new", "room", "slots", "speed", "begin", "price", "unit", "paid", "held", "running"),
    "speed_doubt",
)
"""The first rows of a table of groups."""


class JudgeKernels(msgspec.Struct, frozen=True):
    describe: Callable[..., None]
    candidates: Callable[..., int]
    judge: Callable[..., int]
    neighbours: Callable[..., int]


@cache
def _compiled() -> JudgeKernels:
    """The kernels; the first call imports numba and, once on a computer, compiles."""
    files = live_fleet, fleet_candidates, fleet_search
    let_kernels_call(*(part for one in files for part in one.PARTS), makes_arrays=False)
    stamp = stamp_of(map(inspect.getsource, files))
    return JudgeKernels(
        describe=compile_kept(live_fleet.describe, stamp),
        candidates=compile_kept(fleet_candidates.list_first_fleets, stamp),
        judge=compile_kept(fleet_search.try_fleets, stamp),
        neighbours=compile_kept(fleet_search.list_neighbours, stamp),
    )
