"""How a study of a workload is shown: a table, what is stable, a plot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Any, Final, TypeVar

from bursar.cli.common import print_table, say, write_text
from bursar.model.text import counted
from bursar.model.time import format_duration, seconds
from bursar.report.comparison import ComparedTable, comparison_html
from bursar.report.plot import Plot, svg
from bursar.report.workload import slowdown_plot
from bursar.runs.workload_study import PlacedWorkload, WorkloadStudy

REPORTED_AFTER: Final = 10.0
"""seconds after which somebody wants to know how it goes"""
Item = TypeVar("Item")
_COMPARED: Final = (
    *("imposed", "placer", "busy", "P50", "P90", "mean", "deviation", "Jain", "P90/P10"),
    *("wait", "works", "stable"),
)
_UNITS: Final = {
    **dict.fromkeys(("imposed", "busy"), "of 1"),
    **dict.fromkeys(("P50", "P90", "mean", "deviation", "P90/P10"), "slowdown"),
}


def show(study: WorkloadStudy) -> None:
    """A line for each placer and utilization."""
    columns = ("placer", "imposed", "busy", "P50", "P90", "mean", "deviation", "works", "stable")
    print_table(columns, map(_row, study.runs), right=" ".join(columns[1:-1]))
    _tell(study)


def page(study: WorkloadStudy) -> str:
    """The comparison and its plot as a file."""
    rows, less = _by_utilization(study), ("P50", "P90", "mean", "deviation", "P90/P10", "works")
    is_one = len({row[0] for row in rows}) == 1  # at another utilization nothing is comparable
    table = ComparedTable(
        "Placers",
        _COMPARED,
        tuple(rows),
        _conditions(study),
        left=2,
        less=less if is_one else (),
        more=("Jain",) if is_one else (),
        units=_UNITS,
    )
    title = f"{counted(len(study.runs), 'run')} of one workload, side by side"
    return comparison_html(title, [table], [_plot(study)])


def _by_utilization(study: WorkloadStudy) -> list[tuple[str, ...]]:
    order = sorted(study.runs, key=lambda run: round(run.imposed, 6))  # stable: placers as given
    return [_compared(run) for run in order]


def show_comparison(study: WorkloadStudy) -> None:
    """The same by utilization, with fairness, and the most that each placer stands."""
    print_table(_COMPARED, _by_utilization(study), right=" ".join((_COMPARED[0], *_COMPARED[2:-1])))
    placers = list(dict.fromkeys(run.placer for run in study.runs))
    if len(study.runs) > len(placers):
        limits = ((placer, _most(study.maximal(placer))) for placer in placers)
        say("Stable up to: " + ", ".join(f"{placer} {most}" for placer, most in limits) + ".")
    _tell(study)


def _most(utilization: float | None) -> str:
    return "none of these" if utilization is None else f"{utilization:.2f}"


def _tell(study: WorkloadStudy) -> None:
    say(_conditions(study))


def _conditions(study: WorkloadStudy) -> str:
    return (
        f"{counted(study.works, 'work')}, {counted(study.tasks, 'task')},"
        f" {counted(study.machines, 'machine')}. P50 to deviation: slowdown, the response by the"
        " critical path, of the middle third of the works. works: in the system, on average."
    )


def _figure(value: float, run: PlacedWorkload) -> str:
    """No figure holds where the simulation was stopped."""
    return "-" if run.stability.is_cut else f"{value:,.2f}"


def _row(run: PlacedWorkload) -> tuple[str, ...]:
    slowdown = run.slowdown
    figures = (slowdown.p50, slowdown.p90, slowdown.mean, slowdown.deviation)
    return (
        run.placer,
        f"{run.imposed:.3f}",
        _figure(run.utilization, run),
        *(_figure(value, run) for value in figures),
        "-" if run.stability.is_cut else f"{run.in_system:,.1f}",
        _stable(run),
    )


def _compared(run: PlacedWorkload) -> tuple[str, ...]:
    placer, imposed, busy, *figures, works, stable = _row(run)
    fair = (_figure(run.slowdown.jain, run), _figure(run.slowdown.spread, run))
    wait = "-" if run.stability.is_cut else format_duration(seconds(run.wait.mean))
    return (imposed, placer, busy, *figures, *fair, wait, works, stable)


def _stable(run: PlacedWorkload) -> str:
    """Both tests, or which of them says no."""
    if run.stability.is_cut:
        return "no"
    if run.stability.is_stable:
        return "yes"
    tests = (("Wieland", run.stability.by_wieland), ("drift", run.stability.by_drift))
    return f"no ({', '.join(name for name, holds in tests if not holds)})"


def values(study: WorkloadStudy) -> dict[str, Any]:
    """For programs: everything, with what both tests say."""
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(study)
    for run, entry in zip(study.runs, found["runs"], strict=True):
        entry["stability"] |= {
            "stable": run.stability.is_stable,
            "by_wieland": run.stability.by_wieland,
            "by_drift": run.stability.by_drift,
        }
    found["stable_up_to"] = {run.placer: study.maximal(run.placer) for run in study.runs}
    return found


def draw(study: WorkloadStudy, target: str) -> None:
    write_text(target, svg(_plot(study)))


def _plot(study: WorkloadStudy) -> Plot:
    return slowdown_plot(
        [(run.placer, run.imposed, run.slowdown.mean, run.slowdown.deviation)
         for run in study.runs if not run.stability.is_cut]
    )  # fmt: skip


def watched(items: Sequence[Item]) -> Iterator[Item]:
    """The items; while their simulations take long, people see how long they will."""
    began = limits = monotonic()
    for number, item in enumerate(items):
        if monotonic() - limits > REPORTED_AFTER and number:
            limits = monotonic()
            left = format_duration(seconds((limits - began) / number * (len(items) - number)))
            say(f"{number:,} of {counted(len(items), 'run')} simulated, about {left} to go")
        yield item
