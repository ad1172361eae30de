"""The list of plans of the BaTS thesis: six choices (chapter 6), with its bounds (chapter 4).

Beside them the fastest fleet within a budget and the cheapest within a deadline, by the estimates
of a divisible bag on machines that boot at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from bursar.beliefs.bounds import PublishedPrediction
from bursar.model.goal import Goal
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.plan import MakespanSpan, Plan
from bursar.model.strategy import write_strategy
from bursar.model.time import SECOND, Time
from bursar.plan.bag.candidate import (
    Bound,
    BudgetTooSmallError,
    Candidate,
    DeadlineTooEarlyError,
    Samples,
)
from bursar.plan.bag.choices import (
    Choice,
    choose,
    choose_by_deadline,
    list_choices,
)
from bursar.plan.bag.knapsack import FleetChoice, cheapest, fastest
from bursar.plan.dominance import beaten_by, knee


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


def faithful_plans(
    offers: Sequence[Offer],
    samples: Samples,
    means: Mapping[str, Time | None],
    tasks: int,
    goal: Goal,
    *,
    between: int,
    confidence: float,
    mixed: Sequence[Candidate],
    currency: str,
) -> tuple[tuple[Plan, ...], list[str]]:
    """The plans, and the cautions of those for both pools."""

    def bound_of(choice: Choice) -> Bound:
        return _published(offers, choice, samples, tasks)

    work = _Work(offers, means, tasks)
    found = [Candidate(choice, bound_of(choice)) for choice in work.choices(between)]
    if mixed:
        found.extend(mixed)
        found.sort(key=lambda one: (one.bound.cost(0.5), -one.bound.makespan(0.5)))
    wanted: list[Choice] = []
    if goal.budget is not None:
        others = [one.bound.cost(confidence) for one in mixed]
        wanted += _within_budget(work, goal.budget, currency, others)
    if goal.deadline is not None:
        ends = [one.bound.makespan(confidence) for one in mixed]
        wanted += _within_deadline(
            work, goal.deadline, lambda choice: bound_of(choice).makespan(confidence), ends
        )
    found += [Candidate(choice, bound_of(choice)) for choice in wanted]
    return _plans(found, goal, confidence), [c for one in found for c in one.bound.cautions]


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
        raise DeadlineTooEarlyError(deadline, earliest)
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
