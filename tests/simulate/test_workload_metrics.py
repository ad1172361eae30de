"""Metrics of workloads, by hand and by slow, literal transcriptions of their definitions."""

import math
from statistics import mean, stdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.model.time import SECOND
from bursar.model.work import Work
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.model.workload import Arrival, Workload
from bursar.simulate.placing import place_workload
from bursar.simulate.stability import in_system, stability
from bursar.simulate.workload_metrics import (
    OverWorks,
    alone_makespans,
    critical_paths,
    maximal_utilization,
    measured_utilization,
    steady_finished,
    steady_middle,
    work_times,
)
from bursar.simulate.workload_schedule import WorkloadSchedule


def fork(name, width, runtime):
    """A first task, `width` in the middle, and a last one."""
    flow = WorkflowBuilder(name)
    flow.task("first", runtime=runtime)
    middle = [flow.task(f"middle-{one}", runtime=runtime, needs="first") for one in range(width)]
    flow.task("last", runtime=runtime, needs=middle)
    return Work.of_dag(flow.build())


def workload(*works):
    arrivals = tuple(Arrival(at * SECOND, work) for at, work in works)
    return Workload(arrivals).arrays


def test_two_forks_on_one_machine_by_hand():
    arrays = workload((0, fork("a", 1, 10)), (5, fork("b", 2, 1)))
    times = work_times(arrays, place_workload(arrays, [1.0], "backfill"))
    assert times.wait.tolist() == [0, 25]
    assert times.makespan.tolist() == [30, 4]
    assert times.response.tolist() == [30, 29]
    assert critical_paths(arrays).tolist() == [30, 3]
    assert critical_paths(arrays, 2.0).tolist() == [15, 1.5]
    assert alone_makespans(arrays, [1.0]).tolist() == [30, 4]
    assert alone_makespans(arrays, [1.0, 1.0]).tolist() == [30, 3]
    assert (times.response / critical_paths(arrays)).tolist() == [1, 29 / 3]


def test_the_critical_path_has_transfers_which_no_speed_shortens():
    flow = WorkflowBuilder("pair")
    flow.task("make", runtime=10, writes={"part": 20_000_000})
    flow.task("use", runtime=10, reads={"part": 20_000_000})
    arrays = Workload((Arrival(0, Work.of_dag(flow.build())),), bandwidth=10e6).arrays
    assert critical_paths(arrays).tolist() == [24]
    assert critical_paths(arrays, 2.0).tolist() == [14]
    assert alone_makespans(arrays, [2.0]).tolist() == [14]


def test_a_work_that_was_not_finished_has_no_times():
    arrays = workload((0, fork("a", 1, 10)), (5, fork("b", 1, 1)))
    schedule = WorkloadSchedule(
        start=np.array([0, 10, 20, 30, -1, -1]) * SECOND,
        end=np.array([10, 20, 30, 31, -1, -1]) * SECOND,
        machine=np.zeros(6, dtype=np.int32),
        is_whole=False,
    )
    times = work_times(arrays, schedule)
    assert times.response[0] == 30
    assert math.isnan(times.response[1])
    assert times.completed.tolist() == [30 * SECOND, -1]
    assert measured_utilization(schedule, 2, 0, 40 * SECOND) == 31 / 80
    assert measured_utilization(schedule, 1, 5 * SECOND, 15 * SECOND) == 1


def test_works_at_the_begin_and_at_the_end_do_not_count():
    assert steady_middle(9).tolist() == [False] * 3 + [True] * 3 + [False] * 3
    assert steady_middle(5, 1).tolist() == [False, True, True, True, False]
    arrays = workload((0, fork("a", 1, 1)), (1, fork("b", 1, 50)), (20, fork("c", 1, 1)))
    times = work_times(arrays, place_workload(arrays, [1.0, 1.0]))
    assert steady_finished(arrays, times, 0).tolist() == [True, False, False]
    assert steady_finished(arrays, times).tolist() == [False, False, False]


def test_a_spread_by_hand():
    found = OverWorks.of(np.array([1.0, 2.0, 3.0, np.nan]))
    assert (found.count, found.p50, found.mean, found.most) == (3, 2, 2, 3)
    assert found.deviation == pytest.approx(math.sqrt(2 / 3))
    assert found.jain == pytest.approx(36 / (3 * 14))
    assert found.spread == pytest.approx(2.8 / 1.2)
    alike = OverWorks.of(np.full(7, 4.0))
    assert (alike.jain, alike.spread, alike.deviation) == (1, 1, 0)
    assert math.isnan(OverWorks.of(np.array([np.nan])).mean)


@given(st.lists(st.floats(0.1, 1e4), min_size=2, max_size=30))
def test_jains_index_is_between_one_work_and_all_alike(values):
    assert 1 / len(values) - 1e-9 <= OverWorks.of(np.array(values)).jain <= 1 + 1e-9


def test_the_maximal_utilization_is_below_the_first_step_that_fails():
    steps = [0.2, 0.1, 0.3, 0.4]
    assert maximal_utilization(steps, [True, True, False, True]) == 0.2
    assert maximal_utilization(steps, [True, False, True, True]) is None


# --- stability -----------------------------------------------------------------------------------


def test_works_in_the_system_by_hand():
    arrived = np.array([0, 2, 2, 8]) * SECOND
    completed = np.array([4, 2, -1, 10]) * SECOND
    completed[2] = -1
    system = in_system(arrived, completed)
    assert [system.at(second * SECOND) for second in (0, 1, 2, 4, 8, 9, 10)] == [
        1, 1, 2, 1, 2, 2, 1,
    ]  # fmt: skip
    assert system.mean(0, 10 * SECOND) == (2 * 1 + 2 * 2 + 4 * 1 + 2 * 2) / 10


def literal_count(arrived, completed, moment):
    return sum(a <= moment for a in arrived) - sum(0 <= c <= moment for c in completed)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 60)), min_size=1, max_size=20))
def test_batches_growth_and_drift_are_those_of_a_literal_transcription(pairs):
    """Equation 3.8 second by second, 3.9 as its text has it, and all steps of N^2/2."""
    arrived = sorted(a for a, _ in pairs)
    completed = [a + longer for a, (_, longer) in zip(arrived, pairs, strict=True)]
    until = 100
    counts = [literal_count(arrived, completed, moment) for moment in range(until + 1)]
    batches = [mean(counts[10 * batch : 10 * (batch + 1)]) for batch in range(1, 10)]
    drift = mean(
        counts[second] ** 2 / 2 - counts[second - 1] ** 2 / 2 for second in range(1, until + 1)
    )
    arrays = (np.array(one) * SECOND for one in (arrived, completed))
    found = stability(in_system(*arrays), until * SECOND)
    assert found.batches == pytest.approx(batches)
    assert found.growth == pytest.approx(batches[-1] - batches[0])
    assert found.most_growth == pytest.approx(2.63 * stdev(batches), rel=1e-3)
    assert found.drift == pytest.approx(drift + counts[0] ** 2 / 2 / until)


def queue(rate, count=2000):
    """One machine that takes a second for each work, with arrivals at this rate."""
    rng = np.random.default_rng(4)
    arrived = np.cumsum(rng.exponential(1 / rate, count))
    end, completed = 0.0, []
    for moment in arrived:
        end = max(end, moment) + 1
        completed.append(end)
    system = in_system(
        *(np.rint(np.array(one) * SECOND).astype(int) for one in (arrived, completed))
    )
    return stability(system, round(arrived[-1] * SECOND))


def test_a_queue_that_keeps_up_is_stable_and_one_that_does_not_is_not():
    assert queue(0.5).is_stable
    crowded = queue(1.5)
    assert not crowded.by_wieland
    assert not crowded.by_drift
