"""The setting of Prob's evaluation: machines, workflows, budgets, and executions of them."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from bursar.model.errors import InputError
from bursar.reproduce.prob_execution import WorkflowExecutions
from bursar.reproduce.prob_quality import small_cases
from bursar.reproduce.prob_queries import Q1, Q9, MapReduceJob, query
from bursar.reproduce.prob_setting import (
    PRICES,
    TYPES,
    ProbCase,
    bandwidths,
    cases,
    generated,
    of_average,
    of_worst_case,
    performances,
)


def test_bandwidths_have_the_mean_and_the_variation_that_are_assumed() -> None:
    for one in TYPES:
        drawn = bandwidths(one.network, one.network_variation)
        assert drawn.mean() == pytest.approx(one.network * 1e6, rel=1e-3)
        assert drawn.std() / drawn.mean() == pytest.approx(one.network_variation, rel=0.01)
        assert np.all(np.diff(drawn) > 0)


def test_cheaper_machines_are_slower_and_vary_more() -> None:
    for cheap, dear in pairwise(TYPES):
        assert cheap.speed < dear.speed
        assert cheap.disk_variation > dear.disk_variation
        assert cheap.network_variation > dear.network_variation


def test_average_takes_a_byte_for_faster_than_it_is_and_worst_case_for_slower() -> None:
    for one in performances():
        assert of_average(one).network.mean < one.network.mean < of_worst_case(one).network.mean
        assert one.network.cdf(of_worst_case(one).network.mean) == pytest.approx(0.99, abs=0.005)


@pytest.mark.parametrize(("jobs", "levels"), [(Q1, 4), (Q9, 14)])
def test_a_query_has_two_levels_for_each_job(jobs: tuple[MapReduceJob, ...], levels: int) -> None:
    case = ProbCase("query", query("query", jobs))
    assert case.problem(1.0).levels().max() + 1 == levels
    assert len(case.dag) == sum(job.maps + job.reduces for job in jobs)


def test_every_byte_of_a_job_is_read_and_written_once() -> None:
    moved = ProbCase("query", query("query", [MapReduceJob(4, 8, 2, 6, 1)])).profiles
    assert moved.disk.sum() == pytest.approx((8 + 6 + 6 + 1) * 1e9)
    assert moved.network.sum() == pytest.approx(6e9)


def test_budgets_lie_between_the_cheapest_and_the_dearest_offer_for_all() -> None:
    case = small_cases()[0]
    costs = (case.expected * PRICES).sum(axis=0)
    assert costs.argmin() == 0
    assert case.budget(0.0) == pytest.approx(costs[0])
    assert case.budget(0.25) == pytest.approx((3 * costs[0] + costs[-1]) / 4)


def test_what_a_generated_task_with_parents_reads_crosses_the_network(tmp_path: Path) -> None:
    reported = {
        "kind": "pair",
        "name": ["one", "two"],
        "runtime": [100.0, 100.0],
        "parents": [[], [0]],
        "read": [10**9, 2 * 10**9],
        "written": [10**9, 0],
    }
    path = tmp_path / "pair.json.gz"
    path.write_bytes(gzip.compress(json.dumps(reported).encode()))
    work, disk, network = ProbCase("pair", generated(path)).profiles
    assert work == pytest.approx([80.0, 80.0])
    assert disk == pytest.approx([2e9, 2e9])
    assert network == pytest.approx([0.0, 2e9])


def test_absent_workflows_are_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such workflow; make it with the generator"):
        cases(tmp_path)


def test_executions_cost_and_take_what_is_expected_of_them() -> None:
    case = small_cases()[1]
    offers = np.array([0, 1, 2, 3, 0, 1])
    executions = WorkflowExecutions(case, 20_000)
    expected = case.expected[np.arange(6), offers]
    assert executions.task_times(offers).mean(axis=1) == pytest.approx(expected, rel=0.01)
    outcome = executions.run(offers)
    assert outcome.cost == pytest.approx((expected * PRICES[offers]).sum(), rel=0.01)
    assert outcome.time == pytest.approx(case.times.sample(offers, 20_000).mean(), rel=0.01)
    assert outcome.times == pytest.approx(executions.ends(offers)[[2, 5]].max(axis=0))


def test_with_shared_luck_costs_vary_more() -> None:
    case = ProbCase("query", query("query", Q1))
    offers = np.zeros(len(case.dag), dtype=np.int64)
    own, shared = (
        WorkflowExecutions(case, 200, is_shared=one).costs(offers) for one in (False, True)
    )
    assert shared.std() > 5 * own.std()
