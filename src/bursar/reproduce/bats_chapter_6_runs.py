"""`bats-kohonen-runs` and `bats-sarsa-runs`: executions on EC2 (BaTS thesis, 6.2.2 to 6.2.8).

The thesis executed two of the schedules for the Kohonen bag and four of those for the SARSA bag.
Neither the applications nor the machines are here: the algorithm as published runs on simulated
ones. The tasks that it executed were shorter than those of its sample; by how much follows from the
cheapest execution of each bag, and the others are judged with that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from bursar.beliefs.sampling import sample_size
from bursar.model.market import Market
from bursar.model.money import ZERO, Money
from bursar.model.time import HOUR, MINUTE
from bursar.plan.bag.knapsack import FleetChoice
from bursar.reproduce.bats_chapter_6 import BAGS, OFFERS, PublishedBag
from bursar.reproduce.bats_executions import (
    SPREAD,
    SPREAD_REASON,
    Ran,
    Sampled,
    cost,
    dearest_row,
    finish_row,
    finished,
    fleet_of,
    fleet_text,
    minutes,
    published,
    rolling,
    usual,
)
from bursar.reproduce.result import (
    Reproduction,
    Row,
    around,
    between,
    checked,
    judged,
    same,
    shown_only,
)
from bursar.simulate.distributions import normal

SEEDS: Final = 10
VARIATION: Final = 5**0.5 / 15
"""Deviation over mean of the run times: that of the normal bag, as none is printed."""


class PrintedRun(msgspec.Struct, frozen=True):
    """A schedule, and how its execution ended."""

    section: str
    schedule: str
    fleet: tuple[int, int, int]
    hours: int
    budget: str
    last: tuple[int, int, int]
    """the fleet at the end"""
    minutes: int
    cost: str
    why_time: str = ""
    why_cost: str = ""
    why_fleet: str = ""


_NO_VIOLATION: Final = (
    "tasks shorter than the sample's are no violation (N_e <= N_p), so that nothing is chosen"
    " again;"
    " a condition to look for something faster is what section 2.3.4 wishes for"
)
_FASTER: Final = (
    "some of its workers were lost (6.2.7), and how long machines took to start is not printed;"
    " ours are there at once"
)
_KOHONEN: Final = (
    PrintedRun(
        section="6.2.2",
        schedule="cheapest",
        fleet=(2, 0, 0),
        hours=67,
        budget="10.72",
        last=(6, 10, 0),
        minutes=277,
        cost="10.40",
        why_time=_NO_VIOLATION,
        why_cost=_NO_VIOLATION,
        why_fleet=_NO_VIOLATION,
    ),
    PrintedRun("6.2.3", "fastest", (10, 10, 10), 3, "16.80", (10, 10, 10), 150, "16.80"),
)
_SARSA: Final = (
    PrintedRun("6.2.5", "cheapest", (3, 0, 0), 13, "3.12", (3, 0, 0), 691, "2.88"),
    PrintedRun("6.2.6", "cheapest +10 %", (10, 10, 3), 1, "3.43", (10, 10, 3), 56, "3.36"),
    PrintedRun("6.2.7", "fastest -10 %", (9, 9, 9), 1, "5.04", (9, 9, 9), 48, "5.04", _FASTER),
    PrintedRun("6.2.8", "fastest", (10, 10, 10), 1, "5.60", (10, 10, 10), 42, "5.60", _FASTER),
)
RUNS: Final = {"bats-kohonen-runs": _KOHONEN, "bats-sarsa-runs": _SARSA}


def bag_of(name: str) -> PublishedBag:
    return BAGS[name.removesuffix("-runs")]


def shortened(name: str) -> float:
    """Mean run time of the tasks left by that of the sample: what the cheapest execution tells."""
    bag, cheapest = bag_of(name), RUNS[name][0]
    rate = sum(count / mean for count, mean in zip(cheapest.last, bag.minutes, strict=True))
    return cheapest.minutes * rate / bag.left


def case(name: str, seed: int) -> Sampled:
    """The tasks left, and a sample with the printed mean; types are as fast as their means say."""
    bag = bag_of(name)
    small = bag.minutes[0]
    offers = tuple(
        msgspec.structs.replace(offer, speed=small / mean)
        for offer, mean in zip(OFFERS, bag.minutes, strict=True)
    )
    rng, mean = np.random.default_rng([6, seed]), round(small * MINUTE)
    left = normal(rng, bag.left, mean, VARIATION * mean) * shortened(name)
    sample = normal(rng, sample_size(bag.tasks), mean, VARIATION * mean)
    shift = mean - round(float(sample.mean()))
    market = Market("USD", "2012", offers)
    return Sampled(market, np.rint(left).astype(np.int64), np.maximum(1, sample + shift), seed)


def execute(name: str, printed: PrintedRun, seed: int) -> Ran:
    """The schedule as the thesis's user selected it."""
    found = case(name, seed)
    fleet = dict(fleet_of(printed.fleet, found.market))
    units = dict.fromkeys(fleet, printed.hours)
    money = sum((found.market[name].price * n for name, n in fleet.items()), ZERO) * printed.hours
    selected = FleetChoice(fleet, units, printed.hours * HOUR, money)
    return published(found, Money.parse(printed.budget), selected)


def reproduce(name: str, seeds: int = SEEDS) -> Reproduction:
    bag, printed = bag_of(name), RUNS[name]
    rows: list[Row] = []
    for each in printed:
        runs = [execute(name, each, seed) for seed in range(seeds)]
        rows.extend(_rows(each, runs, bag.left))
    title = name.removeprefix("bats-").removesuffix("-runs").capitalize()
    return Reproduction(
        name=name,
        title=f"Executions of schedules for the {title} bag",
        source=f"BaTS thesis, sections {printed[0].section} to {printed[-1].section}",
        rows=(*rows, *_default_rows(name, printed[0], seeds)),
        assumed=(
            f"means of {seeds} bags of {bag.left} tasks on machines that are alike and come up at"
            " once; the thesis has one run of each schedule on EC2",
            f"tasks take {100 * shortened(name):.0f} % of the sample's means, which follows from"
            f" the {printed[0].minutes} minutes of the cheapest execution on its last fleet",
            "run times are normal with the coefficient of variation of chapter 4; none is printed",
            "the budget is the printed estimate of the schedule's cost",
        ),
    )


def _rows(printed: PrintedRun, runs: Sequence[Ran], tasks: int) -> Iterator[Row]:
    what, paper = f"{printed.section} {printed.schedule}", float(printed.cost)
    band = around(printed.minutes, SPREAD, SPREAD_REASON)
    if printed.schedule == "cheapest" and printed.fleet == printed.last:
        note = "not judged: the length of the tasks follows from it"
        yield shown_only(f"{what}: makespan, min", printed.minutes, minutes(runs), note)
    else:
        yield judged(
            f"{what}: makespan, min", printed.minutes, minutes(runs), band, why=printed.why_time
        )
    band = around(paper, SPREAD, SPREAD_REASON)
    yield judged(f"{what}: cost, $", paper, cost(runs), band, why=printed.why_cost)
    fleet, note = usual([run.last_fleet for run in runs])
    why = printed.why_fleet
    yield same(
        f"{what}: fleet at the end", fleet_text(printed.last), fleet_text(fleet), note, why=why
    )
    yield finish_row(what, runs, tasks)
    yield dearest_row(what, runs, Money.parse(printed.budget))


def _default_rows(name: str, printed: PrintedRun, seeds: int) -> Iterator[Row]:
    """What bursar does by default with the money of the cheapest schedule."""
    budget, tasks = Money.parse(printed.budget), bag_of(name).left
    runs = [rolling(case(name, seed), budget) for seed in range(seeds)]
    what = f"default, ${budget}"
    every = between(seeds, seeds, "every run ends its bag")
    yield checked(f"{what}: runs that finish", finished(runs, tasks), every)
    yield dearest_row(what, runs, budget)
    yield shown_only(f"{what}: makespan, min", None, minutes(runs))
