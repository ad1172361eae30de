"""Plans for a bag: a list with honest bounds, marked by what fits the goal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.prediction import FleetPart, fleet_cautions
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.plan import Assumed, Plan
from bursar.model.plan_options import CONFIDENCE
from bursar.model.time import Time
from bursar.plan.bag.candidate import (
    BudgetTooSmallError,
    Candidate,
    DeadlineTooEarlyError,
    Samples,
    reliable_offers,
)
from bursar.plan.bag.faithful_plans import faithful_plans
from bursar.plan.bag.fleet_frontier import find_frontier
from bursar.plan.bag.fleet_judge import SampledBag
from bursar.plan.bag.frontier_plans import ROWS, FrontierPoint, frontier_of, list_plans
from bursar.state.events import PlansOffered


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
    plans for both pools, which come in between. `faithful`: the choices and bounds of the BaTS
    thesis in place of the frontier. `paired`: the samples are of the same tasks in the same order.
    `known_cautions` are shown with those of the predictions.
    """
    usable = [one for one in reliable_offers(market) if len(samples.get(one.name, ()))]
    if not usable and not mixed:
        raise InputError(_why_nothing(market, samples))
    means = {one.name: max(1, round(float(np.mean(samples[one.name])))) for one in usable}
    if faithful:
        plans, found = faithful_plans(
            usable,
            samples,
            dict(means),
            tasks,
            goal,
            between=between,
            confidence=confidence,
            mixed=mixed,
            currency=market.currency,
        )
    else:
        rows = ROWS + between
        front = _frontier(
            usable, samples, tasks, goal, confidence, seed, mixed, rows, paired=paired
        )
        _check_goal(front, goal, market.currency)
        plans = list_plans(front, goal, confidence, rows, means, tasks, usable)
        found = _cautions(plans, usable, samples, mixed, paired=paired)
    sentences = (caution.rstrip(".") for caution in found)
    cautions = dict.fromkeys((*known_cautions, *sentences, *_left_out(market, samples, mixed)))
    return PlansOffered(
        at=0,
        plans=plans,
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


def _frontier(
    offers: Sequence[Offer],
    samples: Samples,
    tasks: int,
    goal: Goal,
    confidence: float,
    seed: int,
    mixed: Sequence[Candidate],
    rows: int,
    *,
    paired: bool,
) -> list[FrontierPoint]:
    judged = []
    if offers:
        seen = tuple(samples[one.name] for one in offers)
        bag = SampledBag(tuple(offers), seen, tasks, paired)
        judged = find_frontier(bag, confidence, goal=goal, seed=seed, rows=rows)
    return frontier_of(judged, mixed, confidence)


def _check_goal(front: Sequence[FrontierPoint], goal: Goal, currency: str) -> None:
    """Refuse what no plan is likely to keep, and tell what would do."""
    if goal.budget is not None and all(one.bound.cost(0.5) > goal.budget for one in front):
        raise BudgetTooSmallError(goal.budget, min(one.cost for one in front), currency)
    if goal.deadline is not None and all(one.bound.makespan(0.5) > goal.deadline for one in front):
        raise DeadlineTooEarlyError(goal.deadline, min(one.time for one in front))


def _cautions(
    plans: Sequence[Plan],
    offers: Sequence[Offer],
    samples: Samples,
    mixed: Sequence[Candidate],
    *,
    paired: bool,
) -> list[str]:
    """Why the bounds of the plans may not hold."""
    found: list[str] = []
    for plan in plans:
        if plan.strategy:
            named = [one.bound.cautions for one in mixed if one.choice.name == plan.name]
            found += [caution for cautions in named for caution in cautions]
            continue
        parts = [
            FleetPart(one, plan.fleet[one.name], samples[one.name], sample="bag" if paired else "")
            for one in offers
            if plan.fleet.get(one.name)
        ]
        found += fleet_cautions(parts)
    return found


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


def known_runtimes(mean: Time, deviation: Time = 0) -> NDArray[np.int64]:
    """A sample that says just this: many tasks, as far apart as the deviation tells."""
    from statistics import NormalDist

    count = 1000
    if deviation == 0:
        return np.full(count, mean, dtype=np.int64)
    shape = NormalDist(mean, deviation)
    values = [shape.inv_cdf((rank + 0.5) / count) for rank in range(count)]
    return np.maximum(1, np.rint(values)).astype(np.int64)
