"""Figures of the workflow thesis: what they are made of, in their quick form."""

import pytest

from bursar.model.errors import InputError
from bursar.reproduce.result import ENTRIES, Verdict, reproduce
from bursar.reproduce.workflows_setting import MIXTURE, RunSize, workload_one
from bursar.simulate.workloads.arrivals import utilization_of


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


def test_statements_of_chapter_3_hold_in_the_quick_form():
    found = reproduce("workflows-fig-3.4", quick=True)
    assert found.counts.of_own[Verdict.YES] >= 2
    assert found.plots


def test_what_has_no_quick_form_says_so():
    with pytest.raises(InputError, match="bats-kohonen has no quick form"):
        reproduce("bats-kohonen", quick=True)
    assert "workflows-fig-3.3" in ENTRIES
