"""`expert-fig-10`: frontiers with a given share of reliable machines (ExPERT, figure 10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bursar.plan.dominance import Point
from bursar.plan.pools.frontier import frontier
from bursar.report.plot import Plot
from bursar.reproduce.expert_setting import (
    ASSUMED,
    REPETITIONS,
    UNPRINTED,
    Studied,
    frontier_line,
    span_band,
    study_grid,
)
from bursar.reproduce.result import Reproduction, Row, between, judged, shown_only

HIGH: Final = 0.3
"""From this Mr on the paper sees the same fastest strategies."""

Frontiers = Mapping[float, Sequence[Point]]
"""By Mr, from the cheapest to the fastest."""


def reproduce(name: str, repetitions: int = REPETITIONS) -> Reproduction:
    fronts = frontiers(study_grid(repetitions=repetitions))
    return Reproduction(
        name=name,
        title="Frontiers for seven given Mr",
        source="ExPERT, figure 10, figures from section 6.2",
        rows=tuple(_rows(fronts)),
        assumed=ASSUMED,
        plots=(
            Plot(
                title="Frontiers for given Mr",
                across="tail makespan, s",
                upward="cost, cent/task",
                series=tuple(
                    frontier_line(f"Mr = {ratio:.2f}", front) for ratio, front in fronts.items()
                ),
            ),
        ),
    )


def frontiers(studied: Studied) -> dict[float, list[Point]]:
    by_ratio: dict[float, list[Point]] = {}
    for strategy, point in zip(studied.strategies, studied.tails, strict=True):
        by_ratio.setdefault(strategy.ratio, []).append(point)
    return {
        ratio: [points[index] for index in frontier(points)] for ratio, points in by_ratio.items()
    }


def _rows(fronts: Frontiers) -> Iterator[Row]:
    fastest = {ratio: front[-1][0] for ratio, front in fronts.items()}
    least, most = min(fronts), max(fronts)
    high = min(span for ratio, span in fastest.items() if ratio >= HIGH)
    what = f"fastest tail of Mr = {least:.2f}, s"
    above = span_band(5_500)
    band = between(5_500, above.high, f"said to be over 5,500; above it {above.reason}")
    yield judged(what, "over 5500", round(fastest[least]), band, why=UNPRINTED)
    what = f"it is longer than that of Mr >= {HIGH:g}, %"
    longer = span_band(1.25)
    band = between(100 * (longer.low - 1), 100 * (longer.high - 1), f"of both: {longer.reason}")
    yield judged(
        what,
        25,
        100 * (fastest[least] / high - 1),
        band,
        why="with many reliable machines the tail is shorter here than the paper's 4,400 s;"
        f" {UNPRINTED}",
    )
    for ratio, front in fronts.items():
        cheapest, dearest = front[0], front[-1]
        note = f"cheapest: {cheapest[0]:,.0f} s, {cheapest[1]:.2f} cent/task"
        what = f"Mr = {ratio:.2f}: fastest tail, s"
        yield shown_only(what, None, round(dearest[0]), f"{dearest[1]:.2f} cent/task; {note}")
    costlier = [
        (cost_within(fronts[most], span), cost)
        for span, cost in fronts[least]
        if span >= fastest[most]
    ]
    share = sum(other >= cost for other, cost in costlier) / len(costlier)
    what = f"Mr = {least:.2f} costs no more than {most:.2f} for the same tail, % of its frontier"
    band = between(50, 100, "said to be so in general: more often than not")
    yield judged(what, "in general", 100 * share, band, why=UNPRINTED)


def cost_within(front: Sequence[Point], span: float) -> float:
    """The least cost of a tail of at most this makespan."""
    return min(cost for its_span, cost in front if its_span <= span)
