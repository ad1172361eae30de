"""Table 2.1 of the BaTS thesis, with a few bags instead of thirty."""

from __future__ import annotations

import pytest

from bursar.model.money import Money
from bursar.reproduce.bats_failures import reproduce as ten_per_cent_more
from bursar.reproduce.bats_scenarios import TASKS
from bursar.reproduce.bats_table_2_1 import (
    SCENARIOS,
    Scenario,
    published,
    reproduce,
    rolling,
    round_robin,
)
from bursar.reproduce.result import Verdict

BAGS = 2


def test_every_printed_figure_but_one_fleet_comes_out() -> None:
    found = reproduce("bats-table-2.1", seeds=BAGS)
    printed = [row for row in found.rows if row.paper is not None]
    # makespan, cost and fleet of fifteen experiments, ten of which must finish, and one N_e
    assert len(printed) == 45 + 10 + 1
    assert not [row for row in printed if row.verdict is Verdict.NOT_JUDGED]
    # Over the 16 bags of the page the default is 4.8 % slower than RR, over two a little more.
    slower = "S1-1 default, budget of RR: makespan / RR"
    assert {row.what for row in found.failed} <= {"S4-1 BaTS_Bmin ($1128): fleet", slower}
    assert next(row.ours for row in found.rows if row.what == slower) < 1.06
    dearest = [row for row in found.rows if "dearest" in row.what]
    assert len(dearest) == 10
    assert all(row.verdict is Verdict.YES for row in dearest)


def test_budgets_ten_per_cent_above_the_least_fail_less_often_than_printed() -> None:
    """The thesis's one run failed in two scenarios; ours do so by chance, in a few bags."""
    found = ten_per_cent_more("bats-failures", seeds=BAGS)
    assert len([row for row in found.rows if row.paper is not None]) == 7
    failed = {row.what for row in found.failed}
    assert {"S4-3, $931: share of runs that finish"} <= failed
    assert not [what for what in failed if "S1-1" in what or "S4-1" in what]


@pytest.mark.parametrize(
    ("scenario", "budget", "fleet"),
    [
        ("S4-1", 2034, (32, 25)),
        ("S4-3", 1062, (30, 18)),
        ("S4-3", 1015, (30, 16)),
        ("S3-4", 768, (32, 32)),
        ("S3-4", 653, (1, 32)),
        ("S1-4", 309, (11, 32)),
    ],
)
def test_the_sampling_phase_leads_to_the_printed_fleet(
    scenario: str, budget: int, fleet: tuple[int, int]
) -> None:
    assert published(SCENARIOS[scenario], Money.parse(budget), seed=1).last_fleet == fleet


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_the_default_does_with_the_budgets_that_the_thesis_could_not_do_with(
    scenario: Scenario,
) -> None:
    for seed in range(BAGS):
        run = rolling(scenario, Money.parse(scenario.tight), seed)
        assert run.done == TASKS
        assert run.cost <= Money.parse(scenario.tight)


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_the_default_is_never_dearer_than_round_robin_with_its_budget(scenario: Scenario) -> None:
    robin = round_robin(scenario, seed=2)
    run = rolling(scenario, robin.cost, seed=2)
    assert run.done == TASKS
    assert run.cost <= robin.cost
