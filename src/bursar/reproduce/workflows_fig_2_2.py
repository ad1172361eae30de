"""`workflows-fig-2.2`: the level of parallelism, exactly and by tokens (section 2.3.1).

Exact is the width of the partial order: by Dilworth's theorem the tasks less a largest matching of
their transitive closure. By tokens it is the largest generation of eligible tasks; another reading
of tokens is shown beside.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from bursar.formats.workflow import read_workflows
from bursar.report.plot import Plot, Series
from bursar.reproduce.result import Reproduction, Row, between, checked, judged, shown_only
from bursar.reproduce.workflows_parallelism import exact_parallelism, token_parallelism
from bursar.reproduce.workflows_setting import DATA, MIXTURE
from bursar.simulate.workloads.kinds import draw

SIZES: Final = (50, 100, 200, 300, 400, 600, 800)
QUICK_SIZES: Final = (50, 100, 200)
DRAWS: Final = 10
SEED: Final = 22_001
ASSUMED: Final = (
    "workflows of each size are drawn by our generator, ten of each; the thesis took 50",
    "tokens by generations, as section 1.4 defines them, are the default; with `stay` a task keeps"
    " its token until all its children have theirs, which is 25 to 45 % over for Montage and does"
    " not fit the figure",
)


def reproduce(name: str, *, quick: bool = False, folder: Path = DATA) -> Reproduction:
    rows: list[Row] = []
    series = []
    for kind in MIXTURE:
        exact, tokens = {}, {}
        for size in QUICK_SIZES if quick else SIZES:
            rng = np.random.default_rng(SEED + size)
            dags = [draw(kind, size, rng).dag() for _ in range(DRAWS)]
            exact[size] = float(np.mean([exact_parallelism(dag) for dag in dags]))
            tokens[size] = float(np.mean([token_parallelism(dag) for dag in dags]))
            stay = float(np.mean([token_parallelism(dag, "stay") for dag in dags]))
            rows += _rows(kind, size, exact[size], tokens[size], stay)
        points = (
            (f"{kind}, exact", exact, "line"),
            (f"{kind}, tokens", tokens, "points"),
        )
        series += [
            Series(label, tuple((float(size), value) for size, value in found.items()), style)  # type: ignore[arg-type]
            for label, found, style in points
        ]
    rows += _published_values(quick=quick, folder=folder)
    return Reproduction(
        name=name,
        title="Level of parallelism, exact and by tokens",
        source="workflow thesis, figure 2.2 and section 2.3.1",
        rows=tuple(rows),
        assumed=ASSUMED,
        plots=(
            Plot(
                title="Level of parallelism by size",
                across="tasks",
                upward="level of parallelism",
                series=tuple(series),
            ),
        ),
    )


def _rows(kind: str, size: int, exact: float, tokens: float, stay: float) -> list[Row]:
    what = f"{kind}, {size} tasks"
    ratio = tokens / exact
    rows = [shown_only(f"{what}: exact", None, exact), shown_only(f"{what}: stay", None, stay)]
    if size < 400:
        band = between(0.99, 1.0, "the approximation is extremely good; 1 % below 400 tasks")
        return [*rows, checked(f"{what}: tokens by exact", ratio, band)]
    return [*rows, shown_only(f"{what}: tokens by exact", None, ratio)]


def _published_values(*, quick: bool, folder: Path) -> list[Row]:
    """What the text says of the figure, and the workflows of the published generator."""
    rows: list[Row] = []
    if not quick:
        rng = np.random.default_rng(SEED)
        flow = [exact_parallelism(draw("ligo", 800, rng).dag()) for _ in range(DRAWS)]
        below = between(100, 200, "below 200 at 800 tasks, as the text says")
        rows.append(judged("ligo, 800 tasks: exact", 200, float(np.mean(flow)), below))
        for kind in ("montage", "sipht"):
            wide = [exact_parallelism(draw(kind, 400, rng).dag()) for _ in range(DRAWS)]
            band = between(200, 400, "200 is reached below 400 tasks, as the text says")
            rows.append(judged(f"{kind}, 400 tasks: exact", 200, float(np.mean(wide)), band))
    if not folder.exists():
        return rows
    for kind in MIXTURE:
        dags = list(read_workflows(folder / f"{kind}.jsonl.gz"))[: 30 if quick else 300]
        ratio = float(np.mean([token_parallelism(dag) / exact_parallelism(dag) for dag in dags]))
        band = between(0.99, 1.0, "tokens give the exact width, 1 % under for large LIGO")
        rows.append(checked(f"{kind}, published workflows: tokens by exact", ratio, band))
    return rows
