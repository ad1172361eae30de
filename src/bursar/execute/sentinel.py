"""The sentinel: a child of the keeper that acts only if bursar, keeper and warden die at once.

It waits for the lifeline to break, then ends all processes that have the tag of the run. So it also
finds those that left their group, which the kernel does not end (`lifeline.py`). Whatever ends the
other three by name (`pkill -9 -f bursar`, `killall -9 python`), by group or by session does not
reach it: it has a session and a name of its own. The keeper ends it with everything else.
"""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from bursar.execute.processes import memory_of_arguments, sweep

if TYPE_CHECKING:
    from typing import Final, NoReturn

    from bursar.execute.lifeline import Lifeline

NAME: Final = b"task-sentinel"
"""as `ps` shows it; at most 15 bytes"""


def watch(line: Lifeline, mark: str) -> NoReturn:
    """Be the sentinel of the run with this mark, in a process that was forked for it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setsid()
    with suppress(OSError):
        _rename()
    line.await_break()
    sweep(mark)
    os._exit(0)


def _rename() -> None:
    """Change what others see as the name and the command of this process."""
    with open("/proc/self/comm", "wb") as file:  # noqa: PTH123
        file.write(NAME)
    start, end = memory_of_arguments()
    if end - start > len(NAME):
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, NAME, len(NAME))
