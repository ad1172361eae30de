"""Locks that tell who holds them, and that die with their holder.

A POSIX lock belongs to a process: the kernel drops it when the process ends, however it ends, and
tells others the number of the process (`F_GETLK`), so nothing can be stale. It has two traps. A
process never sees its own lock as a conflict, and closing *any* descriptor of the file drops it.
So what this process holds is remembered here, and a file it holds is never opened again.

The lock of a run is one for writing, which only those can have who may write the file. One for
reading can be taken by every reader, and means nothing: a file that somebody holds so gives
way to a new one.
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

_OPEN: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_OWNER_ONLY: Final = 0o600
_LONGEST: Final = 4096
"""bytes that a locked file may hold"""

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

    def read(self) -> bytes:
        """What the file holds; to open it once more would drop the lock."""
        return os.pread(_held[self._key], _LONGEST, 0)

    def write(self, data: bytes) -> None:
        """Let the file hold this from now on."""
        os.ftruncate(_held[self._key], 0)
        os.pwrite(_held[self._key], data, 0)

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
        while True:
            if _key(path) in _held:
                return None
            descriptor = os.open(path, _OPEN, _OWNER_ONLY)
            try:
                is_held = _try_to_lock(descriptor)
                if is_held and _is_at(path, descriptor):
                    status = os.fstat(descriptor)
                    key = (os.getpid(), status.st_dev, status.st_ino)
                    _held[key] = descriptor
                    return FileLock(key)
                if not is_held and _writer(descriptor) is not None:
                    os.close(descriptor)
                    return None
                if not is_held and _is_at(path, descriptor):
                    _replace(path, descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)


def _try_to_lock(descriptor: int) -> bool:
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether the open file is still the one of this name."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _replace(path: Path, descriptor: int) -> None:
    """Put an empty file of the same age in the place of one that others only read."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    status = os.fstat(descriptor)
    os.close(os.open(fresh, _OPEN | os.O_TRUNC, _OWNER_ONLY))
    os.utime(fresh, ns=(status.st_atime_ns, status.st_mtime_ns))
    fresh.replace(path)


def _writer(descriptor: int) -> int | None:
    """The process that holds the lock of an open file; 0: not to be seen from here."""
    question = _FLOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
    answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, question)
    kind, _, _, _, process = _FLOCK.unpack(answer)
    return None if kind == fcntl.F_UNLCK else max(process, 0)


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
            return _writer(descriptor)
        finally:
            os.close(descriptor)


def _key(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return os.getpid(), status.st_dev, status.st_ino
