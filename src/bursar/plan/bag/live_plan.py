"""The fleet for the rest of a bag: candidates, judged in closed form, and the best of them.

Candidates are the cheapest covers for many finishing times (machines that are there and new ones,
by what a piece of work costs on each), plain fleets, and then what differs a little from the best.
The time that the whole run takes counts, and the chance to be done within the money has a price:
a soft one, because a threshold that is just not met rents, each time the plan is made.
"""

from __future__ import annotations

from math import log
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.bag_times import BagTimes
from bursar.kernels.fleet_search import COST, FIGURES, LOG_CHANCE, VALUE
from bursar.plan.bag.live_fleet import LiveFleetJudge, MachineGroups, WorkLeft

Floats = NDArray[np.float64]

PRICE_OF_CHANCE: Final = 20.0
"""What a logarithm of the chance is worth, in logarithms of time."""
KEPT: Final = 0
"""The place of the fleet that is there, among those that are judged."""
CHEAPEST: Final = 16
"""Groups, those whose work costs least, of which machines are tried alone or in others' place."""
ROOM: Final = 256
"""Fleets that there is room for at first."""
BEST: Final = 3
"""Fleets whose neighbours are tried ..."""
ROUNDS: Final = 2
"""... so many times."""
WORTH, WORTH_IN_DOUBT = 0.02, 0.3
"""A fleet other than the one that is there must be better by so much, and by so much of the doubt
of run times: what comes in soon may tell another story."""


SAFE: Final = log(0.99)
"""The chance that is wanted of a fleet that is rented early."""


PAYABLE: Final = log(0.9)
"""The chance that is wanted of a fleet that only adds to what is there: machines more cost more,
and where the money hardly does, what they seem to gain is noise."""


HOPELESS: Final = log(0.03)
"""A chance below is none."""
CLOSE: Final = 1.1
"""Fleets cost about as little as any that cost at most so many times the least."""


class LivePlan(msgspec.Struct, frozen=True):
    """How many machines of each group to have, and what is to be expected of that."""

    fleet: Floats
    middle: float
    """seconds to the end, exceeded as often as not ..."""
    time: float
    """... and not exceeded nine times in ten"""
    cost: float
    """on average, in billionths"""
    log_chance: float
    value: float
    """the less the better"""
    is_change: bool
    """whether it is better than what is there, by enough"""
    best_log_chance: float
    """the highest of what is there and of the candidates that cost about as little as any"""
    kept_log_chance: float
    """that of what is there"""
    wants_less: bool = False
    """whether the best would have fewer of some machines that are there"""


def plan_live(
    groups: MachineGroups,
    left: WorkLeft,
    times: BagTimes,
    speed_doubt: Floats,
    *,
    is_early: bool = False,
    may_drop: bool = True,
) -> LivePlan:
    """The best fleet from now on; the one that is there unless another is better by enough.

    Early, nothing is dropped, and more is rented only where it is safe, whatever comes in. Where
    nothing may be dropped, it is the best of those that drop nothing.
    """
    judge = LiveFleetJudge(groups, left, times, speed_doubt)
    first = judge.candidates(CHEAPEST, is_early=is_early, may_drop=may_drop)
    here = first.fleets[KEPT]
    is_begun = bool(here.any())
    search = _FleetSearch(judge, is_begun=is_begun)
    search.try_all(first.fleets)
    if len(first.fleets) == 1:
        return search.plan(KEPT)
    best = None
    for _ in range(ROUNDS):
        before, best = best, search.best()
        if before is not None and np.array_equal(before, best):
            break  # their neighbours were tried
        if not search.try_all(judge.neighbours(best, first.floor, first.is_cheap, CHEAPEST)):
            break
    values, log_chance = search.values, search.log_chances
    place = int(values.argmin())
    wants_less = bool((search.fleets[place] < here).any())
    if wants_less and not may_drop:
        keeps = (search.fleets >= here).all(axis=1)
        place = int(np.where(keeps, values, np.inf).argmin())
    if log_chance.max() < HOPELESS:
        # Then the fleet with the highest chance is the one that varies most.
        place = search.cheapest()
        if is_begun:
            return search.plan(KEPT)
    worth = WORTH + WORTH_IN_DOUBT * times.doubt
    is_unsafe = is_early and log_chance[place] < SAFE
    if is_begun and (is_unsafe or values[place] > values[KEPT] - worth):
        return search.plan(KEPT, wants_less=wants_less)
    return search.plan(place, is_change=True, wants_less=wants_less)


class _FleetSearch:
    """Fleets that were judged, each once, and how good they are; the first is the one there is."""

    def __init__(self, judge: LiveFleetJudge, *, is_begun: bool) -> None:
        """`is_begun`: some machines are there."""
        self._judge = judge
        left = judge.left
        self._worth = np.array((left.elapsed, left.spent, is_begun, PRICE_OF_CHANCE, PAYABLE))
        self._tried = np.empty((ROOM, len(judge.groups)))
        self._found = np.empty((ROOM, FIGURES))
        self._count = 0

    def try_all(self, fleets: Floats) -> bool:
        """Judge those that were not judged yet; whether there was any."""
        before, room = self._count, self._count + len(fleets)
        if room > len(self._tried):
            self._tried = _with_room(self._tried, 2 * room)
            self._found = _with_room(self._found, 2 * room)
        self._count = self._judge.judge_new(fleets, self._tried, self._found, before, self._worth)
        return self._count > before

    @property
    def fleets(self) -> Floats:
        return self._tried[: self._count]

    @property
    def values(self) -> Floats:
        """The less the better."""
        return self._found[: self._count, VALUE]

    @property
    def log_chances(self) -> Floats:
        return self._found[: self._count, LOG_CHANCE]

    def best(self) -> Floats:
        """Those whose neighbours are tried."""
        return self.fleets[self.values.argsort(kind="stable")[:BEST]]

    def best_log_chance(self) -> float:
        """The highest of the fleet that is there and of those that cost about as little as any.

        Another one that costs more may seem to have a chance where these have none, as its cost
        varies more.
        """
        costs = self._found[: self._count, COST]
        counts = costs <= CLOSE * costs.min()
        counts[KEPT] = True
        return float(self.log_chances[counts].max())

    def cheapest(self) -> int:
        """The place of the fleet that costs least."""
        return int(self._found[: self._count, COST].argmin())

    def plan(self, place: int, *, is_change: bool = False, wants_less: bool = False) -> LivePlan:
        """The fleet at a place."""
        middle, time, cost, log_chance, value = self._found[place].tolist()
        return LivePlan(
            fleet=self.fleets[place].copy(),
            middle=middle,
            time=time,
            cost=cost,
            log_chance=log_chance,
            value=value,
            is_change=is_change,
            best_log_chance=self.best_log_chance(),
            kept_log_chance=float(self._found[KEPT, LOG_CHANCE]),
            wants_less=wants_less,
        )


def _with_room(table: Floats, rows: int) -> Floats:
    """The same rows, with room for more."""
    found = np.empty((rows, table.shape[1]))
    found[: len(table)] = table
    return found


def cheapest_groups(
    groups: MachineGroups, which: NDArray[np.bool_] | None = None, most: int = CHEAPEST
) -> list[int]:
    """Places of the groups whose work costs least, in the order of the groups."""
    price = groups.price / groups.unit / (groups.slots * groups.speed)
    places = np.arange(len(groups)) if which is None else np.flatnonzero(which)
    return sorted(places[np.argsort(price[places], kind="stable")[:most]].tolist())
