"""`autoscaling-fig-5.5` to `5.7`, and `autoscaling-table-5.2`: slowdowns within budgets."""

from __future__ import annotations

from typing import Final

import numpy as np

from bursar.model.time import SECOND
from bursar.report.plot import Plot, Series
from bursar.reproduce.budgets_setting import (
    ASSUMED,
    BUDGETS,
    ENTRIES,
    THREE,
    USERS,
    BudgetRun,
    BudgetSets,
    mean_slowdown,
    runs_of,
    set_of,
)
from bursar.reproduce.result import Reproduction, Row, between, checked, shown_only
from bursar.reproduce.workflows_setting import data_text

EQUAL: Final = ("60", "80", "100", "120")
AT_LEAST: Final = 0.10
"""by which PFA must be below both others"""
TABLE: Final = {
    "I": (467, 276, 692, 6.3, 1.5, 13.7, 6.3, 6.3, 280),
    "II": (508, 303, 761, 6.9, 1.5, 15.4, 8.2, 5.5, 305),
}
"""jobs: mean, median, deviation; tasks the same, mean on small, on large; total of 600 in ks"""


def reproduce(name: str, *, quick: bool = False) -> Reproduction:
    size = BudgetSets.of(quick=quick)
    if name == "autoscaling-table-5.2":
        return _table(name, size)
    figure = name.removeprefix("autoscaling-fig-")
    workload = "II" if figure == "5.7" else "I"
    settings = {"5.5": EQUAL, "5.6": ("120 & 80",), "5.7": ("100",)}[figure]
    rows: list[Row] = []
    points: dict[str, list[tuple[float, float]]] = {}
    for place, budgets in enumerate(settings):
        entries = tuple(ENTRIES) if budgets == "100" and workload == "I" else THREE
        if workload == "II":
            entries = (*THREE, "PFA, EWMA 0.7")
        runs = {label: runs_of(label, budgets, size, workload) for label in entries}
        rows += _rows(runs, budgets, workload)
        for label in THREE:
            points.setdefault(label, []).append((place, mean_slowdown(runs[label])))
    series = tuple(Series(label, tuple(some), "bars") for label, some in points.items())
    plot = Plot(
        title=f"Mean slowdown, workload {workload}",
        across="budget of each user, a minute",
        upward="mean slowdown",
        series=series,
        categories=settings,
    )
    return Reproduction(
        name=name,
        title=f"Slowdowns within budgets, workload {workload}",
        source=f"workload thesis, figure {figure}",
        rows=tuple(rows),
        assumed=(*ASSUMED, *assumed_of(size)),
        plots=(plot,),
    )


def assumed_of(size: BudgetSets) -> tuple[str, ...]:
    return (f"{len(size.seeds)} sets of {size.works} workflows", data_text())


def _rows(runs: dict[str, list[BudgetRun]], budgets: str, workload: str) -> list[Row]:
    what = f"workload {workload}, budgets {budgets}"
    means = {label: mean_slowdown(found) for label, found in runs.items()}
    rows = [
        shown_only(f"{what}, {label}: mean slowdown", None, mean) for label, mean in means.items()
    ]
    for label in [one for one in means if one.startswith("PFA")]:
        for other in ("PLF", "SCF"):
            gain = 1 - means[label] / means[other]
            band = between(AT_LEAST, 1, "at least 10 % below; the thesis has up to 47 %")
            rows.append(checked(f"{what}: {label}, share below {other}", gain, band))
    smoothed = [mean for label, mean in means.items() if label.startswith("PFA")]
    if len(smoothed) > 1:
        band = between(1, 1.1, "smoothing changes little, section 5.5.2: within 10 %")
        spread = max(smoothed) / min(smoothed)
        why = "ours differ between moving averages and EWMA, which asks for more machines"
        rows.append(checked(f"{what}: largest by smallest of PFA", spread, band, why=why))
    if BUDGETS[budgets][0] != BUDGETS[budgets][1]:
        for label in THREE:
            first, second = (mean_slowdown(runs[label], user) for user in USERS)
            band = between(0, 1, "the user with more money is served better, section 5.5.2")
            rows.append(
                checked(
                    f"{what}, {label}: slowdown of user 1 by that of user 2", first / second, band
                )
            )
    return rows


# --- the workloads -------------------------------------------------------------------------------


def _table(name: str, size: BudgetSets) -> Reproduction:
    rows: list[Row] = []
    columns = (
        "job mean, s", "job median, s", "job deviation, s", "task mean, s", "task median, s",
        "task deviation, s", "task mean on small, s", "task mean on large, s", "total, ks",
    )  # fmt: skip
    for workload, papers in TABLE.items():
        ours = _facts(workload, size)
        rows += [
            shown_only(f"workload {workload}: {column}", paper, figure)
            for column, paper, figure in zip(columns, papers, ours, strict=True)
        ]
        ratio, paper = ours[6] / ours[7], papers[6] / papers[7]
        band = between(paper - 0.05, paper + 0.05, "means are printed to 0.1 s")
        rows.append(checked(f"workload {workload}: mean on small by that on large", ratio, band))
    return Reproduction(
        name=name,
        title="Workloads of chapter 5",
        source="workload thesis, table 5.2",
        rows=tuple(rows),
        assumed=(
            *ASSUMED[:2],
            "sizes of files, printed as MB and TB, must be KB and GB: transfers take no time",
            *assumed_of(size),
        ),
    )


def _facts(workload: str, size: BudgetSets) -> tuple[float, ...]:
    sets = [set_of(workload, size.works, seed) for seed in size.seeds]
    tasks = np.concatenate([one.workload.arrays.runtimes for one in sets]) / SECOND
    jobs = np.concatenate(
        [
            np.add.reduceat(one.workload.arrays.runtimes, one.workload.arrays.first[:-1])
            for one in sets
        ]
    )
    jobs = jobs / SECOND
    small, large = (
        float(np.mean(np.concatenate([one.times[name] for one in sets]))) / SECOND
        for name in ("small", "large")
    )
    return (
        float(jobs.mean()), float(np.median(jobs)), float(jobs.std()),
        float(tasks.mean()), float(np.median(tasks)), float(tasks.std()),
        small, large, float(jobs.mean()) * 600 / 1000,
    )  # fmt: skip
