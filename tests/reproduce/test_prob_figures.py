"""Figures 3 and 7, Table 3 and the overhead of Prob, with smaller workflows and fewer draws."""

from __future__ import annotations

from pathlib import Path

import pytest

from bursar.model.errors import InputError
from bursar.report.plot import svg
from bursar.reproduce import (
    prob_arrivals,
    prob_fig_3,
    prob_fig_6,
    prob_fig_7,
    prob_network_cost,
    prob_overhead,
    prob_setting,
    prob_table_3,
)
from bursar.reproduce.prob_queries import MapReduceJob, query
from bursar.reproduce.prob_setting import ProbCase
from bursar.reproduce.result import ENTRIES, Reproduction, Verdict


def failing(found: Reproduction) -> list[str]:
    return [row.what for row in found.rows if row.verdict is Verdict.NO]


def figures(found: Reproduction) -> dict[str, float]:
    return {row.what: row.ours for row in found.rows if isinstance(row.ours, int | float)}


def test_all_entries_of_prob_are_known() -> None:
    assert [name for name in ENTRIES if name.startswith("prob-")] == [
        "prob-fig-3",
        "prob-fig-6",
        "prob-fig-7",
        "prob-table-3",
        "prob-overhead",
        "prob-arrivals",
        "prob-network-cost",
    ]


def test_the_critical_path_of_a_static_method_is_too_short_and_not_even_likely() -> None:
    found = prob_fig_3.reproduce("prob-fig-3")
    assert failing(found) == []
    assert all(row.verdict is not Verdict.YES for row in found.rows if row.paper is not None)
    ours = figures(found)
    assert ours["path 1, expected, s"] < ours["path 2, expected, s"]
    assert ours["path 2 is the longer one, probability"] < 0.5
    assert ours["path 2, expected, s"] < ours["makespan, expected, s"]


@pytest.fixture(scope="module")
def distributions() -> Reproduction:
    return prob_fig_7.reproduce("prob-fig-7", given=prob_setting.q1())


def test_average_breaks_a_budget_that_prob_keeps(distributions: Reproduction) -> None:
    found = distributions
    assert [row.what for row in found.rows if row.paper is None and row.verdict is Verdict.NO] == []
    ours = figures(found)
    assert ours["Average: executions within the budget, %"] < 10
    shared = "Prob: executions within the budget, %, with shared luck"
    assert ours[shared] < ours["Prob: executions within the budget, %"]
    assert len(found.plots) == 2
    assert all(svg(plot).startswith("<svg") for plot in found.plots)


def test_hours_by_type_are_judged_as_shares_of_the_published_search(
    distributions: Reproduction,
) -> None:
    shares = [row for row in distributions.rows if "Prob, published search: share" in row.what]
    assert [row.paper for row in shares] == [0, 0, 100, 0]
    assert sum(row.ours for row in shares if isinstance(row.ours, float)) == pytest.approx(100)
    assert all(row.reason and row.why for row in shares)
    total = next(row for row in distributions.rows if row.paper == 169)
    assert total.verdict is Verdict.NO


def test_executions_within_the_budget_have_the_band_of_so_many(distributions: Reproduction) -> None:
    average = next(row for row in distributions.rows if row.paper == 70)
    prob = next(row for row in distributions.rows if row.paper == 100 and "within" in row.what)
    assert (average.low, average.high) == pytest.approx((60.8, 79.2), abs=0.1)
    assert (prob.low, prob.high) == (97, 100)


def test_what_average_leaves_out_grows_from_level_to_level() -> None:
    jobs = [MapReduceJob(30, 60, 10, 20, 10), MapReduceJob(10, 10, 5, 10, 1)]
    found = prob_table_3.rows(ProbCase("query", query("query", jobs)), 300)
    grown, shares, *levels = found
    assert (grown.ours, grown.verdict) == (3, Verdict.YES)
    assert (shares.paper, len(levels)) == (3, 4)
    assert all(row.band is not None and row.why for row in levels)
    assert [row.paper for row in levels] == [4.8, 7.4, 9.4, 10.5]


@pytest.fixture(scope="module")
def overhead() -> Reproduction:
    given = [prob_setting.q9()]
    return prob_overhead.reproduce("prob-overhead", given=given, samples=500, states=40)


def test_prunings_save_operations_without_a_loss_of_quality(overhead: Reproduction) -> None:
    assert [row.what for row in overhead.failed if row.paper is None] == []
    assert all(row.why for row in overhead.failed)
    ours = figures(overhead)
    assert ours["Q9: paths after pre-processing"] == 1
    assert ours["Q9: operations saved by clustering, %"] > 40
    assert ours["Q9: operations saved by partial evaluation, %"] > 50
    assert ours["Q9: comparisons decided by bounds, %"] > 10


def test_the_products_search_is_no_worse_than_monte_carlo(overhead: Reproduction) -> None:
    assert figures(overhead)["Q9: the product's search, time by that of Monte-Carlo"] <= 1.01


@pytest.mark.parametrize(
    "entry", [prob_fig_6, prob_fig_7, prob_overhead, prob_arrivals, prob_network_cost]
)
def test_absent_data_is_reported_in_one_line(entry, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such workflow"):
        entry.reproduce("prob", folder=tmp_path)
