"""The Dask scheduler of a run: a program that knows who is there, and ends with bursar.

No task of Dask ever runs: bursar asks it where the worker of a machine is, and speaks to that.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from bursar.execute.remote.messages import Credentials, encode
from bursar.execute.remote.security import security_of
from bursar.execute.wire import python_program
from bursar.model.errors import BursarError

if TYPE_CHECKING:
    from distributed import Scheduler

KEPT: Final = "scheduler.json"
"""in the directory of a run"""
HANDED_OVER_S: Final = 15.0
"""time for a port to be free again"""
PACE_S: Final = 0.3


class SchedulerError(BursarError):
    """The Dask scheduler of a run does not start."""

    exit_code = 1


class SchedulerConfig(msgspec.Struct, frozen=True):
    host: str
    port: int
    """0: any that is free"""
    credentials: Credentials


def kept_config(home: Path) -> SchedulerConfig | None:
    """That of an earlier process of the run; None: there was none."""
    try:
        return msgspec.json.decode((home / KEPT).read_bytes(), type=SchedulerConfig)
    except FileNotFoundError:
        return None


def keep_config(home: Path, config: SchedulerConfig) -> None:
    """Keep address and key for a resumed run, where nobody else can read them."""
    part = home / f"{KEPT}.part"
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(config))
    part.replace(home / KEPT)


class SchedulerProcess:
    """Runs the program; `look` starts it again, at the same address, where it was killed."""

    def __init__(self, config: SchedulerConfig) -> None:
        self._config = config
        self.address, self._process = _started_again(config) if config.port else _started(config)
        port = int(self.address.rpartition(":")[2])
        self.config = msgspec.structs.replace(config, port=port)
        """with the port that it has"""
        self.starts = 1

    @property
    def pid(self) -> int:
        return self._process.pid

    def look(self) -> None:
        if self._process.poll() is not None:
            self.close()
            self.address, self._process = _started(self.config)
            self.starts += 1

    def close(self) -> None:
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def _started_again(config: SchedulerConfig) -> tuple[str, subprocess.Popen[bytes]]:
    """At the address of an earlier one, which may need a moment to end after its bursar did."""
    end = time.monotonic() + HANDED_OVER_S
    while True:
        try:
            return _started(config)
        except SchedulerError:
            if time.monotonic() > end:
                raise
            time.sleep(PACE_S)


def _started(config: SchedulerConfig) -> tuple[str, subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        python_program("bursar.execute.remote.dask_scheduler"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None  # noqa: S101
    data = encode(config)
    process.stdin.write(len(data).to_bytes(4) + data)
    process.stdin.flush()
    line = process.stdout.readline().decode().strip()
    if not line.startswith("tls://"):
        with process:  # which closes its pipes
            process.kill()
        raise SchedulerError(
            f"the Dask scheduler does not start at {config.host}:{config.port}"
            f" ({line or 'it ended at once'}); is the port free?"
        )
    return line, process


async def serve(config: SchedulerConfig) -> None:
    """Until nobody holds the other end of stdin."""
    from distributed import Scheduler

    scheduler: Scheduler
    async with Scheduler(
        host=config.host,
        port=config.port,
        protocol="tls",
        dashboard=False,
        security=security_of(config.credentials),
    ) as scheduler:
        print(scheduler.address, flush=True)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, sys.stdin.buffer.read)


def main() -> None:
    size = int.from_bytes(sys.stdin.buffer.read(4))
    config = msgspec.msgpack.decode(sys.stdin.buffer.read(size), type=SchedulerConfig)
    try:
        asyncio.run(serve(config))
    except OSError as error:
        print(error, flush=True)
        sys.exit(1)
