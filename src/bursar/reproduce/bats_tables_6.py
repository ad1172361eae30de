"""`bats-table-6.2` and `bats-table-6.3`: lines, profitability and costs on EC2 (BaTS thesis, 6.2).

Beside the tables stand the sampling phase and what the six schedules are estimated to cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from bursar.beliefs.regression import Line
from bursar.beliefs.sampling import sample_size
from bursar.model.money import ZERO, Money
from bursar.plan.bag.choices import list_choices, most_profitable, profitability
from bursar.reproduce.bats_chapter_6 import BAGS, OFFERS, PublishedBag, mean_times
from bursar.reproduce.result import Band, Reproduction, Row, between, judged, rounded, same

CENT: Final = 0.01
HALF: Final = CENT / 2
"""Means, lines and profitabilities are printed to a hundredth."""


class PrintedChoice(msgspec.Struct, frozen=True):
    """A table, and the estimated costs of the schedules."""

    bag: str
    lines: tuple[Line, ...]
    """from the small type to the medium and to the large one"""
    profitability: tuple[float, float, float]
    costs: tuple[float, ...]
    why: tuple[str, str] = ("", "")
    """a line, and a profitability, of the large type may not come out"""


TABLES: Final = {
    "bats-table-6.2": PrintedChoice(
        "bats-kohonen",
        (Line(0.52, -0.01), Line(0.59, -0.006)),
        (1, 0.96, 0.84),
        (10.72, 11.79, 12.86, 13.44, 15.12, 16.80),
        ("", "by the definition of 2.3.3 it is 0.43; 0.84 would be that of $0.16 an hour"),
    ),
    "bats-table-6.3": PrintedChoice(
        "bats-sarsa",
        (Line(0.33, 0.05), Line(0.23, -0.01)),
        (1, 0.96, 0.90),
        (3.12, 3.43, 3.74, 4.48, 5.04, 5.60),
        ("the printed line makes 0.06 minutes of 0.29, beside a printed mean of 0.08", ""),
    ),
}


def reproduce(name: str) -> Reproduction:
    printed = TABLES[name]
    bag = BAGS[printed.bag]
    title = printed.bag.removeprefix("bats-").capitalize()
    return Reproduction(
        name=name,
        title=f"Lines, profitability and costs for the {title} bag",
        source=f"BaTS thesis, table {name[-3:]} and section 6.2",
        rows=(
            *_sampling_rows(bag),
            *_line_rows(printed, bag),
            *_profit_rows(printed, bag),
            *_cost_rows(printed, bag),
        ),
        assumed=(
            "everything follows from the printed means, which are rounded to 0.01 minutes: a band"
            " is what that leaves open",
            "the printed estimate of a schedule's cost is its budget: 110 % of $10.72 are $11.79,"
            " though its fleet costs $11.60",
        ),
    )


def _sampling_rows(bag: PublishedBag) -> Iterator[Row]:
    """An hour of one machine of each type."""
    yield same("tasks of the sample", 31, sample_size(bag.tasks))
    hour = sum((offer.price for offer in OFFERS), ZERO)
    yield same("cost of the sampling phase, $", "0.56", str(hour))
    best = most_profitable(OFFERS, mean_times(bag)).name
    yield same("most profitable type", "m1.small", best)


def _line_rows(printed: PrintedChoice, bag: PublishedBag) -> Iterator[Row]:
    """The mean on a type, by the line from that on the small one."""
    small = bag.minutes[0]
    for offer, line, mean in zip(OFFERS[1:], printed.lines, bag.minutes[1:], strict=True):
        reach = HALF + line.slope * HALF + HALF * small + HALF
        band = between(mean - reach, mean + reach, "mean, slope and intercept are rounded")
        what, why = f"{offer.name}: mean by its line, min", printed.why[0]
        yield judged(what, mean, line.apply(small), band, why=why)


def _profit_rows(printed: PrintedChoice, bag: PublishedBag) -> Iterator[Row]:
    runtimes, cheapest = mean_times(bag), OFFERS[0]
    figures = zip(OFFERS, printed.profitability, bag.minutes, strict=True)
    for offer, paper, mean in figures:
        ours = profitability(offer, cheapest, runtimes)
        band = _ratio_band(paper, bag.minutes[0], mean)
        what, why = f"{offer.name}: profitability", printed.why[1]
        yield judged(what, paper, ours, band, why=why)


def _ratio_band(paper: float, small: float, mean: float) -> Band:
    """What rounding leaves of a ratio of two means."""
    share = HALF / small + HALF / mean
    reach = HALF + paper * share
    return between(paper - reach, paper + reach, "both means are rounded to 0.01")


def _cost_rows(printed: PrintedChoice, bag: PublishedBag) -> Iterator[Row]:
    found = {choice.name: choice for choice in list_choices(OFFERS, mean_times(bag), bag.left)}
    for (schedule, _, _), paper in zip(bag.schedules, printed.costs, strict=True):
        budget: Money = found[schedule].budget
        what = f"{schedule}: estimated cost, $"
        yield judged(what, paper, float(budget), rounded(paper, CENT))
