"""Studies of workloads: what is asked for is read, and all placers get the same works."""

import math

import numpy as np
import pytest

from bursar.model.errors import InputError
from bursar.model.workload_arrays import task_kinds
from bursar.runs.workload_input import read_placers, read_speeds, read_utilizations
from bursar.runs.workload_study import StudySetting, study_workload
from bursar.simulate.estimate_errors import EstimateError, parse_error
from bursar.simulate.workloads.generate import generate
from bursar.simulate.workloads.spec import Batch, Poisson, SizeClass, WorkloadSpec

SMALL = (SizeClass(1, 30, 38),)
MIXTURE = (("montage", 1.0), ("ligo", 1.0), ("sipht", 1.0))


@pytest.fixture(scope="module")
def workload():
    arrivals = Poisson(utilization=0.8, speed=10)
    return generate(WorkloadSpec(kinds=MIXTURE, count=150, classes=SMALL, arrivals=arrivals))


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("0.9", (0.9,)),
        ("0.9,0.5,0.9", (0.5, 0.9)),
        ("0.8..0.98", (0.8, 0.85, 0.9, 0.95, 0.98)),
        ("0.1..0.3:0.1", (0.1, 0.2, 0.3)),
        ("0.5,0.1..0.2:0.1", (0.1, 0.2, 0.5)),
    ],
)
def test_utilizations_are_a_list_or_a_range(text, shares):
    assert read_utilizations(text) == shares


def test_machines_may_have_different_speeds():
    assert read_speeds("2x1.5,3x0.5,7") == (1.5, 1.5, 0.5, 0.5, 0.5, 7.0)


@pytest.mark.parametrize(
    ("reader", "text", "reported"),
    [
        (read_utilizations, "x", "'x' is not a number from 0.001 to 10"),
        (read_utilizations, "0.9..0.5", "'0.9..0.5': write the lower utilization first"),
        (read_utilizations, "0.1..0.9:0.0001", "more than 1,000 steps; use a larger step"),
        (read_speeds, "2x", "is not a number"),
        (read_speeds, "0x1", "'0' is not a whole number from 1 to 1,000,000"),
        (read_placers, "backfil", "no placer 'backfil' for workloads; did you mean 'backfill'?"),
        (read_placers, ",", "no placer; known: backfill"),
        (parse_error, "random-3:1", "no error of estimates 'random-3'; did you mean"),
        (parse_error, "static", "'static': static needs a factor; write for example none"),
        (parse_error, "none:2", "'none:2': none has no factor"),
        (parse_error, "learned:2", "'learned:2': learned has no factor"),
    ],
)
def test_a_mistake_is_one_line(reader, text, reported):
    with pytest.raises(InputError) as error:
        reader(text)
    assert reported in str(error.value)


def test_all_placers_get_the_same_works_at_exact_utilizations(workload):
    setting = StudySetting(("backfill", "fwp"), (0.5, 0.9), (1.0,) * 10)
    study = study_workload(workload, setting)
    assert [(run.placer, round(run.imposed, 6)) for run in study.runs] == [
        ("backfill", 0.5), ("backfill", 0.9), ("fwp", 0.5), ("fwp", 0.9),
    ]  # fmt: skip
    assert {run.slowdown.count for run in study.runs} == {50}
    assert all(run.slowdown.p50 >= 1 for run in study.runs)
    low, high = study.of("backfill")
    assert low.wait.mean <= high.wait.mean
    assert study.maximal("backfill") in (None, low.imposed, high.imposed)


def test_a_system_that_cannot_keep_up_is_stopped_and_not_stable(workload):
    (run,) = study_workload(workload, StudySetting(("backfill",), (3.0,), (1.0,) * 10)).runs
    assert run.stability.is_cut
    assert not run.stability.is_stable


def test_faster_machines_shorten_the_critical_path_that_slowdowns_are_taken_by(workload):
    alike = study_workload(workload, StudySetting(utilizations=(0.1,), speeds=(1.0,) * 30))
    fast = study_workload(workload, StudySetting(utilizations=(0.1,), speeds=(2.0,) * 30))
    assert fast.runs[0].response.mean < alike.runs[0].response.mean
    assert fast.runs[0].slowdown.p50 == pytest.approx(alike.runs[0].slowdown.p50, rel=0.05)


def test_a_work_that_is_alone_has_no_slowdown_by_its_own_makespan(workload):
    setting = StudySetting(utilizations=(0.01,), speeds=(1.0,) * 10, alone=True)
    assert study_workload(workload, setting).runs[0].slowdown.p50 == pytest.approx(1, abs=0.02)


def test_works_that_arrive_at_once_all_count():
    batch = generate(WorkloadSpec(kinds=MIXTURE, count=6, classes=SMALL, arrivals=Batch()))
    (run,) = study_workload(batch, StudySetting(speeds=(1.0,) * 5)).runs
    assert run.slowdown.count == 6
    assert math.isinf(run.imposed)
    with pytest.raises(InputError, match="works that arrive all at once have no utilization"):
        study_workload(batch, StudySetting(utilizations=(0.5,), speeds=(1.0,)))


def test_errors_of_estimates_are_as_their_definitions_say(workload):
    arrays, rng = workload.arrays, np.random.default_rng(0)
    true = arrays.runtimes
    assert (EstimateError().estimates(arrays, rng) == true).all()
    assert np.abs(EstimateError("static", 2).estimates(arrays, rng) - 2 * true).max() <= 1
    shares = EstimateError("random-1", 2).estimates(arrays, rng) / true
    for work in range(len(arrays.arrived)):
        mine = shares[arrays.first[work] : arrays.first[work + 1]]
        assert mine.max() == pytest.approx(mine.min(), rel=0.01)
        assert 0 < mine.max() <= 4.0001
    assert (EstimateError("unknown").estimates(arrays, rng) == 1_000_000).all()
    drawn = EstimateError("random-2", 5).estimates(arrays, rng) / 1e6
    assert drawn.mean() == pytest.approx(5, rel=0.05)
    assert drawn.max() <= 10


def test_learned_run_times_bring_a_part_of_what_right_ones_do_and_unknown_ones_none(workload):
    def mean(kind, placer="fdws"):
        setting = StudySetting((placer,), (0.98,), (1.0,) * 10, EstimateError(kind))
        return study_workload(workload, setting).runs[0].slowdown.mean

    assert mean("none") < mean("learned") < mean("none", "backfill")
    assert mean("learned") < mean("unknown")


def test_tasks_of_one_name_are_of_one_kind_in_all_works(workload):
    kinds, seen = task_kinds(workload), {}
    names = (
        flow.kind_names[kind]
        for flow in (arrival.work.workflow for arrival in workload.arrivals)
        for kind in flow.kinds
    )
    assert all(seen.setdefault(name, kind) == kind for name, kind in zip(names, kinds, strict=True))
    assert sorted(seen.values()) == list(range(len(seen)))


def test_a_static_error_changes_no_decision_on_alike_machines(workload):
    right = StudySetting(("cpp", "owm", "fdws", "hr", "fwp"), (0.95,), (1.0,) * 10)
    wrong = StudySetting(right.placers, (0.95,), right.speeds, EstimateError("static", 2))
    *others, fwp = zip(
        study_workload(workload, right).runs, study_workload(workload, wrong).runs, strict=True
    )
    assert all(one.slowdown == other.slowdown for one, other in others)
    # `fwp` learns the error from the tasks that ended; only what it did before that may differ
    assert fwp[1].slowdown.mean == pytest.approx(fwp[0].slowdown.mean, rel=0.01)
