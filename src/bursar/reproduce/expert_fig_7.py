"""`expert-fig-7`: sampled strategies and the frontier (ExPERT, figure 7 and section 4.5)."""

from __future__ import annotations

from bursar.plan.pools.frontier import frontier, knee_of
from bursar.report.plot import Plot, Series
from bursar.reproduce.expert_setting import (
    ASSUMED,
    REPETITIONS,
    UNPRINTED,
    Studied,
    cost_band,
    frontier_line,
    label,
    span_band,
    study_grid,
)
from bursar.reproduce.result import Reproduction, Row, between, judged, same, shown_only

COPIES = range(4)
FAIR_COST = 2.0
"""Cents for a task that the user of section 4.5 is willing to pay with N = 1."""
DILUTED = f"the plot shows some of the sampled strategies, not told which; {UNPRINTED}"


def reproduce(name: str, repetitions: int = REPETITIONS) -> Reproduction:
    studied = study_grid(repetitions=repetitions)
    return Reproduction(
        name=name,
        title="Strategies with N = 0 to 3 and their frontier",
        source="ExPERT, figure 7, figures from section 4.5",
        rows=rows(studied),
        assumed=ASSUMED,
        plots=(_plot(studied),),
    )


def rows(studied: Studied) -> tuple[Row, ...]:
    """The two examples of section 4.5. Its figures are read off a plot that was diluted."""
    slow = span_band(25_000)
    points = studied.tails
    of = {
        copies: [
            point
            for point, one in zip(points, studied.strategies, strict=True)
            if one.copies == copies
        ]
        for copies in COPIES
    }
    knee = knee_of(points)
    span, cost = points[knee]
    dearest = max(each for _, each in of[0])
    slowest = max(each for each, paid in of[1] if paid <= FAIR_COST)
    efficient = frontier(points)
    many = sum(studied.strategies[index].copies == COPIES[-1] for index in efficient)
    note = f"the knee of the frontier: {label(studied.strategies[knee])}"
    return (
        judged("N = 0: dearest strategy, cent/task", 4.0, dearest, cost_band(4), why=DILUTED),
        same("recommended: N", 3, studied.strategies[knee].copies, note),
        judged(
            "recommended: cost, cent/task", "under 1", cost, between(0, 1, "said to be under 1")
        ),
        judged(
            "cost of N = 0 by that of the recommended",
            4.0,
            dearest / cost,
            cost_band(4),
            why=DILUTED,
        ),
        judged(
            f"N = 1, {FAIR_COST:g} cent/task or less: longest tail, s",
            "over 25000",
            round(slowest),
            between(25_000, slow.high, f"said to be over 25,000; above it {slow.reason}"),
            why=DILUTED,
        ),
        judged(
            "recommended: tail makespan, s", 5_000, round(span), span_band(5_000), why=UNPRINTED
        ),
        judged(
            "longest tail of N = 1 by that of the recommended",
            5.0,
            slowest / span,
            span_band(5),
            why=DILUTED,
        ),
        shown_only("strategies on the frontier", None, len(efficient), f"{many} have N = 3"),
    )


def _plot(studied: Studied) -> Plot:
    points = studied.tails
    sampled = tuple(
        Series(
            f"N = {copies}",
            tuple(
                point
                for point, one in zip(points, studied.strategies, strict=True)
                if one.copies == copies
            ),
        )
        for copies in COPIES
    )
    return Plot(
        title="Sampled strategies and the Pareto frontier",
        across="tail makespan, s",
        upward="cost, cent/task",
        series=(*sampled, frontier_line("frontier", points)),
    )
