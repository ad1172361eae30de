"""`bursar show`: what a workflow is made of, before it costs anything."""

from __future__ import annotations

import re
from collections import Counter
from itertools import accumulate, groupby, pairwise
from typing import Any, Final

import msgspec
import numpy as np
import rich_click as click

from bursar.cli.common import print_json, print_line, say, write_text
from bursar.cli.options import OUTPUT, json_option, number_option, option, settings
from bursar.formats.workflow import read_workflow
from bursar.model.dag import Dag, Longs
from bursar.model.option_words import COMMAND_LINE
from bursar.model.text import counted
from bursar.model.time import format_duration, seconds
from bursar.plan.workflow.shape import Shape, shape

BAR: Final = 24
"""the length of the bar of the fullest level"""
FEW: Final = 20
"""tasks up to which the picture has their names"""
MOST_LEVELS: Final = 24
MOST_ON_PATH: Final = 12
NAME_WIDTH: Final = 48
ROOM: Final = 48
"""letters for what stands on a level, after its first entry"""


@click.command(context_settings=settings)
@click.argument("flow", metavar="FLOW")
@number_option
@option(OUTPUT, "--svg", metavar="FILE", help="Draw the workflow into this file.")
@json_option
def command(flow: str, number: int | None, svg: str | None, as_json: bool) -> None:
    """Show a workflow: its size, its levels, its critical path, and how parallel it is.

    FLOW is a file: bursar's own YAML or TOML, WfFormat 1.5 or 1.6, DAX, or a Nextflow trace.
    """
    dag = read_workflow(flow, number, COMMAND_LINE)
    found = shape(dag)
    if svg is not None:
        from bursar.model.workflow import Workflow
        from bursar.report.pictures import workflow_svg

        write_text(svg, workflow_svg(Workflow.of(dag)))
    if as_json:
        print_json(_as_data(dag, found))
        return
    for line in [*_summary(dag, found), "", *_path(dag, found), "", *_picture(dag, found)]:
        print_line(line)
    for caution in dag.cautions:
        say(f"Caution: {caution}.")


def _as_data(dag: Dag, found: Shape) -> dict[str, Any]:
    sizes = np.bincount(found.levels)
    return {
        "name": dag.name,
        "owner": dag.owner,
        "tasks": len(dag),
        "edges": dag.edges,
        "files": len(dag.files.names),
        "depth": found.depth,
        "width": found.width,
        "lop": found.lop,
        "work_s": found.work_s,
        "critical_path_s": found.critical_path_s,
        "critical_path": [dag.names[task] for task in found.critical_path],
        "levels": sizes.tolist(),
        "kinds": dict(zip(dag.kind_names, np.bincount(dag.kinds).tolist(), strict=True)),
        **({"cautions": list(dag.cautions)} if dag.cautions else {}),
    }


# --- for people ----------------------------------------------------------------------------------


def _summary(dag: Dag, found: Shape) -> list[str]:
    parts = [counted(len(dag), "task"), counted(dag.edges, "edge")]
    if dag.files.names:
        parts.append(counted(len(dag.files.names), "file"))
    parts.append(f"{counted(found.depth, 'level')}, the fullest of {counted(found.width, 'task')}")
    lines = [f"{dag.name}: {', '.join(parts)}"]
    if found.work_s is not None and found.critical_path_s is not None:
        lines.append(
            f"work {_time(found.work_s)}, critical path {_time(found.critical_path_s)}: "
            f"{found.lop:,.1f} tasks at once on average (lop)"
        )
        middle, late, longest = np.quantile(dag.runtimes, (0.5, 0.9, 1.0))
        lines.append(f"run times: P50 {_time(middle)}, P90 {_time(late)}, longest {_time(longest)}")
    else:
        untold = int(np.isnan(dag.runtimes).sum())
        lines.append(
            f"{counted(untold, 'task')} without a run time: each task counts as one; "
            f"{found.lop:,.1f} tasks at once on average (lop)"
        )
    return lines


def _path(dag: Dag, found: Shape) -> list[str]:
    tasks = list(found.critical_path)
    shares = [(_clipped(dag.names[task]), float(dag.runtimes[task])) for task in tasks]
    if len(tasks) > MOST_ON_PATH:
        half = MOST_ON_PATH // 2
        middle = shares[half:-half]
        time = sum(runtime for _, runtime in middle)
        shares[half:-half] = [(f"... {counted(len(middle), 'task')} more", time)]
    width = max(len(name) for name, _ in shares)
    lines = [f"critical path, {counted(len(tasks), 'task')}"]
    for name, runtime in shares:
        text = "" if found.critical_path_s is None else f"  {_time(runtime):>9}"
        lines.append(f"  {name:<{width}}{text}".rstrip())
    return lines


class _Row(msgspec.Struct, frozen=True):
    """Levels alike that follow each other, or several that are not shown one by one."""

    first: int
    last: int
    tasks: int
    """of each level; of all of them, where there is no bar"""
    text: str
    has_bar: bool = True

    @property
    def label(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def _picture(dag: Dag, found: Shape) -> list[str]:
    """A line for each level, or for several alike that follow each other."""
    rows = _rows(dag, found)
    if len(rows) > MOST_LEVELS + 1:
        half = MOST_LEVELS // 2
        rows[half:-half] = [_together(rows[half:-half])]
    wide = max(5, *(len(row.label) for row in rows))
    count = max(5, *(len(f"{row.tasks:,}") for row in rows))
    lines = [f"{'level':>{wide}}  {'tasks':>{count}}"]
    for row in rows:
        bar = "#" * max(1, round(BAR * row.tasks / found.width)) if row.has_bar else "..."
        lines.append(
            f"{row.label:>{wide}}  {row.tasks:>{count},}  {bar:<{BAR}}  {row.text}".rstrip()
        )
    return lines


def _rows(dag: Dag, found: Shape) -> list[_Row]:
    order = np.argsort(found.levels, kind="stable")
    cuts = np.searchsorted(found.levels[order], np.arange(found.depth + 1)).tolist()
    levels = [
        (after - begin, _contents(dag, order[begin:after])) for begin, after in pairwise(cuts)
    ]
    rows: list[_Row] = []
    for (tasks, contents), alike in groupby(levels):
        first = rows[-1].last + 1 if rows else 1
        rows.append(_Row(first, first + len(list(alike)) - 1, tasks, contents))
    return rows


def _together(rows: list[_Row]) -> _Row:
    tasks = sum(row.tasks * (row.last - row.first + 1) for row in rows)
    return _Row(rows[0].first, rows[-1].last, tasks, "", has_bar=False)


def _contents(dag: Dag, tasks: Longs) -> str:
    """What is on a level, as far as there is room: names of few tasks, else counts of kinds."""
    noun = "task" if len(dag) <= FEW else "kind"
    if noun == "task":
        parts = [_clipped(dag.names[task]) for task in tasks]
    else:
        kinds = Counter(dag.kinds[tasks].tolist()).most_common()
        parts = [f"{count:,} {_last_part(dag.kind_names[kind])}" for kind, count in kinds]
    shown = 1 + sum(length <= ROOM for length in accumulate(len(one) + 2 for one in parts[1:]))
    more = len(parts) - shown
    return ", ".join(parts[:shown]) + (f", and {counted(more, f'more {noun}')}" if more else "")


def _last_part(kind: str) -> str:
    """`FASTQC` of `NFCORE:RNASEQ:FASTQC`."""
    return _clipped(re.split(r"[.:/]", kind.rstrip(".:/"))[-1] if len(kind) > 24 else kind)


def _clipped(name: str) -> str:
    """A name that leaves room; the end of a long one says more than its beginning."""
    return name if len(name) <= NAME_WIDTH else f"...{name[3 - NAME_WIDTH :]}"


def _time(value: float) -> str:
    return format_duration(seconds(value))
