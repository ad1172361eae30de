"""Nextflow's `trace.txt`: tasks and how long they took.

A trace says nothing of who waited for whom: its tasks come out independent of each other. Only
tasks with a result (COMPLETED or CACHED) are read, since attempts that failed are no tasks. The
run time is `realtime`, or else `duration`, which has the time in the queue in it. Names such as
`ALIGN (sample 1)` are of the kind `ALIGN`; of tasks with one name the later get their id behind it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from bursar.formats.recognise import is_trace
from bursar.model.dag import Dag
from bursar.model.errors import InputError, instead_of, shown
from bursar.model.time import SECOND, parse_duration
from bursar.model.workflow_builder import WorkflowBuilder

WITH_RESULT: Final = ("COMPLETED", "CACHED")
COLUMNS: Final = ("task_id", "name", "process", "status", "realtime", "duration", "rchar", "wchar")
_UNITS: Final = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40, "PB": 2**50}
_SIZE: Final = re.compile(r"(\d{1,18}(?:\.\d{1,9})?) ?([KMGTP]?B)?", re.ASCII)
_MILLISECONDS: Final = re.compile(r"\d{1,15}", re.ASCII)
_UNTOLD: Final = ("", "-")

Row = Mapping[str, str]


def parse_nextflow(text: str, source: str = "trace.txt") -> Dag:
    """Read a trace; `source` is named in errors."""
    lines = text.splitlines()
    if not lines or not is_trace(lines[0]):
        raise InputError(f"{source}, line 1: no header of a Nextflow trace with task_id and name")
    columns = lines[0].strip().split("\t")
    if not {"realtime", "duration"} & set(columns):
        known = instead_of("realtime", columns)
        raise InputError(f"{source}, line 1: no column realtime or duration; {known}")
    flow = WorkflowBuilder("trace")
    seen: set[str] = set()
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        try:
            if len(cells) != len(columns):
                raise InputError(f"has {len(cells)} columns, but the header has {len(columns)}")
            _add(flow, dict(zip(columns, cells, strict=True)), seen, number)
        except InputError as error:
            raise InputError(f"{source}, line {number}: {error}") from None
    if not len(flow):
        raise InputError(
            f"{source}: no task of this trace has a result; COMPLETED or CACHED is one"
        )
    return flow.build()


def _add(flow: WorkflowBuilder, row: Row, seen: set[str], number: int) -> None:
    if row.get("status", WITH_RESULT[0]) not in WITH_RESULT:
        return
    process = row.get("process", "")
    name = row.get("name") or process
    kind = process if process not in _UNTOLD else name.partition(" (")[0]
    if name in seen:
        name = f"{name} #{row.get('task_id') or number}"
    seen.add(name)
    flow.task(name, kind=kind, runtime=_runtime(row), volume=_volume(row))


def _runtime(row: Row) -> float | None:
    """Seconds; a trace has texts such as `1m 2s`, or whole milliseconds."""
    for column in ("realtime", "duration"):
        text = row.get(column, "")
        if text in _UNTOLD:
            continue
        if _MILLISECONDS.fullmatch(text):
            return int(text) / 1000
        try:
            return parse_duration(text) / SECOND
        except InputError as error:
            raise InputError(f"{column}: {error}") from None
    return None


def _volume(row: Row) -> tuple[int | None, int | None] | None:
    read, written = _bytes(row, "rchar"), _bytes(row, "wchar")
    return None if read is None and written is None else (read, written)


def _bytes(row: Row, column: str) -> int | None:
    text = row.get(column, "")
    if text in _UNTOLD:
        return None
    found = _SIZE.fullmatch(text)
    if found is None:
        raise InputError(f"{column}: {shown(text)} is not a size; write for example 1024 or 1.5 MB")
    return round(float(found[1]) * _UNITS[found[2] or "B"])
