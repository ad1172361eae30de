"""Reliable machines beside an unreliable pool that gives less than was asked for.

ExPERT leaves the reliable pool idle until the tail begins. That is right while the unreliable pool
has machines for all. Where it has few, a bag may take so long that its user prefers to
combine both pools (the paper's CN-inf, section 5.3), with as many reliable machines as the same
preference says that chooses the strategy of the tail.

What is to come is taken to go on as before: the unreliable pool returns results and costs money at
the rates that it has shown in this run, its losses and its absences among them.
"""

from __future__ import annotations

import msgspec

from bursar.plan.dominance import Point
from bursar.plan.pools.frontier import frontier, prefer


class ReserveOutlook(msgspec.Struct, frozen=True):
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
    reliable_time: float
    """for a task on a reliable machine"""
    reliable_burn: float
    """what such a machine costs in a second"""
    tail: float
    """the last tasks end so much later than if work could be shared out to the end"""
    most: int
    """reliable machines that may be had"""

    def point(self, machines: int) -> Point:
        """Makespan of the run and its cost for a task, with so many reliable machines."""
        lasts = self.lasts(machines)
        cost = (lasts - self.tail) * (self.burn + machines * self.reliable_burn)
        return self.elapsed + lasts, (self.spent + cost) / self.total

    def lasts(self, machines: int) -> float:
        """How long what is left will take."""
        return self.tail + self.left / (self.results + machines / self.reliable_time)


def machines_beside(
    outlook: ReserveOutlook, wish: str, *, budget: float | None, deadline: float | None
) -> int:
    """How many reliable machines to have until the tail.

    The budget is for a task, the deadline for the run. Where no number is expected to keep them, it
    is the cheapest if there is a budget, and else the fastest.
    """
    least = 0 if outlook.results > 0 else 1  # with neither pool it would never end
    points = [outlook.point(machines) for machines in range(least, outlook.most + 1)]
    best = prefer(points, wish, budget=budget, deadline=deadline)
    if best is None:
        best = frontier(points)[-1 if budget is None else 0]
    return least + best
