"""The Dask worker beside an agent: started, started again when it ended, ended when it froze."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from bursar.execute.processes import boottime
from bursar.execute.remote import messages as m
from bursar.execute.wire import Channel, python_program
from bursar.model.time import SECOND

PING_EVERY: Final = 3 * SECOND
LONGEST_SILENCE: Final = 12 * SECOND
"""A worker that was connected and does not answer for so long is ended."""
LONGEST_START: Final = 120 * SECOND
"""One that does not connect for so long is ended, too."""
PAUSE: Final = SECOND
"""before it is started again"""
PR_SET_PDEATHSIG: Final = 1
"""of prctl(2): the signal that a process gets when its parent ends"""


class Carrier:
    """Keeps one Dask worker alive."""

    def __init__(self, config: m.CarrierConfig, place: Path) -> None:
        self._config = config
        self._place = place
        self._starts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._next_start = 0
        self._heard: int | None = None
        """when it said last that it is awake; None: it has not connected yet"""
        self._started = 0
        self._next_ping = 0

    def is_awake(self) -> None:
        self._heard = boottime()

    def look(self, channels: Iterable[Channel]) -> None:
        """Start it if it is not there; ask whether it is awake; to be called every second."""
        now = boottime()
        if self._process is not None and self._process.poll() is not None:
            self._process, self._next_start = None, now + PAUSE
        if self._process is None:
            if now >= self._next_start:
                self._start()
            return
        silent = LONGEST_START if self._heard is None else LONGEST_SILENCE
        if now - (self._heard or self._started) > silent:
            self._process.kill()
        if now >= self._next_ping:
            self._next_ping = now + PING_EVERY
            for channel in channels:
                channel.send(0)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _start(self) -> None:
        """What it must know, with its key, comes through a pipe."""
        self._starts += 1
        self._heard, self._started = None, boottime()
        config = msgspec.structs.replace(self._config, name=f"{self._config.name}.{self._starts}")
        directory = self._place / "dask"
        directory.mkdir(exist_ok=True)
        with (self._place / "dask.log").open("ab") as log:
            self._process = subprocess.Popen(
                python_program(
                    "bursar.execute.remote.dask_worker", str(self._place / "socket"), str(directory)
                ),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509 (an agent has one thread)
            )
        assert self._process.stdin is not None  # noqa: S101
        self._process.stdin.write(m.encode(config))
        self._process.stdin.close()


def _die_with(agent: int) -> Callable[[], None]:
    """For a new process: it ends with its agent, however early, and although it may be stopped."""
    library = ctypes.CDLL(None)

    def die() -> None:
        library.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != agent:
            os._exit(0)

    return die
