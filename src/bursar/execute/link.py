"""bursar's end of the connection to the warden, and what is left to do if the warden dies."""

from __future__ import annotations

import errno
import os
import resource
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from bursar.execute.processes import GRACE, WARD, WARDEN, await_end, sweep
from bursar.execute.tags import run_tag
from bursar.execute.wire import Channel, python_program
from bursar.model.errors import BursarError
from bursar.model.time import Time

LEAST_DESCRIPTORS: Final = 8
"""that must be free for a run to begin"""
START_TIMEOUT: Final = 10.0
"""seconds to try again where the system refuses to start a process"""


class DispatchError(BursarError):
    """The child program that watches over processes does not start."""

    exit_code = 1


def require_descriptors() -> None:
    """Make sure that this process can open the files that it takes to run anything at all."""
    if not _has_room():
        _allow_more()
        if not _has_room():
            raise _too_few()


def socket_pair(
    make: Callable[[], tuple[socket.socket, socket.socket]] = socket.socketpair,
) -> tuple[socket.socket, socket.socket]:
    """Two ends; if this process has no descriptors left, it is allowed as many as it may have."""
    try:
        return make()
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise DispatchError(f"cannot talk to a new process: {error.strerror}") from None
    _allow_more()
    try:
        return make()
    except OSError:
        raise _too_few() from None


def _has_room() -> bool:
    probes: list[int] = []
    try:
        probes.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(LEAST_DESCRIPTORS))
    except OSError:
        return False
    finally:
        for probe in probes:
            os.close(probe)
    return True


def _allow_more() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _too_few() -> DispatchError:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    problem = f"this process may open no more than {most} files"
    return DispatchError(f"{problem}; allow more with ulimit -n, or use fewer slots")


class WardenLink:
    """Starts a warden for a run; `call` gathers what is sent by `flush`."""

    def __init__(self, run: str, mark: str, attempts: str, grace: Time) -> None:
        self._mark = mark
        self._calls: list[tuple[Any, ...]] = []
        ours, theirs = socket_pair()
        with theirs:
            program = python_program("bursar.execute.keeper", str(theirs.fileno()))
            arguments = [str(os.getpid()), mark, str(run_tag(mark)), attempts, str(grace)]
            environment = {**os.environ, "BURSAR_RUN": run, WARD: f"{mark}/{WARDEN}"}
            self._process = _start([*program, *arguments], environment, theirs.fileno())
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
        with suppress(OSError):  # to wait with `wait` alone is to look every 50 ms
            handle = os.pidfd_open(self._process.pid)
            await_end(2 * GRACE, handle)
            os.close(handle)
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.returncode != 0:
            sweep(self._mark)


def _start(argv: list[str], environment: dict[str, str], link: int) -> subprocess.Popen[bytes]:
    """Start a program; where the system refuses that for a moment, try again."""
    end = time.monotonic() + START_TIMEOUT
    while True:
        try:
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                pass_fds=(link,),
                start_new_session=True,
                env=environment,
            )
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ENOMEM) or time.monotonic() >= end:
                raise DispatchError(f"cannot start a process: {error.strerror}") from None
        time.sleep(0.05)
