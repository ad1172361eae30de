"""bursar's end of the connection to the warden, and what is left to do if the warden dies."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from typing import Any

from bursar.execute.processes import PATIENCE, WARD, is_subreaper, set_subreaper, sweep
from bursar.execute.wire import Channel, python_program
from bursar.model.time import Time


class WardenLink:
    """Starts a warden for a run; `call` gathers what is sent by `flush`."""

    def __init__(self, run: str, mark: str, attempts: str, grace: Time) -> None:
        self._mark = mark
        self._calls: list[tuple[Any, ...]] = []
        ours, theirs = socket.socketpair()
        ORPHANAGE.open()
        with theirs:
            program = python_program("bursar.execute.agent", str(theirs.fileno()))
            self._process = subprocess.Popen(
                [*program, str(os.getpid()), mark, attempts, str(grace)],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                env={**os.environ, "BURSAR_RUN": run, WARD: f"{mark}/warden"},
            )
        self.channel = Channel(ours)

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(self, name: str, *arguments: Any) -> None:
        self._calls.append((name, *arguments))

    def call_with(self, descriptor: int, name: str, *arguments: Any) -> None:
        """A call that hands over a descriptor."""
        self.flush()
        self.channel.send([(name, *arguments)], descriptor=descriptor)

    def flush(self) -> None:
        if self._calls:
            self.channel.send(self._calls)
            self._calls = []

    def close(self) -> None:
        """End the warden and all its wards."""
        self.channel.close()
        try:
            self._process.wait(PATIENCE + 1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.returncode != 0:
            sweep(self._mark)
        ORPHANAGE.close()


class Orphanage:
    """While it is open, orphans of wardens that were killed become children of this process.

    So they can be found and killed; afterwards the process is as it was before.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before = False

    def open(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._before = is_subreaper()
                set_subreaper(True)

    def close(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                set_subreaper(self._before)


ORPHANAGE = Orphanage()
