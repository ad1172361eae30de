"""`bats-fig-3.5`: the fastest schedule with a cushion and without (BaTS thesis, figure 3.5).

Scenario S4-1 after the sampling phase: all 64 machines for $1920 leave three tasks over, for which
$9 may be kept aside. The figures are those of the text beside the figure (section 3.3.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from bursar.model.money import Money
from bursar.model.time import HOUR, MINUTE
from bursar.plan.bag.choices import Choice
from bursar.policies.provision.bats_published import Cushion
from bursar.reproduce.bats_executions import (
    SPREAD,
    SPREAD_REASON,
    Ran,
    dearest_row,
    finish_row,
    finished,
    fleet_text,
    minutes,
    published,
    rolling,
    schedule_of,
    usual,
)
from bursar.reproduce.bats_fig_3_4 import SEEDS, after_sampling, chosen_schedule, left_in
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

SCENARIO: Final = "S4-1"
LEFT: Final = left_in(SCENARIO)
ONE_TASK: Final = 15.0
"""Minutes by which the delay may differ: a bag ends with a task, which is about this long."""

WITH_MINUTES: Final = 236
WITHOUT_MINUTES: Final = 269


def schedule() -> Choice:
    """Sched4: all machines, and what is kept aside for the tasks they leave over."""
    return chosen_schedule(SCENARIO, "high", 100)


def with_cushion(seed: int) -> Ran:
    chosen = schedule()
    money = chosen.cost + chosen.cushion
    aside = Cushion(chosen.risk, chosen.cushion)
    return published(after_sampling(SCENARIO, seed), money, schedule_of(chosen), aside)


def without_cushion(seed: int) -> Ran:
    chosen = schedule()
    return published(after_sampling(SCENARIO, seed), chosen.cost, schedule_of(chosen))


def reproduce(name: str, seeds: int = SEEDS) -> Reproduction:
    chosen = schedule()
    budget, more = chosen.cost, chosen.cost + chosen.cushion
    cushioned = [with_cushion(seed) for seed in range(seeds)]
    plain = [without_cushion(seed) for seed in range(seeds)]
    delay = minutes(plain) - minutes(cushioned)
    a_task = between(33 - ONE_TASK, 33 + ONE_TASK, "a run ends with a task, of 15 minutes")
    rows = [
        same("budget of the fastest schedule, $", "1920.00", str(budget)),
        same("tasks that it leaves over", 3, chosen.risk),
        same("cushion, $", "9.00", str(chosen.cushion)),
        *_rows("with cushion", cushioned, WITH_MINUTES, more),
        _cost_with_cushion(cushioned),
        _last_fleet("with cushion: fleet at the end", "32 + 32", cushioned),
        *_rows("without", plain, WITHOUT_MINUTES, budget),
        _last_fleet("without: fleet after reconfiguring", "32 + 22", plain),
        _when("without: reconfigured after, min", plain),
        judged("delay without cushion, min", 33, delay, a_task),
        *_default_rows(budget, more, seeds),
    ]
    return Reproduction(
        name=name,
        title="The fastest schedule of scenario S4-1, with a cushion and without",
        source="BaTS thesis, figure 3.5, figures from section 3.3.3",
        rows=tuple(rows),
        assumed=(
            f"means of {seeds} bags; the thesis has one run of each kind",
            f"{LEFT} tasks are left after the sampling phase, with a mean of 910 s in the sample"
            " and in what is left, as in table 3.2; the run times of each bag are moved to it",
            "the sample sets hold the tasks of the sampling phase, alike on both clusters, which"
            " are equally fast",
            "the cushion is part of the budget that no run may exceed; what the thesis's run would"
            " have spent beyond it is not told, as it did not need it",
            "machines come up at once",
        ),
    )


def _rows(what: str, runs: Sequence[Ran], paper: int, budget: Money) -> Iterator[Row]:
    band = around(paper, SPREAD, SPREAD_REASON)
    yield judged(f"{what}: makespan, min", paper, minutes(runs), band)
    yield finish_row(what, runs, LEFT)
    yield dearest_row(what, runs, budget)
    first, note = usual([run.fleets[0][1] for run in runs])
    yield same(f"{what}: first fleet", "32 + 32", fleet_text(first), note)


def _cost_with_cushion(runs: Sequence[Ran]) -> Row:
    """The thesis's run ended within $1920: with four hours of all machines, or an hour less."""
    band = between(1920 - 480, 1920, "within the budget, and all machines for more than 3 hours")
    ours = median(float(run.cost) for run in runs)
    return judged("with cushion: median cost, $", 1920, ours, band)


def _last_fleet(what: str, paper: str, runs: Sequence[Ran]) -> Row:
    fleet, note = usual([run.last_fleet for run in runs])
    return same(what, paper, fleet_text(fleet), note)


def _when(what: str, runs: Sequence[Ran]) -> Row:
    """When the run without cushion first changes its fleet; one that never does counts as late."""
    first = [run.fleets[1][0] if len(run.fleets) > 1 else run.makespan for run in runs]
    band = between(0.0, HOUR / MINUTE, "in the first ATU, as the text says")
    return judged(what, "first hour", max(first) / MINUTE, band, note="the latest of all runs")


def _default_rows(budget: Money, more: Money, seeds: int) -> Iterator[Row]:
    """What bursar does by default with the same money."""
    for money in (budget, more):
        runs = [rolling(after_sampling(SCENARIO, seed), money) for seed in range(seeds)]
        what = f"default, ${money}"
        yield shown_only(f"{what}: makespan, min", None, minutes(runs))
        done = between(seeds, seeds, "every run ends its bag")
        ours, note = finished(runs, LEFT), _short(runs, money)
        yield checked(f"{what}: runs that finished the bag", ours, done, note=note)
        yield dearest_row(what, runs, money)


def _short(runs: Sequence[Ran], money: Money) -> str:
    """A note on the runs that left tasks."""
    short = [run for run in runs if run.done < LEFT]
    if not short:
        return ""
    most, unspent = max(LEFT - run.done for run in short), max(money - run.cost for run in short)
    return f"{len(short)} of {len(runs)} runs leave {most} or fewer tasks, with up to ${unspent}"
