"""The fleet that a budget buys by the throughput of offers (workload thesis, 5.3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import ceil, floor

from bursar.model.money import Money


def profile(
    budget: Money, prices: Mapping[str, Money], shares: Mapping[str, float]
) -> dict[str, int]:
    """Equations 5.6 and 5.7: the money is spent so that machines stand in the ratio of shares."""
    whole = sum(prices[name].nanos * shares[name] for name in prices)
    if whole <= 0:
        return dict.fromkeys(prices, 0)
    return {name: floor(budget.nanos * shares[name] / whole) for name in prices}


def corrected(
    found: Mapping[str, int],
    wanted: int,
    budget: Money,
    prices: Mapping[str, Money],
    most: Mapping[str, int | None] | None = None,
    worth: Mapping[str, float] | None = None,
) -> dict[str, int]:
    """A profile brought to so many machines: scaled down (5.14), or inflated within the budget.

    `most` are the limits of offers (None: there is none), beyond which nothing is bought: what they
    leave of the money inflates the rest. With `worth`, what a machine of each offer gets done,
    offers are not scaled down alike: those that do least for their money go first.
    """
    limits = most or {}
    within = {name: _up_to(count, limits.get(name)) for name, count in found.items()}
    total = sum(within.values())
    if total > wanted and worth is not None:
        return _without_dearest(within, total - wanted, prices, worth)
    if total > wanted:
        return {name: ceil(wanted * count / total) for name, count in within.items()}
    return _inflated(within, wanted, budget, prices, limits)


def _without_dearest(
    fleet: Mapping[str, int], excess: int, prices: Mapping[str, Money], worth: Mapping[str, float]
) -> dict[str, int]:
    """So many machines fewer, first of the offers that do least for their money."""
    found = dict(fleet)
    for name in sorted(found, key=lambda one: (worth[one] / max(1, prices[one].nanos), one)):
        fewer = min(excess, found[name])
        found[name] -= fewer
        excess -= fewer
    return found


def _up_to(count: int, limit: int | None) -> int:
    return count if limit is None else min(count, limit)


def _inflated(
    found: Mapping[str, int],
    wanted: int,
    budget: Money,
    prices: Mapping[str, Money],
    limits: Mapping[str, int | None],
) -> dict[str, int]:
    """More machines: of all but the dearest offer while money lasts, then several in place of one.

    Exchanges begin with the second cheapest offer, and go on until there are as many as wanted.
    """
    ordered = sorted(prices, key=lambda name: (prices[name].nanos, name))
    fleet = {name: found.get(name, 0) for name in ordered}
    left = budget.nanos - sum(prices[name].nanos * count for name, count in fleet.items())
    for name in ordered[:-1]:
        price = prices[name].nanos
        lacking = wanted - sum(fleet.values())
        more = lacking if not price else min(lacking, max(0, left) // price)
        more = _up_to(fleet[name] + max(0, more), limits.get(name)) - fleet[name]
        fleet[name] += max(0, more)
        left -= price * max(0, more)
    while sum(fleet.values()) < wanted and _exchange(fleet, ordered, prices, limits):
        pass
    return fleet


def _exchange(
    fleet: dict[str, int],
    ordered: list[str],
    prices: Mapping[str, Money],
    limits: Mapping[str, int | None],
) -> bool:
    """One machine for several of the next cheaper offer; whether there was one to exchange."""
    for cheaper, costlier in pairwise(ordered):
        for_one = prices[costlier].nanos // max(1, prices[cheaper].nanos)
        for_one = _up_to(fleet[cheaper] + for_one, limits.get(cheaper)) - fleet[cheaper]
        if for_one > 1 and fleet[costlier]:
            fleet[costlier] -= 1
            fleet[cheaper] += for_one
            return True
    return False
