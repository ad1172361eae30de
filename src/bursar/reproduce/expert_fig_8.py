"""`expert-fig-8`: the frontier and what some users prefer on it (ExPERT, figure 8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bursar.model.errors import InvariantError
from bursar.plan.pools.frontier import frontier, prefer
from bursar.report.plot import Plot, Series
from bursar.reproduce.expert_setting import (
    ASSUMED,
    REPETITIONS,
    Studied,
    frontier_line,
    label,
    study_grid,
)
from bursar.reproduce.result import Reproduction, Row, shown_only

BUDGET: Final = 1.0
"""Cents for a task."""
DEADLINE: Final = 6_000.0
"""Seconds of the tail."""


def reproduce(name: str, repetitions: int = REPETITIONS) -> Reproduction:
    studied = study_grid(repetitions=repetitions)
    return Reproduction(
        name=name,
        title="The frontier and the best points for some preferences",
        source="ExPERT, figure 8",
        rows=tuple(_rows(studied)),
        assumed=(
            *ASSUMED,
            "the figure prints neither its budget nor its deadline:"
            f" {BUDGET:g} cent/task and {DEADLINE:,.0f} s of tail makespan",
        ),
        plots=(_plot(studied),),
    )


def best_points(studied: Studied) -> dict[str, int]:
    """By what is preferred, the strategy."""
    points = studied.tails
    found = {
        "least makespan * cost": prefer(points, "makespan * cost"),
        f"fastest within {BUDGET:g} cent/task": prefer(points, budget=BUDGET),
        f"cheapest within {DEADLINE:,.0f} s": prefer(points, deadline=DEADLINE),
        "cheapest": prefer(points, "cheapest"),
        "fastest": prefer(points, "fastest"),
    }
    return {name: _known(index) for name, index in found.items()}


def _known(index: int | None) -> int:
    if index is None:
        raise InvariantError("the budget and the deadline leave a strategy")
    return index


def _rows(studied: Studied) -> Iterator[Row]:
    points = studied.tails
    for name, index in best_points(studied).items():
        span, cost = points[index]
        note = label(studied.strategies[index])
        yield shown_only(f"{name}: tail makespan, s", None, round(span), note)
        yield shown_only(f"{name}: cost, cent/task", None, cost)
    yield shown_only("strategies on the frontier", None, len(frontier(points)))


def _plot(studied: Studied) -> Plot:
    points = studied.tails
    best = (
        Series(f"{name}: {label(studied.strategies[index])}", (points[index],))
        for name, index in best_points(studied).items()
    )
    return Plot(
        title="The frontier and the best strategies for some preferences",
        across="tail makespan, s",
        upward="cost, cent/task",
        series=(frontier_line("frontier", points), *best),
    )
