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

ENDS: Final = 32
"""Finishing times that covers are made for."""
LONGEST: Final = 400.0
"""The latest of them, by the earliest."""
PRICE_OF_CHANCE: Final = 20.0
"""What a logarithm of the chance is worth, in logarithms of time."""
PLAIN: Final = 10
"""Numbers of machines of one offer that are tried alone."""
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


DEAR: Final = 1.12
"""A machine is dropped where its work costs so many times what it costs elsewhere."""


SAFE: Final = log(0.99)
"""The chance that is wanted of a fleet that is rented early."""


PAYABLE: Final = log(0.9)
"""The chance that is wanted of a fleet that only adds to what is there: machines more cost more,
and where the money hardly does, what they seem to gain is noise."""


LIKELY_END: Final = 0.9
"""A task that fits paid time ends within it so often."""


HOPELESS: Final = log(0.03)
"""A chance below is none."""
CLOSE: Final = 1.1
"""Fleets cost about as little as any that cost at most so many times the least."""


_NONE: Final = np.zeros(1)


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
    here = np.where(groups.is_new, 0.0, groups.room)
    is_begun = bool(here.any())
    room = groups.room
    floor = here if is_early else _floor(groups, times, speed_doubt)
    search = _FleetSearch(judge, is_begun=is_begun)
    if is_begun and np.array_equal(floor, room):  # nothing can be dropped, and nothing rented
        search.try_all(here[np.newaxis, :])
        return search.plan(KEPT)
    first = [here[np.newaxis, :], _covers(judge, room), _plain(groups, here, room, left)]
    if may_drop and not is_early:
        first.append(_fewer(groups, here))
    search.try_all(_within(np.concatenate(first), floor, room))
    is_cheap, best = np.zeros(len(groups), np.bool_), None
    is_cheap[cheapest_groups(groups)] = True
    for _ in range(ROUNDS):
        before, best = best, search.best()
        if before is not None and np.array_equal(before, best):
            break  # their neighbours were tried
        if not search.try_all(judge.neighbours(best, floor, is_cheap, CHEAPEST)):
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


def _floor(groups: MachineGroups, times: BagTimes, speed_doubt: Floats) -> Floats:
    """What is not dropped: a machine at work whose work costs little more than elsewhere.

    Elsewhere it may cost more than it seems, where speeds are in doubt. Its boot is paid, and the
    time that some of its slots idle at its end comes sooner or later.
    Nor one whose paid time is long enough for another task: that can be decided later.
    """
    price = groups.price / groups.unit / (groups.slots * groups.speed)
    elsewhere = float(np.min(price * (1 + speed_doubt)))
    fair = (price <= DEAR * elsewhere) & (groups.running > 0)
    task = float(times.curve.rest_within(np.zeros(1), np.full(1, LIKELY_END))[0])
    fair |= groups.paid >= groups.begin + task / groups.speed
    return np.where(~groups.is_new & fair, groups.room, 0.0)


def _covers(judge: LiveFleetJudge, room: Floats) -> Floats:
    """For each finishing time, machines by what a piece of work costs until all is covered."""
    groups, left, times = judge.groups, judge.left, judge.times
    work = left.ready * times.mean + left.running
    rate = groups.slots * groups.speed
    lost = groups.slots * np.maximum(0.0, judge.longest - judge.rest)
    earliest = float(groups.begin.min()) + max(
        0.5 * times.mean / float(groups.speed.max()), work / max(1e-9, float(rate @ room))
    )
    latest = float(groups.begin.max()) + 2 * (work + times.mean) / float(rate.min())
    ends = _rising(np.array([earliest]), np.array([min(latest, earliest * LONGEST)]), ENDS).T
    done = np.maximum(0.0, rate * (ends - groups.begin) - lost)
    cost = groups.charge(np.maximum(ends, groups.held))
    is_of_use = done > 0
    value = np.full_like(done, np.inf)
    np.divide(cost, done, out=value, where=is_of_use)
    order = value.argsort(axis=1, kind="stable")
    rows = np.arange(ENDS)
    sorted_ = rows[:, np.newaxis], order
    done, most = done[sorted_], np.where(is_of_use, room, 0.0)[sorted_]
    covered = done * most
    before = covered.cumsum(axis=1) - covered
    counts = _within(np.ceil((work - before) / np.maximum(done, 1e-9)), _NONE, most)
    fleets = np.empty((2, *counts.shape))
    fleets[:, rows[:, np.newaxis], order] = counts
    # The same with one machine less of the group that each cover took last.
    last = counts.shape[1] - 1 - (counts[:, ::-1] > 0).argmax(axis=1)
    fleets[1, rows, order[rows, last]] -= 1
    found: Floats = np.maximum(0.0, fleets.reshape(-1, len(groups)))
    return found


def _plain(groups: MachineGroups, here: Floats, room: Floats, left: WorkLeft) -> Floats:
    """Machines of one offer alone, and added to those that are there."""
    places = np.array(cheapest_groups(groups, groups.is_new), dtype=np.int64)
    most = np.minimum(room[places], np.ceil(left.tasks / groups.slots[places]))
    places, most = places[most >= 1], most[most >= 1]
    if not len(places):
        return here[np.newaxis, :]
    counts = np.rint(_rising(np.ones(len(places)), most, PLAIN)).ravel()
    both = np.zeros((counts.size, 2, len(groups)))
    both[:, 1] = here
    both[np.arange(counts.size), :, places.repeat(PLAIN)] += counts[:, np.newaxis]
    return both.reshape(-1, len(groups))


def _fewer(groups: MachineGroups, here: Floats) -> Floats:
    """What is there, without some or all machines of the groups whose work costs most."""
    price = groups.price / groups.unit / (groups.slots * groups.speed)
    places = np.flatnonzero(here)
    left, found = here.copy(), []
    for place in places[np.argsort(-price[places], kind="stable")].tolist():
        for count in (np.ceil(here[place] / 2), 0.0):
            left[place] = count
            found.append(left.copy())
    return np.array(found).reshape(-1, len(groups))


def cheapest_groups(
    groups: MachineGroups, which: NDArray[np.bool_] | None = None, most: int = CHEAPEST
) -> list[int]:
    """Places of the groups whose work costs least, in the order of the groups."""
    price = groups.price / groups.unit / (groups.slots * groups.speed)
    places = np.arange(len(groups)) if which is None else np.flatnonzero(which)
    return sorted(places[np.argsort(price[places], kind="stable")[:most]].tolist())


def _within(counts: Floats, least: Floats, most: Floats) -> Floats:
    found: Floats = np.minimum(np.maximum(counts, least), most)
    return found


def _rising(first: Floats, last: Floats, count: int) -> Floats:
    """For each pair, numbers in equal ratios: as `np.geomspace`, which takes ten times as long."""
    low, high = np.log10(first), np.log10(last)
    steps = (high - low) / (count - 1)
    found: Floats = 10.0 ** (np.arange(count) * steps[:, np.newaxis] + low[:, np.newaxis])
    found[:, 0], found[:, -1] = first, last
    return found
