"""`autoscaling-table-4.6`, `autoscaling-deadlines` and `autoscaling-boot`: how works fare.

Elastic slowdowns and how near responses come to deadlines: those of a workload (the longest, the
mean or the median response without an autoscaler), and of each workflow (its own, times a factor).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.model.time import SECOND
from bursar.report.elasticity import WorkMoments, moments
from bursar.report.plot import Plot, Series
from bursar.reproduce.autoscaling_setting import (
    ASSUMED,
    NO_AS,
    AutoscalerCase,
    SetFigures,
    SetSize,
    mean_of,
    run_case,
    runs_of,
)
from bursar.reproduce.result import Reproduction, Row, between, checked, shown_only
from bursar.reproduce.workflows_setting import data_text

Floats = NDArray[np.float64]
PUBLISHED: Final = {
    "React": (0.42, 2.93, 9.13, 1.06, 0.77, 0.63, -0.79),
    "React, slow boots": (1.12, 3.65, 14.85, 1.17, 0.77, 0.56, -0.8),
    "Adapt": (0.55, 3.65, 16.14, 1.08, 0.78, 0.63, -0.77),
    "Hist": (0.14, 4.2, 20.6, 1.01, 0.77, 0.62, -0.82),
    "Reg": (0.59, 3.3, 11.04, 1.08, 0.77, 0.61, -0.81),
    "Plan": (0.47, 2.84, 7.82, 1.08, 0.78, 0.63, -0.79),
    "Plan, slow boots": (0.96, 5.05, 36.26, 1.15, 0.78, 0.58, -0.77),
    "Token": (0.44, 3.04, 11.28, 1.08, 0.79, 0.67, -0.69),
    NO_AS: (0, 0, -3, 1, 0.77, 0.64, -0.81),
}
"""deviation, skewness and kurtosis of S_e; mean and the same of D_p by the mean deadline"""
SCENARIOS: Final[Mapping[str, Callable[[Floats], float]]] = {
    "longest": lambda values: float(values.max()),
    "mean": lambda values: float(values.mean()),
    "median": lambda values: float(np.median(values)),
}
"""deadlines for all works, by their responses without an autoscaler"""
FACTORS: Final = (0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3)
SHOWN: Final = ("React", "Adapt", "Hist", "Reg", "Plan", "Token")
BOOTS: Final = (0, 10, 30, 45, 90)
"""seconds"""


def reproduce(name: str, *, quick: bool = False) -> Reproduction:
    size = SetSize.of(quick=quick)
    make = {"autoscaling-deadlines": _deadlines, "autoscaling-boot": _boots}.get(name, _moments)
    return make(name, size)


def _notes(size: SetSize) -> tuple[str, ...]:
    sets = f"all works of {len(size.seeds)} sets of {size.works} workflows together"
    return (*ASSUMED, sets, data_text())


def _elastic(runs: list[SetFigures]) -> Floats:
    return np.concatenate([run.elastic for run in runs])


def by_workload(runs: list[SetFigures], scenario: str) -> Floats:
    """D_p by a deadline for all works of a set."""
    return np.concatenate([run.responses / SCENARIOS[scenario](run.without) for run in runs])


def by_workflow(runs: list[SetFigures], factor: float) -> Floats:
    """D_p where each workflow has its own response without an autoscaler, times a factor."""
    return np.concatenate([run.responses / (factor * run.without) for run in runs])


def _is(what: str, holds: bool, reason: str) -> Row:
    return checked(what, int(holds), between(1, 1, reason))


# --- table 4.6 -----------------------------------------------------------------------------------


def _moments(name: str, size: SetSize) -> Reproduction:
    rows: list[Row] = []
    spreads: dict[str, WorkMoments] = {}
    for label, papers in PUBLISHED.items():
        runs = runs_of(label, size)
        elastic = spreads[label] = moments(_elastic(runs).tolist())
        near = moments(by_workload(runs, "mean").tolist())
        ours = (elastic.deviation, elastic.skewness, elastic.kurtosis,
                near.mean, near.deviation, near.skewness, near.kurtosis)  # fmt: skip
        columns = ("S_e deviation", "S_e skewness", "S_e kurtosis",
                   "D_p mean", "D_p deviation", "D_p skewness", "D_p kurtosis")  # fmt: skip
        rows += [
            shown_only(f"{label}: {column}", paper, figure)
            for column, paper, figure in zip(columns, papers, ours, strict=True)
        ]
        same = float(np.abs(by_workflow(runs, 1.0) - _elastic(runs)).max())
        band = between(0, 1e-12, "deadlines of a factor of 1.0 are responses without an autoscaler")
        rows.append(checked(f"{label}: D_p by its own deadline, less S_e", same, band))
    plain = [label for label in spreads if label != NO_AS]
    least = min(plain, key=lambda label: spreads[label].deviation)
    rows.append(_is("S_e of Hist varies least", least == "Hist", "table 4.6"))
    for label in ("React", "Plan"):
        slow = spreads[f"{label}, slow boots"].deviation > spreads[label].deviation
        rows.append(_is(f"slow boots let S_e of {label} vary more", slow, "table 4.6"))
    skewed = all(spreads[label].skewness > 0 for label in plain)
    rows.append(_is("S_e has a long tail to the right with each", skewed, "section 4.7"))
    return Reproduction(
        name=name,
        title="How elastic slowdowns and deadline proximity vary",
        source="workload thesis, table 4.6",
        rows=tuple(rows),
        assumed=(
            *_notes(size),
            "ConPaaS and rows at rate 14 are left out: of ConPaaS at rate 14 none is printed, and"
            " those of Adapt and Hist are exchanged in the table",
        ),
    )


# --- figures 4.11 to 4.13 ------------------------------------------------------------------------


def _deadlines(name: str, size: SetSize) -> Reproduction:
    runs = {label: runs_of(label, size) for label in (*SHOWN, NO_AS)}
    rows: list[Row] = []
    for label, found in runs.items():
        means = {one: float(by_workload(found, one).mean()) for one in SCENARIOS}
        rows += [
            shown_only(f"{label}: mean D_p, {scenario} deadline", None, mean)
            for scenario, mean in means.items()
        ]
        ordered = means["longest"] < means["mean"] < means["median"]
        rows.append(_is(f"{label}: longest < mean < median", ordered, "figure 4.11a"))
        missed = [float((by_workflow(found, factor) > 1 + 1e-9).mean()) for factor in FACTORS]
        falling = all(before >= after for before, after in pairwise(missed))
        rows.append(_is(f"{label}: later deadlines are missed less often", falling, "figure 4.12"))
    rows += _by_size(runs["React"], "React") + _by_size(runs["Plan"], "Plan")
    spread = [float(by_workload(runs[label], "mean").mean()) for label in SHOWN]
    band = between(1, 1.2, "low variability between autoscalers, section 4.7")
    apart = max(spread) / min(spread)
    rows.append(checked("largest by smallest mean D_p, mean deadline", apart, band))
    series = tuple(
        Series(label, tuple((f, float(by_workflow(found, f).mean())) for f in FACTORS), "line")
        for label, found in runs.items()
    )
    plot = Plot(
        title="Deadline proximity by the factor of each workflow's deadline",
        across="factor",
        upward="mean response by deadline",
        series=series,
    )
    return Reproduction(
        name=name,
        title="How near responses come to deadlines",
        source="workload thesis, figures 4.11 to 4.13",
        rows=tuple(rows),
        assumed=_notes(size),
        plots=(plot,),
    )


def _by_size(runs: list[SetFigures], label: str) -> list[Row]:
    """Who misses deadlines: large works those of the workload, small ones their own."""

    def mean(one: str, *, own: bool) -> float:
        shares = [
            (run.elastic if own else run.responses / run.without.mean())[run.classes[one]]
            for run in runs
        ]
        return float(np.concatenate(shares).mean())

    return [
        _is(
            f"{label}: by a common deadline large works fare worse than small ones",
            mean("large", own=False) > mean("small", own=False),
            "figure 4.11b",
        ),
        _is(
            f"{label}: by their own deadlines small works fare worse than large ones",
            mean("small", own=True) > mean("large", own=True),
            "figure 4.13",
        ),
    ]


# --- boots ---------------------------------------------------------------------------------------


def _boots(name: str, size: SetSize) -> Reproduction:
    rows: list[Row] = []
    lines: list[Series] = []
    for provisioner in ("react", "plan", "token"):
        points: list[tuple[float, float]] = []
        under: list[float] = []
        for boot in BOOTS:
            case = AutoscalerCase(provisioner, boot * SECOND)
            runs = [run_case(case, "1", size.works, seed) for seed in size.seeds]
            points.append((boot, float(_elastic(runs).mean())))
            under.append(mean_of(runs, "under"))
            rows += [
                shown_only(f"{provisioner}, boot of {boot} s: a_U, %", None, under[-1]),
                shown_only(f"{provisioner}, boot of {boot} s: S_e", None, points[-1][1]),
            ]
        slowdowns = [mean for _, mean in points]
        rows += [
            _is(f"{provisioner}: a_U rises with the boot", under == sorted(under), "4.6, 4.9"),
            _is(f"{provisioner}: S_e rises with it", slowdowns == sorted(slowdowns), "4.6, 4.9"),
        ]
        lines.append(Series(provisioner, tuple(points), "line"))
    plot = Plot(
        title="Elastic slowdown by boot time",
        across="boot, s",
        upward="mean elastic slowdown",
        series=tuple(lines),
    )
    return Reproduction(
        name=name,
        title="What boots cost",
        source="workload thesis, 4.6: boots of 45 s, and others",
        rows=tuple(rows),
        assumed=(*_notes(size), "a boot of 45 s is longer than the interval of 30 s; 90 s, too"),
        plots=(plot,),
    )
