"""Figures 5.17 and 5.18 of the workload thesis, in their quick form."""

from __future__ import annotations

from bursar.reproduce import optimum_figures
from bursar.reproduce.result import Verdict, reproduce
from bursar.reproduce.workflows_setting import DATA


def test_both_figures_come_from_one_search_that_is_near_its_bound(monkeypatch):
    searched = []

    def counted(workload, setting):
        searched.append(setting)
        return study(workload, setting)

    study = optimum_figures.study_optimum
    monkeypatch.setattr(optimum_figures, "study_optimum", counted)
    pages = [reproduce(f"optimum-fig-5.{number}", quick=True) for number in (17, 18)]
    assert len(searched) == 1
    for page in pages:
        assert page.counts.of_own[Verdict.NO] == 0
        assert page.counts.of_own[Verdict.YES] > 0


def test_groups_have_as_many_tasks_as_published():
    most = 0 if DATA.exists() else 1  # of our generator's workflows, no five have such a number
    for group, tasks in ((1, 183), (2, 241), (3, 199)):
        workload, times = optimum_figures.group_of(group)
        count = len(workload.arrays)
        assert abs(count - tasks) <= most
        assert len(workload.arrivals) == 5
        assert {name: len(row) for name, row in times.items()} == {"small": count, "large": count}
