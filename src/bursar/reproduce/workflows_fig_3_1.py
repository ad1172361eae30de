"""`workflows-fig-3.1` and `workflows-fig-3.2`: what the two workloads of chapter 3 are like."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.model.time import SECOND
from bursar.model.workload_arrays import WorkloadArrays
from bursar.report.plot import Plot, Series
from bursar.reproduce.result import Reproduction, Row, between, checked, shown_only
from bursar.reproduce.workflows_setting import RunSize, data_text, set_of
from bursar.simulate.workload_metrics import critical_paths

Floats = NDArray[np.float64]
BINS: Final = 30
ASSUMED: Final = (
    "the figures are histograms without printed values: what must hold are the statements of the"
    " text (section 3.4.1)",
    "the level of parallelism is approximated as in chapter 3: total run time by critical path",
    "run times of workload II are those of DAGGEN's three costs at a speed of 10^9 a second, scaled"
    " to an hour for a workflow in the mean; the speed cancels out",
)


def reproduce(name: str, *, quick: bool = False) -> Reproduction:
    size = RunSize.of(quick=quick)
    facts = {kind: _Facts(set_of(kind, size.works, size.seeds[0])) for kind in ("I", "II")}
    mine = "I" if name == "workflows-fig-3.1" else "II"
    return Reproduction(
        name=name,
        title=f"Statistical characteristics of workload {mine}",
        source=f"workflow thesis, figure {name.removeprefix('workflows-fig-')}",
        rows=(*_shown(facts[mine]), *_compared(facts["I"], facts["II"])),
        assumed=(*ASSUMED, data_text()),
        plots=tuple(facts[mine].plots(mine)),
    )


class _Facts:
    """Figures of a workload, by task or by workflow."""

    def __init__(self, arrays: WorkloadArrays) -> None:
        begins = arrays.first[:-1]
        self.sizes: Floats = np.diff(arrays.first).astype(np.float64)
        self.tasks: Floats = arrays.runtimes / SECOND
        self.totals: Floats = np.add.reduceat(arrays.runtimes, begins) / SECOND
        edges = np.add.reduceat(arrays.parents.counts(), begins)
        self.branching: Floats = edges / self.sizes
        self.parallelism: Floats = self.totals / critical_paths(arrays)

    def plots(self, workload: str) -> list[Plot]:
        named = (
            ("total run time, s", self.totals),
            ("run time of a task, s", self.tasks),
            ("edges by tasks", self.branching),
            ("parallelism", self.parallelism),
        )
        return [_histogram(f"Workload {workload}: {what}", what, one) for what, one in named]


def _histogram(title: str, across: str, values: Floats) -> Plot:
    counts, edges = np.histogram(values, BINS)
    points = tuple(zip(edges[:-1].tolist(), counts.astype(float).tolist(), strict=True))
    return Plot(title=title, across=across, upward="count", series=(Series("", points, "step"),))


def _shown(facts: _Facts) -> list[Row]:
    rows = [shown_only("workflows", 3000, len(facts.sizes))]
    for what, values in (
        ("tasks of a workflow", facts.sizes),
        ("total run time, s", facts.totals),
        ("run time of a task, s", facts.tasks),
        ("edges by tasks", facts.branching),
        ("parallelism", facts.parallelism),
    ):
        rows += [
            shown_only(f"{what}: {label}", None, float(value))
            for label, value in (
                ("mean", values.mean()),
                ("P50", np.median(values)),
                ("most", values.max()),
            )
        ]
    return rows


def _compared(one: _Facts, two: _Facts) -> list[Row]:
    """Statements about both workloads."""
    return [
        checked(
            f"mean total run time of workload {label}, s",
            float(facts.totals.mean()),
            between(3400, 3800, "an hour in the mean; 3,000 draws"),
        )
        for label, facts in (("I", one), ("II", two))
    ] + [
        checked(
            "longest task of workload I by that of II",
            float(one.tasks.max() / two.tasks.max()),
            between(3, 30, "an order of magnitude longer in workload I"),
        ),
        checked(
            "range of totals in workload II by that in I",
            float(np.ptp(two.totals) / np.ptp(one.totals)),
            between(2, 8, "four times as large in workload II"),
        ),
        checked(
            "deviation of edges by tasks, II by I",
            float(two.branching.std() / one.branching.std()),
            between(1, 20, "a higher diversity of branching factors in workload II"),
        ),
        checked(
            "largest parallelism, II by I",
            float(two.parallelism.max() / one.parallelism.max()),
            between(0.3, 0.75, "twice smaller in workload II"),
        ),
    ]
