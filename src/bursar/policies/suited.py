"""Which provisioner suits a bag on machines that cost money."""

from __future__ import annotations

from bursar.model.goal import Goal
from bursar.model.market import Market


def follows_frontier(market: Market, goal: Goal) -> bool:
    """Whether one budget is for a bag, on machines that cost something; else `bats` suits."""
    if goal.budget is None or goal.deadline is not None or goal.every is not None:
        return False
    return any(offer.limit != 0 and offer.price for offer in market.offers)
