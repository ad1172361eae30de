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
