"""Workloads: works with their arrivals, one a line, or a description of what to draw or compose.

A line of `workload.jsonl` or `workload.jsonl.gz` is a work. Times are seconds; the workflow is
compact, see `formats/bharathi.py`:

    {"at": 12.5, "owner": "ann", "priority": 2, "deadline": 3600, "workflow": {"kind": ...}}

Where no speed tells what tasks take on an offer, `times` does: {"small": [9, 4], "large": [3, 4]}.

`workload.toml` describes one (see `formats/workload_toml.py`).
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from bursar.formats.bharathi import CompactWorkflow, dag_of_compact
from bursar.formats.files import source_name
from bursar.formats.workflow import unpacked
from bursar.model.errors import InputError, one_line, shown
from bursar.model.time import LONGEST, SECOND, Time, seconds
from bursar.model.work import Work
from bursar.model.workflow import Workflow
from bursar.model.workload import Arrival, Workload

DIGITS: Final = 6
"""of a time in seconds: whole microseconds"""


class _WorkLine(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    at: float
    workflow: CompactWorkflow
    owner: str = ""
    priority: int = 0
    deadline: float | None = None
    times: dict[str, tuple[float, ...]] = {}
    """by offer, seconds of each task"""


_LINE: Final = msgspec.json.Decoder(_WorkLine)


def read_workload(path: str | Path) -> Workload:
    """The workload in a file, which may be compressed; `-` is standard input."""
    source = source_name(path)
    data = unpacked(path, source, "workload")
    if data.lstrip()[:1] == b"{":
        return parse_workload_lines(data, source)
    from bursar.formats.workload_toml import parse_workload_toml

    return parse_workload_toml(data, source, Path(path).parent)


def parse_workload_lines(data: bytes, source: str = "workload") -> Workload:
    """Works in the order of their arrival, whichever order they stand in."""
    arrivals = [
        _arrival(line, f"{source}, line {number}")
        for number, line in enumerate(data.splitlines(), 1)
        if line.strip()
    ]
    if not arrivals:
        raise InputError(f"{source}: the workload has no works; give it at least one")
    return Workload(tuple(sorted(arrivals, key=lambda one: one.at)), _name(source))


def _arrival(text: bytes, where: str) -> Arrival:
    try:
        line = _LINE.decode(text)
        dag = dag_of_compact(line.workflow)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InputError(f"{where}: not a work of a workload: {one_line(str(error))}") from None
    deadline = None if line.deadline is None else _time(line.deadline, "deadline", where)
    at = _time(line.at, "at", where)
    times = {offer: _times(line, offer, where) for offer in line.times}
    return Arrival(at, Work(Workflow.of(dag), line.owner, line.priority, deadline), times)


def _times(line: _WorkLine, offer: str, where: str) -> tuple[Time, ...]:
    given, tasks = line.times[offer], len(line.workflow.runtime)
    if len(given) != tasks:
        raise InputError(
            f"{where}: times has {len(given)} run times for {shown(offer)}, and the work {tasks}"
            " tasks; give one for each"
        )
    return tuple(_time(value, "a run time of times", where) for value in given)


def _time(value: float, key: str, where: str) -> Time:
    if not 0 <= value <= LONGEST / SECOND:
        raise InputError(f"{where}: {key} is {value:g}; write seconds, 0 or more")
    return seconds(value)


def _name(source: str) -> str:
    return Path(source).name.removesuffix(".gz").removesuffix(".jsonl") or "workload"


# --- writing -------------------------------------------------------------------------------------


def workload_lines(workload: Workload) -> bytes:
    """The workload, one work a line."""
    numbered = enumerate(workload.arrivals, 1)
    lines = [msgspec.json.encode(_line(number, one)) for number, one in numbered]
    return b"\n".join(lines) + b"\n"


def write_workload(workload: Workload, path: str | Path) -> None:
    """Into a new file, which is compressed if its name ends in `.gz`; none is overwritten."""
    data = workload_lines(workload)
    if str(path).endswith(".gz"):
        data = gzip.compress(data, 6, mtime=0)  # the same workload gives the same file
    try:
        with Path(path).open("xb") as file:
            file.write(data)
    except FileExistsError:
        raise InputError(f"{shown(path)}: exists already; remove it, or use another name") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{shown(path)}: cannot write the workload: {one_line(why)}") from None


def _line(number: int, arrival: Arrival) -> _WorkLine:
    work = arrival.work
    flow = work.workflow
    if flow is None:
        raise InputError(f"work {number} is a bag, which a workload file cannot hold yet")
    dag = flow.dag
    if np.isnan(dag.runtimes).any():
        raise InputError(f"work {number} has tasks without a run time; give each task a runtime")
    volumes = flow.volumes or ()
    compact = CompactWorkflow(
        kind=flow.name,
        name=tuple(dag.kind(task) for task in range(len(dag))),
        runtime=tuple(np.round(dag.runtimes, DIGITS).tolist()),
        parents=flow.parents,
        read=tuple(max(0, read) for read, _ in volumes),
        written=tuple(max(0, written) for _, written in volumes),
    )
    deadline = None if work.deadline is None else work.deadline / SECOND
    times = {
        offer: tuple(time / SECOND for time in given) for offer, given in arrival.times.items()
    }
    return _WorkLine(arrival.at / SECOND, compact, work.owner, work.priority, deadline, times)
