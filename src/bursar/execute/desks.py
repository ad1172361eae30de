"""Directories in which commands write, made before they are needed.

To make a directory and two files takes a file system as long as it takes to start a process, and
much longer where many files were deleted lately. So one directory is made ahead, while commands
run, for the attempt that will likely be the next; and a directory in which a command wrote nothing
serves the next one.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
FILES: Final = ("stdout", "stderr")


class Desk:
    """A directory with `stdout` and `stderr`, which are open until `close`."""

    __slots__ = ("directory", "stderr", "stdout")

    def __init__(self, directory: str) -> None:
        """A directory that was made before and not used is as good as a new one."""
        self.directory = directory
        with suppress(FileExistsError):
            os.mkdir(directory)  # noqa: PTH102
        self.stdout = os.open(f"{directory}/stdout", WRITE, 0o666)
        try:
            self.stderr = os.open(f"{directory}/stderr", WRITE, 0o666)
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
        """directories in which nothing was written"""
        self._last = 0
        """attempt that took one; 0: none ever did"""

    def prepare(self, *, reuse: bool) -> None:
        """Have one to spare, if any was ever taken. If that fails, `take` will tell why.

        `reuse`: nobody is left who could still write into a directory of before.
        """
        if not reuse:
            self._blank.clear()
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

    def _make(self, directory: str) -> Desk:
        if self._blank:
            os.rename(self._blank.pop(), directory)  # noqa: PTH104
        return Desk(directory)

    def leave(self, attempt: int) -> bool:
        """Whether the attempt, which has ended, wrote anything; if not, its directory is free."""
        directory = f"{self._root}/{attempt}"
        try:
            names = os.listdir(directory)  # noqa: PTH208
            wrote = len(names) != len(FILES) or any(
                os.stat(f"{directory}/{name}").st_size  # noqa: PTH116
                for name in FILES
            )
        except OSError:
            return True
        if not wrote:
            self._blank.append(directory)
        return wrote

    def close(self) -> None:
        """Leave word when everything had ended: what is written later is not of an attempt."""
        with suppress(OSError):
            os.close(os.open(f"{self._root}/over", WRITE | os.O_NOFOLLOW, 0o600))
