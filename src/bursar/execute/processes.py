"""Processes of this computer: who is whose child, who carries which mark, and ending them.

Every process that bursar starts has `BURSAR_WARD=<mark>/<number>` in its environment, where the
mark names the run, and a tag (`tags.py`) that says the same; descendants inherit both. The modules
here start quickly: they are part of the child programs.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import time
from typing import TYPE_CHECKING

from bursar.execute.tags import is_of_run, run_tag, tag_of

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Final

WARD: Final = "BURSAR_WARD"
"""The environment variable that tells whose ward a process is."""
WARDEN: Final = "warden"
"""in place of the number of a ward"""

PR_SET_CHILD_SUBREAPER: Final = 36

CHUNK: Final = 1 << 16
"""bytes to read at once"""
SHORT: Final = 1 << 10
"""bytes: far less than a page"""
GRACE: Final = 5.0
"""seconds to wait for killed processes; one that hangs in the kernel takes longer, or for ever"""


def boottime() -> int:
    """Microseconds since the computer started, those asleep included; all processes agree."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def become_subreaper() -> None:
    """From now on orphaned descendants become children of this process, not of the first one."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Children:
    """Living and dead children of this process, which must have a single thread.

    Nobody is missed: a child stays in the kernel's list until this process waits for it, and new
    ones are added at the end. The list stays open, to be read at every look.
    """

    def __init__(self) -> None:
        me = os.getpid()
        try:
            self._list = os.open(f"/proc/{me}/task/{me}/children", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            self._list = -1

    def look(self) -> list[int]:
        """The kernel hands out a page at a time: what is much shorter is the last."""
        if self._list < 0:
            return children_by_scan()
        found = os.pread(self._list, CHUNK, 0)
        if len(found) > SHORT:
            while page := os.pread(self._list, CHUNK, len(found)):
                found += page
        return [int(word) for word in found.split()]

    def close(self) -> None:
        if self._list >= 0:
            os.close(self._list)


def children() -> list[int]:
    """The same, once."""
    found = Children()
    try:
        return found.look()
    finally:
        found.close()


def children_by_scan() -> list[int]:
    """The same for a kernel that keeps no list: look at every process."""
    me = os.getpid()
    return [pid for pid in _all_processes() if parent_of(pid) == me]


def parent_of(pid: int) -> int | None:
    fields = _fields(pid)
    return int(fields[1]) if fields else None


def is_dead(pid: int) -> bool:
    """Whether it is gone, or has ended and waits to be collected."""
    fields = _fields(pid)
    return not fields or fields[0] in (b"Z", b"X")


def memory_of_arguments() -> tuple[int, int]:
    """Where the command line of this process begins and ends in its memory."""
    fields = _fields(os.getpid())
    return int(fields[45]), int(fields[46])


def _fields(pid: int) -> list[bytes]:
    """What the kernel tells of a process, after its name, which may hold anything."""
    stat = _read(pid, "stat")
    return stat[stat.rindex(b")") + 2 :].split() if stat else []


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


def await_end(seconds: float | None, *handles: int) -> list[int]:
    """Wait for a process to end; which of these descriptors of processes are of ended ones."""
    poll = select.poll()
    for handle in handles:
        poll.register(handle, select.POLLIN)
    return [handle for handle, _ in poll.poll(None if seconds is None else seconds * 1000)]


def end_descendants() -> bool:
    """Kill all children; those of the killed come here as orphans and are killed too.

    For a subreaper. Returns whether none is left, which takes no longer than GRACE.
    """
    end = time.monotonic() + GRACE
    while _reap_all():
        if time.monotonic() >= end:
            return False
        for pid in children():
            kill_child(pid)
        time.sleep(0.001)
    return True


def _reap_all() -> bool:
    """Wait for the children that have ended; whether others are left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def sweep(mark: str) -> int:
    """End what is left of a run that crashed: all processes that have its tag or carry its mark.

    A warden and its keeper that still live are asked to end everything, since they know all their
    descendants; so is their sentinel. This process and its ancestors are spared. Returns how many
    were signalled.
    """
    run = run_tag(mark)
    spared = _lineage()
    killed: set[int] = set()
    end = time.monotonic() + 2 * GRACE
    looks_in_vain = 0
    while looks_in_vain < 2 and time.monotonic() < end:
        found = [pid for pid in _all_processes() if pid not in spared and _is_of(pid, run, mark)]
        watchers = [pid for pid in found if _watches(pid, run, mark)] if not killed else []
        if found:
            killed.update(found)
            number = signal.SIGTERM if watchers else signal.SIGKILL
            _signal_found(watchers or found, number, run, mark)
            looks_in_vain = 0
        else:  # one that is just being replaced by another program hides its mark for a moment
            looks_in_vain += 1
            time.sleep(0.01)
    return len(killed)


def _is_of(pid: int, run: int, mark: str) -> bool:
    """Whether a living process is of the run: by its tag; by its mark if it has no tag."""
    tag = tag_of(pid)
    if tag is not None:
        return is_of_run(tag, run) and not is_dead(pid)
    ward = ward_of(pid)  # the dead have none
    return ward is not None and ward.rpartition("/")[0] == mark


def _watches(pid: int, run: int, mark: str) -> bool:
    """Whether a process of the run is its warden, the warden's keeper or the sentinel."""
    tag = tag_of(pid)
    return tag == run if tag is not None else ward_of(pid) == f"{mark}/{WARDEN}"


def _signal_found(pids: Collection[int], number: int, run: int, mark: str) -> None:
    """Signal by descriptor: a number may be another process's by the time the signal is sent."""
    end = time.monotonic() + GRACE
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            if _is_of(pid, run, mark):
                signal.pidfd_send_signal(handle, number)
                await_end(max(0.0, end - time.monotonic()), handle)
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
