"""The files of a workflow's tasks: shared in one directory, or copied to each attempt.

Shared, tasks run where bursar was called and find their files there; what a cut-off attempt left is
removed before the next one begins. Copied, every attempt has a directory of its own, so that
attempts of one task never meet:

    outputs/.attempts/17/files/    attempt 17 runs here, with copies of the files that it reads
    outputs/4/files/               what task 4 wrote, once it is done
    outputs/files/                 the files of all tasks that are done, by name
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

import msgspec

from bursar.execute import stage
from bursar.execute.outputs import Outputs
from bursar.model.errors import InputError, shown
from bursar.model.flow import Flow
from bursar.state import DONE, RunState

SHARED: Final = "shared"
COPIED: Final = "copied"
MODES: Final = (SHARED, COPIED)
FILES: Final = "files"


class Staging(Protocol):
    """Gives tasks what they read, and looks after what they write."""

    def prepare(self, task: int, attempt: int) -> tuple[str, ...]:
        """The command to start, when what its files need has been done."""
        ...

    def lacking(self, task: int, attempt: int) -> list[str]:
        """Files that an attempt which has ended well should have written, and did not."""
        ...

    def publish(self, task: int) -> None:
        """The task is done, and its output is in place: others may read its files."""
        ...


def staging_of(state: RunState, mode: str, directory: Path, outputs: Outputs) -> Staging:
    if mode == COPIED:
        return CopiedFiles(state, directory, outputs)
    return SharedFiles(state, directory)


def check_files(flow: Flow, mode: str, directory: Path) -> None:
    """Refuse a workflow of which a file is missing that no task writes, or cannot be copied."""
    if mode not in MODES:
        raise InputError(f"files {shown(mode)}; they are {SHARED} or {COPIED}")
    written = {file for row in flow.files.written for file in row}
    for index in range(flow.count):
        for file in flow.files.read[index] if flow.files.read else ():
            name = flow.files.names[file]
            if file not in written and not (directory / name).exists():
                raise InputError(
                    f"task {shown(flow.names[index])} reads {shown(name)}, which no task writes"
                    f" and which is not in {directory}; put it there"
                )
    if mode == COPIED:
        for name in flow.files.names:
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise InputError(
                    f"the file {shown(name)} lies outside of the workflow's directory, so that it"
                    f" cannot be copied to tasks; name it from there, or use --files {SHARED}"
                )


class SharedFiles:
    """All in one directory, where every task runs."""

    def __init__(self, state: RunState, directory: Path) -> None:
        self._state = state
        self._directory = directory
        self._begun: set[int] = {state.log.task[n] for n in range(1, len(state.log) + 1)}
        """tasks of which an attempt may have left files"""

    def prepare(self, task: int, attempt: int) -> tuple[str, ...]:
        for name in _writes(self._state, task):
            path = self._directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if task in self._begun:
                path.unlink(missing_ok=True)
        self._begun.add(task)
        return self._state.command(task)

    def lacking(self, task: int, attempt: int) -> list[str]:
        names = _writes(self._state, task)
        return [name for name in names if not (self._directory / name).exists()]

    def publish(self, task: int) -> None:
        """They are where they should be."""


class CopiedFiles:
    """A directory for each attempt, with copies of what it reads."""

    def __init__(self, state: RunState, directory: Path, outputs: Outputs) -> None:
        self._state = state
        self._directory = directory
        self._outputs = outputs
        self._store = outputs.root / FILES

    def prepare(self, task: int, attempt: int) -> tuple[str, ...]:
        place = self._outputs.of(attempt) / FILES
        order = stage.Order(
            directory=str(place),
            copies=[(self._source(name), name) for name in _reads(self._state, task)],
            parents=sorted({str(Path(name).parent) for name in _writes(self._state, task)}),
        )
        file = self._outputs.attempts / f"{attempt}.order"
        file.write_bytes(msgspec.json.encode(order))
        program = (sys.executable, "-I", "-S", stage.__file__, str(file))
        return (*program, *self._state.command(task))

    def lacking(self, task: int, attempt: int) -> list[str]:
        place = self._outputs.of(attempt) / FILES
        return [name for name in _writes(self._state, task) if not (place / name).exists()]

    def publish(self, task: int) -> None:
        """Link what was written, and remove the copies of what was read."""
        place = self._outputs.root / str(task) / FILES
        for name in _reads(self._state, task):
            _remove(place / name)
        for name in _writes(self._state, task):
            target = self._store / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                os.link(place / name, target)

    def _source(self, name: str) -> str:
        stored = self._store / name
        return str(stored if stored.exists() else self._directory / name)


def publish_all(state: RunState, staging: Staging) -> None:
    """Do again what a crash may have cut off: the files of all tasks that are done."""
    for before, work in state.work:
        if isinstance(work, Flow) and work.files.names:
            for task in range(before + 1, before + work.count + 1):
                if state.status[task] == DONE:
                    staging.publish(task)


def _reads(state: RunState, task: int) -> Sequence[str]:
    work, index = state.locate(task)
    return work.reads(index) if isinstance(work, Flow) else ()


def _writes(state: RunState, task: int) -> Sequence[str]:
    work, index = state.locate(task)
    return work.writes(index) if isinstance(work, Flow) else ()


def _remove(copy: Path) -> None:
    if copy.is_dir():
        shutil.rmtree(copy)
    else:
        copy.unlink(missing_ok=True)
