"""Whether a budget and a deadline will do: before anything is spent, and by a plan.

A bag whose run times are known is judged by simulated executions. A plan tells its P50 and P90, or
the chances themselves; from the quantiles the chance is that of a normal distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

from bursar.model.fleet import Fleet, format_fleet
from bursar.model.goal import Goal
from bursar.model.money import ZERO, Money, format_money
from bursar.model.plan import Plan
from bursar.model.time import SECOND, format_duration, seconds
from bursar.runs.request import Request

if TYPE_CHECKING:
    from bursar.plan.bag.known_fleet import KnownFleet

SURE: Final = 0.995
"""A chance that is not given as a share: the draws are too few for more."""
LIKELY: Final = 0.5
NONE: Final = 0.005
P90: Final = 0.9
NORMAL_P90: Final = 1.2816
"""Deviations that are not exceeded nine times in ten."""
AMPLE: Final = 1.5
"""A limit that is so many times the P90 is not exceeded."""


def needs_only_runtimes(request: Request) -> bool:
    """Whether `fleet_before` could judge a bag by this goal, if its run times were known."""
    goal = request.goal
    is_one_budget = goal.budget is not None and not goal.every and not goal.deadline
    return is_one_budget and request.all_policies()["provisioner"] == "frontier"


def fleet_before(request: Request) -> KnownFleet | None:
    """The fleet that a run would begin with, judged; None: nobody can know yet."""
    goal, bag, runtime = request.goal, request.bag, request.runtime
    if bag is None or runtime is None or goal.budget is None or not needs_only_runtimes(request):
        return None
    from bursar.plan.bag.known_fleet import (  # late: they bring numpy and numba
        KnownRuntimes,
        fleet_of_market,
    )

    known = KnownRuntimes(runtime, request.deviation, request.history)
    return fleet_of_market(request.market, bag.count, known, goal.budget)


def verdict(known: KnownFleet, currency: str) -> str:
    """`will probably do (94 %)`, said of the budget."""
    if known.chance == 0:
        return f"will not do: about {format_money(known.cost, currency, up=True)} is needed"
    return chance_in_words(known.chance)


def chance_within(p50: float, p90: float, limit: float) -> float:
    """That a figure with these quantiles stays within a limit; at most what they can carry."""
    if p90 <= p50:  # one figure in most executions: what exceeds it is not known
        return 0.0 if limit < p50 else 1.0 if limit >= AMPLE * p90 else P90
    return NormalDist(p50, (p90 - p50) / NORMAL_P90).cdf(limit)


def plan_chances(plan: Plan, goal: Goal, spent: Money = ZERO) -> dict[str, float]:
    """By `budget` and `deadline`, as far as the goal has them: the chance that it will do.

    What was spent before the plan counts for the budget. A deadline is counted from now on.
    """
    found = {}
    if goal.total_budget is not None:
        left = float(goal.total_budget) - float(spent)
        chance = plan.chance_within_budget
        found["budget"] = (
            chance_within(float(plan.cost_p50), float(plan.cost_p90), left)
            if chance is None
            else chance
        )
    if goal.deadline is not None:
        span, chance = plan.makespan_s, plan.chance_by_deadline
        found["deadline"] = (
            chance_within(span.p50, span.p90, goal.deadline / SECOND) if chance is None else chance
        )
    return found


def plan_verdict(plan: Plan, goal: Goal, spent: Money = ZERO) -> str | None:
    """`the budget will probably do (94 %), the deadline will do (over 99 %)`; None: no goal."""
    chances = plan_chances(plan, goal, spent)
    sentences = [f"the {name} {chance_in_words(chance)}" for name, chance in chances.items()]
    return ", ".join(sentences) or None


def plan_in_words(plan: Plan, currency: str) -> str:
    """Fleet, time and cost of a plan, in the middle and with P90."""
    span = plan.makespan_s
    times = [format_duration(seconds(value)) for value in (span.p50, span.p90)]
    costs = [format_money(cost, currency) for cost in (plan.cost_p50, plan.cost_p90)]
    return _fleet_in_words(plan.fleet, times, costs)


def chance_in_words(chance: float) -> str:
    if not NONE <= chance < SURE:
        return f"will {'' if chance >= SURE else 'not '}do ({share_in_words(chance)})"
    probably = "probably" if chance >= LIKELY else "probably not"
    return f"will {probably} do ({share_in_words(chance)})"


def share_in_words(chance: float) -> str:
    """`94 %`; what the draws cannot tell apart has no figure."""
    if not NONE <= chance < SURE:
        return "over 99 %" if chance >= SURE else "below 1 %"
    if chance == P90:
        return "90 % or more"
    return f"{100 * chance:.0f} %"


def fleet_in_words(known: KnownFleet, currency: str) -> str:
    """The fleet with its time and cost, in the middle and with P90."""
    times = [format_duration(time) for time in (known.time, known.upper_time)]
    costs = [format_money(cost, currency) for cost in (known.cost, known.upper_cost)]
    return _fleet_in_words(known.fleet, times, costs)


def _fleet_in_words(fleet: Fleet, times: Sequence[str], costs: Sequence[str]) -> str:
    return (
        f"fleet: {format_fleet(fleet)}; time {times[0]} (P90 {times[1]}),"
        f" cost {costs[0]} (P90 {costs[1]})"
    )
