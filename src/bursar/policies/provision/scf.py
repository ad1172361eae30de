"""`scf`: scaling first (workload thesis, 5.3.2, after Mao and Humphrey).

Each work is planned alone, with machines without end and every task on the offer where it ends
first; the run times on an offer, by the interval, are the machines that it wants of it. That is
scaled down to the budget, and what is left of the budget is spent on the same offers in turn: also
where nothing had to be scaled, as its published over-provisioning comes out only then. The interval
is then planned, works by falling priority.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from bursar.model.fleet import Fleet
from bursar.model.market import Market
from bursar.model.time import Time
from bursar.policies.autoscaling import Leaving
from bursar.policies.interval_plan import IntervalPlan, UnlimitedStarts
from bursar.policies.planning_autoscaler import INTERVAL, PlanningAutoscaler
from bursar.state.view import View
from bursar.state.work_index import CountedWork


class ScalingFirst(PlanningAutoscaler):
    def __init__(
        self,
        market: Market,
        fleet: Fleet | None = None,
        interval: Time = INTERVAL,
        *,
        release: Leaving = "paid",
    ) -> None:
        super().__init__(market, fleet, interval, release=release)
        self._starts: dict[str, UnlimitedStarts] = {}
        """by account"""

    def to_rent(
        self, works: Sequence[CountedWork], view: View, now: Time, account: str
    ) -> Mapping[str, int]:
        if account not in self._starts:
            self._starts[account] = UnlimitedStarts(self.known, self.interval)
        takes = self._starts[account].times(works, view, now)
        predicted = [-(-time // self.interval) for time in takes]
        prices = [self.price(view, account, place).nanos for place in range(len(takes))]
        most = [self.most(offer, account) for offer in self.market.offers]
        budget = self.budget(view, account)
        target = scaled(predicted, prices, None if budget is None else budget.nanos, most)
        there = [self.machines(offer, account) for offer in self.market.offers]
        return {
            offer.name: count - have
            for offer, count, have in zip(self.market.offers, target, there, strict=True)
            if count > have
        }

    def plan(self, plan: IntervalPlan, works: Sequence[CountedWork], rng: Random) -> None:
        for work in sorted(works, key=lambda one: (-one.priority, one.number)):
            if plan.is_full:
                return
            plan.fill(work)


def scaled(
    predicted: Sequence[int],
    prices: Sequence[int],
    budget: int | None,
    most: Sequence[int | None],
) -> list[int]:
    """The prediction within a budget and limits, and what that leaves spent in turn."""
    limits = [
        count if limit is None else limit for count, limit in zip(predicted, most, strict=True)
    ]
    cost = sum(count * price for count, price in zip(predicted, prices, strict=True))
    if budget is None:
        return [min(count, limit) for count, limit in zip(predicted, limits, strict=True)]
    found = [
        min(limit, count if cost <= budget else count * budget // cost)
        for count, limit in zip(predicted, limits, strict=True)
    ]
    left = budget - sum(count * price for count, price in zip(found, prices, strict=True))
    wanted = [place for place, count in enumerate(predicted) if count]
    grew = True
    while grew:
        grew = False
        for place in wanted:
            limit = most[place]
            if 0 < prices[place] <= left and (limit is None or found[place] < limit):
                found[place] += 1
                left -= prices[place]
                grew = True
    return found
