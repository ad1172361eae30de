"""Figures of the workflow thesis: what they are made of, in their quick form."""

import numpy as np
import pytest

from bursar.model.errors import InputError
from bursar.reproduce.result import ENTRIES, Verdict, reproduce
from bursar.reproduce.workflows_dynamic import NAMES
from bursar.reproduce.workflows_setting import (
    ALIKE,
    MIXTURE,
    TWO_SPEEDS,
    RunSize,
    runs_of,
    workload_one,
)
from bursar.reproduce.workflows_stretch import Comparison
from bursar.reproduce.workflows_table_2_1 import _mixtures_as_published
from bursar.simulate.estimate_errors import EstimateError
from bursar.simulate.placing import place_workload
from bursar.simulate.workloads.arrivals import at_utilization, utilization_of

SETS = (64_101,)
"""one set; four others are judged on the page"""


def test_a_set_imposes_its_utilization_exactly_also_without_the_published_workflows(tmp_path):
    arrays = workload_one(MIXTURE, 60, 5, tmp_path / "none")
    assert utilization_of(arrays, 100) == pytest.approx(1, rel=1e-6)
    assert len(arrays.arrived) == 60
    assert RunSize.of(quick=True).works < RunSize.of(quick=False).works


def test_a_batch_takes_about_its_work_by_the_machines_and_the_width_is_that_of_tokens():
    batch = reproduce("workflows-fig-3.8", quick=True)
    assert batch.counts.of_own[Verdict.NO] == 0
    widths = reproduce("workflows-fig-2.2", quick=True)
    assert widths.counts.of_own[Verdict.NO] == 0


def test_placers_have_the_properties_that_table_3_1_tells():
    table = reproduce("workflows-table-3.1", quick=True)
    assert table.counts.of_published == {Verdict.YES: 35, Verdict.NO: 0, Verdict.NOT_JUDGED: 0}


def test_reservations_take_what_is_left_of_the_machines_where_sr_can_do_no_more():
    dynamics = reproduce("workflows-fig-2.7", quick=True)
    assert dynamics.counts.of_own[Verdict.NO] == 0
    assert len(dynamics.plots) == 2


def test_plans_follow_wrong_estimates_until_too_many_workflows_wait():
    arrays = at_utilization(workload_one(MIXTURE, 400, 4), 0.97, 100)
    wrong = EstimateError("random-1", 2.0).estimates(arrays, np.random.default_rng(4))
    most = len(arrays.arrived) // 4
    assert not place_workload(arrays, ALIKE, "wheft", wrong, most_works=most).is_whole
    assert place_workload(arrays, ALIKE, "fdws", wrong, most_works=most).is_whole


def test_stretch_is_below_fwp_with_right_estimates_and_no_worse_than_backfill_with_useless_ones():
    compared = Comparison("mixture", MIXTURE, RunSize().works, SETS)
    right, fwp = compared.of("stretch"), compared.of("fwp")
    assert right.mean() < 0.9 * fwp.mean()
    assert right.std() < 0.95 * fwp.std()
    most = 1.05 * compared.of("backfill").mean()
    best, learned = compared.of("fdws").mean(), compared.of("stretch", "learned").mean()
    assert most / 1.05 - learned > 0.6 * (most / 1.05 - best)
    for useless in ("constant", "inverted", "shuffled", "random-2:1"):
        assert compared.of("stretch", useless).mean() < most
        assert compared.of("stretch", f"midway {useless}").mean() < most
    for speeds, utilization in ((TWO_SPEEDS, 0.98), (ALIKE, 0.9)):
        most = 1.05 * compared.of("backfill", "none", speeds, utilization).mean()
        for useless in ("inverted", "shuffled"):
            assert compared.of("stretch", useless, speeds, utilization).mean() < most


def test_learned_run_times_bring_most_of_what_right_ones_do_for_other_kinds_of_workflows():
    compared = Comparison("others", ("cybershake", "epigenomics"), RunSize().works, SETS)
    worst, best = compared.of("backfill").mean(), compared.of("fdws").mean()
    assert worst - compared.of("stretch", "learned").mean() > 0.6 * (worst - best)


def test_fwp_has_the_lowest_deviation_with_useless_estimates_in_the_quick_form():
    found = reproduce("workflows-fig-3.4", quick=True)
    judged = [row for row in found.rows if row.what.startswith("random-2") and row.band]
    assert [row.verdict for row in judged] == [Verdict.YES] * 2
    assert found.plots


def test_fwp_has_the_lowest_deviation_without_errors_and_gbf_and_cpp_the_highest_mean():
    size = RunSize(seeds=RunSize().seeds[:1])  # a set of 900 is too small for deviations
    runs = {
        name: runs_of("I", placer, ALIKE, 0.98, EstimateError(), size)
        for name, placer in NAMES.items()
    }
    assert min(runs, key=lambda name: runs[name].deviation) == "FWP"
    by_mean = sorted(runs, key=lambda name: runs[name].mean)
    assert set(by_mean[-2:]) == {"GBF", "CPP"}


def test_what_has_no_quick_form_says_so():
    with pytest.raises(InputError, match="bats-kohonen has no quick form"):
        reproduce("bats-kohonen", quick=True)
    assert "workflows-fig-3.3" in ENTRIES


def test_of_the_published_maxima_only_the_mixture_of_fes_1_is_above_what_its_kinds_allow():
    above = [row.what for row in _mixtures_as_published() if row.paper > row.ours]
    assert above == ["FES, depth 1, mixture: at most, by what was published of its kinds"]
