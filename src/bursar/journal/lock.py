"""Locks that tell who holds them, and that die with their holder.

A POSIX lock belongs to a process: the kernel drops it when the process ends, however it ends, and
tells others the number of the process (`F_GETLK`), so nothing can be stale. It has two traps. A
process never sees its own lock as a conflict, and closing *any* descriptor of the file drops it.
So what this process holds is remembered here, and a file it holds is never opened again.
"""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final, Self

_FLOCK: Final = struct.Struct("hhqqi4x")
"""`struct flock` of Linux: type, whence, start, length, process"""

_held: dict[tuple[int, int, int], int] = {}
"""(process, device, inode) to descriptor; a forked child has its parent's entries, not its locks"""

_guard: Final = Lock()
"""between asking whether this process holds a file, and opening or closing it"""


class FileLock:
    """A lock that this process holds until `release`, or its end."""

    def __init__(self, key: tuple[int, int, int]) -> None:
        self._key = key
        self._is_released = False

    def release(self) -> None:
        """Let others have it; once is enough."""
        with _guard:
            if not self._is_released:
                self._is_released = True
                os.close(_held.pop(self._key))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def acquire(path: Path) -> FileLock | None:
    """Lock the file, made if need be; None: somebody holds it, perhaps this process."""
    with _guard:
        if _key(path) in _held:
            return None
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        status = os.fstat(descriptor)
        key = (os.getpid(), status.st_dev, status.st_ino)
        _held[key] = descriptor
        return FileLock(key)


def owner(path: Path) -> int | None:
    """The process that holds the lock; 0 if it cannot be seen from here; None: nobody does."""
    with _guard:
        key = _key(path)
        if key is None:
            return None
        if key in _held:
            return os.getpid()
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            question = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, question)
        finally:
            os.close(descriptor)
    kind, _, _, _, process = _FLOCK.unpack(answer)
    return None if kind == fcntl.F_UNLCK else max(process, 0)


def _key(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return os.getpid(), status.st_dev, status.st_ino
