"""The list of plans for a bag: a few of the frontier, each better than all others in something.

Fleets of reliable machines and plans for both pools stand in one list. It has both ends, the knee,
what a budget and a deadline ask for, and others between them, as far from each other as can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.fleet import format_fleet
from bursar.model.goal import Goal
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.plan import MakespanSpan, Plan
from bursar.model.strategy import write_strategy
from bursar.model.time import SECOND
from bursar.plan.bag.candidate import Bound, Candidate
from bursar.plan.bag.choices import delta_n
from bursar.plan.bag.fleet_frontier import JudgedFleet
from bursar.plan.bag.knapsack import FleetChoice
from bursar.plan.dominance import knee

ROWS: Final = 7
"""Plans that are shown, where nobody asks for more."""


class FrontierPoint(msgspec.Struct, frozen=True):
    """A plan that may be in the list, with its time and its cost at the confidence."""

    time: int
    cost: Money
    bound: Bound
    judged: JudgedFleet | None = None
    mixed: Candidate | None = None

    @property
    def point(self) -> tuple[float, float]:
        return float(self.time), float(self.cost)


def frontier_of(
    judged: Sequence[JudgedFleet], mixed: Sequence[Candidate], confidence: float
) -> list[FrontierPoint]:
    """What no other beats, cheapest first."""
    found = [
        FrontierPoint(
            one.outcomes.makespan(confidence), one.outcomes.cost(confidence), one.outcomes, one
        )
        for one in judged
    ]
    found += [
        FrontierPoint(
            one.bound.makespan(confidence), one.bound.cost(confidence), one.bound, mixed=one
        )
        for one in mixed
    ]
    found.sort(key=lambda one: (one.cost, one.time))
    kept: list[FrontierPoint] = []
    for one in found:
        if not kept or one.time < kept[-1].time:
            kept.append(one)
    return kept


def list_plans(
    front: Sequence[FrontierPoint],
    goal: Goal,
    confidence: float,
    rows: int,
    means: Mapping[str, int],
    tasks: int,
    offers: Sequence[Offer],
) -> tuple[Plan, ...]:
    """The plans that are shown, cheapest first; `means` are run times by offer."""
    named = _named(front, goal)
    chosen = _thinned([one.point for one in front], set(named), rows)
    by_name = {offer.name: offer for offer in offers}
    plans = []
    for number in chosen:
        one, names = front[number], named.get(number, [])
        if one.mixed is not None:
            plans.append(_mixed_plan(one, one.mixed, names, goal, confidence))
        else:
            plans.append(_plan(one, names, goal, confidence, means, tasks, by_name))
    return tuple(plans)


def _named(front: Sequence[FrontierPoint], goal: Goal) -> dict[int, list[str]]:
    """What each is, in the order in which names are shown."""
    names: dict[int, list[str]] = {}

    def give(name: str, number: int) -> None:
        names.setdefault(number, []).append(name)

    give("cheapest", 0)
    give("fastest", len(front) - 1)
    give("knee", knee([one.point for one in front]))
    if goal.budget is not None:
        affordable = [n for n, one in enumerate(front) if one.cost <= goal.budget]
        if affordable:
            give("budget", affordable[-1])
    if goal.deadline is not None:
        timely = [n for n, one in enumerate(front) if one.time <= goal.deadline]
        if timely:
            give("deadline", timely[0])
    return names


def _thinned(points: Sequence[tuple[float, float]], kept: set[int], rows: int) -> list[int]:
    """Those that must be kept, and more, each the farthest from all that are there.

    Two are as far from each other as the ratio of their times or of their costs, whichever is more
    of the ratio between the ends.
    """
    chosen = sorted(kept)
    logs: NDArray[np.float64] = np.log(np.maximum(np.array(points), 1e-12))
    logs /= np.maximum(np.ptp(logs, axis=0), 1e-12)
    while len(chosen) < min(rows, len(points)):
        apart = np.abs(logs[:, None, :] - logs[None, chosen, :]).max(axis=2).min(axis=1)
        apart[chosen] = -1.0
        chosen.append(int(np.argmax(apart)))
    return sorted(chosen)


def _plan(
    one: FrontierPoint,
    names: Sequence[str],
    goal: Goal,
    confidence: float,
    means: Mapping[str, int],
    tasks: int,
    offers: Mapping[str, Offer],
) -> Plan:
    judged = one.judged
    assert judged is not None  # noqa: S101
    fleet, outcomes = judged.fleet, judged.outcomes
    charged = np.median(outcomes.units, axis=0)
    units = {
        offer.name: round(charged[number] / fleet[offer.name])
        for number, offer in enumerate(outcomes.offers)
        if fleet.get(offer.name)
    }
    middle = outcomes.makespan(0.5)
    estimate = FleetChoice(fleet, units, middle, outcomes.cost(0.5))
    return Plan(
        name=names[0] if names else format_fleet(fleet),
        names=tuple(names),
        fleet=fleet,
        units=units,
        cost=outcomes.cost(0.5),
        makespan_s=_span(one.bound, float(np.mean(outcomes.makespans)), confidence),
        cost_p50=outcomes.cost(0.5),
        cost_p90=outcomes.cost(0.9),
        cost_upper=one.cost,
        risk=max(0, delta_n(estimate, offers, means, tasks)),
        fits=_fits(one, goal),
        is_knee="knee" in names,
    )


def _mixed_plan(
    one: FrontierPoint, candidate: Candidate, names: Sequence[str], goal: Goal, confidence: float
) -> Plan:
    choice, bound, strategy = candidate.choice, candidate.bound, candidate.strategy
    return Plan(
        name=choice.name,
        names=(*names, choice.name),
        fleet=choice.fleet,
        strategy="" if strategy is None else write_strategy(strategy),
        units=choice.units,
        cost=choice.cost,
        makespan_s=_span(bound, float(choice.makespan), confidence),
        cost_p50=bound.cost(0.5),
        cost_p90=bound.cost(0.9),
        cost_upper=one.cost,
        cushion=choice.cushion,
        risk=choice.risk,
        fits=_fits(one, goal),
        is_knee="knee" in names,
    )


def _span(bound: Bound, estimate: float, confidence: float) -> MakespanSpan:
    shares = (0.5, 0.9, confidence)
    return MakespanSpan(estimate / SECOND, *(bound.makespan(p) / SECOND for p in shares))


def _fits(one: FrontierPoint, goal: Goal) -> bool:
    fits_money = goal.budget is None or one.cost <= goal.budget
    return fits_money and (goal.deadline is None or one.time <= goal.deadline)
