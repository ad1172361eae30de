"""A real Dask cluster for tests: a scheduler and workers, started as their users start them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class DaskCluster:
    """`workers` are named w-1, w-2, ...; each is a process of its own, without a nanny."""

    def __init__(self, directory, workers=3):
        self.directory = Path(directory)
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler = self.start_scheduler()
        self.workers = {f"w-{n}": self.start_worker(f"w-{n}") for n in range(1, workers + 1)}

    def start_scheduler(self):
        return self._start(
            "scheduler", "scheduler", "--host", "127.0.0.1", "--port", str(self.port)
        )

    def start_worker(self, name):
        words = ("--name", name, "--nthreads", "2", "--no-nanny", "--host", "127.0.0.1")
        place = ("--local-directory", str(self.directory / name))
        return self._start(name, "worker", self.address, *words, *place)

    def _start(self, log, *words):
        program = Path(sys.executable).parent / "dask"
        environment = {
            **os.environ,
            "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
            "BURSAR_MACHINE_DIR": str(self.directory / "m"),
        }
        with (self.directory / f"{log}.log").open("ab") as file:
            return subprocess.Popen(
                [program, *words, "--no-dashboard"], stderr=file, stdout=file, env=environment
            )

    def is_up(self):
        """Whether all workers have found the scheduler."""
        log = (self.directory / "scheduler.log").read_text()
        return log.count("Register worker") >= len(self.workers)

    def close(self):
        for process in (*self.workers.values(), self.scheduler):
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()


def eventually(holds, seconds=30.0):
    """Whether it holds before long."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return found
