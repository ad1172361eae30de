"""What a task printed: its result, its failure, or what an attempt under way has written so far."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import msgspec

from bursar.execute.directories import FILES
from bursar.execute.outputs import ATTEMPTS, FAILED
from bursar.journal.replay import load_state
from bursar.journal.runs import RunDir
from bursar.model.errors import InputError, shown
from bursar.model.numbers import is_position
from bursar.model.workflow import Workflow
from bursar.state.state import RunState


class TaskLog(msgspec.Struct, frozen=True):
    """One place where a task has written; `files` are its stdout and stderr, as far as they are."""

    task: int
    what: str
    """`result`, `failure`, or the attempt under way"""
    files: dict[str, Path]


def task_number(text: str, state: RunState) -> int:
    """The task of this number, or of this name in a workflow."""
    if is_position(text, state.total):
        return int(text)
    for before, work in state.work:
        if isinstance(work.tasks, Workflow) and text in work.tasks.names:
            return before + work.tasks.names.index(text) + 1
    raise InputError(f"no task {shown(text)}: the run has tasks 1 to {state.total}")


def task_logs(run: RunDir, task: str) -> list[TaskLog]:
    """Everything that is kept of a task, the result first; empty: it has not printed anything."""
    state = load_state(run.journal)
    number = task_number(task, state)
    found = []
    for what, place in log_places(state, number):
        files = {name: place / name for name in FILES if (place / name).is_file()}
        if files:
            found.append(TaskLog(number, what, files))
    return found


def log_places(state: RunState, number: int) -> list[tuple[str, Path]]:
    """Where a task may have written, the result first."""
    if state.created is None or not state.command(number):
        raise InputError(
            f"task {number} is a Python call or simulated: what it printed is not kept"
        )
    outputs = Path(state.created.made_with.outputs)
    places = [("result", outputs / str(number)), ("failure", outputs / FAILED / str(number))]
    for attempt in state.attempts_of(number):
        places.append((f"attempt {attempt}, under way", outputs / ATTEMPTS / str(attempt)))
    return places


def read_part(place: Path, name: str, after: int, most: int) -> bytes | None:
    """Part of a file that a task wrote, from a byte on; None: there is no such file.

    The task may have put a link there, to its directory or to the file: that is not followed.
    """
    try:
        directory = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        file = os.open(name, flags, dir_fd=directory)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO):
            return None
        raise
    finally:
        os.close(directory)
    try:
        return os.pread(file, most, after) if stat.S_ISREG(os.fstat(file).st_mode) else None
    finally:
        os.close(file)
