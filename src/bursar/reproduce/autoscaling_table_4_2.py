"""`autoscaling-table-4.2`: the workloads that autoscalers are compared on."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.model.time import SECOND
from bursar.reproduce.autoscaling_setting import JOB, WORKS, SetSize, workload_of
from bursar.reproduce.result import Band, Reproduction, Row, between, judged, shown_only
from bursar.reproduce.workflows_setting import data_text

PUBLISHED: Final = {
    "1": {
        "task mean, s": 33.52, "task median, s": 2.15, "task deviation, s": 65.40,
        "job mean, s": 2325, "job median, s": 1357, "job deviation, s": 3859,
        "size mean": 69, "size median": 35, "size deviation": 98, "tasks": 13_876,
    },
    "2": {
        "task mean, s": 33.29, "task median, s": 2.65, "task deviation, s": 87.19,
        "job mean, s": 2309, "job median, s": 1939, "job deviation, s": 1219,
        "size mean": 69, "size median": 35, "size deviation": 98, "tasks": 13_876,
    },
}  # fmt: skip
SPREADS: Final = {"size mean": 98 / WORKS**0.5, "tasks": 98 * WORKS**0.5}
"""the deviation of a mean or a sum of 200 draws, by the published deviation of sizes"""


def reproduce(name: str, *, quick: bool = False) -> Reproduction:
    size = SetSize.of(quick=quick)
    rows: list[Row] = []
    for workload, papers in PUBLISHED.items():
        ours = _facts(workload, size)
        for what, paper in papers.items():
            label, band = f"workload {workload}: {what}", _band(workload, what, paper, size)
            if band is None:
                rows.append(shown_only(label, paper, ours[what]))
            else:
                why = "sizes of the workflows that are here, not of those that were drawn"
                rows.append(judged(label, paper, ours[what], band, why=why))
    return Reproduction(
        name=name,
        title="Workloads of chapter 4",
        source="workload thesis, table 4.2",
        rows=tuple(rows),
        assumed=(
            f"our generator's run times are four times as long; those of workload 1 are scaled to"
            f" a mean of {JOB:,.0f} s for a workflow",
            f"means over {len(size.seeds)} sets of {size.works} workflows",
            data_text(),
        ),
    )


def _band(workload: str, what: str, paper: float, size: SetSize) -> Band | None:
    reason = "two deviations of what 200 draws come to"
    if size.works != WORKS:
        return None
    if what in SPREADS:
        return between(paper - 2 * SPREADS[what], paper + 2 * SPREADS[what], reason)
    if (workload, what) == ("2", "job mean, s"):
        reach = 2 * 1219 / WORKS**0.5
        return between(paper - reach, paper + reach, reason)
    if (workload, what) == ("2", "job deviation, s"):
        return between(0.85 * paper, 1.15 * paper, "15 %: three deviations of that of 200 draws")
    return None


def _facts(workload: str, size: SetSize) -> dict[str, float]:
    found = [_facts_of(workload, size.works, seed) for seed in size.seeds]
    return {what: float(np.mean([one[what] for one in found])) for what in found[0]}


def _facts_of(workload: str, works: int, seed: int) -> dict[str, float]:
    arrays = workload_of(workload, works, seed, overhead=0.0).arrays
    tasks = arrays.runtimes / SECOND
    jobs = np.add.reduceat(tasks, arrays.first[:-1])
    sizes = np.diff(arrays.first).astype(np.float64)
    return {
        **_three("task", tasks, ", s"),
        **_three("job", jobs, ", s"),
        **_three("size", sizes, ""),
        "tasks": float(len(tasks)),
    }


def _three(what: str, values: NDArray[np.float64], unit: str) -> dict[str, float]:
    return {
        f"{what} mean{unit}": float(values.mean()),
        f"{what} median{unit}": float(np.median(values)),
        f"{what} deviation{unit}": float(values.std()),
    }
