"""Plans: the choices with honest bounds, marked by what fits the goal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.bounds import PublishedPrediction
from bursar.beliefs.prediction import FleetPart, Prediction, predict
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money, format_money
from bursar.model.plan import Assumed, MakespanSpan, Plan
from bursar.model.strategy import Strategy, write_strategy
from bursar.model.time import SECOND, Time, format_duration
from bursar.model.wish import CONFIDENCE
from bursar.plan.bag.choices import (
    Choice,
    choose,
    choose_by_deadline,
    list_choices,
)
from bursar.plan.bag.knapsack import FleetChoice, cheapest, fastest
from bursar.plan.dominance import beaten_by, knee
from bursar.state.events import PlansOffered

Samples = Mapping[str, NDArray[np.int64]]
"""Offer name to run times there; absent: nothing is known."""


class BudgetTooSmallError(InputError):
    """No plan finishes within a budget; `least` would be enough for one."""

    def __init__(self, budget: Money, least: Money, currency: str, beside: str = "") -> None:
        super().__init__(
            f"no plan finishes within a budget of {format_money(budget, currency)}{beside};"
            f" give at least {format_money(least, currency, up=True)}"
        )
        self.least = least


class Bound(Protocol):
    """Times and costs that are not exceeded with a confidence."""

    @property
    def cautions(self) -> tuple[str, ...]: ...

    def makespan(self, confidence: float = 0.5) -> Time: ...

    def cost(self, confidence: float = 0.5) -> Money: ...


class Candidate(msgspec.Struct, frozen=True):
    """A choice with its bounds; with a strategy if some of its machines may vanish."""

    choice: Choice
    bound: Bound
    strategy: Strategy | None = None


class _Work(msgspec.Struct, frozen=True):
    """What the choices of BaTS are made from."""

    offers: Sequence[Offer]
    """reliable ones of which something is known; perhaps none"""
    runtimes: Mapping[str, Time | None]
    tasks: int

    def choices(self, between: int) -> list[Choice]:
        if not self.offers:
            return []
        return list_choices(self.offers, self.runtimes, self.tasks, between=between)

    def by_deadline(self, deadline: Time) -> Choice | None:
        if not self.offers:
            return None
        return choose_by_deadline(self.offers, self.runtimes, self.tasks, deadline)

    def ends(self, find: Callable[..., FleetChoice]) -> list[FleetChoice]:
        """The cheapest or the fastest fleet, if there is any."""
        return [find(self.offers, self.runtimes, self.tasks)] if self.offers else []


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
    mixed: Sequence[Candidate] = (),
    known_cautions: Sequence[str] = (),
) -> PlansOffered:
    """Plans for so many tasks, cheapest first, from what was seen of their run times.

    Fleets are of reliable offers, since a machine that may vanish keeps no schedule; `mixed` are
    plans for both pools, which come in between. `faithful`: with the bounds of the BaTS thesis
    (chapter 4) in place of the calibrated ones. `paired`: the samples are of the same tasks in the
    same order. `known_cautions` are shown with those of the predictions.
    """
    usable = [one for one in reliable_offers(market) if len(samples.get(one.name, ()))]
    shared = "bag" if paired else ""

    def bound_of(choice: Choice) -> Bound:
        if faithful:
            return _published(usable, choice, samples, tasks)
        return _predict(usable, choice, samples, tasks, seed, shared)

    work = _Work(
        usable,
        {offer.name: max(1, round(float(np.mean(samples[offer.name])))) for offer in usable},
        tasks,
    )
    found = [Candidate(choice, bound_of(choice)) for choice in work.choices(between)]
    if mixed:
        found.extend(mixed)
        found.sort(key=lambda one: (one.bound.cost(0.5), -one.bound.makespan(0.5)))
    if not found:
        raise InputError(_why_nothing(market, samples))
    wanted: list[Choice] = []
    if goal.budget is not None:
        others = [one.bound.cost(confidence) for one in mixed]
        wanted += _within_budget(work, goal.budget, market.currency, others)
    if goal.deadline is not None:
        ends = [one.bound.makespan(confidence) for one in mixed]
        wanted += _within_deadline(
            work, goal.deadline, lambda choice: bound_of(choice).makespan(confidence), ends
        )
    found += [Candidate(choice, bound_of(choice)) for choice in wanted]
    told = (caution.rstrip(".") for one in found for caution in one.bound.cautions)
    cautions = dict.fromkeys((*known_cautions, *told, *_left_out(market, samples, mixed)))
    return PlansOffered(
        at=0,
        plans=_plans(found, goal, confidence),
        assumed=Assumed(
            tasks=tasks,
            date=market.date,
            goal=goal,
            confidence=confidence,
            between=between,
            faithful=faithful,
            seed=seed,
            sampled={name: len(times) for name, times in samples.items()},
            cautions=tuple(cautions),
        ),
    )


def reliable_offers(market: Market) -> list[Offer]:
    """Those that can be rented."""
    return [offer for offer in market.offers if offer.pool == "reliable" and offer.limit != 0]


def _why_nothing(market: Market, samples: Samples) -> str:
    if all(market[name].limit == 0 for name in samples):
        return "every offer of which a run time is known has the limit 0: no machine can be rented"
    return "no plan can be made of what is known; give or sample run times on more offers"


def _left_out(market: Market, samples: Samples, mixed: Sequence[Candidate]) -> Iterator[str]:
    used = {name for candidate in mixed for name in candidate.choice.fleet}
    missing = [
        offer.name
        for offer in market.offers
        if offer.limit != 0 and not len(samples.get(offer.name, ())) and offer.name not in used
    ]
    if missing:
        yield f"nothing is known of {', '.join(missing)}: left out of all plans"


def _plans(found: Sequence[Candidate], goal: Goal, confidence: float) -> tuple[Plan, ...]:
    points, middles = (
        [(float(one.bound.makespan(share)), float(one.bound.cost(share))) for one in found]
        for share in (confidence, 0.5)
    )
    best = knee(points)
    # A plan that is said to be better is so in every figure that people see.
    beaters = beaten_by([(*bound, *middle) for bound, middle in zip(points, middles, strict=True)])
    return tuple(
        _plan(one, goal, confidence, is_knee=index == best, beater=beaters[index])
        for index, one in enumerate(found)
    )


def _within_budget(
    work: _Work, budget: Money, currency: str, others: Sequence[Money]
) -> list[Choice]:
    """The fastest plan within the budget; none where only another one, of such a cost, keeps it."""
    found = None
    if work.offers:
        found = choose("within budget", work.offers, work.runtimes, work.tasks, budget)
    if found is not None:
        return [found]
    if any(cost <= budget for cost in others):
        return []
    least = min([*others, *(one.cost for one in work.ends(cheapest))])
    raise BudgetTooSmallError(budget, least, currency)


def _within_deadline(
    work: _Work, deadline: Time, upper: Callable[[Choice], Time], others: Sequence[Time]
) -> list[Choice]:
    """The cheapest plan whose upper bound is within the deadline.

    The estimate must end earlier, by as much as the bound exceeds it. Where no fleet is sure
    enough, the fastest there is; none where only another plan, with such an end, can be in time.
    """
    target = deadline
    found = work.by_deadline(target)
    if found is None:
        if any(end <= deadline for end in others):
            return []
        earliest = min([*others, *(one.makespan for one in work.ends(fastest))])
        raise InputError(
            f"no fleet can finish within {format_duration(deadline)};"
            f" the earliest is about {format_duration(earliest, up=True)}, with every machine"
        )
    while found is not None:
        late = upper(found)
        if late <= deadline:
            return [found]
        target = min(target * 99 // 100, target * deadline // late)
        found = work.by_deadline(target)
    soonest = work.by_deadline(fastest(work.offers, work.runtimes, work.tasks).makespan)
    assert soonest is not None  # noqa: S101
    return [soonest]


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
    candidate: Candidate, goal: Goal, confidence: float, *, is_knee: bool, beater: int | None
) -> Plan:
    choice, bound, strategy = candidate.choice, candidate.bound, candidate.strategy
    makespan, cost = bound.makespan(confidence), bound.cost(confidence)
    fits_money = goal.budget is None or max(cost, choice.cost) <= goal.budget
    fits_time = goal.deadline is None or makespan <= goal.deadline
    return Plan(
        name=choice.name,
        fleet=choice.fleet,
        strategy="" if strategy is None else write_strategy(strategy),
        units=choice.units,
        cost=choice.cost,
        makespan_s=MakespanSpan(
            choice.makespan / SECOND,
            bound.makespan(0.5) / SECOND,
            bound.makespan(0.9) / SECOND,
            makespan / SECOND,
        ),
        cost_p50=bound.cost(0.5),
        cost_p90=bound.cost(0.9),
        cost_upper=cost,
        cushion=choice.cushion,
        risk=choice.risk,
        fits=fits_money and fits_time,
        is_knee=is_knee,
        beaten_by=None if beater is None else beater + 1,
    )


def known_runtimes(mean: Time, deviation: Time = 0) -> NDArray[np.int64]:
    """A sample that says just this: many tasks, as far apart as the deviation tells."""
    from statistics import NormalDist

    count = 1000
    if deviation == 0:
        return np.full(count, mean, dtype=np.int64)
    shape = NormalDist(mean, deviation)
    values = [shape.inv_cdf((rank + 0.5) / count) for rank in range(count)]
    return np.maximum(1, np.rint(values)).astype(np.int64)
