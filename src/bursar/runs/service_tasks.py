"""Tasks of a work of a service: how each stands, and where it has written."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from bursar.model.errors import InputError, shown
from bursar.model.numbers import is_position
from bursar.model.workflow import Workflow
from bursar.runs.task_logs import log_places
from bursar.state.state import RunState
from bursar.state.task_status import TaskStatus

STATUSES: Final = tuple(status.name.lower() for status in TaskStatus)
LONGEST: Final = 1_000
"""characters of a command that are answered"""


class WorkTask(msgspec.Struct, frozen=True):
    """A task of a work."""

    task: int
    """from 1, in this work"""
    name: str
    """in a workflow its name and command, in a bag its command"""
    status: str
    exit_code: int | None = None
    why: str | None = None
    """it failed; None also where only the service's journal knows that still"""


def tasks_of(
    state: RunState, work: int, status: str | None, after: int, limit: int
) -> list[WorkTask]:
    """The tasks behind the one with the number `after`, at most `limit`."""
    before, found = state.work[work - 1]
    begin, end = before + after + 1, before + found.count + 1
    return [
        _described(state, task, before)
        for task in islice(_standing(state.status, begin, end, status), limit)
    ]


def _standing(column: bytearray, begin: int, end: int, status: str | None) -> Iterator[int]:
    """The tasks that stand so, found without a look at each of the others."""
    if status is None:
        yield from range(begin, end)
        return
    wanted = bytes([STATUSES.index(status)])
    while (begin := column.find(wanted, begin, end)) >= 0:
        yield begin
        begin += 1


def _described(state: RunState, task: int, before: int) -> WorkTask:
    failure = state.failed_tasks.get(task)
    return WorkTask(
        task - before,
        state.describe(task)[:LONGEST],
        STATUSES[state.status[task]],
        None if failure is None else failure.exit_code,
        None if failure is None else failure.why,
    )


def places_of(state: RunState, work: int, task: str) -> list[Path]:
    """Where a task of a work, by its number in it or its name, may have written."""
    before, found = state.work[work - 1]
    if is_position(task, found.count):
        number = before + int(task)
    elif isinstance(found.tasks, Workflow) and task in found.tasks.names:
        number = before + found.tasks.names.index(task) + 1
    else:
        raise InputError(f"no task {shown(task)}: the work has tasks 1 to {found.count}")
    return [place for _, place in log_places(state, number)]
