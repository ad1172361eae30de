"""`expert-fig-9a` and `expert-fig-9b`: static strategies beside the frontier (ExPERT, figure 9).

Both compare the makespan of the whole bag, as the strategies differ in the throughput phase.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bursar.plan.dominance import Point
from bursar.plan.strategies import static_strategies
from bursar.reproduce.expert_setting import (
    ASSUMED,
    MEAN,
    REPETITIONS,
    TASKS,
    frontier_line,
    recommended,
    study,
    study_grid,
)
from bursar.reproduce.plot import Plot, Series
from bursar.reproduce.result import Reproduction, Row, shown_only, within

RATIO: Final = 0.1
"""The greatest Mr of figure 9a."""
RATIOS: Final = (0.1, 0.3, 0.5)
"""Those of figure 9b."""
ENDS: Final = "AR"
"""The strategy that is far outside both figures."""
CHEAPEST: Final = "AUR"
SECOND_FASTEST: Final = 1.03
"""CN1T0 may be faster by a per cent or two than all that ExPERT samples."""

_ASSUMED: Final = (
    *ASSUMED,
    "B=7.5 has $7.50 for 150 tasks, which are 5 cents for a task, not the printed 2/3",
)


def reproduce(name: str, repetitions: int = REPETITIONS) -> Reproduction:
    return _figure_9a(name, repetitions) if name.endswith("a") else _figure_9b(name, repetitions)


def static_points(ratio: float, repetitions: int) -> dict[str, Point]:
    """The static strategies with so many reliable machines, and what ExPERT recommends."""
    studied = study([*static_strategies(MEAN, ratio, TASKS), recommended()], repetitions)
    names = (one.name for one in studied.strategies)
    return dict(zip(names, studied.wholes, strict=True))


# --- figure 9a -----------------------------------------------------------------------------------


def _figure_9a(name: str, repetitions: int) -> Reproduction:
    points = study_grid(RATIO, repetitions).wholes
    static = static_points(RATIO, repetitions)
    chosen = static.pop(recommended().name)
    efficient = frontier_line("frontier", points)
    return Reproduction(
        name=name,
        title=f"Static strategies beside the frontier, Mr at most {RATIO:g}",
        source="ExPERT, figure 9a, figures from section 6.1",
        rows=(
            *_rows_of_recommended(chosen, static["CN-inf"]),
            *(_row_of_static(static[one], one, efficient.points) for one in static),
        ),
        assumed=_ASSUMED,
        plots=(_plot_9a(efficient, chosen, static),),
    )


def _rows_of_recommended(chosen: Point, combined: Point) -> Iterator[Row]:
    yield shown_only("recommended: makespan, s", 15_640, round(chosen[0]))
    yield shown_only("recommended: cost, cent/task", 0.78, chosen[1])
    saved, faster = (100 * (1 - chosen[part] / combined[part]) for part in (1, 0))
    yield within("recommended costs less than CN-inf, %", 72, saved, 50, 100)
    yield within("recommended is faster than CN-inf, %", 33, faster, 20, 100)


def _row_of_static(point: Point, name: str, efficient: tuple[Point, ...]) -> Row:
    """Whether an efficient strategy is better in both; AUR cannot be beaten, being the cheapest."""
    span, cost = point
    better = [one for one in efficient if one[0] <= span and one[1] <= cost and one != point]
    what = f"{name}: dominated by so many of the frontier"
    told = f"{span:,.0f} s, {cost:.2f} cent/task"
    if name == CHEAPEST:
        return shown_only(what, "none", len(better), told)
    if better:
        return within(what, None, len(better), 1, len(efficient), told)
    fastest = min(efficient)
    dearer = cost / fastest[1]
    note = (
        f"{told}; the paper has it dominated: here it is faster than all of the frontier, for"
        f" {dearer:.1f} times the cost"
    )
    limits = (1.0, SECOND_FASTEST)
    return within(f"{name}: fastest of the frontier by it", None, fastest[0] / span, *limits, note)


def _plot_9a(efficient: Series, chosen: Point, static: dict[str, Point]) -> Plot:
    near = {name: point for name, point in static.items() if name != ENDS}
    far = static[ENDS]
    return Plot(
        title=f"Static strategies, Mr <= {RATIO:g}; AR: {far[0]:,.0f} s, {far[1]:.1f} cent/task",
        across="makespan of the bag, s",
        upward="cost, cent/task",
        series=(
            efficient,
            Series("ExPERT recommended", (chosen,)),
            Series("static strategies", tuple(near.values()), labels=tuple(near)),
        ),
    )


# --- figure 9b -----------------------------------------------------------------------------------


def _figure_9b(name: str, repetitions: int) -> Reproduction:
    found = {ratio: static_points(ratio, repetitions) for ratio in RATIOS}
    return Reproduction(
        name=name,
        title="Makespan * cost of static strategies and of the recommended one",
        source="ExPERT, figure 9b, figures from section 6.1",
        rows=tuple(row for ratio in RATIOS for row in _product_rows(ratio, found[ratio])),
        assumed=_ASSUMED,
        plots=(_plot_9b(found),),
    )


def _product(point: Point) -> float:
    return point[0] * point[1]


def _product_rows(ratio: float, points: dict[str, Point]) -> Iterator[Row]:
    """By how much the recommended strategy is better."""
    chosen = points[recommended().name]
    yield shown_only(f"Mr {ratio:g}, recommended: cent*s/task", None, round(_product(chosen)))
    for name, point in points.items():
        if name == recommended().name:
            continue
        better = 100 * (1 - _product(chosen) / _product(point))
        what = f"Mr {ratio:g}: recommended better than {name}, %"
        note = f"{_product(point):,.0f} cent*s/task"
        if name == ENDS:
            yield shown_only(what, "orders of magnitude", better, note)
        elif name == CHEAPEST:
            yield within(what, 25, better, 20, 100, note)
        else:
            yield within(what, 72, better, 60, 100, f"paper: 72 to 78; {note}")


def _plot_9b(found: dict[float, dict[str, Point]]) -> Plot:
    names = tuple(found[RATIOS[0]])
    highest = max(_product(points[name]) for points in found.values() for name in names[1:])
    return Plot(
        title="Makespan * cost; the bars of AR are cut off",
        across="strategy",
        upward="cent*s/task",
        series=tuple(
            Series(
                f"Mr at most {ratio:g}",
                tuple((float(place), _product(points[name])) for place, name in enumerate(names)),
                "bars",
            )
            for ratio, points in found.items()
        ),
        categories=tuple("ExPERT rec." if one == recommended().name else one for one in names),
        top=highest,
    )
