"""`autoscaling-fig-5.3` and `5.4`: how long decisions within budgets take, and their steps."""

from __future__ import annotations

from typing import Final

import numpy as np

from bursar.reproduce.budgets_setting import ASSUMED, THREE, BudgetSets, runs_of
from bursar.reproduce.budgets_slowdown import assumed_of
from bursar.reproduce.result import Reproduction, Row, between, checked, shown_only

BUDGET: Final = "100"
PFA: Final = THREE[-1]


def reproduce(name: str, *, quick: bool = False) -> Reproduction:
    size = BudgetSets.of(quick=quick)
    runs = {label: runs_of(label, BUDGET, size) for label in THREE}
    rows: list[Row] = []
    if name.endswith("5.3"):
        times = {
            label: 1000 * np.concatenate([run.decisions for run in found])
            for label, found in runs.items()
        }
        for label, some in times.items():
            rows += [
                shown_only(f"{label}: mean of a decision, ms", None, float(some.mean())),
                shown_only(f"{label}: longest, ms", None, float(some.max())),
            ]
        for other in ("PLF", "SCF"):
            share = 1 - float(times[PFA].mean() / times[other].mean())
            band = between(0.7, 1, "at least 70 % lower; the thesis has up to 76 %")
            why = "our PLF and SCF keep what they know of works between decisions"
            rows.append(checked(f"PFA, share below {other}", share, band, why=why))
    else:
        for label in ("PLF", "SCF"):
            for part in ("predict", "plan"):
                share = float(np.mean([run.parts[part] for run in runs[label]]))
                rows.append(shown_only(f"{label}: share of the step {part}", None, share))
            both = float(np.mean([sum(run.parts.values()) for run in runs[label]]))
            paper = 0.95
            rows.append(shown_only(f"{label}: share of both", paper, both))
    return Reproduction(
        name=name,
        title="Processor time of decisions" if name.endswith("5.3") else "Steps of decisions",
        source=f"workload thesis, figure {name[-3:]}",
        rows=tuple(rows),
        assumed=(
            *ASSUMED,
            f"equal budgets of {BUDGET}; Python on one processor",
            *assumed_of(size),
        ),
    )
