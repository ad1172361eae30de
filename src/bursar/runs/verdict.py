"""Whether a budget will do, before anything is spent: for bags whose run times are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bursar.model.fleet import format_fleet
from bursar.model.money import format_money
from bursar.model.time import format_duration
from bursar.runs.request import Request

if TYPE_CHECKING:
    from bursar.plan.bag.known_fleet import KnownFleet

SURE: Final = 0.995
"""A chance that is not given as a share: the draws are too few for more."""
LIKELY: Final = 0.5


def fleet_before(request: Request) -> KnownFleet | None:
    """The fleet that a run would begin with, judged; None: nobody can know yet."""
    goal, bag, runtime = request.goal, request.bag, request.runtime
    if bag is None or runtime is None or goal.budget is None:
        return None
    if request.all_policies()["provisioner"] != "frontier" or goal.every or goal.deadline:
        return None
    from bursar.plan.bag.known_fleet import fleet_of_market  # late: it brings numpy and numba

    return fleet_of_market(request.market, bag.count, runtime, request.deviation, goal.budget)


def verdict(known: KnownFleet, currency: str) -> str:
    """`will probably do (94 %)`, said of the budget."""
    if known.chance == 0:
        return f"will not do: about {format_money(known.cost, currency, up=True)} is needed"
    if known.chance >= SURE:
        return "will do (over 99 %)"
    probably = "probably" if known.chance >= LIKELY else "probably not"
    return f"will {probably} do ({100 * known.chance:.0f} %)"


def fleet_told(known: KnownFleet, currency: str) -> str:
    """The fleet with its time and cost, in the middle and with P90."""
    times = [format_duration(time) for time in (known.time, known.upper_time)]
    costs = [format_money(cost, currency) for cost in (known.cost, known.upper_cost)]
    return (
        f"fleet: {format_fleet(known.fleet)}; time {times[0]} (P90 {times[1]}),"
        f" cost {costs[0]} (P90 {costs[1]})"
    )
