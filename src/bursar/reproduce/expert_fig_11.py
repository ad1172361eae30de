"""`expert-fig-11`: how efficient strategies use the reliable pool (ExPERT, figure 11)."""

from __future__ import annotations

from typing import Final

import msgspec

from bursar.plan.pools.frontier import frontier
from bursar.report.plot import Plot, Series
from bursar.reproduce.expert_setting import (
    ASSUMED,
    MACHINES,
    REPETITIONS,
    UNPRINTED,
    Studied,
    study_grid,
)
from bursar.reproduce.result import Reproduction, Row, between, judged, same, shown_only

SAME: Final = 0.5
"""Machines by which the mean of those used may differ from Mr and still count as equal."""


class Use(msgspec.Struct, frozen=True):
    """Of an efficient strategy; means over all repetitions, in shares of the unreliable pool."""

    tail: float
    """seconds"""
    ratio: float
    used: float
    queue: float
    """the longest"""

    @property
    def is_exhausted(self) -> bool:
        """Whether all reliable machines that the strategy allows were in use at once."""
        return (self.ratio - self.used) * MACHINES < SAME


def reproduce(name: str, repetitions: int = REPETITIONS) -> Reproduction:
    uses = efficient_uses(study_grid(repetitions=repetitions))
    return Reproduction(
        name=name,
        title="Use of the reliable pool by efficient strategies",
        source="ExPERT, figure 11, figures from section 6.2",
        rows=_rows(uses),
        assumed=ASSUMED,
        plots=(_plot(uses),),
    )


def efficient_uses(studied: Studied) -> list[Use]:
    """By tail makespan."""
    points, found = studied.tails, studied.found
    return sorted(
        (
            Use(
                points[index][0],
                studied.strategies[index].ratio,
                float(found.reliable_used[index].mean()) / MACHINES,
                float(found.reliable_queue[index].mean()) / MACHINES,
            )
            for index in frontier(points)
        ),
        key=lambda use: use.tail,
    )


def _rows(uses: list[Use]) -> tuple[Row, ...]:
    exhausted = sum(use.is_exhausted for use in uses)
    queued = sum(use.queue > 0 for use in uses)
    last = uses[-1]
    most, less = between(50, 100, "said of most of them"), "less than Mr"
    used = f"{last.used:.4f} of {last.ratio:.2f}"
    return (
        judged(
            "strategies that use all of Mr, %",
            "most",
            100 * exhausted / len(uses),
            most,
            note=f"{exhausted} of {len(uses)}",
            why=UNPRINTED,
        ),
        judged("strategies with a queue, %", "most", 100 * queued / len(uses), most, why=UNPRINTED),
        same("longest tail: used Mr", less, less if last.used < last.ratio else "all of Mr", used),
        shown_only("longest queue of the fastest, tasks", None, MACHINES * uses[0].queue),
        shown_only("longest queue of the cheapest, tasks", None, MACHINES * last.queue),
    )


def _plot(uses: list[Use]) -> Plot:
    return Plot(
        title="Use of the reliable pool by efficient strategies",
        across="tail makespan, s",
        upward=f"share of the {MACHINES} unreliable machines",
        series=(
            Series("Mr", tuple((use.tail, use.ratio) for use in uses), "line"),
            Series("used Mr", tuple((use.tail, use.used) for use in uses), "line"),
            Series("longest reliable queue", tuple((use.tail, use.queue) for use in uses), "line"),
        ),
    )
