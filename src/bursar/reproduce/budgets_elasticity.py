"""`autoscaling-fig-5.8` to `5.15`: costs, elasticity, busy and rented machines within budgets."""

from __future__ import annotations

from typing import Final

import numpy as np

from bursar.report.plot import Plot, Series
from bursar.reproduce.budgets_setting import (
    ASSUMED,
    BUDGETS,
    THREE,
    USERS,
    BudgetRun,
    BudgetSets,
    runs_of,
)
from bursar.reproduce.budgets_slowdown import assumed_of
from bursar.reproduce.result import Reproduction, Row, between, checked, shown_only

EQUAL: Final = ("60", "100", "120")
PFA: Final = THREE[-1]
FIGURES: Final = {
    "5.8": ("cost", EQUAL),
    "5.9": ("cost", ("120 & 80",)),
    "5.10": ("elasticity", EQUAL),
    "5.11": ("elasticity", ("120 & 80",)),
    "5.12": ("busy", EQUAL),
    "5.13": ("busy", ("120 & 80",)),
    "5.14": ("rented", EQUAL),
    "5.15": ("rented", ("120 & 80",)),
}
PRINTED: Final = {
    ("100", "SCF", "over_time"): 75,
    ("100", "SCF", "over"): 18,
    ("100", "SCF", "under_time"): 24,
    ("100", "SCF", "under"): 5,
    ("100", "PLF", "under_time"): 42,
    ("100", "PLF", "under"): 11,
    ("60", "SCF", "over"): 8.5,
}
"""in percent, of user 1: what the text of section 5.5.3 says"""
METRICS: Final = {"under": "a_U", "over": "a_O", "under_time": "t_U", "over_time": "t_O"}

Runs = dict[str, list[BudgetRun]]


def reproduce(name: str, *, quick: bool = False) -> Reproduction:
    size = BudgetSets.of(quick=quick)
    figure = name.removeprefix("autoscaling-fig-")
    kind, settings = FIGURES[figure]
    rows: list[Row] = []
    points: dict[str, list[tuple[float, float]]] = {}
    for place, budgets in enumerate(settings):
        runs = {label: runs_of(label, budgets, size) for label in THREE}
        users = USERS if budgets == "120 & 80" else USERS[:1]
        for user in users:
            rows += _rows(kind, runs, budgets, user)
        for label in THREE:
            points.setdefault(label, []).append((place, _figure(kind, runs[label], USERS[0])))
    plot = Plot(
        title=f"{kind} of user 1" if kind in ("cost", "elasticity") else f"{kind} machines",
        across="budget of each user, a minute",
        upward={"cost": "mean cost of a minute", "elasticity": "a_U + a_O, %"}.get(kind, "%"),
        series=tuple(Series(label, tuple(some), "bars") for label, some in points.items()),
        categories=settings,
    )
    return Reproduction(
        name=name,
        title=f"Within budgets: {kind}",
        source=f"workload thesis, figure {figure}",
        rows=tuple(rows),
        assumed=(*ASSUMED, *assumed_of(size)),
        plots=(plot,),
    )


def _mean(runs: list[BudgetRun], user: str, metric: str) -> float:
    return 100 * float(np.mean([getattr(run.elasticity[user], metric) for run in runs]))


def _cost(runs: list[BudgetRun], user: str) -> float:
    return float(np.concatenate([run.costs[user] for run in runs]).mean())


def _figure(kind: str, runs: list[BudgetRun], user: str) -> float:
    if kind == "cost":
        return _cost(runs, user)
    if kind == "elasticity":
        return _mean(runs, user, "under") + _mean(runs, user, "over")
    share = [run.busy if kind == "busy" else run.allocated for run in runs]
    return 100 * float(np.mean(share))


def _rows(kind: str, runs: Runs, budgets: str, user: str) -> list[Row]:
    if kind == "cost":
        return _cost_rows(runs, budgets, user)
    if kind == "elasticity":
        return _elasticity_rows(runs, budgets, user)
    return _system_rows(kind, runs, budgets) if user == USERS[0] else []


def _is(what: str, holds: bool, reason: str, why: str = "") -> Row:
    return checked(what, int(holds), between(1, 1, reason), why=why)


def _cost_rows(runs: Runs, budgets: str, user: str) -> list[Row]:
    what, most = f"budgets {budgets}, {user}", BUDGETS[budgets][USERS.index(user)]
    costs = {label: _cost(found, user) for label, found in runs.items()}
    rows = [
        shown_only(f"{what}, {label}: mean cost of a minute", None, cost)
        for label, cost in costs.items()
    ]
    for label, found in runs.items():
        highest = max(float(run.costs[user].max()) for run in found)
        band = between(0, most, "no interval exceeds the budget")
        rows.append(checked(f"{what}, {label}: dearest minute", highest, band))
    if budgets != "60":
        dearest = max(costs, key=costs.__getitem__) == "SCF"
        rows.append(_is(f"{what}: SCF spends most", dearest, "section 5.5.2"))
    return rows


def _elasticity_rows(runs: Runs, budgets: str, user: str) -> list[Row]:
    what = f"budgets {budgets}, {user}"
    rows: list[Row] = []
    for label, found in runs.items():
        for metric, symbol in METRICS.items():
            paper = PRINTED.get((budgets, label, metric)) if user == USERS[0] else None
            rows.append(
                shown_only(f"{what}, {label}: {symbol}, %", paper, _mean(found, user, metric))
            )
    over = {label: _mean(found, user, "over") for label, found in runs.items()}
    both = {label: over[label] + _mean(found, user, "under") for label, found in runs.items()}
    rows += [
        _is(
            f"{what}: SCF over-provisions most",
            max(over, key=over.__getitem__) == "SCF",
            "section 5.5.3",
        ),
        _is(f"{what}: PFA least", min(over, key=over.__getitem__) == PFA, "section 5.5.3"),
        _is(
            f"{what}: PFA has the lowest a_U + a_O",
            min(both, key=both.__getitem__) == PFA,
            "section 5.5.3",
        ),
    ]
    return rows


def _system_rows(kind: str, runs: Runs, budgets: str) -> list[Row]:
    what = f"budgets {budgets}"
    shares = {label: _figure(kind, found, USERS[0]) for label, found in runs.items()}
    rows = [
        shown_only(f"{what}, {label}: {kind} machines of both users, %", None, share)
        for label, share in shares.items()
    ]
    if kind == "rented":
        least = min(shares, key=shares.__getitem__) == PFA
        rows.append(_is(f"{what}: PFA rents least", least, "section 5.5.4"))
        used = {
            label: float(np.mean([run.busy / run.allocated for run in found]))
            for label, found in runs.items()
        }
        best = max(used, key=used.__getitem__) == PFA
        rows.append(_is(f"{what}: PFA uses most of what it rents", best, "section 5.5.4"))
    return rows
