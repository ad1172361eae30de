"""Reliable machines beside an unreliable pool before the tail.

ExPERT leaves the reliable pool idle until the tail begins. That is right for a user who wants the
cheapest run. Others prefer to combine both pools (the paper's CN-inf, section 5.3), with as many
reliable machines as the same preference says that chooses the strategy of the tail.

What is to come is taken to go on as before: the unreliable pool returns results and costs money at
the rates that it has shown in this run, its losses and its absences among them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from bursar.plan.dominance import Point
from bursar.plan.pools.frontier import frontier, parse_preference, prefer

CLEARLY: Final = 0.05
"""What another number of slots must gain of what somebody prefers, to be worth the change."""


class ReserveSlots(msgspec.Struct, frozen=True):
    """Reliable slots that are alike; times in seconds, money in the currency."""

    count: int
    """that may be had"""
    time: float
    """for a task"""
    burn: float
    """what a slot costs in a second"""
    boot: float = 0.0
    """until one works that is not up yet"""


class ReserveForecast(msgspec.Struct, frozen=True):
    """What a run has shown, and what one may add to it; times in seconds, money in the currency."""

    total: int
    """tasks of the whole run"""
    left: int
    """of these, without a result"""
    elapsed: float
    spent: float
    results: float
    """of the unreliable pool in a second"""
    burn: float
    """what it costs in a second"""
    tail: float
    """the last tasks end so much later than if work could be shared out to the end"""
    reliable: tuple[ReserveSlots, ...]
    """in the order in which they are rented"""
    up: int = 0
    """reliable slots that need not boot"""

    @property
    def most(self) -> int:
        return sum(one.count for one in self.reliable)

    def point(self, slots: int) -> Point:
        """Makespan of the run and its cost for a task, with so many reliable slots."""
        lasts = self.lasts(slots)
        burn = sum(count * one.burn for one, count in self._first(slots))
        cost = (lasts - self.tail) * (self.burn + burn)
        return self.elapsed + lasts, (self.spent + cost) / self.total

    def lasts(self, slots: int) -> float:
        """How long what is left will take. Slots that boot do nothing for a while."""
        rate, missed, before = self.results, 0.0, 0
        for one, count in self._first(slots):
            new = before + count - max(before, min(self.up, before + count))
            rate += count / one.time
            missed += new * one.boot / one.time
            before += count
        return self.tail + (self.left + missed) / rate

    def _first(self, slots: int) -> list[tuple[ReserveSlots, int]]:
        """How many there are of each kind, if these are rented."""
        found = []
        for one in self.reliable:
            count = min(one.count, slots)
            if count:
                found.append((one, count))
            slots -= count
        return found


def slots_beside(
    forecast: ReserveForecast,
    preference: str,
    *,
    budget: float | None = None,
    deadline: float | None = None,
    standing: int | None = None,
) -> int:
    """How many reliable slots to have until the tail.

    The budget is for a task, the deadline for the run. Where no number is expected to keep them, it
    is the cheapest if there is a budget, and else the fastest. Where some number was decided on
    before, it stays unless another is clearly better, or it breaks a limit.
    """
    least = 0 if forecast.results > 0 else 1  # with neither pool it would never end
    points = [forecast.point(slots) for slots in range(least, forecast.most + 1)]
    best = prefer(points, preference, budget=budget, deadline=deadline)
    if best is None:
        return least + frontier(points)[-1 if budget is None else 0]
    if standing is None or not least <= standing <= forecast.most:
        return least + best
    makespan, cost = forecast.point(standing)
    is_kept = (budget is None or cost <= budget) and (deadline is None or makespan <= deadline)
    utility = parse_preference(preference)
    if is_kept and utility(*points[best]) > (1 - CLEARLY) * utility(makespan, cost):
        return standing
    return least + best
