"""Which provisioner suits a bag on machines that cost money."""

from __future__ import annotations

from bursar.model.goal import Goal
from bursar.model.market import Market
from bursar.model.time import MINUTE, Time

LONG_UNIT, LONG_TASKS = 5 * MINUTE, 4
"""With billing units that are longer, or longer than so many tasks, it matters most which of them a
machine enters."""


def follows_frontier(market: Market, goal: Goal) -> bool:
    """Whether one budget is for a bag, on machines that cost something; else `bats` suits."""
    if goal.budget is None or goal.deadline is not None or goal.every is not None:
        return False
    return any(offer.limit != 0 and offer.price for offer in market.offers)


def hedges_frontier(market: Market, goal: Goal, tasks: int, runtime: Time | None) -> bool:
    """The same beside machines that may vanish: only where paid time is lost with them in seconds.

    Tasks are as long as the budget allows on reliable machines, as far as anybody knows. Where
    somebody knows more, the fleet can be chosen before, whatever the units.
    """
    if not follows_frontier(market, goal) or goal.budget is None or runtime is not None:
        return follows_frontier(market, goal)
    priced = [offer for offer in market.offers if offer.limit != 0 and offer.price]
    offers = [offer for offer in priced if offer.pool == "reliable"] or priced
    work = min(o.price.nanos / (o.billing * o.slots * o.speed) for o in offers)
    believed = goal.budget.nanos / (work * max(1, tasks))
    return min(offer.billing for offer in offers) <= min(LONG_UNIT, LONG_TASKS * believed)
