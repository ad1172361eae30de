"""Tables and figures of chapters 4 and 5 of the workload thesis, in their quick form."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.model.time import SECOND
from bursar.reproduce.autoscaling_beyond import MOST_ELASTIC, THRIFTY, budget_run, paid_by_the_hour
from bursar.reproduce.autoscaling_setting import (
    JOB,
    OVERHEAD,
    AutoscalerCase,
    run_case,
    workload_of,
)
from bursar.reproduce.budgets_setting import SIZE, run_entry, set_of
from bursar.reproduce.result import Verdict, reproduce
from bursar.reproduce.workflows_setting import DATA
from bursar.simulate.workloads.arrivals import utilization_of


def test_the_second_workload_comes_out_but_for_hist():
    found = reproduce("autoscaling-table-4.5", quick=True)
    assert found.counts.of_own[Verdict.NO] == 0
    assert {row.what.partition(":")[0] for row in found.failed} <= {"Hist"}


def test_the_statements_of_the_first_workload_hold_on_a_small_set():
    """Without ConPaaS: Hist has most to spare, Plan fits best, slow boots leave tasks waiting."""
    found = reproduce("autoscaling-table-4.3", quick=True)
    assert found.counts.of_own[Verdict.YES] == 6
    assert found.counts.of_own[Verdict.NO] == 0


@pytest.mark.parametrize("entry", ["react", "plan", "token"])
def test_long_units_cost_less_than_machines_that_are_always_up(entry):
    own, base = paid_by_the_hour(entry, 200, 5)
    assert own.charged_hours < base.charged_hours
    assert own.elastic.mean <= MOST_ELASTIC


def test_dear_machines_go_first_where_the_placer_knows_slowdowns():
    """Learned run times: at least a tenth less slowdown than with priorities, at no more cost."""
    before = budget_run("priority", 200, 5, "100", "pfa")
    after = budget_run("stretch", 200, 5, "100", THRIFTY)
    assert after[0] <= 0.9 * before[0]
    assert after[1] <= before[1]


def test_the_first_workload_has_the_published_mean_and_its_overhead():
    bare = workload_of("1", 30, 5, overhead=0.0).arrays
    late = workload_of("1", 30, 5).arrays
    assert bare.runtimes.sum() / SECOND / 30 == pytest.approx(JOB, rel=1e-6)
    assert np.all(late.runtimes - bare.runtimes == OVERHEAD * SECOND)
    assert reproduce("autoscaling-table-4.2", quick=True).counts.rows == 20


def test_slow_boots_and_a_high_rate_leave_works_waiting():
    usual, slow, at_rate = (
        run_case(case, "1", 20, 5)
        for case in (
            AutoscalerCase("react"),
            AutoscalerCase("react", 45 * SECOND),
            AutoscalerCase("react", rate=14),
        )
    )
    assert slow.elastic.mean() > usual.elastic.mean()
    assert at_rate.elastic.mean() > 1.5 * usual.elastic.mean()
    assert at_rate.elasticity.under < usual.elasticity.under, "by demand over 14"


def test_a_set_of_chapter_5_has_two_users_and_a_fifth_of_the_machines_busy():
    known = set_of("II", 30, 5)
    assert utilization_of(known.workload.arrays, SIZE) == pytest.approx(0.2, rel=1e-6)
    assert {one.work.owner for one in known.workload.arrivals} == {"user 1", "user 2"}
    pairs = list(zip(known.times["small"], known.times["large"], strict=True))
    assert all(large <= small <= 2 * large for small, large in pairs)


def test_pfa_is_below_both_others_within_budgets_that_nobody_exceeds():
    plf, scf, pfa = (
        run_entry(reported, "120 & 80", "I", 40, 5) for reported in ("PLF", "SCF", "PFA, MA 10")
    )
    assert pfa.every_slowdown.mean() < 0.9 * plf.every_slowdown.mean()
    assert pfa.every_slowdown.mean() < 0.9 * scf.every_slowdown.mean()
    over = [np.mean([one.over for one in run.elasticity.values()]) for run in (plf, scf, pfa)]
    assert over.index(max(over)) == 1, "SCF has most to spare"
    for run in (plf, scf, pfa):
        assert run.costs["user 1"].max() <= 120
        assert run.costs["user 2"].max() <= 80
        assert len(run.decisions) > 10


@pytest.mark.skipif(not DATA.exists(), reason="workflows of Bharathi et al. are not here")
def test_averages_that_forget_slowly_or_at_once_are_about_as_good():
    average, smooth = (
        run_entry(reported, "120 & 80", "I", 40, 5) for reported in ("PFA, MA 10", "PFA, EWMA 0.7")
    )
    assert smooth.every_slowdown.mean() == pytest.approx(average.every_slowdown.mean(), rel=0.1)
