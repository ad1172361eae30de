"""Where agents live on a machine: a directory each, private to its user, with a lock and a socket.

    /tmp/bursar-1000/3f6c.../   (or below BURSAR_MACHINE_DIR)
        token      which machine of which run this is
        lock       held by the agent while it lives
        socket     where the carrier reaches it
        worker     the name of the Dask worker that started it, if one did
        attempts/  work/

An agent removes its directory when it ends; what a killed one left is removed by the next that
begins or looks.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from bursar.model.errors import BursarError

ENDING: Final = 12.0
"""seconds that an agent has to end everything, before it is killed"""


LONGEST_SOCKET: Final = 107
"""bytes of its name"""


class PlaceError(BursarError):
    """A directory that cannot be used as the place of an agent."""

    exit_code = 1


class FoundAgent(NamedTuple):
    token: str
    pid: int
    """0: it has ended, and left its directory"""
    worker: str = ""
    """the Dask worker that started it"""


def root() -> Path:
    """The directory of all agents of this user; made if it is not there, refused if not ours."""
    given = os.environ.get("BURSAR_MACHINE_DIR")
    path = Path(given) if given else Path(f"/tmp/bursar-{os.getuid()}")  # noqa: S108
    with suppress(FileExistsError):
        path.mkdir(mode=0o700, parents=True)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise PlaceError(f"{path}: must be a directory of this user alone; move it away")
    return path


@contextmanager
def socket_name(path: Path) -> Iterator[str]:
    """By which a socket can be bound or reached: the kernel takes no more than 107 bytes."""
    if len(os.fsencode(path)) <= LONGEST_SOCKET:
        yield str(path)
        return
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


def name_of(token: str) -> str:
    return blake2b(token.encode(errors="surrogateescape"), digest_size=8).hexdigest()


def place_of(token: str) -> Path:
    return root() / name_of(token)


class AgentPlace:
    """The directory of a living agent; `close` removes it."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def take(cls, token: str) -> AgentPlace | None:
        """Make the place of a machine; None: its agent lives already.

        What dead agents left here is removed: after a job of Slurm nobody else would do it.
        """
        for _ in found_agents():
            pass
        path = place_of(token)
        lock = _locked(path)
        if lock is None:
            return None
        for entry in path.iterdir():
            if entry.name != "lock":
                _remove(entry)
        (path / "token").write_text(token, errors="surrogateescape")
        (path / "attempts").mkdir()
        (path / "work").mkdir()
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        return cls(path, lock)

    def close(self) -> None:
        for entry in self.path.iterdir():
            if entry.name != "lock":
                _remove(entry)
        with suppress(OSError):
            (self.path / "lock").unlink()
            self.path.rmdir()
        os.close(self._lock)


def _locked(path: Path) -> int | None:
    """Make the directory and lock it; None: somebody else has the lock.

    A lock on a file that was removed meanwhile is worth nothing: then it is tried again.
    """
    while True:
        path.mkdir(mode=0o700, exist_ok=True)
        try:
            lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), (path / "lock").stat()):
                return lock
        os.close(lock)


def found_agents() -> Iterator[FoundAgent]:
    """All agents of this user on this computer; what dead ones left is removed."""
    for path in sorted(root().iterdir()):
        try:
            token = (path / "token").read_text(errors="surrogateescape")
        except (FileNotFoundError, NotADirectoryError):
            continue
        pid = _holder(path)
        if pid:
            yield FoundAgent(token, pid, _noted_worker(path))
        else:
            _tidy(path)


def note_worker(token: str, worker: str) -> None:
    """Let those who look for agents know which Dask worker started this one."""
    with suppress(FileNotFoundError):  # it has ended meanwhile
        (place_of(token) / "worker").write_text(worker, errors="surrogateescape")


def _noted_worker(path: Path) -> str:
    try:
        return (path / "worker").read_text(errors="surrogateescape")
    except FileNotFoundError:
        return ""


def end_agent(token: str) -> bool:
    """End an agent and all that it keeps, and wait for that; whether there was one."""
    path = place_of(token)
    pid = _holder(path)
    if not pid:
        _tidy(path)
        return False
    with _handle(pid) as handle:
        if handle is not None and _holder(path) == pid:
            _send(handle, signal.SIGTERM)
        end = time.monotonic() + ENDING
        while _holder(path) == pid:
            if time.monotonic() > end and handle is not None:
                _send(handle, signal.SIGKILL)  # its warden ends the rest
                end += ENDING
            time.sleep(0.02)
    _tidy(path)
    return True


def _holder(path: Path) -> int:
    """The process that holds the lock; 0: nobody does."""
    try:
        lock = os.open(path / "lock", os.O_RDWR | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return 0
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        content = os.pread(lock, 32, 0)
        return int(content) if content.strip().isdigit() else -1
    else:
        return 0
    finally:
        os.close(lock)


def _tidy(path: Path) -> None:
    """Remove what a dead agent left, unless another has begun there."""
    if not path.is_dir():
        return
    lock = _locked(path)
    if lock is not None:
        AgentPlace(path, lock).close()


@contextmanager
def _handle(pid: int) -> Iterator[int | None]:
    try:
        handle = os.pidfd_open(pid)
    except (ProcessLookupError, OSError):
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


def _send(handle: int, number: int) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, number)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
