"""The keeper: the parent of the warden, there to end everything if the warden dies.

    bursar -- keeper -- warden -- tasks
                '-- sentinel

Each of the three watches the others it depends on, so that the death of any one or two leaves
somebody who ends all the processes of the run, whatever they did to hide:

- the warden is gone: its children come to the keeper, which kills them and all that come after;
- bursar is gone: the warden ends everything; the keeper sees that it does;
- the keeper is gone: the warden ends everything, and bursar finds its machines lost;
- the warden and the keeper are gone: the kernel kills the groups of all processes they started
  (`lifeline.py`), and bursar the rest, by their tags;
- all three are gone: the kernel kills the groups, and the sentinel the rest (`sentinel.py`).

If the sentinel dies with the three, a daemon that left its group lives until the run is resumed.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from bursar.execute.lifeline import Lifeline
from bursar.execute.processes import GRACE, await_end, become_subreaper, end_descendants
from bursar.execute.tags import put_on

if TYPE_CHECKING:
    from typing import Final, NoReturn

FORK_GRACE: Final = 10.0
"""seconds to try again where the system refuses to start a process"""


def keep(warden: int, bursar: int) -> int:
    """Wait until the warden has ended, then leave no descendant; the exit code.

    If bursar ends or this process is asked to, the warden has GRACE to end everything.
    """
    stop, ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
    handle = os.pidfd_open(warden)
    if handle not in await_end(None, handle, bursar, stop):
        os.kill(warden, signal.SIGTERM)
        await_end(GRACE + 1, handle)
        os.kill(warden, signal.SIGKILL)
    status = os.waitpid(warden, 0)[1]
    return 0 if end_descendants() and status == 0 else 1


def _prepare_signals() -> None:
    """The terminal's are for bursar; what is asked of the keeper is asked of all."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: None)


def _fork() -> int:
    """As os.fork; where that is refused for a moment, try again."""
    end = time.monotonic() + FORK_GRACE
    while True:
        try:
            return os.fork()
        except BlockingIOError as error:
            if time.monotonic() >= end:
                sys.exit(f"bursar cannot start its warden: {error.strerror}; see ulimit -u")
            time.sleep(0.05)


def _be_warden(keeper: int, bursar: int, link: socket.socket, line: Lifeline) -> NoReturn:
    from bursar.execute.warden import Warden
    from bursar.execute.wire import Channel

    mark, tag, attempts, grace = sys.argv[3:]
    try:
        handle = os.pidfd_open(keeper)
    except ProcessLookupError:
        os._exit(0)
    if os.getppid() == keeper:
        os.setsid()  # what is sent to the group of one does not reach the other
        become_subreaper()
        masters = (bursar, handle)
        Warden(Channel(link), masters, line, mark, int(tag), attempts, int(grace)).run()
    os._exit(0)


def _start_sentinel(line: Lifeline, bursar: int, mark: str) -> None:
    """Where the system refuses another process, the run goes on without."""
    from bursar.execute.sentinel import watch

    with suppress(OSError):
        if os.fork() == 0:
            os.close(bursar)
            watch(line, mark)


def main() -> None:
    """Arguments: the connection's descriptor, bursar's process, mark and tag, directory, grace.

    bursar's process is watched too: one that it forked may hold the connection open after it.
    """
    descriptor, master = map(int, sys.argv[1:3])
    link = socket.socket(fileno=descriptor)
    link.set_inheritable(False)
    try:
        bursar = os.pidfd_open(master)
    except ProcessLookupError:
        return  # it died before there was anything to keep
    if os.getppid() != master:
        return
    _prepare_signals()
    become_subreaper()
    put_on(int(sys.argv[4]))
    line = Lifeline()
    me = os.getpid()
    warden = _fork()
    if warden == 0:
        _be_warden(me, bursar, link, line)
    link.close()
    _start_sentinel(line, bursar, sys.argv[3])
    sys.exit(keep(warden, bursar))
