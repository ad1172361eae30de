"""What attempts write: a directory for each, moved into place when the attempt's fate is known.

    outputs/.attempts/17/    attempt 17 writes here: stdout, stderr, and what it likes
    outputs/4/               the result of task 4: the directory of its first success, if it wrote
    outputs/failed/9/        the last attempt of task 9, which failed for good

A move is one rename, so a result is there as a whole or not at all, and attempts of one task never
spoil each other's files.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from bursar.model.errors import InputError
from bursar.state import RunState

ATTEMPTS: Final = ".attempts"
FAILED: Final = "failed"
TAIL: Final = 2048
"""bytes of stderr that are told as the reason of a failure"""
TAIL_LINES: Final = 12


class Outputs:
    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.attempts = self.root / ATTEMPTS
        self._root, self._attempts = str(self.root), str(self.attempts)
        """as text: paths take longer to put together than results to move"""
        self._remover: ThreadPoolExecutor | None = None
        """deletes what may be large, so that nobody waits for it"""

    def prepare(self) -> None:
        """Make the directories."""
        try:
            self.attempts.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            problem = f"{self.root}: cannot write outputs there: {error.strerror}"
            raise InputError(f"{problem}; choose another directory") from None

    def of(self, attempt: int) -> Path:
        return self.attempts / str(attempt)

    def keep(self, task: int, attempt: int) -> None:
        """The attempt's directory is the task's result."""
        try:
            os.rename(f"{self._attempts}/{attempt}", f"{self._root}/{task}")  # noqa: PTH104
        except OSError:
            self._move(self.of(attempt), self.root / str(task))

    def keep_failure(self, task: int, attempt: int) -> None:
        """The attempt's directory shows why the task failed."""
        (self.root / FAILED).mkdir(exist_ok=True)
        self._move(self.of(attempt), self.root / FAILED / str(task))

    def drop(self, attempt: int) -> None:
        """The attempt's directory is of no use.

        One that never began has none, but its number may be on the warden's spare one: whoever
        renames it first has it.
        """
        directory = self.attempts / f"{attempt}.dropped"
        try:
            self.of(attempt).rename(directory)
            for name in ("stdout", "stderr"):
                (directory / name).unlink(missing_ok=True)
            directory.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            self._remove(directory)

    def tail(self, attempt: int) -> str:
        """The last lines that the attempt wrote to stderr."""
        try:
            with (self.of(attempt) / "stderr").open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - TAIL))
                data = file.read(TAIL)
        except OSError:
            return ""
        return last_lines(data.decode(errors="replace"))

    def close(self, unsettled: Collection[int] = ()) -> None:
        """Delete all attempts but the unsettled ones; to be called when nothing runs any more."""
        if self._remover is not None:
            self._remover.shutdown()
        if not self.attempts.is_dir():
            return
        kept = {str(attempt) for attempt in unsettled}
        for entry in self.attempts.iterdir():
            if entry.name not in kept:
                _delete(entry)
        if not any(self.attempts.iterdir()):
            self.attempts.rmdir()

    def _move(self, source: Path, target: Path) -> None:
        """Rename; what a crashed run left in the way makes room. Nothing to move: nothing moves."""
        try:
            source.rename(target)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                raise
            aside = source.with_suffix(".old")
            target.rename(aside)
            source.rename(target)
            self._remove(aside)

    def _remove(self, path: Path) -> None:
        if self._remover is None:
            self._remover = ThreadPoolExecutor(1, "bursar-remover")
        self._remover.submit(_delete, path)


def last_lines(text: str) -> str:
    """At most TAIL bytes and TAIL_LINES lines from the end."""
    short = text.encode(errors="replace")[-TAIL:].decode(errors="ignore")
    return "\n".join(short.rstrip().splitlines()[-TAIL_LINES:])


def repair(root: Path, state: RunState) -> None:
    """Finish what a crash interrupted: moves that were journaled, and deletions.

    To be called when nothing of the run lives any more.
    """
    outputs = Outputs(root)
    if not outputs.attempts.is_dir():
        return
    for entry in sorted(outputs.attempts.iterdir()):
        attempt = int(entry.name) if entry.name.isdecimal() else 0
        task = state.log.task[attempt] if 1 <= attempt <= len(state.log) else 0
        failure = state.failed_tasks.get(task)
        if task and state.winners[task] == attempt:
            outputs.keep(task, attempt)
        elif failure is not None and failure.attempt == attempt:
            outputs.keep_failure(task, attempt)
    outputs.close()


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
