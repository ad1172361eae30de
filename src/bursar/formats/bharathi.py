"""Workflows of the generator of Bharathi et al., as compact JSON: one object, or one a line.

    {"kind": "montage", "name": ["mProjectPP", "mDiffFit"], "runtime": [13.85, 10.59],
     "parents": [[], [0]], "read": [4222080, 304], "written": [4167312, 263]}

Every list has an entry for each task; parents are indices. Times are seconds, sizes bytes. A task
is named after its kind and its place: `mDiffFit_2`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from bursar.model.dag import Dag
from bursar.model.errors import InputError, one_line, shown
from bursar.model.workflow_builder import WorkflowBuilder


class CompactWorkflow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A workflow as a line holds it."""

    kind: str
    name: tuple[str, ...]
    runtime: tuple[float, ...]
    parents: tuple[tuple[int, ...], ...]
    read: tuple[int, ...] = ()
    written: tuple[int, ...] = ()


_COMPACT: Final = msgspec.json.Decoder(CompactWorkflow)


def parse_bharathi(data: bytes | str, source: str = "workflow") -> Dag:
    """One workflow; `source` is named in errors."""
    try:
        return dag_of_compact(_COMPACT.decode(data))
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InputError(f"{source}: not a compact workflow: {one_line(str(error))}") from None


def parse_bharathi_lines(data: bytes, source: str = "workflows") -> Iterator[Dag]:
    """All workflows, one a line."""
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            yield parse_bharathi(line, f"{source}, line {number}")


def dag_of_compact(compact: CompactWorkflow) -> Dag:
    """The workflow, checked."""
    count = len(compact.name)
    for key in ("runtime", "parents", "read", "written"):
        given = len(getattr(compact, key))
        if given != count and not (given == 0 and key in ("read", "written")):
            raise InputError(f"{key} has {given:,} entries, but there are {count:,} tasks")
    names = [f"{kind}_{number}" for number, kind in enumerate(compact.name, 1)]
    flow = WorkflowBuilder(compact.kind)
    for task, name in enumerate(names):
        for parent in compact.parents[task]:
            if not 0 <= parent < count:
                raise InputError(
                    f"task {shown(name)} has parent {parent}; use 0 to {count - 1:,}, the places "
                    "of the tasks"
                )
        flow.task(
            name,
            needs=[names[parent] for parent in compact.parents[task]],
            runtime=compact.runtime[task],
            kind=compact.name[task],
            volume=(
                compact.read[task] if compact.read else None,
                compact.written[task] if compact.written else None,
            ),
        )
    return flow.build()
