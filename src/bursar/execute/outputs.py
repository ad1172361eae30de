"""What attempts write: a directory for each, moved into place when the attempt's fate is known.

    outputs/.attempts/17/    attempt 17 writes here: stdout, stderr, and what it likes
    outputs/4/               the result of task 4: the directory of its first success, if it wrote
    outputs/failed/9/        the last attempt of task 9, which failed for good; earlier ones: 9-2
    outputs/leftovers/       what stood in the way, or was left by attempts that were cut off

A move is one rename, so a result is there as a whole or not at all, and attempts of one task never
spoil each other's files. What is removed is in `.attempts`; whatever else stands in the way is
moved aside. Both directories are held open: a task that puts a link in the place of one, or of its
own directory, gets nothing removed elsewhere.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

from bursar.execute.apart import make_apart
from bursar.execute.descriptors import DIRECTORY, free_name, opened, remove
from bursar.model.errors import BursarError, DiskError, InputError
from bursar.state.state import RunState

ATTEMPTS: Final = ".attempts"
FAILED: Final = "failed"
LEFTOVERS: Final = "leftovers"
OVER: Final = "over"
"""in `.attempts`, from when the warden has ended everything"""
TAIL: Final = 2048
"""bytes of stderr that are shown as the reason of a failure"""
TAIL_LINES: Final = 12
NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)
FIX: Final = "fix that, then continue with bursar resume"
_IN_THE_WAY: Final = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR)


class Outputs:
    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.attempts = self.root / ATTEMPTS
        self._root: int | None = None
        self._attempts: int | None = None
        """both open, once `prepare` has been called"""
        self._remover: ThreadPoolExecutor | None = None
        """deletes what may be large, so that nobody waits for it"""

    def prepare(self) -> None:
        """Make the directories."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            make_apart(self.attempts)
            self._open()
        except OSError as error:
            raise self.unusable(error) from None

    def unusable(self, error: OSError) -> BursarError:
        """Why nothing can be written there at all."""
        problem = f"{self.root}: cannot write outputs there: {error.strerror}"
        if error.errno in NO_SPACE:
            return DiskError(f"{problem}; free some space or inodes")
        return InputError(f"{problem}; choose another directory")

    def disk_error(self, error: OSError) -> DiskError:
        """Why something cannot be kept there any more."""
        if self._root is not None and os.fstat(self._root).st_nlink == 0:
            return DiskError(f"{self.root}: was deleted while the run was executed; start it again")
        return DiskError(f"{self.root}: cannot keep what a task wrote: {error.strerror}; {FIX}")

    def of(self, attempt: int) -> Path:
        return self.attempts / str(attempt)

    def keep(self, task: int, attempt: int) -> None:
        """The attempt's directory is the task's result."""
        root, attempts = self._open()
        try:
            os.rename(str(attempt), str(task), src_dir_fd=attempts, dst_dir_fd=root)
        except FileNotFoundError:
            if os.fstat(attempts).st_nlink == 0:
                raise  # else the task has removed its directory
        except OSError as error:
            if error.errno not in _IN_THE_WAY:
                raise
            with suppress(FileExistsError):
                os.mkdir(LEFTOVERS, dir_fd=root)
            with opened([LEFTOVERS], root) as leftovers:
                self._move(attempt, str(task), root, leftovers)

    def keep_failure(self, task: int, attempt: int) -> None:
        """The attempt's directory shows why the task failed."""
        root, _ = self._open()
        with suppress(FileExistsError):
            os.mkdir(FAILED, dir_fd=root)
        with opened([FAILED], root) as failed:
            self._move(attempt, str(task), failed, failed)

    def drop(self, attempt: int) -> None:
        """The attempt's directory is of no use.

        One that never began has none, but its number may be on the warden's spare one: the
        first to rename it has it.
        """
        _, attempts = self._open()
        name = f"{attempt}.dropped"
        try:
            os.rename(str(attempt), name, src_dir_fd=attempts, dst_dir_fd=attempts)
        except FileNotFoundError:
            return
        try:
            with opened([name], attempts) as directory:
                for file in ("stdout", "stderr"):
                    os.unlink(file, dir_fd=directory)
            os.rmdir(name, dir_fd=attempts)
        except OSError:
            self._remove(name, attempts)

    def tail(self, attempt: int) -> str:
        """The last lines that the attempt wrote to stderr; nothing if that is no plain file."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            with opened([str(attempt)], self._open()[1]) as directory:
                descriptor = os.open("stderr", flags, dir_fd=directory)
            with os.fdopen(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return ""
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
        if self._root is None or self._attempts is None:
            return
        root, attempts = self._root, self._attempts
        self._root = self._attempts = None
        kept = {str(attempt) for attempt in unsettled}
        try:
            for name in os.listdir(attempts):  # noqa: PTH208 (of a descriptor)
                if name not in kept:
                    _delete(name, attempts)
            _remove_access_links(root)
            with suppress(OSError):  # something was kept, or the directory is another by now
                os.rmdir(ATTEMPTS, dir_fd=root)
        finally:
            os.close(attempts)
            os.close(root)

    def cut_off(self) -> float:
        """When the warden of a run that crashed had ended everything; 0.0: it did not tell."""
        with suppress(OSError), opened([], self._open()[1]) as attempts:
            return os.stat(OVER, dir_fd=attempts, follow_symlinks=False).st_mtime
        return 0.0

    def _open(self) -> tuple[int, int]:
        """The directories, which must be there; from then on it is these, whatever their names."""
        if self._root is None or self._attempts is None:
            self._root = os.open(self.root, DIRECTORY & ~os.O_NOFOLLOW)
            try:
                self._attempts = os.open(ATTEMPTS, DIRECTORY, dir_fd=self._root)
            except OSError:
                os.close(self._root)
                self._root = None
                raise
        return self._root, self._attempts

    def _move(self, attempt: int, name: str, directory: int, aside: int) -> None:
        """Rename; what is in the way goes aside. Nothing to move: nothing moves."""
        _, attempts = self._open()
        try:
            os.rename(str(attempt), name, src_dir_fd=attempts, dst_dir_fd=directory)
        except FileNotFoundError:
            if os.fstat(attempts).st_nlink == 0:
                raise
        except OSError as error:
            if error.errno not in _IN_THE_WAY:
                raise
            free = free_name(name, aside)
            os.rename(name, free, src_dir_fd=directory, dst_dir_fd=aside)
            os.rename(str(attempt), name, src_dir_fd=attempts, dst_dir_fd=directory)

    def _remove(self, name: str, directory: int) -> None:
        if self._remover is None:
            self._remover = ThreadPoolExecutor(1, "bursar-remover")
        self._remover.submit(_delete, name, directory)


def last_lines(text: str) -> str:
    """At most TAIL bytes and TAIL_LINES lines from the end."""
    short = text.encode(errors="replace")[-TAIL:].decode(errors="ignore")
    return "\n".join(short.rstrip().splitlines()[-TAIL_LINES:])


def repair(root: Path, state: RunState) -> float:
    """Finish what a crash interrupted: moves that were journaled, and deletions.

    To be called when nothing of the run lives any more. Tells when that was seen to end, in
    seconds since 1970; 0.0: nobody saw it.
    """
    outputs = Outputs(root)
    if outputs.attempts.is_symlink() or not outputs.attempts.is_dir():
        return 0.0
    try:
        cut_off = outputs.cut_off()
        for entry in sorted(outputs.attempts.iterdir()):
            attempt = int(entry.name) if entry.name.isdecimal() and entry.name.isascii() else 0
            task = state.log.task[attempt] if 1 <= attempt <= len(state.log) else 0
            failure = state.failed_tasks.get(task)
            if task and state.winners[task] == attempt:
                outputs.keep(task, attempt)
            elif failure is not None and failure.attempt == attempt:
                outputs.keep_failure(task, attempt)
    except OSError as error:
        raise outputs.disk_error(error) from error
    outputs.close()
    return cut_off


def _remove_access_links(root: int) -> None:
    """Links to the attempts, which lie beside them (`access.py`)."""
    for name in os.listdir(root):
        if name.startswith(f"{ATTEMPTS}-"):
            with suppress(OSError):
                if os.readlink(name, dir_fd=root) == ATTEMPTS:
                    os.unlink(name, dir_fd=root)


def _delete(name: str, directory: int) -> None:
    """What cannot be deleted is in nobody's way."""
    with suppress(OSError):
        remove(name, directory, as_far_as_possible=True)
