"""`autoscaling-table-4.3`, `4.4` and `4.5`: elasticity, what users feel and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from bursar.reproduce.autoscaling_setting import (
    ASSUMED,
    BY_PAPER,
    BY_PORT,
    CASES,
    NO_AS,
    OTHER_READINGS,
    SetFigures,
    SetSize,
    enough_sets,
    mean_of,
    runs_of,
)
from bursar.reproduce.result import Reproduction, Row, between, checked, judged, shown_only
from bursar.reproduce.workflows_setting import data_text

ELASTICITY: Final = {
    "a_U": "under",
    "a_O": "over",
    "a_U by demand": "under_normalised",
    "a_O by demand": "over_normalised",
    "t_U": "under_time",
    "t_O": "over_time",
    "k (printed as k')": "over_trend",
    "k' (printed as k)": "under_trend",
    "m_U": "idle",
}
PUBLISHED: Final = {
    "React": (2, 6, 5, 50, 15, 84, 32, 20, 7),
    "React, slow boots": (6, 5, 13, 40, 32, 64, 32, 21, 6),
    "Adapt": (4, 4, 8, 27, 23, 51, 34, 21, 5),
    BY_PORT: (4, 4, 8, 27, 23, 51, 34, 21, 5),
    "Hist": (1, 60, 1, 737, 2, 97, 43, 17, 60),
    "Reg": (3, 8, 6, 51, 17, 51, 31, 20, 8),
    "ConPaaS": (2, 33, 5, 273, 11, 76, 40, 20, 34),
    BY_PAPER: (2, 33, 5, 273, 11, 76, 40, 20, 34),
    "React, rate 14": (0, 19, 0, 179, 2, 98, 64, 19, 0),
    "Adapt, rate 14": (0, 16, 1, 150, 4, 96, 63, 19, 0),
    "Hist, rate 14": (0, 25, 1, 463, 5, 95, 60, 20, 1),
    "Reg, rate 14": (0, 12, 1, 78, 5, 94, 62, 20, 0),
    "ConPaaS, rate 14": (0, 44, 1, 1092, 1, 98, 45, 21, 7),
    "Plan": (3, 4, 7, 24, 20, 43, 32, 20, 5),
    "Plan, slow boots": (7, 3, 16, 17, 35, 33, 34, 20, 4),
    "Token": (3, 6, 7, 35, 16, 53, 33, 20, 7),
    NO_AS: (0, 73, 0, 869, 0, 100, 43, 17, 73),
}
"""Table 4.3 in percent, k and k' in the order of `ELASTICITY`."""
SECOND_WORKLOAD: Final = {
    "React": (2, 7, 4, 36, 17, 81, 32, 21, 7),
    "Hist": (1, 46, 1, 338, 5, 94, 41, 19, 46),
    "Plan": (3, 4, 7, 13, 22, 39, 32, 21, 4),
    NO_AS: (0, 66, 0, 563, 0, 100, 41, 19, 66),
}
"""Table 4.5."""
USERS: Final = {
    "React": (1.23, 1.24, 1.20, 1.21, 3.71, 2071, 23.89, 3.30, 36.68),
    "React, slow boots": (1.57, 1.60, 1.52, 1.33, 4.59, 2066, 24.01, 3.56, 33.38),
    "Adapt": (1.28, 1.32, 1.20, 1.15, 3.82, 2071, 22.86, 3.22, 48.14),
    BY_PORT: (1.28, 1.32, 1.20, 1.15, 3.82, 2071, 22.86, 3.22, 48.14),
    "Hist": (1.05, 1.05, 1.04, 1.02, 3.17, 2076, 44.81, 6.21, 9.90),
    "Reg": (1.29, 1.32, 1.20, 1.11, 3.89, 2071, 24.42, 3.36, 38.08),
    "ConPaaS": (1.18, 1.22, 1.07, 1.06, 3.5, 2071, 34.50, 4.72, 41.28),
    BY_PAPER: (1.18, 1.22, 1.07, 1.06, 3.5, 2071, 34.50, 4.72, 41.28),
    "React, rate 14": (17.32, 20.69, 8.76, 4.06, 45.66, 2011, 20.13, 2.91, 5.06),
    "Adapt, rate 14": (20.06, 23.25, 12.26, 6.08, 52.74, 2026, 20.49, 3.14, 7.54),
    "Hist, rate 14": (12.93, 15.30, 7.00, 3.24, 34.88, 2016, 20.87, 3.15, 7.14),
    "Reg, rate 14": (25.57, 30.04, 14.38, 7.22, 69.84, 1997, 20.11, 2.93, 5.76),
    "ConPaaS, rate 14": (2.11, 2.12, 2.26, 1.25, 5.90, 2061, 25.15, 3.70, 41.20),
    "Plan": (1.27, 1.29, 1.23, 1.11, 3.77, 2071, 23.34, 3.51, 44.26),
    "Plan, slow boots": (1.48, 1.54, 1.35, 1.15, 4.3, 2066, 22.13, 3.38, 38.04),
    "Token": (1.25, 1.28, 1.20, 1.20, 3.71, 2071, 23.88, 3.31, 46.34),
    NO_AS: (1, 1, 1, 1, 3.07, 2076, 50.00, 6.68, 7.00),
}
"""Table 4.4: S_e of all, small, medium and large works, SLR, tasks an hour, V, H, C."""
USER_COLUMNS: Final = (
    *("S_e", "S_e of small works", "S_e of medium works", "S_e of large works", "SLR"),
    *("tasks an hour", "V", "H", "C"),
)
WITHIN_3: Final = (
    "React", "React, slow boots", BY_PORT, "Reg", "Hist", "Plan", "Plan, slow boots", "Token",
)  # fmt: skip
"""rows of which a_U, a_O and m_U are demanded"""
BANDED: Final = ("a_U", "a_O", "m_U")
POINTS: Final = 3
BAND: Final = f"within {POINTS} points, as prototypes came on other sets"
FEW_IN_QUICK: Final = ("ConPaaS", BY_PAPER, "ConPaaS, rate 14")
"""left out in the quick form: they fit models at each decision"""

HIST_SETS: Final = (
    "rows of Hist are means over ten other sets, 49,001 to 49,010: what it wants hangs on the"
    " largest works of each hour, so that a_O deviates by 5 points between sets; on 48,001 to"
    " 48,003 it was 52.1 % in workload 1, and 53.3 % in workload 2",
)

HIST_READINGS: Final = (
    "Hist wants a percentile of the hour's loads and what its last five decisions lacked in the"
    " mean, as the predictor of Urgaonkar et al. does, and runs begin at any minute of the hour,"
    " drawn for each set, as the experiments did. This page had no such lack, and began all runs at"
    " a full hour: Hist was charged 0.94 of No AS. Chosen on other sets (90,001 to 90,006), where"
    " each of the two also brought more (1.02 and 1.01 on four of them); confirmed on 96,001 to"
    " 96,010: charged 1.03 of No AS in the mean, no less on 9 of 10 sets, and a_O 58.7 %",
    "other readings of Hist, on 90,001 to 90,004, by what it is charged of No AS (published: 1.41)"
    " and a_O (60 %): the load and 5 % wherever more than 5 of the last 10 decisions were too low,"
    " also if that is less than the percentile, 1.42, 56 % (a_O is then out of its band on the sets"
    " of table 4.3); percentile 95 1.18, 48 %, and 90 1.20, 42 %; the percentile less the mean"
    " error of the last 5, as a public implementation does, 1.66, 47 %, and with its percentile 90"
    " 2.51, 29 %",
)

Runs = dict[str, list[SetFigures]]


def reproduce(name: str, *, quick: bool = False) -> Reproduction:
    size = SetSize.of(quick=quick)
    if name.endswith("4.5"):
        return _second_workload(name, size)
    runs = {
        label: runs_of(label, size)
        for label in (*CASES, NO_AS)
        if not (quick and label in FEW_IN_QUICK)
    }
    of_users = name.endswith("4.4")
    if not of_users:
        runs["Hist"] = runs_of("Hist", enough_sets("Hist", size))
    rows = _user_rows(runs) if of_users else _elasticity_rows(runs, PUBLISHED, WITHIN_3)
    rows += _user_statements(runs) if of_users else _statements(runs)
    title = "What users feel, and what it costs" if of_users else "Elasticity of autoscalers"
    return Reproduction(
        name=name,
        title=f"{title}, workload 1",
        source=f"workload thesis, table {name[-3:]}",
        rows=tuple(rows),
        assumed=(*ASSUMED, *(() if of_users else HIST_SETS), *HIST_READINGS, *_notes(size)),
    )


def _notes(size: SetSize) -> list[str]:
    sets = f"means over {len(size.seeds)} sets of {size.works} workflows"
    return [sets, data_text()]


def _elasticity_rows(
    runs: Runs, published: Mapping[str, tuple[int, ...]], banded: tuple[str, ...]
) -> list[Row]:
    rows: list[Row] = []
    for label, found in runs.items():
        for (column, figure), paper in zip(ELASTICITY.items(), published[label], strict=True):
            what, ours = f"{label}: {column}, %", mean_of(found, figure)
            if label in banded and column in BANDED:
                band = between(paper - POINTS, paper + POINTS, BAND)
                why = (
                    "what the load of an hour hardly ever exceeds hangs on the set's largest works"
                )
                if label == "Hist":
                    note = _by_set(found, figure)
                    rows.append(judged(what, paper, ours, band, note=note, why=why))
                else:
                    rows.append(judged(what, paper, ours, band))
            else:
                rows.append(shown_only(what, paper, ours))
    return rows


def _by_set(runs: list[SetFigures], figure: str) -> str:
    """How far a metric is between sets: what was published is one of them."""
    found = sorted(mean_of([one], figure) for one in runs)
    return f"of {len(found)} sets {found[0]:.1f} to {found[-1]:.1f}"


def _is(what: str, holds: bool, reason: str, why: str = "") -> Row:
    return checked(what, int(holds), between(1, 1, reason), why=why)


def _statements(runs: Runs) -> list[Row]:
    over = {label: mean_of(found, "over") for label, found in runs.items() if label != NO_AS}
    at_rate_1 = [label for label in over if "rate" not in label and "slow" not in label]
    at_rate_1 = [label for label in at_rate_1 if label not in OTHER_READINGS]
    most = sorted(at_rate_1, key=lambda label: -over[label])
    wanted = [label for label in ("Hist", "ConPaaS") if label in runs]
    off = {
        label: mean_of(runs[label], "under") + mean_of(runs[label], "over")
        for label in ("React", "Reg", "Token", "Plan")
    }
    rows = [
        _is(
            f"{', then '.join(wanted)} over-provision most",
            most[: len(wanted)] == wanted,
            "section 4.6",
            f"ours order {', '.join(most[:3])}",
        ),
        _is(
            "Plan has the lowest a_U + a_O of React, Reg, Token and Plan",
            min(off, key=lambda label: off[label]) == "Plan",
            "section 4.6",
        ),
    ]
    for label in ("React", "Plan"):
        for column in ("a_U", "t_U"):
            usual = mean_of(runs[label], ELASTICITY[column])
            slow = mean_of(runs[f"{label}, slow boots"], ELASTICITY[column])
            rows.append(_is(f"slow boots raise {column} of {label}", slow > usual, "section 4.6"))
    return rows


# --- users and costs -----------------------------------------------------------------------------


def _user_rows(runs: Runs) -> list[Row]:
    rows: list[Row] = []
    for label, found in runs.items():
        for column, paper, ours in zip(USER_COLUMNS, USERS[label], _users(found), strict=True):
            rows.append(shown_only(f"{label}: {column}", paper, ours))
    return rows


def _users(runs: list[SetFigures]) -> list[float]:
    elastic = np.concatenate([run.elastic for run in runs])
    by_class = [
        float(np.concatenate([run.elastic[run.classes[one]] for run in runs]).mean())
        for one in ("small", "medium", "large")
    ]
    figures = [run.figures for run in runs]
    return [
        float(elastic.mean()),
        *by_class,
        float(np.concatenate([run.responses / run.paths for run in runs]).mean()),
        float(np.mean([one.throughput for one in figures])),
        float(np.mean([one.elasticity.supply for one in figures])),
        float(np.mean([one.hours for one in figures])),
        float(np.mean([one.charged_hours for one in figures])),
    ]


def _user_statements(runs: Runs) -> list[Row]:
    elastic = {label: _users(found)[0] for label, found in runs.items()}
    charged = {label: _users(found)[-1] for label, found in runs.items()}
    plain = [
        label for label in runs if label not in (NO_AS, *OTHER_READINGS) and "rate" not in label
    ]
    rows = [
        _is("Hist has the lowest S_e", min(plain, key=elastic.__getitem__) == "Hist", "table 4.4"),
        _is(
            "Hist is charged least of those at rate 1",
            min(plain, key=charged.__getitem__) == "Hist",
            "table 4.4",
        ),
    ]
    for label in ("React", "Plan"):
        slow = f"{label}, slow boots"
        rows.append(
            _is(f"slow boots raise S_e of {label}", elastic[slow] > elastic[label], "table 4.4")
        )
    for label in ("React", "Adapt", "Hist", "Reg"):
        times = elastic[f"{label}, rate 14"] / elastic[label]
        band = between(3, 100, "several-fold, table 4.4")
        rows.append(checked(f"{label}: S_e at rate 14 by that at rate 1", times, band))
    for label in plain:
        more = charged[label] / charged[NO_AS]
        band = between(1, 20, "all are charged more than without an autoscaler, table 4.4")
        why = "stays of many hours are charged less than many short ones"
        rows.append(checked(f"{label}: C by that of No AS", more, band, why=why))
    return rows


# --- the second workload -------------------------------------------------------------------------


def _second_workload(name: str, size: SetSize) -> Reproduction:
    runs = {label: runs_of(label, enough_sets(label, size), "2") for label in SECOND_WORKLOAD}
    rows = _elasticity_rows(runs, SECOND_WORKLOAD, ("React", "Hist", "Plan"))
    users = {
        "React": (1.11, 1.08, 1.19, 1.21, 1905, 22.83),
        "Hist": (1.05, 1.03, 1.10, 1.16, 1905, 40.82),
        "Plan": (1.12, 1.10, 1.18, 1.13, 1905, 21.32),
    }
    for label, papers in users.items():
        s, small, medium, large, _, rate, supply, *_ = _users(runs[label])
        columns = (*USER_COLUMNS[:4], "tasks an hour", "V")
        ours = (s, small, medium, large, rate, supply)
        rows += [
            shown_only(f"{label}: {column}", paper, figure)
            for column, paper, figure in zip(columns, papers, ours, strict=True)
        ]
    over = {label: mean_of(runs[label], "over") for label in users}
    off = {label: over[label] + mean_of(runs[label], "under") for label in users}
    elastic = {label: _users(runs[label])[0] for label in users}
    rows += [
        _is("Hist over-provisions most", max(over, key=over.__getitem__) == "Hist", "table 4.5"),
        _is("Plan has the lowest a_U + a_O", min(off, key=off.__getitem__) == "Plan", "table 4.5"),
        _is(
            "Hist has the lowest S_e", min(elastic, key=elastic.__getitem__) == "Hist", "table 4.5"
        ),
    ]
    return Reproduction(
        name=name,
        title="Elasticity, users and costs, workload 2",
        source="workload thesis, table 4.5",
        rows=tuple(rows),
        assumed=(
            *ASSUMED,
            "bands are those of table 4.3",
            *HIST_SETS,
            *HIST_READINGS,
            *_notes(size),
        ),
    )
