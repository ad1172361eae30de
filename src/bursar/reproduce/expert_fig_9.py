"""`expert-fig-9a` and `expert-fig-9b`: static strategies beside the frontier (ExPERT, figure 9).

Both compare the makespan of the whole bag, as the strategies differ in the throughput phase.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bursar.model.time import Time
from bursar.plan.dominance import Point
from bursar.plan.pools.strategies import static_strategies
from bursar.report.plot import Plot, Series
from bursar.reproduce.expert_setting import (
    ASSUMED,
    MEAN,
    REPETITIONS,
    TASKS,
    UNPRINTED,
    cost_band,
    frontier_line,
    product_band,
    recommended,
    saving,
    span_band,
    study,
    study_grid,
)
from bursar.reproduce.result import Reproduction, Row, between, judged, same, shown_only

RATIO: Final = 0.1
"""The greatest Mr of figure 9a."""
RATIOS: Final = (0.1, 0.3, 0.5)
"""Those of figure 9b."""
ENDS: Final = "AR"
"""The strategy that is far outside both figures."""
CHEAPEST: Final = "AUR"
COMBINED: Final = "CN-inf"
DOMINATED: Final = "dominated"
NOT_DOMINATED: Final = "not dominated"
OTHERS: Final = between(71.5, 78.5, "the range that section 6.1 states, to a whole per cent")
"""by how much the recommended one is better than the others, in per cent"""
FURTHER: Final = (
    "the recommended strategy is faster and cheaper here than in figure 9a, for which 12,199"
    " cent*s/task follow from what is printed; turnaround times as AR's figures imply them explain"
    " a part of it (expert-ar)"
)

_ASSUMED: Final = (
    *ASSUMED,
    "B=7.5 has $7.50 for 150 tasks, which are 5 cents for a task, not the printed 2/3",
)


def reproduce(name: str, repetitions: int = REPETITIONS) -> Reproduction:
    return _figure_9a(name, repetitions) if name.endswith("a") else _figure_9b(name, repetitions)


def static_points(ratio: float, repetitions: int, mean: Time = MEAN) -> dict[str, Point]:
    """The static strategies with so many reliable machines, and what ExPERT recommends.

    By whole makespans; the mean is that of turnaround times.
    """
    studied = study([*static_strategies(MEAN, ratio, TASKS), recommended()], repetitions, mean)
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
            *_rows_of_recommended(chosen, static[COMBINED]),
            *(_row_of_static(static[one], one, efficient.points) for one in static),
        ),
        assumed=_ASSUMED,
        plots=(_plot_9a(efficient, chosen, static),),
    )


def _rows_of_recommended(chosen: Point, combined: Point) -> Iterator[Row]:
    scale = (
        "T_ur is taken for the mean turnaround time; with the mean that the figures of AR imply"
        " it comes out (expert-ar)"
    )
    span, cost = chosen
    what = "recommended: makespan, s"
    yield judged(what, 15_640, round(span), span_band(15_640), why=scale)
    yield judged("recommended: cost, cent/task", 0.78, cost, cost_band(0.78), why=scale)
    saved, faster = (100 * (1 - chosen[part] / combined[part]) for part in (1, 0))
    what = "recommended costs less than CN-inf, %"
    yield judged(what, 72, saved, saving(72, cost_band), why=UNPRINTED)
    what = "recommended is faster than CN-inf, %"
    why = f"CN-inf takes {combined[0]:,.0f} s here, and 23,300 by the paper's figures; {UNPRINTED}"
    yield judged(what, 33, faster, saving(33, span_band), why=why)


def _row_of_static(point: Point, name: str, efficient: tuple[Point, ...]) -> Row:
    """Whether an efficient strategy is better in both; AUR cannot be beaten, being the cheapest."""
    span, cost = point
    better = [one for one in efficient if one[0] <= span and one[1] <= cost and one != point]
    note = f"{span:,.0f} s, {cost:.2f} cent/task; by {len(better)} of {len(efficient)}"
    first = min(efficient)
    return same(
        f"{name} by the frontier",
        NOT_DOMINATED if name == CHEAPEST else DOMINATED,
        DOMINATED if better else NOT_DOMINATED,
        note,
        why=f"the fastest of the frontier takes {first[0]:,.0f} s, for {first[1]:.2f} cent/task:"
        " no strategy that is sampled uses reliable machines before the tail, as this one does",
    )


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


def product(point: Point) -> float:
    return point[0] * point[1]


def _product_rows(ratio: float, points: dict[str, Point]) -> Iterator[Row]:
    """By how much the recommended strategy is better."""
    chosen = points[recommended().name]
    yield shown_only(f"Mr {ratio:g}, recommended: cent*s/task", None, round(product(chosen)))
    for name, point in points.items():
        if name == recommended().name:
            continue
        better = 100 * (1 - product(chosen) / product(point))
        what = f"Mr {ratio:g}: recommended better than {name}, %"
        note = f"{product(point):,.0f} cent*s/task"
        if name == ENDS:
            continue  # expert-ar has it
        if name == CHEAPEST:
            band = saving(25, product_band)
            yield judged(what, 25, better, band, note=note, why=FURTHER)
        else:
            yield judged(what, "72 to 78", better, OTHERS, note=note, why=_why(ratio, name))


def _why(ratio: float, name: str) -> str:
    if ratio == RATIO and name == COMBINED:
        return f"72 % of the cost and 33 % of the makespan (figure 9a) are 81 % of both; {FURTHER}"
    return FURTHER


def _plot_9b(found: dict[float, dict[str, Point]]) -> Plot:
    names = tuple(found[RATIOS[0]])
    highest = max(product(points[name]) for points in found.values() for name in names[1:])
    return Plot(
        title="Makespan * cost; the bars of AR are cut off",
        across="strategy",
        upward="cent*s/task",
        series=tuple(
            Series(
                f"Mr at most {ratio:g}",
                tuple((float(place), product(points[name])) for place, name in enumerate(names)),
                "bars",
            )
            for ratio, points in found.items()
        ),
        categories=tuple("ExPERT rec." if one == recommended().name else one for one in names),
        top=highest,
    )
