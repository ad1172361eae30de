"""Plots of simulated workloads."""

from __future__ import annotations

from collections.abc import Sequence

from bursar.report.plot import Plot, Series

Placed = tuple[str, float, float, float]
"""placer, imposed utilization, mean slowdown, its deviation"""


def slowdown_plot(placed: Sequence[Placed]) -> Plot:
    """Mean slowdowns over the utilization, a line a placer; at one utilization, bars."""
    placers = list(dict.fromkeys(placer for placer, *_ in placed))
    if len({round(utilization, 6) for _, utilization, _, _ in placed}) > 1:
        lines = {
            placer: sorted((at, mean) for name, at, mean, _ in placed if name == placer)
            for placer in placers
        }
        return Plot(
            title="Mean slowdown by utilization",
            across="imposed utilization",
            upward="mean slowdown",
            series=tuple(Series(name, tuple(points), "line") for name, points in lines.items()),
        )
    numbers = {placer: float(number) for number, placer in enumerate(placers)}
    means = tuple((numbers[placer], mean) for placer, _, mean, _ in placed)
    deviations = tuple((numbers[placer], deviation) for placer, _, _, deviation in placed)
    return Plot(
        title="Slowdown by placer",
        across="placer",
        upward="slowdown",
        series=(Series("mean", means, "bars"), Series("deviation", deviations, "bars")),
        categories=tuple(placers),
    )


Scaled = tuple[str, Sequence[int], Sequence[int]]
"""name of a run, its demand and its supply at equal steps"""
MOST_POINTS = 720
"""of a line; longer series are thinned out to their means"""


def demand_plot(runs: Sequence[Scaled], step_s: float, size: int) -> Plot:
    """Supply over time, a line a run, and the demand of the first; above the system it is cut."""
    lines: list[Series] = []
    for number, (name, demand, supply) in enumerate(runs):
        if not number:
            lines.append(Series(f"demand ({name})", _thinned(demand, step_s, size), "line"))
        lines.append(Series(name, _thinned(supply, step_s, size), "line"))
    return Plot(
        title="Demand and supply",
        across="time, minutes",
        upward="slots",
        series=tuple(lines),
    )


def _thinned(values: Sequence[int], step_s: float, size: int) -> tuple[tuple[float, float], ...]:
    every = max(1, -(-len(values) // MOST_POINTS))
    cut = [min(value, size) for value in values]
    means = [cut[place : place + every] for place in range(0, len(cut), every)]
    return tuple(
        (place * every * step_s / 60, sum(some) / len(some)) for place, some in enumerate(means)
    )
