"""Table 5 of the ExPERT paper, on two of its experiments, and the grid that plays reality."""

from __future__ import annotations

import msgspec
import pytest

from bursar.model.time import SECOND
from bursar.reproduce import expert_tail_start
from bursar.reproduce.expert_reality import EXPERIMENTS, WORKLOADS, RealRun, execute
from bursar.reproduce.expert_table_5 import (
    OFFLINE,
    ONLINE,
    PUBLISHED,
    ComparedExperiment,
    Seer,
    Way,
    compare,
    experiment_rows,
    history_of,
    mean_rows,
    own_rows,
    printed,
)
from bursar.reproduce.result import Verdict

BY_NUMBER = {one.number: one for one in EXPERIMENTS}


@pytest.fixture(scope="module")
def run() -> RealRun:
    return execute(BY_NUMBER[12], 12)


@pytest.fixture(scope="module")
def two() -> list[ComparedExperiment]:
    return [compare(BY_NUMBER[number]) for number in (6, 11)]


def test_the_table_is_that_of_the_paper() -> None:
    assert len(EXPERIMENTS) == 13
    costs = [one.cost for one in EXPERIMENTS]
    tails = [one.tail for one in EXPERIMENTS]
    assert sum(costs) / 13 == pytest.approx(1.78, abs=0.005)
    assert sum(tails) / 13 == pytest.approx(9_574, abs=1)
    assert sum(one.reliability for one in EXPERIMENTS) / 13 == pytest.approx(0.894, abs=0.001)
    assert sum(one.reliable_instances for one in EXPERIMENTS) / 13 == pytest.approx(58, abs=0.5)
    assert all(work.shortest < work.mean < work.longest for work in WORKLOADS.values())


def test_reality_returns_about_as_many_results_as_the_table_says(run: RealRun) -> None:
    returned = [one.turnaround(run.timeout) is not None for one in run.instances.values()]
    assert sum(returned) / len(returned) == pytest.approx(0.788, abs=0.06)


def test_reliability_rises_as_bad_hosts_are_excluded(run: RealRun) -> None:
    returned = [one.takes is not None for one in run.instances.values()]
    third = len(returned) // 3
    assert sum(returned[-third:]) > sum(returned[:third])


def test_later_tasks_take_longer(run: RealRun) -> None:
    takes = [(one.task, one.takes) for one in run.instances.values() if one.takes is not None]
    early = [length for task, length in takes if task <= 200]
    late = [length for task, length in takes if task > 620]
    assert sum(late) / len(late) > 1.05 * sum(early) / len(early)


def test_some_losses_are_reported_and_others_are_not(run: RealRun) -> None:
    lost = [one for one in run.instances.values() if one.turnaround(run.timeout) is None]
    reported = [one for one in lost if one.known_lost(run.timeout) < one.sent + run.timeout]
    assert 0.1 < len(reported) / len(lost) < 0.6


def test_every_task_has_a_result_and_the_last_ends_the_tail(run: RealRun) -> None:
    assert len(run.results) == WORKLOADS["WL1"].tasks
    assert max(run.results.values()) == run.tail_start + run.tail


def test_an_open_grid_that_does_not_preempt_tells_of_no_loss() -> None:
    run = execute(BY_NUMBER[11], 11)
    assert all(one.dies is None for one in run.instances.values())


def test_estimates_are_near_the_real_runs(two: list[ComparedExperiment]) -> None:
    for each in two:
        assert abs(each.deviations[OFFLINE].tail) < 25
        assert abs(each.deviations[OFFLINE].cost) < 20
        assert abs(each.deviations[ONLINE].tail) < 40
        assert abs(each.deviations[ONLINE].cost) < 20


def test_a_grid_is_as_slow_as_its_workload(two: list[ComparedExperiment]) -> None:
    slow = two[1].experiment
    assert slow.mean == pytest.approx(2_066 * SECOND, rel=1e-6)
    assert slow.reliable_time == pytest.approx(2_290 * SECOND, rel=0.01)


def test_the_published_estimates_are_judged_and_ours_stand_beside(
    two: list[ComparedExperiment],
) -> None:
    judged, own = list(mean_rows([two])), list(own_rows([two]))
    assert [row.paper for row in judged] == [10, 7, 20, 13]
    assert all("as published" in row.what and row.why for row in judged)
    assert [row.paper for row in own] == [None] * 4
    assert [row.high for row in own] == [10, 7, 20, 13]


def test_bands_of_the_means_come_from_the_deviations_that_are_printed(
    two: list[ComparedExperiment],
) -> None:
    tails = [abs(one) for one in printed(PUBLISHED[0], 0)]
    mean = sum(tails) / 13
    error = (sum((one - mean) ** 2 for one in tails) / 12 / 13) ** 0.5
    row = next(mean_rows([two]))
    assert (row.low, row.high) == pytest.approx((10 - 2 * error, 10 + 2 * error))


def test_every_row_of_an_experiment_is_judged(two: list[ComparedExperiment]) -> None:
    rows = list(experiment_rows(two[0]))
    assert len(rows) == 8
    assert all(row.verdict is not Verdict.NOT_JUDGED and row.reason for row in rows)
    assert rows[2].paper == 6_394


def test_estimates_as_published_begin_the_tail_with_as_many_tasks_as_the_real_run(
    run: RealRun,
) -> None:
    late = sorted(run.results.values())[-31]
    short = msgspec.structs.replace(run, tail_start=late)
    assert short.tail_tasks == 30
    seer = Seer(BY_NUMBER[12], short, history_of(run, BY_NUMBER[12].strategy), 12)
    by_machines = Way(is_online=False, from_tail=False, reported=False)
    assert seer.tail_begins(PUBLISHED[0]) > 1.1 * seer.tail_begins(by_machines)


def test_the_begin_of_a_real_tail_is_followed() -> None:
    found = expert_tail_start.begun(BY_NUMBER[12])
    assert found.run.tail_tasks == sum(
        done > found.run.tail_start for done in found.run.results.values()
    )
    assert 0 < found.run.tail_tasks < 200
    assert found.counted >= found.by_machines
    assert len(set(found.watch.sizes)) > 1
    assert found.watch.first is not None
    assert found.watch.first > found.run.tail_start
    varies, transient, closer = expert_tail_start.summary_rows([found])
    assert (varies.paper, varies.verdict) == (1, Verdict.YES)
    assert transient.verdict is (Verdict.YES if found.watch.is_transient else Verdict.NO)
    assert isinstance(closer.ours, float)
