"""The first fleet where the budget alone tells how long tasks take.

The budget may be hardly above the least cost, or many times that: nobody knows before tasks have
ended. So a first fleet is judged in two stages, for each of some run times that the budget leaves
possible: it works until its slots have had about a task each, and then the rest is planned again
(`live_plan`), with these run times known about as well as so many results tell. The best has the
best time on average, where the chance to be done within the money has its price. Run times for
which no fleet would do do not count: nothing is lost there.
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
from bursar.plan.bag.live_fleet import LiveFleetJudge, MachineGroups, Residuals, WorkLeft
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


class _Forecast(msgspec.Struct, frozen=True):
    """What is to be expected of a first fleet, planned again once tasks have ended."""

    middle: float
    time: float
    cost: float
    chance: float


def plan_first(groups: MachineGroups, left: WorkLeft, possible: Sequence[PossibleMean]) -> LivePlan:
    """The fleet to begin with, of machines none of which is there yet."""
    columns = tuple(tuple(column.tolist()) for column in msgspec.structs.astuple(groups))
    return _first(_Question(columns, left, tuple(possible)))


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
    left, no_doubt = question.left, np.zeros(len(groups))
    plans = [plan_live(groups, left, _times(one.mean), no_doubt) for one in question.possible]
    able = [
        (one, plan.fleet)
        for one, plan in zip(question.possible, plans, strict=True)
        if plan.log_chance >= POSSIBLE
    ]
    if not able:
        return max(plans, key=lambda plan: plan.log_chance)
    means = [one for one, _ in able]
    best: LivePlan | None = None
    for fleet in {fleet.tobytes(): fleet for _, fleet in able}.values():
        found = _expected(groups, left, fleet, means, inf if best is None else best.value)
        best = found or best
    assert best is not None  # noqa: S101
    return best


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
    most: float,
) -> LivePlan | None:
    """A fleet, and what is to be expected of it whatever the run times are.

    None as soon as its value cannot be below the most: the longest tasks come first, and there
    most fleets fail.
    """
    total = sum(one.weight for one in means)
    least = [one.weight / total * log(_least_time(groups, left, one.mean)) for one in means]
    value = middle = time = cost = chance = missed = 0.0
    for place, one in enumerate(means):
        forecast, weight = _forecast(groups, left, fleet, one.mean), one.weight / total
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


def _least_time(groups: MachineGroups, left: WorkLeft, mean: float) -> float:
    """What is left takes longer than that: all there is, up already and busy to the end."""
    rate = float(groups.room @ (groups.slots * groups.speed))
    return left.ready * mean / rate


def _forecast(groups: MachineGroups, left: WorkLeft, fleet: Floats, mean: float) -> _Forecast:
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
    later, spent = _groups_at(groups, fleet, now, worked > 0, times)
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
    groups: MachineGroups, fleet: Floats, now: float, is_up: NDArray[np.bool_], times: BagTimes
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
        room=joined(fleet, np.maximum(0.0, groups.room - fleet)),
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
