"""Files of task instances that were handed over, in a directory that only its owner can read.

A command line and a journal can be read by more people than the token of a task instance should
be. So the command of a work names a file, and the file has what Airflow wants to be executed. It is
there until the work is settled; a scheduler that was killed finds its task instances here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from bursar.airflow.submission import TaskFile
from bursar.model.errors import InputError, shown

_OTHERS: Final = 0o077
_NAME: Final = re.compile(r"[0-9A-Za-z-]{1,64}")
_SUFFIX: Final = ".json"


class HandedFiles:
    """One file a task instance, by the id under which it was handed over."""

    def __init__(self, directory: Path) -> None:
        try:
            directory.mkdir(0o700, parents=True, exist_ok=True)
            is_open = directory.stat().st_mode & _OTHERS
        except OSError as error:
            raise InputError(
                f"the directory {directory} of [bursar] task_files cannot be used: {error}"
            ) from None
        if is_open:
            raise InputError(f"others can reach {directory}, which holds tokens: chmod 700 it")
        self._directory = directory.resolve()

    def path(self, ident: str) -> Path:
        if not _NAME.fullmatch(ident):
            raise InputError(f"{shown(ident)} cannot be the id of a task instance")
        return self._directory / f"{ident}{_SUFFIX}"

    def write(self, ident: str, task: TaskFile) -> None:
        """All of it or nothing, also if this process is killed meanwhile."""
        path = self.path(ident)
        part = path.with_suffix(".part")
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(msgspec.json.encode(task))
        part.replace(path)

    def remove(self, ident: str) -> None:
        self.path(ident).unlink(missing_ok=True)

    def idents(self) -> Iterator[str]:
        """All that were handed over and are not settled."""
        return (file.stem for file in sorted(self._directory.glob(f"*{_SUFFIX}")))


def read_task(path: Path) -> TaskFile:
    """A mistake in it raises `InputError`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=TaskFile)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{path} does not hold a task instance: {error}") from None
