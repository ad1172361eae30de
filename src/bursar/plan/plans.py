"""Plans: the choices with honest bounds, marked by what fits the goal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.bounds import PublishedPrediction
from bursar.beliefs.prediction import FleetPart, Prediction, predict
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money, format_money
from bursar.model.time import HOUR, MILLISECOND, MINUTE, SECOND, Time, format_duration
from bursar.plan.choices import (
    Choice,
    choose,
    choose_by_deadline,
    list_choices,
)
from bursar.plan.dominance import beaten_by, knee
from bursar.plan.knapsack import cheapest, fastest

CONFIDENCE: Final = 0.9
"""of the upper bounds, unless the user says otherwise"""

Samples = Mapping[str, NDArray[np.int64]]
"""Offer name to run times there; absent: nothing is known."""


class Bound(Protocol):
    """Times and costs that are not exceeded with a confidence."""

    @property
    def cautions(self) -> tuple[str, ...]: ...

    def makespan(self, confidence: float = 0.5) -> Time: ...

    def cost(self, confidence: float = 0.5) -> Money: ...


class Span(msgspec.Struct, frozen=True):
    """A makespan: the estimate of a divisible bag, and what is predicted of the real one."""

    estimate: float
    p50: float
    p90: float
    upper: float
    """not exceeded with the user's confidence"""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A choice with its bounds. Amounts are exact decimals, as text."""

    name: str
    fleet: dict[str, int]
    units: dict[str, int]
    cost: str
    """estimate of a divisible bag"""
    makespan_s: Span
    cost_p50: str
    cost_p90: str
    cost_upper: str
    cushion: str
    risk: int
    fits: bool
    """the upper bounds keep the budget and the deadline; true where there is none"""
    is_knee: bool = False
    """the most time saved for the money"""
    beaten_by: int | None = None
    """number, from 1, of a plan that is likely neither slower nor dearer; None: there is none"""


class PlanList(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the plan screen shows."""

    tasks: int
    """left to do"""
    currency: str
    date: str
    confidence: float
    plans: list[Plan]
    cautions: list[str]
    """why the bounds may not hold"""


def make_plans(
    market: Market,
    samples: Samples,
    tasks: int,
    goal: Goal,
    *,
    between: int = 0,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    paired: bool = True,
    faithful: bool = False,
    known_cautions: Sequence[str] = (),
) -> PlanList:
    """Plans for so many tasks, cheapest first, from what was seen of their run times.

    `faithful`: with the bounds of the BaTS thesis (chapter 4) in place of the calibrated ones.
    `paired`: the samples are of the same tasks in the same order. `known_cautions` are told with
    those of the predictions.
    """
    usable = [offer for offer in market.offers if len(samples.get(offer.name, ()))]
    runtimes: dict[str, Time | None] = {
        offer.name: max(1, round(float(np.mean(samples[offer.name])))) for offer in usable
    }
    choices = list_choices(usable, runtimes, tasks, between=between)
    shared = "bag" if paired else ""

    def bound_of(choice: Choice) -> Bound:
        if faithful:
            return _published(usable, choice, samples, tasks)
        return _predict(usable, choice, samples, tasks, seed, shared)

    if goal.budget is not None:
        choices.append(_within_budget(usable, runtimes, tasks, goal.budget, market.currency))
    if goal.deadline is not None:
        choices.append(
            _within_deadline(
                usable,
                runtimes,
                tasks,
                goal.deadline,
                lambda choice: bound_of(choice).makespan(confidence),
            )
        )
    bounds = [bound_of(choice) for choice in choices]
    points = [(float(b.makespan(confidence)), float(b.cost(confidence))) for b in bounds]
    best, beaters = knee(points), beaten_by(points)
    plans = [
        _plan(choice, bound, goal, confidence, is_knee=index == best, beater=beaters[index])
        for index, (choice, bound) in enumerate(zip(choices, bounds, strict=True))
    ]
    told = (caution.rstrip(".") for bound in bounds for caution in bound.cautions)
    cautions = dict.fromkeys((*known_cautions, *told))
    missing = [offer.name for offer in market.offers if offer not in usable]
    if missing:
        cautions[f"nothing is known of {', '.join(missing)}: left out of all plans"] = None
    return PlanList(
        tasks=tasks,
        currency=market.currency,
        date=market.date,
        confidence=confidence,
        plans=plans,
        cautions=list(cautions),
    )


def _within_budget(
    offers: Sequence[Offer],
    runtimes: Mapping[str, Time | None],
    tasks: int,
    budget: Money,
    currency: str,
) -> Choice:
    """The fastest plan within the budget."""
    found = choose("within budget", offers, runtimes, tasks, budget)
    if found is None:
        least = format_money(cheapest(offers, runtimes, tasks).cost, currency)
        raise InputError(
            f"a budget of {format_money(budget, currency)} finishes no plan;"
            f" the smallest that would do is about {least}"
        )
    return found


def _within_deadline(
    offers: Sequence[Offer],
    runtimes: Mapping[str, Time | None],
    tasks: int,
    deadline: Time,
    upper: Callable[[Choice], Time],
) -> Choice:
    """The cheapest plan whose upper bound is within the deadline.

    The estimate must end earlier, by as much as the bound exceeds it. Where no fleet is sure
    enough, the fastest there is.
    """
    target = deadline
    found = choose_by_deadline(offers, runtimes, tasks, target)
    if found is None:
        earliest = format_duration(_rounded_up(fastest(offers, runtimes, tasks).makespan))
        raise InputError(
            f"no fleet can finish within {format_duration(deadline)};"
            f" the earliest is about {earliest}, with every machine"
        )
    while found is not None:
        late = upper(found)
        if late <= deadline:
            return found
        target = min(target * 99 // 100, target * deadline // late)
        found = choose_by_deadline(offers, runtimes, tasks, target)
    soonest = choose_by_deadline(offers, runtimes, tasks, fastest(offers, runtimes, tasks).makespan)
    assert soonest is not None  # noqa: S101
    return soonest


def _published(
    offers: Sequence[Offer], choice: Choice, samples: Samples, tasks: int
) -> PublishedPrediction:
    parts = [(offer, choice.fleet.get(offer.name, 0), samples[offer.name]) for offer in offers]
    return PublishedPrediction([part for part in parts if part[1]], tasks)


def _predict(
    offers: Sequence[Offer],
    choice: Choice,
    samples: Samples,
    tasks: int,
    seed: int,
    shared: str,
) -> Prediction:
    parts = [
        FleetPart(offer, choice.fleet[offer.name], samples[offer.name], sample=shared)
        for offer in offers
        if choice.fleet.get(offer.name)
    ]
    return predict(parts, tasks, np.random.default_rng(seed))


def _plan(
    choice: Choice,
    bound: Bound,
    goal: Goal,
    confidence: float,
    *,
    is_knee: bool,
    beater: int | None,
) -> Plan:
    makespan, cost = bound.makespan(confidence), bound.cost(confidence)
    fits_money = goal.budget is None or max(cost, choice.cost) <= goal.budget
    fits_time = goal.deadline is None or makespan <= goal.deadline
    return Plan(
        name=choice.name,
        fleet=choice.fleet,
        units=choice.units,
        cost=str(choice.cost),
        makespan_s=Span(
            choice.makespan / SECOND,
            bound.makespan(0.5) / SECOND,
            bound.makespan(0.9) / SECOND,
            makespan / SECOND,
        ),
        cost_p50=str(bound.cost(0.5)),
        cost_p90=str(bound.cost(0.9)),
        cost_upper=str(cost),
        cushion=str(choice.cushion),
        risk=choice.risk,
        fits=fits_money and fits_time,
        is_knee=is_knee,
        beaten_by=None if beater is None else beater + 1,
    )


def _rounded_up(time: Time) -> Time:
    """So that what is printed of it, with one decimal, is not earlier."""
    steps = ((2 * HOUR, HOUR // 10), (2 * MINUTE, MINUTE // 10), (SECOND, SECOND // 10))
    step = next((step for least, step in steps if time >= least), MILLISECOND)
    return -(-time // step) * step


def known_runtimes(mean: Time, deviation: Time = 0) -> NDArray[np.int64]:
    """A sample that says just this: many tasks, as far apart as the deviation tells."""
    from statistics import NormalDist

    count = 1000
    if deviation == 0:
        return np.full(count, mean, dtype=np.int64)
    shape = NormalDist(mean, deviation)
    values = [shape.inv_cdf((rank + 0.5) / count) for rank in range(count)]
    return np.maximum(1, np.rint(values)).astype(np.int64)
