"""The first fleet where the budget alone tells how long tasks take.

The budget may be hardly above the least cost, or many times that: nobody knows before tasks have
ended. So a first fleet is judged in two stages, for each of some run times that the budget leaves
possible: it works until its slots have had about a task each, and then the rest is planned again
(`live_plan`), with these run times known about as well as so many results tell. The best has the
best time on average, where the chance to be done within the money has its price. Run times for
which no fleet would do do not count: nothing is lost there.

Of some offers there may be more by then, if few are tried first: the rest counts on them. Where the
money may do with them only, a first fleet that is a part of another leaves more of it for them.

Long units cannot be given back once they show that an offer is slow. So where nobody tells speeds,
the first ones take a part of the money only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import exp, inf, log, sqrt
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.bag_times import BagTimes
from bursar.beliefs.work_curve import WorkCurve
from bursar.plan.bag.live_fleet import (
    LONG_UNIT,
    LiveFleetJudge,
    MachineGroups,
    Residuals,
    WorkLeft,
)
from bursar.plan.bag.live_plan import PRICE_OF_CHANCE, LivePlan, cheapest_groups, plan_live

Floats = NDArray[np.float64]

SPREAD: Final = 0.35
"""The deviation of tasks over their mean, if they vary as most do."""
DOUBT: Final = 0.02
"""That of a mean which is supposed to be known."""
POSSIBLE: Final = log(0.5)
"""Run times for which the best fleet has less of a chance are not what the budget was meant for."""
FEW: Final = 12
"""Offers that more may be rented of in the second stage: those whose work costs least."""
FIRST_UNITS: Final = 0.5
"""The part of the money that first units take at most, where they are long and speeds unknown."""
PARTS: Final = (0.5, 0.2, 0.08, 0.03)
"""Parts of the largest first fleet that are tried where there may be more of some offers later."""
REMEMBERED: Final = 64
"""Answers: many simulated runs ask for the same."""


class PossibleMean(msgspec.Struct, frozen=True):
    """A mean of run times that the budget leaves possible, and how likely it is."""

    mean: float
    """seconds at speed 1"""
    weight: float


class _Question(msgspec.Struct, frozen=True):
    """What a first fleet depends on; the groups as the columns that they have."""

    columns: tuple[tuple[float, ...], ...]
    left: WorkLeft
    possible: tuple[PossibleMean, ...]
    later: tuple[float, ...]
    """by group, the most machines that there can be after the first results"""
    are_speeds_in_doubt: bool


class _Forecast(msgspec.Struct, frozen=True):
    """What is to be expected of a first fleet, planned again once tasks have ended."""

    middle: float
    time: float
    cost: float
    chance: float


def plan_first(
    groups: MachineGroups,
    left: WorkLeft,
    possible: Sequence[PossibleMean],
    later: Floats | None = None,
    *,
    are_speeds_in_doubt: bool = False,
) -> LivePlan:
    """The fleet to begin with, of machines none of which is there yet.

    `later` are the most machines that there can be after the first results, if these are others.
    `are_speeds_in_doubt`: an offer may prove slower than others, and nobody told.
    """
    columns = tuple(tuple(column.tolist()) for column in msgspec.structs.astuple(groups))
    rooms = groups.room if later is None else later
    question = _Question(columns, left, tuple(possible), tuple(rooms.tolist()), are_speeds_in_doubt)
    return _first(question)


@lru_cache(REMEMBERED)
def _first(question: _Question) -> LivePlan:
    names = msgspec.structs.fields(MachineGroups)
    dtypes = {"offer": np.int64, "is_new": np.bool_}
    groups = MachineGroups(
        *(
            np.array(column, dtype=dtypes.get(field.name, np.float64))
            for field, column in zip(names, question.columns, strict=True)
        )
    )
    left, later = question.left, np.array(question.later)
    able, plans = _able(groups, left, question.possible, later)
    if not able:
        return max(plans, key=lambda plan: plan.log_chance)
    means = [one for one, _ in able]
    fleets = {fleet.tobytes(): fleet for _, fleet in able}
    if (groups.unit >= LONG_UNIT).all() and question.are_speeds_in_doubt:
        few = [_within(fleet, groups, FIRST_UNITS * left.money) for fleet in fleets.values()]
        fleets = {fleet.tobytes(): fleet for fleet in few}
    if (later > groups.room).any():
        largest = max(fleets.values(), key=lambda fleet: float(fleet @ groups.slots))
        parts = [np.ceil(part * largest) for part in PARTS]
        fleets |= {fleet.tobytes(): fleet for fleet in parts}
    best: LivePlan | None = None
    for fleet in fleets.values():
        found = _expected(groups, left, fleet, means, later, inf if best is None else best.value)
        best = found or best
    assert best is not None  # noqa: S101
    return best


def _within(fleet: Floats, groups: MachineGroups, money: float) -> Floats:
    """As many machines of a fleet as the money pays for their first units; at least one."""
    entry = groups.price * np.ceil(groups.paid / groups.unit)
    cost = float(fleet @ entry)
    if cost <= money:
        return fleet
    fewer = np.floor(fleet * money / cost)
    if not fewer.any():
        fewer[np.where(fleet > 0, entry, inf).argmin()] = 1.0
    return fewer


def _able(
    groups: MachineGroups, left: WorkLeft, possible: Sequence[PossibleMean], later: Floats
) -> tuple[list[tuple[PossibleMean, Floats]], list[LivePlan]]:
    """Means for which some fleet would do, each with one to begin with; and the best for each."""
    no_doubt = np.zeros(len(groups))
    all_groups = msgspec.structs.replace(groups, room=later)
    plans = [plan_live(all_groups, left, _times(one.mean), no_doubt) for one in possible]
    fleets = [np.minimum(plan.fleet, groups.room) for plan in plans]
    able = [
        (one, fleet)
        for one, plan, fleet in zip(possible, plans, fleets, strict=True)
        if plan.log_chance >= POSSIBLE and fleet.any()
    ]
    return able, plans


def _times(mean: float, doubt: float = DOUBT) -> BagTimes:
    return BagTimes(mean, doubt, SPREAD, 0, _curve(mean))


@lru_cache(REMEMBERED)
def _curve(mean: float) -> WorkCurve:
    """The same for all fleets."""
    return WorkCurve.lognormal(mean, SPREAD)


def _expected(
    groups: MachineGroups,
    left: WorkLeft,
    fleet: Floats,
    means: Sequence[PossibleMean],
    later: Floats,
    most: float,
) -> LivePlan | None:
    """A fleet, and what is to be expected of it whatever the run times are.

    None as soon as its value cannot be below the most: the longest tasks come first, and there
    most fleets fail.
    """
    total = sum(one.weight for one in means)
    least = [one.weight / total * log(_least_time(groups, left, one.mean, later)) for one in means]
    value = middle = time = cost = chance = missed = 0.0
    for place, one in enumerate(means):
        forecast = _forecast(groups, left, fleet, one.mean, later)
        weight = one.weight / total
        value += weight * log(forecast.middle)
        middle += weight * forecast.middle
        time += weight * forecast.time
        cost += weight * forecast.cost
        chance += weight * forecast.chance
        missed += weight * (1 - forecast.chance)
        at_best = -PRICE_OF_CHANCE * log(max(1 - missed, 1e-9))
        if value + sum(least[place + 1 :]) + at_best >= most:
            return None
    log_chance = log(max(chance, 1e-9))
    return LivePlan(
        fleet=fleet,
        middle=middle,
        time=time,
        cost=cost,
        log_chance=log_chance,
        value=value - PRICE_OF_CHANCE * log_chance,
        is_change=True,
        best_log_chance=log_chance,
        kept_log_chance=log(1e-9),
    )


def _least_time(groups: MachineGroups, left: WorkLeft, mean: float, later: Floats) -> float:
    """What is left takes longer than that: all there is, up already and busy to the end."""
    rate = float(later @ (groups.slots * groups.speed))
    return left.ready * mean / rate


def _forecast(
    groups: MachineGroups, left: WorkLeft, fleet: Floats, mean: float, most: Floats
) -> _Forecast:
    """With one mean: the rest is planned again once slots have worked for the time of a task."""
    slots = fleet * groups.slots
    now = float(slots @ (groups.begin + mean / groups.speed) / slots.sum())
    worked = np.maximum(0.0, now - groups.begin) * groups.speed / mean
    # Of renewals: so many have begun that what is left of those under way is what is not done.
    begun = np.where(worked > 0, worked + (1 + SPREAD**2) / 2, 0.0)
    results = max(1.0, float(slots @ np.maximum(0.0, begun - 1)))
    if slots @ begun >= left.ready:  # nothing is left to plan
        judge = LiveFleetJudge(groups, left, _times(mean), np.zeros(len(groups)))
        verdict = judge.judge(fleet[np.newaxis, :])
        return _Forecast(
            float(verdict.middle[0]),
            float(verdict.time[0]),
            float(verdict.cost[0]),
            exp(verdict.log_chance[0]),
        )
    doubt = sqrt(DOUBT**2 + SPREAD**2 / results)
    times = _times(mean, doubt)
    later, spent = _groups_at(groups, fleet, now, worked > 0, times, most)
    rest = msgspec.structs.replace(
        left,
        ready=round(left.ready - float(slots @ begun)),
        running=float(later.running @ np.where(later.is_new, 0.0, later.room)),
        attempts=round(float(slots @ (worked > 0))),
        money=left.money - spent,
        elapsed=now,
        spent=spent,
    )
    plan = plan_live(later, rest, times, np.zeros(len(later)))
    return _Forecast(now + plan.middle, now + plan.time, spent + plan.cost, exp(plan.log_chance))


def _groups_at(
    groups: MachineGroups,
    fleet: Floats,
    now: float,
    is_up: NDArray[np.bool_],
    times: BagTimes,
    most: Floats,
) -> tuple[MachineGroups, float]:
    """The groups after some time, those of the fleet first; and what these have cost by then."""
    here, new = np.flatnonzero(fleet), np.array(cheapest_groups(groups, most=FEW))
    residuals = Residuals(times)
    longest, _ = residuals.longest(groups.slots)
    until = np.maximum(groups.paid, np.ceil(now / groups.unit) * groups.unit)
    none = np.zeros(len(groups))

    def joined(of_fleet: Floats, of_new: Floats) -> Floats:
        return np.concatenate([of_fleet[here], of_new[new]])

    later = MachineGroups(
        offer=np.concatenate([groups.offer[here], groups.offer[new]]),
        is_new=np.concatenate([np.zeros(len(here), np.bool_), np.ones(len(new), np.bool_)]),
        room=joined(fleet, np.maximum(0.0, most - fleet)),
        slots=joined(groups.slots, groups.slots),
        speed=joined(groups.speed, groups.speed),
        begin=joined(np.maximum(0.0, groups.begin - now), groups.begin),
        price=joined(groups.price, groups.price),
        unit=joined(groups.unit, groups.unit),
        paid=joined(until - now, groups.paid),
        held=joined(longest / groups.speed * is_up, none),
        running=joined(groups.slots * residuals.mean * is_up, none),
    )
    return later, float(fleet @ (until / groups.unit * groups.price))
