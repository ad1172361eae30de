"""A lifeline: where all who watch over processes die at once, the kernel ends the processes.

The warden and its keeper alone hold the end of a pipe into which nobody writes. Every process they
start inherits the other end, opened again for it, with the order that the kernel signals the
process's group when the pipe breaks (`O_ASYNC`, `F_SETOWN` and `F_SETSIG` of fcntl(2)). The pipe
breaks when the last of the two is gone. It takes no right that an ordinary user does not have. A
process that left its group is not reached: the sentinel (`sentinel.py`) ends it.
"""

from __future__ import annotations

import os
import resource
import select
import signal
from fcntl import F_DUPFD_CLOEXEC, F_SETFL, F_SETOWN, F_SETSIG, fcntl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

NUMBER: Final = 50
"""descriptor at which processes have it: above those that scripts use, below those of shells"""


class Lifeline:
    """While a process holds one, as its maker or a child of it, the processes live."""

    def __init__(self) -> None:
        reader, self._writer = os.pipe2(os.O_CLOEXEC)
        lowest = min(NUMBER, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 1)
        self.number = fcntl(reader, F_DUPFD_CLOEXEC, lowest)
        """taken here too, so that nothing else that a process is to inherit has it"""
        os.close(reader)
        self._path = f"/proc/self/fd/{self.number}"

    def open(self) -> int:
        """An end for one process, which must inherit it as `number`."""
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl(descriptor, F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        fcntl(descriptor, F_SETSIG, signal.SIGKILL)
        return descriptor

    def tie(self, descriptor: int, leader: int) -> None:
        """Tie the process group of the one that inherited this end, and no other from now on."""
        try:
            fcntl(descriptor, F_SETOWN, -leader)
        except ProcessLookupError:
            return  # it has ended before

    def await_break(self) -> None:
        """Wait until all others who hold it are gone; from now on this process holds it no more."""
        os.close(self._writer)
        poll = select.poll()
        poll.register(self.number, select.POLLIN)
        poll.poll()
