"""Prob, Average and Worst-case within budgets, on the smaller of the published workflows."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from bursar.report.plot import svg
from bursar.reproduce import prob_fig_6, prob_setting
from bursar.reproduce.prob_execution import ExecutionOutcome, WorkflowExecutions
from bursar.reproduce.prob_fig_6 import ComparedMethods, compare, most_too_low, published_rows, rows
from bursar.reproduce.prob_methods import AVERAGE, PROB, PROB_MEAN, WORST, Methods
from bursar.reproduce.prob_quality import least_by_group, least_of_all, small_cases
from bursar.reproduce.prob_setting import PRICES, ProbCase, of_average
from bursar.reproduce.result import Verdict


@pytest.fixture(scope="module")
def case() -> ProbCase:
    return prob_setting.q1()


@pytest.fixture(scope="module")
def compared(case: ProbCase) -> list[ComparedMethods]:
    return compare(case, repeated=5)


def failing(found: ComparedMethods) -> list[str]:
    return [row.what for row in rows(found) if row.verdict is Verdict.NO]


def test_what_is_demanded_of_prob_holds_under_both_budgets(compared: list[ComparedMethods]) -> None:
    assert [one.label for one in compared] == ["tight", "loose"]
    assert [failing(one) for one in compared] == [[], []]
    assert [sum(row.low is not None for row in rows(one)) for one in compared] == [3, 4]
    assert all(row.paper is None for one in compared for row in rows(one))


def test_average_spends_more_than_it_believes_and_worst_case_less(
    compared: list[ComparedMethods],
) -> None:
    loose = compared[1]
    for method, is_too_low in ((AVERAGE, True), (WORST, False)):
        judged = loose.ours[method]
        assert (judged.choice.believed_cost < judged.outcome.cost) is is_too_low
        assert judged.choice.believed_cost <= loose.budget
    assert loose.ours[PROB].outcome.time < 0.9 * loose.ours[WORST].outcome.time


def test_a_static_method_of_99th_percentiles_finds_nothing_within_a_tight_budget(
    compared: list[ComparedMethods],
) -> None:
    tight = compared[0]
    assert WORST not in tight.ours
    assert WORST not in tight.published
    row = next(row for row in published_rows(compared) if "faster than Worst-case" in row.what)
    assert (row.paper, row.ours, row.verdict) == (36, "N/A", Verdict.NO)


def test_the_published_search_is_judged_by_the_figures_of_the_paper(
    compared: list[ComparedMethods],
) -> None:
    found = list(published_rows(compared))
    papers = [row.paper for row in found if row.paper is not None]
    assert papers == ["at most 1", 36, 12, "at most 1", 19, "some"]
    judged = [row for row in found if row.paper is not None]
    assert all(row.verdict is not Verdict.NOT_JUDGED and row.reason for row in judged)
    faster = next(row for row in found if row.what.startswith("Q1, loose") and row.paper == 19)
    assert faster.low is not None
    assert faster.high is not None
    assert 10 < faster.low < 18.5
    assert faster.low + faster.high == pytest.approx(38)


def test_no_mixture_of_offers_is_further_off_than_all_tasks_on_one(case: ProbCase) -> None:
    most, seen = most_too_low(case), case.seen_by(of_average)
    static = seen.table.mean(axis=1)[seen.rows] * PRICES
    expected, every = case.expected * PRICES, np.arange(len(case.dag))
    rng = np.random.default_rng(1)
    for _ in range(20):
        offers = rng.integers(0, 4, len(case.dag))
        off = 100 * (1 - static[every, offers].sum() / expected[every, offers].sum())
        assert 0 < off <= most


def test_rows_tell_where_prob_breaks_its_budget_or_is_slower(
    compared: list[ComparedMethods],
) -> None:
    loose = compared[1]
    swapped = {PROB: loose.ours[WORST], WORST: loose.ours[PROB]}
    slower = msgspec.structs.replace(loose, ours=loose.ours | swapped)
    assert failing(slower) == ["Q1, loose: Prob is faster than Worst-case, %"]
    breaking = {PROB: loose.ours[AVERAGE], PROB_MEAN: loose.ours[AVERAGE]}
    broken = msgspec.structs.replace(loose, ours=loose.ours | breaking)
    assert len(failing(broken)) == 2
    kept = msgspec.structs.replace(loose, ours=loose.ours | {AVERAGE: loose.ours[PROB]})
    assert failing(kept) == ["Q1, loose: Average, mean cost by the budget"]


def test_an_outcome_knows_how_exact_its_mean_cost_is() -> None:
    outcome = ExecutionOutcome(np.zeros(4), np.array([1.0, 2.0, 3.0, 4.0]))
    assert outcome.cost == 2.5
    assert outcome.cost_error == pytest.approx((5 / 3) ** 0.5 / 2)
    assert outcome.share_within(3.0) == 0.75


def test_the_best_of_all_is_within_the_budget_and_no_slower_than_any_within_it() -> None:
    case = small_cases()[2]
    executions = WorkflowExecutions(case, 50)
    costs = (case.expected * PRICES).sum(axis=0)
    for offer, cost in enumerate(costs.tolist()):
        same = executions.run(np.full(6, offer)).time
        assert least_of_all(case, cost * (1 + 1e-9), executions) <= same * (1 + 1e-9)
    assert least_of_all(case, costs[0] * (1 + 1e-9), executions) > least_of_all(
        case, costs[-1], executions
    )


def test_too_many_ways_by_group_are_not_tried(case: ProbCase) -> None:
    assert least_by_group(prob_setting.q9(), 1.0, 8, 0) is None
    found = least_by_group(case, case.budget(1.0), 8, 0)
    assert found is not None
    assert found[1] == 256


def test_small_workflows_are_assigned_as_well_as_by_trying_all(
    compared: list[ComparedMethods],
) -> None:
    found = prob_fig_6.figure("prob-fig-6", compared, 300)
    tried = [row for row in found.rows if "assignments" in row.what]
    assert [row.what for row in tried if row.verdict is Verdict.NO] == []
    assert sum("4,096" in row.what for row in tried) == 6
    assert sum("by level and kind" in row.what for row in tried) == 2
    assert [svg(plot)[:4] for plot in found.plots] == ["<svg"] * 4


def test_the_published_search_keeps_the_budget_by_what_it_expects(case: ProbCase) -> None:
    budget = case.budget(0.5)
    for choice in Methods(case).published(budget).values():
        assert choice is not None
        assert choice.believed_cost <= budget
