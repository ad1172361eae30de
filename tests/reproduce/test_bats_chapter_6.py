"""Chapter 6 of the BaTS thesis, and what section 3.1.3 and 4.3.2 leave to be computed."""

from __future__ import annotations

from bursar.reproduce.bats_chapter_6_runs import RUNS, execute, reproduce, shortened
from bursar.reproduce.bats_interval_size import reproduce as interval_size
from bursar.reproduce.bats_regression import reproduce as regression
from bursar.reproduce.result import Reproduction, Verdict
from bursar.reproduce.result import reproduce as entry

BAGS = 1


def failed(found: Reproduction) -> list[str]:
    return [row.what for row in found.failed]


def test_tables_6_2_and_6_3_come_out_where_the_thesis_agrees_with_itself() -> None:
    assert failed(entry("bats-table-6.2")) == ["m1.large: profitability"]
    assert failed(entry("bats-table-6.3")) == ["m1.large: mean by its line, min"]
    for name in ("bats-table-6.2", "bats-table-6.3"):
        assert not [row for row in entry(name).rows if row.verdict is Verdict.NOT_JUDGED]


def test_the_kohonen_bag_is_executed_as_printed_but_for_what_no_violation_leads_to() -> None:
    found = reproduce("bats-kohonen-runs", seeds=BAGS)
    assert failed(found) == ["6.2.2 cheapest: makespan, min", "6.2.2 cheapest: fleet at the end"]
    assert len([row for row in found.rows if row.paper is not None]) == 8


def test_the_sarsa_bag_is_executed_as_printed_but_for_the_two_fastest() -> None:
    found = reproduce("bats-sarsa-runs", seeds=BAGS)
    assert failed(found) == ["6.2.7 fastest -10 %: makespan, min", "6.2.8 fastest: makespan, min"]
    assert len([row for row in found.rows if row.paper is not None]) == 16


def test_tasks_are_as_long_as_the_cheapest_execution_tells() -> None:
    assert 0.87 < shortened("bats-kohonen-runs") < 0.88
    name = "bats-sarsa-runs"
    assert abs(execute(name, RUNS[name][0], seed=5).makespan / 60e6 - 691) < 3


def test_samples_are_completed_by_any_base() -> None:
    found = regression("bats-regression", seeds=10)
    assert [what for what in failed(found) if "table 6.3" not in what] == []
    assert len(found.failed) == 3


def test_intervals_are_as_wide_as_asked_for() -> None:
    found = interval_size("bats-interval-size", trials=300)
    assert failed(found) == []
    assert found.counts.published == 6
