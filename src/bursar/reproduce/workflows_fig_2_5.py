"""`workflows-fig-2.5` and `workflows-fig-2.6`: slowdowns by utilization, and by size.

Slowdown is the response by the makespan of the work alone on the same machines. A curve ends where
the placer no longer keeps up.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.report.plot import Plot, Series
from bursar.reproduce.result import Reproduction, Row, between, checked, shown_only
from bursar.reproduce.workflows_setting import ALIKE, MIXTURE, RunSize, data_text, workload_one
from bursar.reproduce.workflows_table_2_1 import CUT, PLACERS, placer_of
from bursar.simulate.placing import place_workload
from bursar.simulate.workload_metrics import alone_makespans, steady_finished, work_times
from bursar.simulate.workloads.arrivals import at_utilization

Floats = NDArray[np.float64]
STEPS: Final = (0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95)
QUICK_STEPS: Final = (0.05, 0.35, 0.95)
ASSUMED: Final = (
    "the mixture, one set; first 1,000 works, and those that the last arrival still found there, do"
    " not count; every second step of 0.05; tokens: stay",
    "a curve ends where more than a tenth of all works is unfinished at once",
)


def reproduce(name: str, *, quick: bool = False) -> Reproduction:
    size = RunSize.of(quick=quick)
    of_sizes = name == "workflows-fig-2.6"
    rows, plots = _by_size(size) if of_sizes else _by_utilization(size, quick=quick)
    what = "by size at published maximal utilizations" if of_sizes else "by utilization, mixture"
    return Reproduction(
        name=name,
        title=f"Slowdowns {what}",
        source=f"workflow thesis, figure {name.removeprefix('workflows-fig-')}",
        rows=tuple(rows),
        assumed=(*ASSUMED, data_text(), *(["quick: 900 workflows"] if quick else [])),
        plots=tuple(plots),
    )


def _slowdowns(label: str, utilization: float, size: RunSize) -> tuple[Floats, Floats] | None:
    """Sizes and slowdowns of the works that count; None: the placer does not keep up."""
    arrays = workload_one(MIXTURE, size.works, size.seeds[0])
    scaled = at_utilization(arrays, utilization, len(ALIKE))
    placer, most = placer_of(label, "stay"), round(CUT * size.works)
    schedule = place_workload(scaled, ALIKE, placer, seed=size.seeds[0], most_works=most)
    if not schedule.is_whole:
        return None
    times = work_times(scaled, schedule)
    counted = steady_finished(scaled, times)
    alone = alone_makespans(arrays, ALIKE)
    return np.diff(arrays.first)[counted].astype(np.float64), (times.response / alone)[counted]


def _by_utilization(size: RunSize, *, quick: bool) -> tuple[list[Row], list[Plot]]:
    rows: list[Row] = []
    curves: dict[str, dict[float, float]] = {}
    for label in PLACERS:
        for step in QUICK_STEPS if quick else STEPS:
            found = _slowdowns(label, step, size)
            if found is None:
                break
            curves.setdefault(label, {})[step] = float(found[1].mean())
            rows.append(shown_only(f"{label} at {step}: mean", None, curves[label][step]))
    rows.append(
        checked(
            "BF: the highest step of its curve",
            max(curves["BF"]),
            between(0.95, 0.95, "stable at 0.95, as the text says"),
        )
    )
    for label, curve in curves.items():
        if label == "BF":
            continue
        shared = [step for step in curve if step in curves["BF"]]
        reason = "BF is the best: no slowdown at a step is below its by more than 5 %"
        least = min(curve[step] / curves["BF"][step] for step in shared)
        rows.append(
            checked(f"{label} by BF: the least ratio of means", least, between(0.95, 1e6, reason))
        )
    series = tuple(
        Series(label, tuple((step, min(value, 30.0)) for step, value in curve.items()), "line")
        for label, curve in curves.items()
    )
    plot = Plot(
        title="Mean slowdown by utilization, mixture",
        across="imposed utilization",
        upward="mean slowdown (cut at 30)",
        series=series,
    )
    return rows, [plot]


def _by_size(size: RunSize) -> tuple[list[Row], list[Plot]]:
    rows: list[Row] = []
    plots: list[Plot] = []
    medians: dict[str, float] = {}
    for label, utilization in (("SR", 0.35), ("BF", 0.95)):
        found = _slowdowns(label, utilization, size)
        if found is None:
            rows.append(shown_only(f"{label} at {utilization}", None, "does not keep up"))
            continue
        sizes, slowdowns = found
        medians[label] = float(np.median(slowdowns))
        rows += [
            shown_only(f"{label} at {utilization}: median", None, medians[label]),
            shown_only(
                f"{label} at {utilization}: share above 20, %",
                None,
                100 * float(np.mean(slowdowns > 20)),
            ),
        ]
        points = zip(sizes.tolist(), np.minimum(slowdowns, 30).tolist(), strict=True)
        plots.append(
            Plot(
                title=f"{label} at {utilization}: slowdowns by size",
                across="tasks of a workflow",
                upward="slowdown (cut at 30)",
                series=(Series("", tuple(points)),),
            )
        )
    if len(medians) > 1:
        rows.append(
            checked(
                "median of SR at 0.35 by that of BF at 0.95",
                medians["SR"] / medians["BF"],
                between(0.3, 3.0, "almost identical at such different utilizations"),
                why="ours keeps up to a higher utilization than the published SR: see table 2.1",
            )
        )
    return rows, plots
