"""`workflows-fig-3.9`: slowdowns by the size of workflows, and how fair they are."""

from __future__ import annotations

from typing import Final

import numpy as np

from bursar.report.plot import Plot, Series
from bursar.reproduce.result import Reproduction, Row, between, checked, shown_only
from bursar.reproduce.workflows_dynamic import BESIDE, NAMES, UTILIZATION
from bursar.reproduce.workflows_setting import (
    ALIKE,
    PlacerRuns,
    RunSize,
    data_text,
    runs_of,
    set_of,
)
from bursar.simulate.estimate_errors import EstimateError
from bursar.simulate.workload_metrics import OverWorks, steady_middle

FAR: Final = 5.0
"""a slowdown above this is an outlier"""
ASSUMED: Final = (
    "alike machines, 98 %, no error; an outlier is a slowdown above 5; the figure is a scatter plot"
    " without printed values",
)


def reproduce(name: str, *, quick: bool = False) -> Reproduction:
    size = RunSize.of(quick=quick)
    rows: list[Row] = []
    for workload in ("I", "II"):
        runs = {
            label: runs_of(workload, placer, ALIKE, UTILIZATION, EstimateError(), size)
            for label, placer in (NAMES | BESIDE).items()
        }
        rows += _rows(workload, {label: run for label, run in runs.items() if run.is_stable})
    return Reproduction(
        name=name,
        title="Slowdowns by size at 98 %, and their fairness",
        source="workflow thesis, figure 3.9 and section 3.5.5",
        rows=tuple(rows),
        assumed=(*ASSUMED, data_text()),
        plots=tuple(_plot(label, size) for label in ("GBF", "FWP")),
    )


def _rows(workload: str, runs: dict[str, PlacerRuns]) -> list[Row]:
    outliers = {label: float(np.mean(run.slowdowns > FAR)) for label, run in runs.items()}
    skewed = {
        label: abs(float(np.median(run.slowdowns)) / run.mean - 1) for label, run in runs.items()
    }
    rows: list[Row] = []
    for label, run in runs.items():
        over = OverWorks.of(run.slowdowns)
        what = f"workload {workload}, {label}"
        rows += [
            shown_only(f"{what}: share of slowdowns above 5, %", None, 100 * outliers[label]),
            shown_only(f"{what}: Jain's index", None, over.jain),
            shown_only(f"{what}: median by mean", None, over.p50 / over.mean),
        ]
    others = [label for label in NAMES if label != "FWP" and label in runs]
    rows += [
        checked(
            f"workload {workload}: outliers of FWP less the fewest of the others, %",
            100 * (outliers["FWP"] - min(outliers[label] for label in others)),
            between(-100, 0, "FWP reduces the number of outliers"),
        ),
        checked(
            f"workload {workload}: FWP's median from its mean by the nearest of the others",
            skewed["FWP"] / min(skewed[label] for label in others),
            between(0, 1, "FWP moves the median closer to the mean than any other"),
        ),
    ]
    return rows


def _plot(label: str, size: RunSize) -> Plot:
    run = runs_of("I", NAMES[label], ALIKE, UTILIZATION, EstimateError(), size).runs[0]
    arrays = set_of("I", size.works, size.seeds[0])
    sizes = np.diff(arrays.first)[steady_middle(size.works)].tolist()
    points = zip(map(float, sizes), np.minimum(run.slowdowns, 30).tolist(), strict=False)
    return Plot(
        title=f"{label}: slowdowns by size, workload I",
        across="tasks of a workflow",
        upward="slowdown (cut at 30)",
        series=(Series("", tuple(points)),),
    )
