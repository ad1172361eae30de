"""Processes of this computer: who is whose child, who carries which mark, and ending them.

Every process that bursar starts has `BURSAR_WARD=<mark>/<number>` in its environment, where the
mark names the run; descendants inherit it. The modules here start quickly: they are part of the
child programs.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Final

WARD: Final = "BURSAR_WARD"
"""The environment variable that tells whose ward a process is."""

PR_SET_CHILD_SUBREAPER: Final = 36
PR_GET_CHILD_SUBREAPER: Final = 37

PATIENCE: Final = 5.0
"""seconds to wait for killed processes; one that hangs in the kernel takes longer, or for ever"""


def boottime() -> int:
    """Microseconds since the computer started, those asleep included; all processes agree."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def is_subreaper() -> bool:
    value = ctypes.c_int()
    _prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(value))
    return bool(value.value)


def set_subreaper(wanted: bool) -> None:
    """Whether orphaned descendants become children of this process, instead of the first one."""
    _prctl(PR_SET_CHILD_SUBREAPER, int(wanted))


def _prctl(option: int, argument: object) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, argument, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def children() -> list[int]:
    """Living and dead children of this process, which must have a single thread."""
    me = os.getpid()
    try:
        descriptor = os.open(f"/proc/{me}/task/{me}/children", os.O_RDONLY)
    except FileNotFoundError:
        return children_by_scan()
    try:
        words = os.read(descriptor, 1 << 16).split()
    finally:
        os.close(descriptor)
    return [int(word) for word in words]


def children_by_scan() -> list[int]:
    """The same for a kernel that keeps no list: look at every process."""
    me = os.getpid()
    return [pid for pid in _all_processes() if parent_of(pid) == me]


def parent_of(pid: int) -> int | None:
    stat = _read(pid, "stat")
    return int(stat[stat.rindex(b")") + 2 :].split()[1]) if stat else None


def ward_of(pid: int) -> str | None:
    """The mark and number a process carries, if any and if we may look."""
    wanted = WARD.encode() + b"="
    for entry in _read(pid, "environ").split(b"\0"):
        if entry.startswith(wanted):
            return os.fsdecode(entry[len(wanted) :])
    return None


def kill_group(leader: int, number: int) -> None:
    """Signal a process group, if it still has a member that we may signal."""
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        return


def kill_child(pid: int) -> None:
    """End a child; it cannot be mistaken for another process before it is waited for."""
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def sweep(mark: str) -> int:
    """Kill what is left of a run that crashed: all processes that carry its mark.

    This process and its ancestors are spared. Returns how many were killed.
    """
    spared = _lineage()
    killed: set[int] = set()
    end = time.monotonic() + PATIENCE
    looks_in_vain = 0
    while looks_in_vain < 2 and time.monotonic() < end:
        found = [pid for pid in _all_processes() if pid not in spared and _carries(pid, mark)]
        if found:
            killed.update(found)
            _kill_marked(found, mark, end)
            looks_in_vain = 0
        else:  # one that is just being replaced by another program hides its mark for a moment
            looks_in_vain += 1
            time.sleep(0.01)
    return len(killed)


def _carries(pid: int, mark: str) -> bool:
    ward = ward_of(pid)
    return ward is not None and ward.rpartition("/")[0] == mark


def _kill_marked(pids: Collection[int], mark: str, end: float) -> None:
    """Kill by descriptor: a number may be another process's by the time the signal is sent."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            if _carries(pid, mark):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                select.select([handle], [], [], max(0.0, end - time.monotonic()))
                _reap(pid)
        except (ProcessLookupError, PermissionError):
            continue
        finally:
            os.close(handle)


def _reap(pid: int) -> None:
    """Orphans come to a process that collects them; then it must wait for them."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def _lineage() -> set[int]:
    """This process and its ancestors."""
    found: set[int] = set()
    pid: int | None = os.getpid()
    while pid and pid not in found:
        found.add(pid)
        pid = parent_of(pid)
    return found


def _all_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208


def _read(pid: int, name: str) -> bytes:
    """A file that tells of a process; empty if the process is gone or not ours to look at."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:  # noqa: PTH123
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""
