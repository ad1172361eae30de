"""How `bursar simulate` shows a sweep over budgets and deadlines: a table, and a plot."""

from __future__ import annotations

from pathlib import Path

from bursar.model.errors import InputError, shown
from bursar.model.money import Money, format_money
from bursar.model.time import format_duration, seconds
from bursar.report.plot import Plot, Series, svg
from bursar.runs.sweep import Sweep, SweepRow


def draw(found: Sweep, target: str) -> None:
    """Write the plot of a sweep into a file."""
    try:
        Path(target).write_text(svg(plot_of(found)), encoding="utf-8")
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InputError(f"{shown(target)}: cannot write the plot: {why}") from None


def table_of(found: Sweep) -> tuple[list[str], list[tuple[str, ...]]]:
    """Columns and rows; goals that none has are left out."""
    has_budget = any(row.budget is not None for row in found.rows)
    has_deadline = any(row.deadline_s is not None for row in found.rows)
    columns = ["budget"] * has_budget + ["deadline"] * has_deadline
    columns += ["finished", "time-P50", "time-P90", "cost-P50", "cost-P90"]
    rows = []
    for row in found.rows:
        goal = [_budget(row, found.currency)] * has_budget + [_deadline(row)] * has_deadline
        time = row.makespan_s
        times = ["-", "-"] if time is None else [_time(time.p50), _time(time.p90)]
        costs = [_money(one, found.currency) for one in (row.cost.p50, row.cost.p90)]
        rows.append((*goal, f"{row.finished:.0%}", *times, *costs))
    return columns, rows


def plot_of(found: Sweep) -> Plot:
    """The share of runs that finish: across budgets, a colour for each deadline."""
    budgets = list(dict.fromkeys(_budget(row, found.currency) for row in found.rows))
    deadlines = list(dict.fromkeys(_deadline(row) for row in found.rows))
    by_deadline = len(budgets) == 1
    across, colours = (deadlines, budgets) if by_deadline else (budgets, deadlines)

    def series(colour: str) -> Series:
        points = []
        for row in found.rows:
            names = _budget(row, found.currency), _deadline(row)
            here, mine = names[::-1] if by_deadline else names
            if mine == colour:
                points.append((float(across.index(here)), row.finished))
        return Series(f"{'budget' if by_deadline else 'deadline'} {colour}", tuple(points), "bars")

    return Plot(
        title="Simulated runs that finish within the goal",
        across="deadline" if by_deadline else "budget",
        upward="share that finishes",
        series=tuple(series(colour) for colour in colours),
        categories=tuple(across),
        top=1.0,
    )


def _budget(row: SweepRow, currency: str) -> str:
    return "none" if row.budget is None else format_money(Money.parse(row.budget), currency)


def _deadline(row: SweepRow) -> str:
    return "none" if row.deadline_s is None else _time(row.deadline_s)


def _time(value: float) -> str:
    return format_duration(seconds(value))


def _money(value: float, currency: str) -> str:
    return format_money(Money.parse(f"{value:.9f}"), currency)
