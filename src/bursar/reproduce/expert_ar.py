"""`expert-ar`: all tasks to reliable machines (ExPERT, captions of figure 9 and section 1).

The figures of AR follow from T_r alone: 150 tasks on 5 machines are 30 turns. What is printed
implies another T_r than table 2 has, so figure 9a is estimated with that as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bursar.model.time import HOUR, SECOND
from bursar.plan.dominance import Point
from bursar.plan.pools.strategies import static_strategies
from bursar.reproduce.expert_fig_9 import (
    CHEAPEST,
    COMBINED,
    ENDS,
    RATIO,
    RATIOS,
    product,
    static_points,
)
from bursar.reproduce.expert_setting import (
    ASSUMED,
    CENT,
    MACHINES,
    MEAN,
    REPETITIONS,
    TASKS,
    cost_band,
    product_band,
    recommended,
    span_band,
    study,
)
from bursar.reproduce.result import Reproduction, Row, between, judged, rounded, shown_only

SPAN: Final = 70_000
COST: Final = 22.0
"""of AR at Mr = 0.1, in seconds and cents for a task (caption of figure 9a)"""
TURNS: Final = TASKS / round(RATIO * MACHINES)
IMPLIED_BY_SPAN: Final = SPAN / TURNS
IMPLIED_BY_COST: Final = COST * HOUR / SECOND / 34
"""T_r in seconds, at 34/3600 cents a second"""
IMPLIED: Final = round((IMPLIED_BY_SPAN + IMPLIED_BY_COST) / 2 * SECOND)
CHOSEN: Final[Point] = (15_640, 0.78)
"""the recommended strategy (section 6.1)"""
BY_PRINT: Final = SPAN * COST / (CHOSEN[0] * CHOSEN[1])
"""makespan * cost of AR by that of the recommended strategy, from the printed figures"""
SEVERAL_ORDERS: Final = between(100, 1_000_000, "two to six orders of magnitude")
ALL_ALIKE: Final = 1.0
"""Mr of section 1, where the cloud has as many machines as the grid"""


def reproduce(name: str, repetitions: int = REPETITIONS) -> Reproduction:
    return Reproduction(
        name=name,
        title="AR, all tasks to reliable machines, beside the recommended strategy and AUR",
        source="ExPERT, captions of figures 9a and 9b, sections 1 and 6.1",
        rows=(
            *_rows_of_figure_9(repetitions),
            *_rows_of_section_1(repetitions),
            *_rows_of_implied(repetitions),
        ),
        assumed=(
            *ASSUMED,
            f"T_r is T_ur, {MEAN // SECOND:,} s, as table 2 says; the last rows have"
            f" {IMPLIED // SECOND:,} s for the mean turnaround time and for T_r, which is what the"
            " makespan and the cost of AR imply; T and D of strategies are multiples of T_ur still",
        ),
    )


def _rows_of_figure_9(repetitions: int) -> Iterator[Row]:
    points = {ratio: static_points(ratio, repetitions) for ratio in RATIOS}
    span, cost = points[RATIO][ENDS]
    note = f"{TASKS} tasks on {TASKS / TURNS:.0f} machines are {TURNS:.0f} turns of T_r"
    table = f"it implies a T_r of {{:,.0f}} s, where table 2 has {MEAN // SECOND:,}"
    yield judged(
        f"Mr {RATIO:g}: AR, makespan, s",
        SPAN,
        round(span),
        span_band(SPAN),
        note=note,
        why=table.format(IMPLIED_BY_SPAN),
    )
    yield judged(
        f"Mr {RATIO:g}: AR, cost, cent/task",
        COST,
        cost,
        cost_band(COST),
        why=table.format(IMPLIED_BY_COST),
    )
    ratio = product(points[RATIO][ENDS]) / product(points[RATIO][recommended().name])
    what = f"Mr {RATIO:g}: makespan * cost of AR by that of the recommended"
    note = f"{BY_PRINT:.0f} follows from the printed makespans and costs"
    yield judged(what, round(BY_PRINT), ratio, product_band(round(BY_PRINT)), note=note)
    for most, found in points.items():
        ratio = product(found[ENDS]) / product(found[recommended().name])
        own = BY_PRINT * RATIO / most
        yield judged(
            f"Mr {most:g}: the recommended is better than AR by a factor of",
            "several orders of magnitude",
            ratio,
            SEVERAL_ORDERS,
            why=f"AR has {most / RATIO:.0f} times the machines; by the paper's own figures it is"
            f" {own:.0f}",
        )


def _rows_of_section_1(repetitions: int) -> Iterator[Row]:
    """150 tasks on 50 machines of the grid, or on 50 of the cloud."""
    by_name = {one.name: one for one in static_strategies(MEAN, ALL_ALIKE, TASKS)}
    studied = study([by_name[CHEAPEST], by_name[ENDS]], repetitions)
    (grid_span, grid_cost), (cloud_span, cloud_cost) = studied.wholes
    hour, why = HOUR / SECOND, f"T_r is {MEAN // SECOND:,} s in table 2; $34 imply 2,400 s"
    for what, paper, ours in (
        ("grid: cost of the bag, $", 1, grid_cost * TASKS / CENT),
        ("grid: makespan, h", 8, grid_span / hour),
        ("cloud: cost of the bag, $", 34, cloud_cost * TASKS / CENT),
        ("cloud: makespan, h", 2, cloud_span / hour),
        ("cloud: cost by that of the grid", 34, cloud_cost / grid_cost),
    ):
        yield judged(f"section 1, {what}", paper, ours, rounded(paper, 1), why=why)
    what, ours = "section 1, cloud: faster than the grid by a factor of", grid_span / cloud_span
    why = "4 is 8 by 2 hours, as printed; before rounding it is more"
    yield judged(what, 4, ours, rounded(4, 1), why=why)


def _rows_of_implied(repetitions: int) -> Iterator[Row]:
    """The figures of 9a with the mean that AR implies; those of AR itself then follow."""
    found = static_points(RATIO, repetitions, IMPLIED)
    (span, cost), (other_span, other_cost) = found[recommended().name], found[COMBINED]
    of = f"mean of {IMPLIED // SECOND:,} s"
    yield shown_only(f"{of}: AR, makespan, s", SPAN, round(found[ENDS][0]), "implied")
    yield shown_only(f"{of}: AR, cost, cent/task", COST, found[ENDS][1], "implied")
    for what, paper, ours in (
        ("recommended, makespan, s", CHOSEN[0], float(round(span))),
        ("recommended, cost, cent/task", CHOSEN[1], cost),
        ("recommended costs less than CN-inf, %", 72, 100 * (1 - cost / other_cost)),
        ("recommended is faster than CN-inf, %", 33, 100 * (1 - span / other_span)),
    ):
        yield shown_only(f"{of}: {what}", paper, ours, "judged in expert-fig-9a, by table 2")
