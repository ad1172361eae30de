"""Jobs that arrive one after the other, and the cost of the network, on small workflows."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.model.time import HOUR, SECOND
from bursar.reproduce import prob_arrivals, prob_network_cost
from bursar.reproduce.prob_arrivals import RATE, UNIT, poisson, run_stream
from bursar.reproduce.prob_execution import WorkflowExecutions
from bursar.reproduce.prob_methods import PROB, Methods
from bursar.reproduce.prob_network_cost import PRICE, network_costs
from bursar.reproduce.prob_quality import small_cases
from bursar.reproduce.prob_queries import MapReduceJob, query
from bursar.reproduce.prob_setting import ProbCase
from bursar.reproduce.result import Verdict


@pytest.fixture(scope="module")
def case() -> ProbCase:
    jobs = [MapReduceJob(30, 60, 10, 20, 10), MapReduceJob(10, 10, 5, 10, 1)]
    return ProbCase("query", query("query", jobs))


def test_arrivals_are_a_poisson_process() -> None:
    gaps = np.diff((0, *poisson(20_000))) * RATE / UNIT
    assert gaps.mean() == pytest.approx(1, rel=0.03)
    assert gaps.std() == pytest.approx(1, rel=0.03)
    assert np.all(gaps >= 0)


def test_a_stream_of_jobs_takes_as_long_as_jobs_alone(case: ProbCase) -> None:
    executions = WorkflowExecutions(case, 12)
    offers = np.arange(len(case.dag)) % 4
    stream = run_stream(case, offers, executions, 12)
    assert stream.times == pytest.approx(executions.run(offers).times, abs=1e-4)
    assert stream.costs == pytest.approx(executions.costs(offers))


def test_machines_are_paid_for_what_the_tasks_take_and_the_rest_of_a_unit(case: ProbCase) -> None:
    executions, offers = WorkflowExecutions(case, 3), np.zeros(len(case.dag), dtype=np.int64)
    by_second = run_stream(case, offers, executions, 3)
    rest = 3 * len(case.dag) * 0.044 / 3600
    assert 0 <= by_second.paid - by_second.costs.sum() <= rest
    assert run_stream(case, offers, executions, 3, HOUR).paid > 2 * by_second.paid


def test_what_is_demanded_of_a_stream_holds(case: ProbCase) -> None:
    found = prob_arrivals.reproduce("prob-arrivals", given=[case], jobs=20).rows
    own = [row for row in found if row.paper is None]
    assert [row.what for row in own if row.verdict is Verdict.NO] == []
    assert sum(row.verdict is Verdict.YES for row in own) >= 2
    assert found[0].paper == "stable"


def test_jobs_at_once_are_counted_until_the_last_arrival() -> None:
    stream = prob_arrivals.Stream(
        (0, 10 * SECOND, 20 * SECOND), np.array([5.0, 20.0, 9.0]), np.zeros(3), 0.0, 1
    )
    assert stream.at_once == pytest.approx((5 + 10 + 0) / 20)


def test_the_network_costs_what_crosses_it(case: ProbCase) -> None:
    assert network_costs(case).sum() == pytest.approx(30 * PRICE)


def test_a_cost_that_no_assignment_can_save_changes_none(case: ProbCase) -> None:
    for one in prob_network_cost.compare(case):
        free, included, pressed = one.free[PROB], one.included[PROB], one.pressed[PROB]
        assert free is not None
        assert included is not None
        assert pressed is not None
        assert np.array_equal(free.offers, included.offers)
        assert included.believed_cost == pytest.approx(free.believed_cost + one.network)
        assert included.believed_cost <= one.rent + one.network
        assert pressed.believed_cost <= one.rent
        assert pressed.believed_cost - 0.1 * one.rent < free.believed_cost


def test_the_products_search_reckons_with_the_network_as_well() -> None:
    case = small_cases()[0]
    costs = network_costs(case)
    budget = case.budget(0.5)
    free, costed = Methods(case).prob(budget), Methods(case, costs).prob(budget + costs.sum())
    assert free is not None
    assert costed is not None
    assert np.array_equal(free.offers, costed.offers)
    assert costed.believed_cost == pytest.approx(free.believed_cost + costs.sum())


def test_rows_of_the_network_are_demanded_and_hold(case: ProbCase) -> None:
    found = prob_network_cost.reproduce("prob-network-cost", given=[case], count=40)
    demanded = [row for row in found.rows if row.band is not None]
    assert len(demanded) == 6
    assert [row.what for row in demanded if row.verdict is Verdict.NO] == []
