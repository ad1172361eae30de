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
from bursar.plan.bag.live_fleet import (
    FleetVerdicts,
    LiveFleetJudge,
    MachineGroups,
    WorkLeft,
)

Floats = NDArray[np.float64]

ENDS: Final = 32
"""Finishing times that covers are made for."""
LONGEST: Final = 400.0
"""The latest of them, by the earliest."""
PRICE_OF_CHANCE: Final = 20.0
"""What a logarithm of the chance is worth, in logarithms of time."""
PLAIN: Final = 10
"""Numbers of machines of one offer that are tried alone."""
CHEAPEST: Final = 16
"""Groups, those whose work costs least, of which machines are tried alone or in others' place."""
BEST: Final = 3
"""Fleets whose neighbours are tried ..."""
ROUNDS: Final = 2
"""... so many times."""
WORTH, WORTH_IN_DOUBT = 0.02, 0.3
"""A fleet other than the one that is there must be better by so much, and by so much of the doubt
of run times: what comes in soon may tell another story."""


DEAR: Final = 1.05
"""A machine is dropped where its work costs so many times what it costs elsewhere."""


SAFE: Final = log(0.99)
"""The chance that is wanted of a fleet that is rented early."""


LIKELY_END: Final = 0.9
"""A task that fits paid time ends within it so often."""


HOPELESS: Final = log(0.03)
"""A chance below is none."""


class LivePlan(msgspec.Struct, frozen=True):
    """How many machines of each group to have, and what is to be expected of that."""

    fleet: Floats
    time: float
    """seconds to the end, not exceeded nine times in ten"""
    cost: float
    """on average, in billionths"""
    log_chance: float
    value: float
    """the less the better"""
    is_change: bool
    """whether it is better than what is there, by enough"""
    best_log_chance: float
    """the highest of any candidate"""
    kept_log_chance: float
    """that of what is there"""


def plan_live(
    groups: MachineGroups,
    left: WorkLeft,
    times: BagTimes,
    speed_doubt: Floats,
    *,
    is_early: bool = False,
) -> LivePlan:
    """The best fleet from now on; the one that is there unless another is better by enough.

    Early, nothing is dropped, and more is rented only where it is safe, whatever comes in.
    """
    judge = LiveFleetJudge(groups, left, times, speed_doubt)
    search = _FleetSearch(judge)
    here = np.where(groups.is_new, 0.0, groups.room)[np.newaxis, :]
    room = groups.room
    floor = here[0] if is_early else _floor(groups, times)
    fleets = np.concatenate([here, _covers(judge, room), _plain(groups, here[0], room, left)])
    fleets = np.clip(fleets, floor, room)
    verdicts, values = search.judged(fleets)
    cheap = _cheapest(groups)
    for _ in range(ROUNDS):
        best = _best(fleets, values)
        more = _neighbours(fleets[best], floor, room, cheap)
        others, their_values = search.judged(more)
        fleets = np.concatenate([fleets, more])
        verdicts = _joined(verdicts, others)
        values = np.concatenate([values, their_values])
    kept, kept_value = search.judged(here)
    place = int(np.argmin(values))
    highest = float(max(verdicts.log_chance.max(), kept.log_chance[0]))
    chances = highest, float(kept.log_chance[0])
    if highest < HOPELESS:  # then the fleet with the highest chance is the one that varies most
        place = int(np.argmin(verdicts.cost))
        if here.any():
            return _plan(here[0], kept, 0, float(kept_value[0]), chances, is_change=False)
    worth = WORTH + WORTH_IN_DOUBT * times.doubt
    is_unsafe = is_early and verdicts.log_chance[place] < SAFE
    if here.any() and (is_unsafe or values[place] > kept_value[0] - worth):
        return _plan(here[0], kept, 0, float(kept_value[0]), chances, is_change=False)
    return _plan(fleets[place], verdicts, place, float(values[place]), chances, is_change=True)


def _plan(
    fleet: Floats,
    verdicts: FleetVerdicts,
    place: int,
    value: float,
    chances: tuple[float, float],
    *,
    is_change: bool,
) -> LivePlan:
    return LivePlan(
        fleet=fleet,
        time=float(verdicts.time[place]),
        cost=float(verdicts.cost[place]),
        log_chance=float(verdicts.log_chance[place]),
        value=value,
        is_change=is_change,
        best_log_chance=chances[0],
        kept_log_chance=chances[1],
    )


class _FleetSearch:
    """Judges fleets by how good they are: the less the better."""

    def __init__(self, judge: LiveFleetJudge) -> None:
        self.judge = judge

    def judged(self, fleets: Floats) -> tuple[FleetVerdicts, Floats]:
        left, verdicts = self.judge.left, self.judge.judge(fleets)
        if np.isfinite(left.deadline):
            spent = np.log(left.spent + verdicts.cost + 1.0)
            return verdicts, spent - PRICE_OF_CHANCE * verdicts.log_chance
        taken = np.log(left.elapsed + verdicts.time + 1e-3)
        return verdicts, taken - PRICE_OF_CHANCE * verdicts.log_chance


def _floor(groups: MachineGroups, times: BagTimes) -> Floats:
    """What is not dropped: a machine at work whose work costs little more than elsewhere.

    Its boot is paid, and the time that some of its slots idle at its end comes sooner or later.
    Nor one whose paid time is long enough for another task: that can be decided later.
    """
    price = groups.price / groups.unit / (groups.slots * groups.speed)
    fair = (price <= DEAR * price.min()) & (groups.running > 0)
    task = float(times.curve.rest_within(np.zeros(1), np.full(1, LIKELY_END))[0])
    fair |= groups.paid >= groups.begin + task / groups.speed
    return np.where(~groups.is_new & fair, groups.room, 0.0)


def _covers(judge: LiveFleetJudge, room: Floats) -> Floats:
    """For each finishing time, machines by what a piece of work costs until all is covered."""
    groups, left, times = judge.groups, judge.left, judge.times
    work = left.ready * times.mean + left.running
    rate = groups.slots * groups.speed
    lost = groups.slots * np.maximum(0.0, judge.longest - judge.residuals.mean)
    earliest = float(np.min(groups.begin)) + max(
        0.5 * times.mean / float(groups.speed.max()), work / max(1e-9, float(rate @ room))
    )
    latest = float(np.max(groups.begin)) + 2 * (work + times.mean) / float(rate.min())
    ends = np.geomspace(earliest, min(latest, earliest * LONGEST), ENDS)[:, np.newaxis]
    done = np.maximum(0.0, rate * (ends - groups.begin) - lost)
    cost = groups.charge(np.maximum(ends, groups.held))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(done > 0, cost / done, np.inf)
    order = np.argsort(value, axis=1, kind="stable")
    most = np.where(np.isfinite(value), room, 0.0)
    done, most = (np.take_along_axis(some, order, axis=1) for some in (done, most))
    before = np.cumsum(done * most, axis=1) - done * most
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(done > 0, np.ceil((work - before) / np.maximum(done, 1e-9)), 0.0)
    counts = np.clip(wanted, 0.0, most)
    fleets = np.zeros_like(counts)
    np.put_along_axis(fleets, order, counts, axis=1)
    return np.concatenate([fleets, np.maximum(0.0, fleets - _last(order, counts))])


def _last(order: NDArray[np.int64], counts: Floats) -> Floats:
    """One for the group that each cover took last, else nothing."""
    ones = np.zeros_like(counts)
    last = counts.shape[1] - 1 - np.argmax(counts[:, ::-1] > 0, axis=1)
    rows = np.arange(len(counts))
    ones[rows, order[rows, last]] = 1.0
    return ones


def _plain(groups: MachineGroups, here: Floats, room: Floats, left: WorkLeft) -> Floats:
    """Machines of one offer alone, and added to those that are there."""
    rows: list[Floats] = []
    for place in _cheapest(groups, groups.is_new):
        most = min(room[place], np.ceil(left.tasks / groups.slots[place]))
        if most < 1:
            continue
        for count in np.unique(np.round(np.geomspace(1.0, most, PLAIN))):
            more = np.zeros(len(groups))
            more[place] = count
            rows += [more, here + more]
    return np.array(rows) if rows else here[np.newaxis, :]


def _best(fleets: Floats, values: Floats) -> list[int]:
    """Places of the best fleets, equal ones once."""
    found: dict[bytes, int] = {}
    for place in np.argsort(values, kind="stable").tolist():
        found.setdefault(fleets[place].tobytes(), place)
        if len(found) == BEST:
            break
    return list(found.values())


def _cheapest(groups: MachineGroups, which: NDArray[np.bool_] | None = None) -> list[int]:
    """Places of the groups whose work costs least, in the order of the groups."""
    price = groups.price / groups.unit / (groups.slots * groups.speed)
    places = np.arange(len(groups)) if which is None else np.flatnonzero(which)
    return sorted(places[np.argsort(price[places], kind="stable")[:CHEAPEST]].tolist())


def _neighbours(fleets: Floats, floor: Floats, room: Floats, cheap: list[int]) -> Floats:
    """One machine more or less of a group, a tenth more or less, or another in its place."""
    size = fleets.shape[1]
    eye = np.eye(size)
    found = []
    for fleet in fleets:
        some = np.flatnonzero(fleet > 0)[:CHEAPEST]
        ones = eye[sorted({*cheap, *some.tolist()})]
        steps = ones * np.maximum(1.0, np.round(fleet / 10))
        found += [fleet + ones, fleet - ones, fleet + steps, fleet - steps]
        found += [fleet + eye[cheap] - eye[place] for place in some]
    near: Floats = np.clip(np.concatenate(found), floor, room)
    return near


def _joined(one: FleetVerdicts, other: FleetVerdicts) -> FleetVerdicts:
    return FleetVerdicts(
        np.concatenate([one.time, other.time]),
        np.concatenate([one.cost, other.cost]),
        np.concatenate([one.log_chance, other.log_chance]),
    )
