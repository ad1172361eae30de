"""`bats-fig-3.4`: executions of the proposed schedules (BaTS thesis, figure 3.4).

Table 3.2 has the schedules of two scenarios; here they are executed. The figure is drawn without
numbers: makespans, fleets and budgets are those of the text beside it (section 3.3.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from bursar.model.errors import InvariantError
from bursar.model.time import MINUTE, Time
from bursar.plan.bag.choices import Choice, choose, least_budget
from bursar.plan.bag.knapsack import fastest
from bursar.policies.provision.bats_published import Cushion
from bursar.report.plot import Plot, Series
from bursar.reproduce.bats_executions import (
    SPREAD,
    SPREAD_REASON,
    Ran,
    Sampled,
    counts_of,
    dearest_row,
    finish_row,
    fleet_text,
    minutes,
    published,
    schedule_of,
    usual,
)
from bursar.reproduce.bats_scenarios import MEAN, TASKS, moved, scenario
from bursar.reproduce.result import (
    Reproduction,
    Row,
    around,
    judged,
    rounded,
    same,
)
from bursar.simulate.distributions import normal

SEEDS: Final = 30
"""Bags, each executed once with every schedule."""

_LEFT: Final = {"S3-4": 889, "S4-1": 963}
"""Tasks after the sampling phase: they follow from the budgets of table 3.2."""


class PrintedEstimate(msgspec.Struct, frozen=True):
    """A schedule that was executed, and what the text says of its run."""

    scenario: str
    schedule: str
    end: str
    """of the range of budgets that its own is a share of: low or high"""
    share: int
    """per cent"""
    fleet: tuple[int, int]
    minutes: int
    budget: int
    """with what a refinement added"""


PRINTED: Final = (
    PrintedEstimate("S3-4", "Sched1", "low", 100, (0, 29), 118, 524),
    PrintedEstimate("S3-4", "Sched2", "low", 120, (6, 32), 108, 615),
    PrintedEstimate("S3-4", "Sched3", "high", 80, (6, 32), 108, 615),
    PrintedEstimate("S3-4", "Sched4", "high", 100, (32, 32), 95, 768),
    PrintedEstimate("S4-1", "Sched2", "low", 120, (32, 1), 449, 872),
    PrintedEstimate("S4-1", "Sched3", "high", 80, (32, 19), 293, 1633),
    PrintedEstimate("S4-1", "Sched4", "high", 100, (32, 32), 236, 1920),
)
"""Sched1 of S4-1 was not executed: it takes 61 hours."""


def left_in(name: str) -> int:
    return _LEFT[name]


def after_sampling(name: str, seed: int) -> Sampled:
    """A bag of which the sampling phase has done a part; both parts have the mean of table 3.2."""
    runtimes = normal(np.random.default_rng(seed), TASKS)
    left = _LEFT[name]
    return Sampled(scenario(name), moved(runtimes[:left]), moved(runtimes[left:]), seed)


def chosen_schedule(name: str, end: str, share: int) -> Choice:
    """A schedule of table 3.2, refined where it is risky."""
    offers, left = scenario(name).offers, _LEFT[name]
    runtimes: dict[str, Time | None] = {o.name: round(MEAN / o.speed) for o in offers}
    if end == "low":
        base = least_budget(offers, runtimes, left)
    else:
        base = fastest(offers, runtimes, left).cost
    found = choose("", offers, runtimes, left, base, share)
    if found is None:
        raise InvariantError("these budgets buy a fleet")
    return found


def execute(printed: PrintedEstimate, seed: int) -> Ran:
    """A refined schedule has a larger budget; where all machines are used, money is kept aside."""
    chosen = chosen_schedule(printed.scenario, printed.end, printed.share)
    aside = Cushion(chosen.risk, chosen.cushion) if chosen.risk > 0 else None
    case = after_sampling(printed.scenario, seed)
    return published(case, chosen.budget + chosen.cushion, schedule_of(chosen), aside)


# --- rows -----------------------------------------------------------------------------------------


def reproduce(name: str, seeds: int = SEEDS) -> Reproduction:
    runs = {
        (each.scenario, each.schedule): [execute(each, seed) for seed in range(seeds)]
        for each in PRINTED
    }
    rows = [row for each in PRINTED for row in _rows(each, runs[each.scenario, each.schedule])]
    return Reproduction(
        name=name,
        title="Executions of the proposed schedules",
        source="BaTS thesis, figure 3.4, figures from section 3.3.3",
        rows=(*rows, _saved(runs["S4-1", "Sched2"])),
        assumed=(
            f"means of {seeds} bags; the thesis has one run of each schedule",
            "tasks left after the sampling phase (889 in S3-4, 963 in S4-1) and their mean, 910 s"
            " on cluster 1, as in table 3.2; the run times of each bag are moved to it",
            "the sample sets hold the tasks of the sampling phase, on both clusters",
            "in S4-1 the budget of Sched2 is 1.2 B_min, $878.40; the text prints $872",
            "machines come up at once",
        ),
        plots=(_plot(runs),),
    )


def _rows(printed: PrintedEstimate, runs: Sequence[Ran]) -> Iterator[Row]:
    chosen = chosen_schedule(printed.scenario, printed.end, printed.share)
    what, tasks = f"{printed.scenario} {printed.schedule}", _LEFT[printed.scenario]
    budget = chosen.budget + chosen.cushion
    fleet = counts_of(chosen.fleet, scenario(printed.scenario))
    yield same(f"{what}: fleet", fleet_text(printed.fleet), fleet_text(fleet))
    one_step = around(printed.budget, 0.01, "a budget is refined in steps of one per cent")
    asked = float(chosen.budget if chosen.risk > 0 else budget)
    yield judged(f"{what}: budget, $", printed.budget, asked, one_step)
    band = around(printed.minutes, SPREAD, SPREAD_REASON)
    yield judged(f"{what}: makespan, min", printed.minutes, minutes(runs), band)
    last, note = usual([run.last_fleet for run in runs])
    yield same(
        f"{what}: fleet at the end",
        fleet_text(printed.fleet),
        fleet_text(last),
        note,
        why=_why(runs),
    )
    yield finish_row(what, runs, tasks)
    yield dearest_row(what, runs, budget)


def _why(runs: Sequence[Ran]) -> str:
    changed = [run.fleets[1][0] for run in runs if len(run.fleets) > 1]
    return f"{len(changed)} of {len(runs)} runs choose again, as N_e > N_p" if changed else ""


def _saved(runs: Sequence[Ran]) -> Row:
    """Section 3.3.3: for a fifth more than B_min the makespan is 86 % smaller than Sched1's."""
    alone = chosen_schedule("S4-1", "low", 100)
    saved = 100 * (1 - minutes(runs) / (alone.makespan / MINUTE))
    why = "its own figures, 449 minutes and 61 hours, are 88 % apart"
    return judged("S4-1 Sched2: shorter than Sched1, %", 86, saved, rounded(86, 1), why=why)


def _plot(runs: dict[tuple[str, str], list[Ran]]) -> Plot:
    """Makespans of all schedules, printed and ours."""
    ours = tuple((float(n), minutes(found)) for n, found in enumerate(runs.values()))
    printed = tuple((float(n), float(each.minutes)) for n, each in enumerate(PRINTED))
    return Plot(
        title="Makespans of the proposed schedules",
        across="scenario and schedule",
        upward="makespan, min",
        series=(Series("thesis", printed, "bars"), Series("ours", ours, "bars")),
        categories=tuple(f"{scene} {schedule}" for scene, schedule in runs),
    )
