"""Directories in which commands write, made before they are needed.

To make a directory and two files takes a file system as long as it takes to start a process, and
much longer where many files were deleted lately. So one directory is made ahead, while commands
run, for the attempt that will likely be the next. A directory that a process has had is never given
to another. Its `stdout` and `stderr` go on to the next one if nothing was written to them and the
kernel says that nobody has them open. What is left of it is removed by programs that run meanwhile,
since a file system may wait for its disk to remove a directory.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from fcntl import F_SETLEASE, F_UNLCK, F_WRLCK, fcntl
from shutil import which
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
OLD: Final = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
FILES: Final = ("stdout", "stderr")
MOST_EMPTY: Final = 8192
"""directories that stay while commands run: to remove them slows down making new ones"""
BATCH: Final = 64
"""directories that one program removes"""
MOST_AT_ONCE: Final = 16
"""such programs"""
NO_FILES: Final = tuple(
    (os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDWR, 0) for number in range(3)
)


class Desk:
    """A directory with `stdout` and `stderr`, which are open until `close`."""

    __slots__ = ("directory", "stderr", "stdout")

    def __init__(self, directory: str, blank: str | None = None) -> None:
        """`blank`: a directory whose files may be free; they are, or stay there.

        A directory that was made before and not used is as good as a new one.
        """
        self.directory = directory
        with suppress(FileExistsError):
            os.mkdir(directory)  # noqa: PTH102
        self.stdout = _file(directory, blank, "stdout")
        try:
            self.stderr = _file(directory, blank, "stderr")
        except OSError:
            os.close(self.stdout)
            raise

    def close(self) -> None:
        os.close(self.stdout)
        os.close(self.stderr)


class Desks:
    """The directories of attempts, by their numbers, and the spare one."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._spare: Desk | None = None
        self._blank: list[str] = []
        """directories of before in which nothing was written"""
        self._empty: list[str] = []
        """those whose files went on, to be removed"""
        self._rmdir = which("rmdir")
        self.removers: set[int] = set()
        """processes that remove some; whoever waits for them discards them"""
        self._last = 0
        """attempt that took one; 0: none ever did"""
        self._mode = stat.S_IFREG | 0o666 & ~_umask()
        """of a file that nobody has changed"""

    def prepare(self) -> None:
        """Have one to spare, if any was ever taken. If that fails, `take` will tell why."""
        if self._last and self._spare is None:
            with suppress(OSError):
                self._spare = self._make(f"{self._root}/{self._last + 1}")

    def take(self, attempt: int) -> Desk:
        """The desk of an attempt; OSError if it cannot be made."""
        self._last = max(self._last, attempt)
        desk, self._spare = self._spare, None
        directory = f"{self._root}/{attempt}"
        if desk is None:
            return self._make(directory)
        if desk.directory != directory:
            try:
                os.rename(desk.directory, directory)  # noqa: PTH104
            except FileNotFoundError:
                # Its number was given to an attempt that never began, as its machine was gone:
                # bursar has removed the directory of that attempt.
                desk.close()
                return self._make(directory)
            desk.directory = directory
        return desk

    def put_back(self, desk: Desk) -> None:
        """No process has had it, and none will for now: it is the spare one again."""
        self._spare = desk

    def _make(self, directory: str) -> Desk:
        if not self._blank:
            return Desk(directory)
        blank = self._blank.pop()
        desk = Desk(directory, blank)
        self._empty.append(blank)
        if len(self._empty) >= MOST_EMPTY:
            self.tidy()
        return desk

    def tidy(self, batch: int = BATCH) -> None:
        """Have empty directories removed. What is not is removed with all the others at the end."""
        while self._rmdir and self._empty and len(self.removers) < MOST_AT_ONCE:
            names = self._empty[:batch]
            argv = (self._rmdir, "--", *names)
            try:
                pid = os.posix_spawn(self._rmdir, argv, os.environb, file_actions=NO_FILES)
            except OSError:
                return
            self.removers.add(pid)
            del self._empty[:batch]

    def tidy_at_last(self) -> None:
        """The same for all of them, as nobody needs the computer any more."""
        self.tidy(max(1, -(-len(self._empty) // MOST_AT_ONCE)))

    def leave(self, attempt: int) -> bool:
        """Whether the attempt, all of whose processes have ended, wrote anything."""
        directory = f"{self._root}/{attempt}"
        try:
            names = os.listdir(directory)  # noqa: PTH208
            wrote = len(names) != len(FILES)
            files = [] if wrote else [os.lstat(f"{directory}/{name}") for name in FILES]
        except OSError:
            return True
        wrote = wrote or any(file.st_size for file in files)
        if not wrote and all((file.st_mode, file.st_nlink) == (self._mode, 1) for file in files):
            self._blank.append(directory)
        return wrote

    def close(self) -> None:
        """Leave word when everything had ended: what is written later is not of an attempt."""
        with suppress(OSError):
            os.close(os.open(f"{self._root}/over", NEW | os.O_NOFOLLOW, 0o600))


def _umask() -> int:
    """It can be read by setting it only."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _file(directory: str, blank: str | None, name: str) -> int:
    """A new file, or one that might as well be new, open for writing."""
    if blank is not None:
        with suppress(OSError):
            return _taken_over(f"{blank}/{name}", f"{directory}/{name}")
    return os.open(f"{directory}/{name}", NEW, 0o666)


def _taken_over(old: str, new: str) -> int:
    """Move a file and open it; OSError if it is not empty, or if anybody else may write to it.

    A lease of that kind is granted only to the one who has the file open alone; descriptors that
    another process has inherited or been sent count. Nobody can come by its old name meanwhile.
    """
    os.rename(old, new)  # noqa: PTH104
    descriptor = -1
    try:
        descriptor = os.open(new, OLD)
        fcntl(descriptor, F_SETLEASE, F_WRLCK)
        fcntl(descriptor, F_SETLEASE, F_UNLCK)
        if os.fstat(descriptor).st_size:
            raise OSError("somebody wrote to it")
    except OSError:
        os.unlink(new)  # noqa: PTH108
        if descriptor >= 0:
            os.close(descriptor)
        raise
    return descriptor
