"""Strategies for a bag on unreliable and reliable machines: the frontier, and what is preferred."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Self

import msgspec

from bursar.beliefs.pool import Characterisation
from bursar.model.strategy import Kind, Strategy
from bursar.model.text import counted
from bursar.model.time import SECOND, format_duration, seconds
from bursar.plan.dominance import Point
from bursar.plan.pools.estimator import Conditions, Estimates, estimate
from bursar.plan.pools.frontier import frontier, knee_of, prefer
from bursar.plan.pools.refine import Grid, Space, search
from bursar.plan.pools.strategies import static_strategies
from bursar.runs.frontier_input import Known

if TYPE_CHECKING:
    from bursar.report.pictures import PlanePoint

SEE: Final = "see "
"""begins the mark of a strategy that another beats"""
MOST_SHOWN: Final = 20
"""strategies of a frontier that people see; those with a mark are always among them"""


class StrategyRequest(msgspec.Struct, frozen=True):
    prefer: str | None
    budget: float | None
    """for one task"""
    deadline: float | None
    """seconds"""


class EstimateSpread(msgspec.Struct, frozen=True):
    """Quantiles over the repetitions of an estimate."""

    makespan_s: float
    tail_s: float
    cost_per_task: float


class StrategyChoice(msgspec.Struct, frozen=True):
    """A strategy, with means of what was estimated."""

    name: str
    copies: int | None
    timeout_s: float
    deadline_s: float
    reliable: int
    makespan_s: float
    tail_s: float
    cost_per_task: float
    cost: float
    p10: EstimateSpread
    p90: EstimateSpread
    marks: list[str]

    @property
    def text(self) -> str:
        """`N=3 T=30 min D=1 h`"""
        copies = "inf" if self.copies is None else str(self.copies)
        between = format_duration(seconds(self.timeout_s)) if self.timeout_s else "0"
        return f"N={copies} T={between} D={format_duration(seconds(self.deadline_s))}"

    @property
    def is_beaten(self) -> bool:
        return any(mark.startswith(SEE) for mark in self.marks)


class Learned(msgspec.Struct, frozen=True):
    """What is known from the history."""

    attempts: int
    results: int
    machines: int
    """the effective size of the unreliable pool"""
    cautions: list[str]

    @classmethod
    def of(cls, pool: Characterisation) -> Self:
        return cls(pool.instances, pool.results, pool.machines, list(pool.cautions))


class StrategyFrontier(msgspec.Struct, frozen=True):
    tasks: int
    unreliable: int
    reliability: float
    mean_turnaround_s: float
    currency: str | None
    """of the market; without one, that of the prices which were given"""
    prices_of: str | None
    """the date of the market's prices"""
    history: Learned | None
    grid: Grid
    repetitions: int
    sampled: int
    faithful: bool
    """costs are as published: attempts without a result are free, and nothing is called back"""
    frontier: list[StrategyChoice]
    """from the cheapest to the fastest of all, static strategies among them by their names"""
    usual: list[StrategyChoice]
    """the static strategies, also those on the frontier"""
    preferred: int | None
    """its number on the frontier, from 1"""

    def shown(self) -> list[int]:
        """Places on the frontier: the marked, those that others refer to, some between them."""
        front = self.frontier
        beaten = [one for one in self.usual if one.is_beaten]
        shown = {int(mark.removeprefix(SEE)) - 1 for one in beaten for mark in one.marks}
        shown |= {place for place, one in enumerate(front) if one.name or one.marks}
        spread = min(len(front), MOST_SHOWN)
        shown |= {(len(front) - 1) * step // max(1, spread - 1) for step in range(spread)}
        return sorted(shown)

    def _repr_html_(self) -> str:
        """In a notebook, and for a file: what a screen shows, on the plane of time and money."""
        from bursar.report.pictures import frontier_html  # late: it brings much of the page

        tasks = counted(self.tasks, "task")
        title = f"{tasks}, {counted(self.unreliable, 'unreliable machine')}"
        notes = [f"Means and P90 of {counted(self.repetitions, 'simulation')} of each strategy."]
        return frontier_html(title, self._points(), self.currency, notes)

    def svg(self) -> str:
        """The strategies on the plane of time and money, as a picture."""
        from bursar.report.pictures import plane_svg  # late: it brings much of the page

        return plane_svg(self._points(), self.currency or "")

    def _points(self) -> list[PlanePoint]:
        from bursar.report.pictures import PlanePoint  # late: it brings much of the page

        return [
            PlanePoint(
                time=one.makespan_s,
                time_high=one.p90.makespan_s,
                cost=one.cost,
                cost_high=one.p90.cost_per_task * self.tasks,
                name=f"{place + 1} {one.name}".strip(),
                text=one.text,
                label=", ".join(
                    mark for mark in (one.name, *one.marks) if mark and SEE not in mark
                ),
                is_marked="preferred" in one.marks,
            )
            for place in self.shown()
            for one in [self.frontier[place]]
        ]


def find_strategies(
    known: Known, request: StrategyRequest, grid: Grid, repetitions: int, seed: int
) -> StrategyFrontier:
    conditions = known.conditions
    space = Space(conditions.mean, known.ratio, conditions.unreliable)

    def points_of(strategies: Sequence[Strategy]) -> list[Point]:
        return estimate(conditions, strategies, repetitions, seed=seed).means()

    searched = search(space, points_of, grid)
    candidates = [searched.strategies[index] for index in searched.frontier]
    usual = static_strategies(conditions.mean, known.ratio, conditions.tasks)
    strategies = [*candidates, *usual]
    estimates = estimate(conditions, strategies, repetitions, seed=seed)
    means = estimates.means()
    front = frontier(means)  # of all, so that nothing below it is cheaper or faster than its ends
    points = [means[index] for index in front]
    best = prefer(points, request.prefer, budget=request.budget, deadline=request.deadline)
    marks = _marks(points, request, best)

    def choice(index: int) -> StrategyChoice:
        labels = (
            marks.get(front.index(index), []) if index in front else [_see(means[index], points)]
        )
        return _choice(strategies[index], estimates, index, means[index], conditions, labels)

    return StrategyFrontier(
        tasks=conditions.tasks,
        unreliable=conditions.unreliable,
        reliability=conditions.gamma.after,
        mean_turnaround_s=conditions.mean / SECOND,
        currency=None if known.market is None else known.market.currency,
        prices_of=None if known.market is None else known.market.date,
        history=None if known.learned is None else Learned.of(known.learned),
        grid=grid,
        repetitions=repetitions,
        sampled=len(searched.strategies),
        faithful=not conditions.is_real,
        frontier=[choice(index) for index in front],
        usual=[choice(index) for index in range(len(candidates), len(strategies))],
        preferred=None if best is None else best + 1,
    )


def _marks(
    front: Sequence[Point], request: StrategyRequest, best: int | None
) -> dict[int, list[str]]:
    """What is best for simple preferences (section 4.5), by the place on the frontier."""
    named = {"cheapest": 0, "fastest": len(front) - 1, "knee": knee_of(front)}
    within = {
        "within budget": None if request.budget is None else prefer(front, budget=request.budget),
        "within deadline": None
        if request.deadline is None
        else prefer(front, deadline=request.deadline),
    }
    marks: dict[int, list[str]] = {}
    for name, place in (*named.items(), *within.items(), ("preferred", best)):
        if place is not None:
            marks.setdefault(place, []).append(name)
    return marks


def _see(point: Point, front: Sequence[Point]) -> str:
    """Which strategy of the frontier beats one that is not on it, the fastest of those."""
    better = [
        number
        for number, (makespan, cost) in enumerate(front, 1)
        if makespan <= point[0] and cost <= point[1]
    ]
    return f"{SEE}{better[-1]}"


def _choice(
    strategy: Strategy,
    estimates: Estimates,
    index: int,
    mean: Point,
    conditions: Conditions,
    marks: list[str],
) -> StrategyChoice:
    is_alone = strategy.copies is None and strategy.kind == Kind.NTDMR
    return StrategyChoice(
        name=strategy.name,
        copies=strategy.copies,
        timeout_s=strategy.timeout / SECOND,
        deadline_s=strategy.deadline / SECOND,
        reliable=0 if is_alone else strategy.reliable_machines(conditions.unreliable),
        makespan_s=mean[0],
        tail_s=float(estimates.tails[index].mean()) / SECOND,
        cost_per_task=mean[1],
        cost=mean[1] * conditions.tasks,
        p10=EstimateSpread(*estimates.quantiles(index, 0.1)),
        p90=EstimateSpread(*estimates.quantiles(index, 0.9)),
        marks=marks,
    )
