"""`plf`: planning first (workload thesis, 5.3.1, after Mao and Humphrey).

What the budget leaves beside the machines that are there is shared among works by priority. Each
ready task asks for a machine of the offer where it ends first, while the share of its work pays
that; rests are pooled for tasks that got none. Then the interval is planned: tasks with an offer on
its machines, then all others, works in random order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from bursar.model.fleet import Fleet
from bursar.model.market import Market
from bursar.model.time import Time
from bursar.policies.autoscaling import Leaving
from bursar.policies.interval_plan import IntervalPlan
from bursar.policies.planning_autoscaler import INTERVAL, PlanningAutoscaler
from bursar.state.task_status import READY
from bursar.state.view import View
from bursar.state.work_index import CountedWork

Typed = tuple[int, CountedWork, int]
"""a task, its work, the place of its offer"""


class PlanningFirst(PlanningAutoscaler):
    def __init__(
        self,
        market: Market,
        fleet: Fleet | None = None,
        interval: Time = INTERVAL,
        *,
        release: Leaving = "paid",
    ) -> None:
        super().__init__(market, fleet, interval, release=release)
        self._typed: list[Typed] = []
        """of the decision being made"""

    def to_rent(
        self, works: Sequence[CountedWork], view: View, now: Time, account: str
    ) -> Mapping[str, int]:
        asking = _Asking(self, view, account)
        ordered = sorted(works, key=lambda work: (-work.priority, work.number))
        weights = {work.number: max(0, work.priority) + 1 for work in ordered}
        whole, pool, unserved = sum(weights.values()), 0, []
        for work in ordered:
            share = None
            if asking.left is not None:
                share = asking.left * weights[work.number] // whole
            tasks = self._fastest(work, view)
            rest, others = asking.serve(tasks, share)
            pool += rest
            unserved.append(others)
        for others in unserved:
            pool, _ = asking.serve(others, None if asking.left is None else pool)
        self._typed = asking.typed
        names = [offer.name for offer in self.market.offers]
        return {name: count for name, count in zip(names, asking.new, strict=True) if count}

    def _fastest(self, work: CountedWork, view: View) -> Iterator[Typed]:
        for task in work.having(READY):
            yield task, work, self.known.fastest(task, work, view)[0]

    def plan(self, plan: IntervalPlan, works: Sequence[CountedWork], rng: Random) -> None:
        for task, work, offer in self._typed:
            plan.put_on_offer(task, work, offer)
        for work in rng.sample(list(works), len(works)):
            if plan.is_full:
                return
            plan.fill(work)


class _Asking:
    """Money and machines that are left while tasks ask for them."""

    def __init__(self, entry: PlanningFirst, view: View, account: str) -> None:
        budget = entry.budget(view, account)
        self.left: int | None = None
        """beside the machines that are there, in billionths; None: there is no budget"""
        if budget is not None:
            self.left = max(0, (budget - entry.cost_of_fleet(view, account)).nanos)
        places = range(len(entry.market.offers))
        self._prices = [entry.price(view, account, place).nanos for place in places]
        self._room = entry.room(account)
        self.new = [0 for _ in places]
        self.typed: list[Typed] = []

    def serve(self, tasks: Iterator[Typed], money: int | None) -> tuple[int, Iterator[Typed]]:
        """Let tasks ask while the money pays the offer of each; what is left, and who got none.

        Where a task's offer has no machine left, others may still get theirs.
        """
        unserved: list[Typed] = []
        for typed in tasks:
            _, _, place = typed
            if money is not None and money < self._prices[place]:
                unserved.append(typed)
                unserved.extend(tasks)
                break
            room = self._room[place]
            if room is not None and room <= 0:
                unserved.append(typed)
                continue
            self._room[place] = None if room is None else room - 1
            self.new[place] += 1
            self.typed.append(typed)
            money = None if money is None else money - self._prices[place]
        return money or 0, iter(unserved)
