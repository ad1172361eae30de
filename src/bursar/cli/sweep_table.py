"""How `bursar simulate` shows a sweep over goals and provisioners: a table, a plot, a page."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bursar.cli.common import write_text
from bursar.model.errors import InputError, shown
from bursar.model.money import Money, format_money
from bursar.model.text import counted
from bursar.model.time import format_duration, seconds
from bursar.report.plot import TIME_UNITS, Plot, Series, svg
from bursar.runs.sweep import Sweep, SweepRow

_LESS: Final = ("time-P50", "time-P90", "cost-P50", "cost-P90")
_MEASURED: Final = ("finished", *_LESS)
_NONE: Final = "none"


def draw(found: Sweep, target: str) -> None:
    """Write the plot of a sweep into a file."""
    try:
        Path(target).write_text(svg(plot_of(found)), encoding="utf-8")
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InputError(f"{shown(target)}: cannot write the plot: {why}") from None


def write_page(found: Sweep, target: str) -> None:
    """Write the table and the plots of a sweep into one file."""
    from bursar.report.comparison import ComparedTable, comparison_html  # late: they bring numpy

    columns, rows = table_of(found)
    times = [row.makespan_s for row in found.rows]
    most = max(row.finished for row in found.rows)  # what gives up early costs little
    costs = [row.cost if row.finished == most else None for row in found.rows]
    table = ComparedTable(
        "Simulated runs",
        tuple(columns),
        tuple(rows),
        note_of(found),
        left=len(columns) - len(_MEASURED),
        less=_LESS,
        more=("finished",),
        figures={
            "finished": tuple(row.finished for row in found.rows),
            "time-P50": tuple(None if time is None else time.p50 for time in times),
            "time-P90": tuple(None if time is None else time.p90 for time in times),
            "cost-P50": tuple(None if cost is None else cost.p50 for cost in costs),
            "cost-P90": tuple(None if cost is None else cost.p90 for cost in costs),
        },
    )
    title = f"{counted(len(rows), 'way')} to run the same work, side by side"
    write_text(target, comparison_html(title, [table], [plot_of(found), plane_of(found)]))


def note_of(found: Sweep) -> str:
    runs = counted(found.rows[0].runs, "run")
    return f"{runs} for each row; times are of those that finish, costs of all of them"


def table_of(found: Sweep) -> tuple[list[str], list[tuple[str, ...]]]:
    """Columns and rows; what no case has is left out."""
    cases = [_case(row, found.currency) for row in found.rows]
    named = [name for name in cases[0] if any(case[name] != _NONE for case in cases)]
    rows = []
    for row, case in zip(found.rows, cases, strict=True):
        time = row.makespan_s
        times = ["-", "-"] if time is None else [_time(time.p50), _time(time.p90)]
        costs = [_money(one, found.currency) for one in (row.cost.p50, row.cost.p90)]
        rows.append((*(case[name] for name in named), f"{row.finished:.0%}", *times, *costs))
    return [*named, *_MEASURED], rows


def plot_of(found: Sweep) -> Plot:
    """The share of runs that finish: across what differs first, a colour for each of the rest."""
    cases = [_case(row, found.currency) for row in found.rows]
    across, *others = _differing(cases)
    places = list(dict.fromkeys(case[across] for case in cases))
    colours: dict[str, list[tuple[float, float]]] = {}
    for row, case in zip(found.rows, cases, strict=True):
        colour = ", ".join(f"{name} {case[name]}" for name in others)
        colours.setdefault(colour, []).append(
            (float(places.index(case[across])), 100 * row.finished)
        )
    return Plot(
        title="Simulated runs that finish within the goal",
        across=across,
        upward="share that finishes, %",
        series=tuple(Series(name, tuple(points), "bars") for name, points in colours.items()),
        categories=tuple(places),
        top=100.0,
    )


def plane_of(found: Sweep) -> Plot:
    """Time and money of each case, where some of its runs finish; a colour for each provisioner."""
    cases = [_case(row, found.currency) for row in found.rows]
    named = [name for name in _differing(cases) if name != "provisioner"]
    longest = max((row.makespan_s.p50 for row in found.rows if row.makespan_s), default=0.0)
    unit, of_time = next((u, name) for least, u, name in TIME_UNITS if longest >= least)
    colours: dict[str, list[tuple[tuple[float, float], str]]] = {}
    for row, case in zip(found.rows, cases, strict=True):
        if row.makespan_s is None:
            continue
        label = ", ".join(f"{name} {case[name]}" for name in named)
        colour = "" if row.provisioner is None else row.provisioner
        point = (row.makespan_s.p50 / unit, row.cost.p50)
        colours.setdefault(colour, []).append((point, label))
    return Plot(
        title="Time and money, of the median run",
        across=f"time, {of_time}",
        upward=f"cost, {found.currency}",
        series=tuple(
            Series(name, tuple(p for p, _ in points), labels=tuple(text for _, text in points))
            for name, points in colours.items()
        ),
    )


def _differing(cases: list[dict[str, str]]) -> list[str]:
    """What is not the same in all cases."""
    return [name for name in cases[0] if len({case[name] for case in cases}) > 1]


def _case(row: SweepRow, currency: str) -> dict[str, str]:
    """What was tried, in words."""
    budget = _NONE if row.budget is None else format_money(Money.parse(row.budget), currency)
    deadline = _NONE if row.deadline_s is None else _time(row.deadline_s)
    return {"budget": budget, "deadline": deadline, "provisioner": row.provisioner or _NONE}


def _time(value: float) -> str:
    return format_duration(seconds(value))


def _money(value: float, currency: str) -> str:
    return format_money(Money.parse(f"{value:.9f}"), currency)
