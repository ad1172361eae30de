"""`prob-table-3`: how far Average is from Prob, level by level of Q9 (Prob, Table 3).

Every level of a query waits for all of the one before. So what Average leaves out at a level, the
longest of many being longer than each is expected to be, is added to what it left out before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.model.errors import InvariantError
from bursar.reproduce import prob_setting
from bursar.reproduce.prob_execution import WorkflowExecutions
from bursar.reproduce.prob_methods import PROB, Methods
from bursar.reproduce.prob_setting import TIGHT, ProbCase, of_average
from bursar.reproduce.result import Reproduction, Row, between, checked, judged, rounded

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PAPER: Final = (4.8, 7.4, 9.4, 10.5, 13.7, 15.9, 18.3, 21.5, *(27.6,) * 6)
"""per cent, levels 0 to 13"""
DRAWN: Final = 1000
ERRORS: Final = 2.0
WHY: Final = (
    "tasks of a level have bandwidths of their own here, the longest of 194 is far longer than one;"
    " neither the sizes of Q9 nor the histograms are printed"
)
ASSUMED: Final = (
    *prob_setting.ASSUMED,
    "the assignment is that of Prob's published search under the tight budget, for both; the"
    f" difference is by what Prob expects, the mean of {DRAWN:,} executions",
    "tasks of a level have bandwidths of their own here, and the longest of 194 is far longer than"
    " one; the note has the difference where a level takes as long as one task is expected to, as"
    " if its tasks shared one bandwidth, which is what clustering (section 4.2) takes for granted",
    "the paper's differences grow from level to level; ours are greatest at first, where the most"
    " tasks are side by side, and what grows is the time that Average leaves out",
)


def reproduce(name: str, given: ProbCase | None = None, drawn: int = DRAWN) -> Reproduction:
    case = prob_setting.q9() if given is None else given
    return Reproduction(
        name=name,
        title="Average beside Prob: expected time from the entry to each level of Q9",
        source="Prob, Table 3",
        rows=tuple(rows(case, drawn)),
        assumed=ASSUMED,
    )


def rows(case: ProbCase, drawn: int = DRAWN) -> Iterator[Row]:
    budget = case.budget(TIGHT)
    chosen = Methods(case).published(budget)[PROB]
    if chosen is None:
        raise InvariantError(f"{case.name}: Prob found nothing within ${budget:.2f}")
    every, levels = np.arange(len(case.dag)), case.problem(budget).levels()
    seen = case.seen_by(of_average)
    static = seen.table.mean(axis=1)[seen.rows][every, chosen.offers]
    ends = _until(WorkflowExecutions(case, drawn).ends(chosen.offers), levels)
    prob, errors = ends.mean(axis=1), ends.std(axis=1, ddof=1) / drawn**0.5
    average = _until(_ends(case, static), levels)
    shared = _until(_ends(case, case.expected[every, chosen.offers]), levels)
    growth = np.diff(prob - average)
    what = "levels at which Average leaves out more time than before"
    grown, all_of_them = int(np.sum(growth > 0)), len(growth)
    all_grow = between(all_of_them, all_of_them, "at each level it leaves out a maximum")
    yield checked(what, grown, all_grow, note="in seconds; all but the first")
    shares = 100 * (1 - average / prob)
    last = min(len(set(PAPER)), len(shares))
    yield judged(
        "levels at which the difference in per cent grows",
        last - 1,
        int(np.sum(np.diff(shares[:last]) > 0)),
        rounded(last - 1, 1, f"it grows at all of the {last - 1} that are printed"),
        why=f"it is greatest where the most tasks are side by side; {WHY}",
    )
    for level, (one, other, alike) in enumerate(zip(prob, average, shared, strict=True)):
        ours = 100 * float(1 - other / one)
        note = (
            f"{one:,.0f} s, Average {other:,.0f} s; {100 * (1 - other / alike):.1f} % with one"
            " bandwidth for a level"
        )
        what, paper = f"level {level}: Average too short by, %", PAPER[level]
        reach = 0.05 + ERRORS * 100 * float(other / one * errors[level] / one)
        reason = f"printed to 0.1, and {ERRORS:g} standard errors of {drawn:,} executions"
        band = between(paper - reach, paper + reach, reason)
        yield judged(what, paper, ours, band, note=note, why=WHY)


def _ends(case: ProbCase, times: Floats) -> Floats:
    """[task]: when each task ends, with these times."""
    dag, ends = case.dag, times.copy()
    for task in dag.order.tolist():
        parents = dag.parents.items[dag.parents.starts[task] : dag.parents.starts[task + 1]]
        if len(parents):
            ends[task] += ends[parents].max()
    return ends


def _until(ends: Floats, levels: Integers) -> Floats:
    """[level, ...]: when all tasks up to it have ended."""
    last = [ends[levels <= level].max(axis=0) for level in range(int(levels.max()) + 1)]
    return np.array(last)
