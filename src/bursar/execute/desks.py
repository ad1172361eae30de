"""Directories in which commands write, made before they are needed.

To make a directory and two files takes a file system as long as it takes to start a process. So one
directory is made ahead, while commands run, and a command that starts has only to rename it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

SPARE: Final = "spare"
WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


class Desk:
    """A directory with `stdout` and `stderr`, which are open until `close`."""

    __slots__ = ("directory", "stderr", "stdout")

    def __init__(self, directory: str) -> None:
        """A spare directory that another warden left behind is as good as a new one."""
        self.directory = directory
        os.makedirs(directory, exist_ok=True)  # noqa: PTH103
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
        self._in_demand = False

    def prepare(self) -> None:
        """Have one to spare, if any was ever taken. If that fails, `take` will tell why."""
        if self._in_demand and self._spare is None:
            try:
                self._spare = Desk(f"{self._root}/{SPARE}")
            except OSError:
                return

    def take(self, attempt: int) -> Desk:
        """The desk of an attempt; OSError if it cannot be made."""
        self._in_demand = True
        desk, self._spare = self._spare, None
        directory = f"{self._root}/{attempt}"
        if desk is None:
            return Desk(directory)
        os.rename(desk.directory, directory)  # noqa: PTH104
        desk.directory = directory
        return desk
