"""A directory in which bursar is called, and all processes that come of it."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

from tests.dask_cluster import eventually

BURSAR = Path(sys.executable).with_name("bursar")


MARKET = """
[[offer]]
name = "lab"
price = "0.01"
billing = "{billing}"
slots = 2
limit = {limit}
{more}
"""


class Workplace:
    """`task.sh SECONDS NUMBER` waits, prints what `input` holds, and its number."""

    def __init__(self, directory, **environment):
        self.directory = Path(directory)
        self._sign = f"WORKPLACE={uuid.uuid4().hex}"
        name, _, value = self._sign.partition("=")
        self.environment = {**os.environ, name: value, **environment}
        self.program = [str(BURSAR)]
        (self.directory / "task.sh").write_text(
            '#!/bin/sh\nsleep "$1"; cat input; echo "task $2"\n'
        )
        (self.directory / "task.sh").chmod(0o755)
        (self.directory / "input").write_text("sent along\n")

    def start(self, *words):
        return subprocess.Popen(
            [*self.program, *words],
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def call(self, *words):
        process = self.start(*words)
        printed, _ = process.communicate(timeout=200)
        assert process.returncode == 0, printed
        return printed

    def outputs(self, run):
        """What each task printed."""
        place = self.directory / ".bursar" / run / "outputs"
        return {
            int(one.name): (one / "stdout").read_text()
            for one in place.iterdir()
            if one.name.isdecimal()
        }

    def results_of(self, run, count):
        """Wait until so many tasks of a run have results: which ones is up to its placer."""
        place = self.directory / ".bursar" / run / "outputs"
        return eventually(lambda: sum(one.name.isdecimal() for one in listed(place)) >= count, 60)

    def processes(self, part=""):
        """Numbers of the living ones whose command has this in it."""
        found = []
        for number in processes_with(self._sign):
            command = command_of(number)
            if part and self.program[-1] in command:
                continue  # its own words name what is started
            if command and part in command:
                found.append(number)
        return found

    def all_end(self, seconds=60):
        return eventually(lambda: not self.processes(), seconds)


class Lab(Workplace):
    """Machines of this computer keep their agents in `m`."""

    def __init__(self, directory, **environment):
        super().__init__(directory, BURSAR_MACHINE_DIR=str(directory / "m"), **environment)

    def market(self, more="", *, billing="40s", limit=3, budget="5"):
        text = MARKET.format(more=more, billing=billing, limit=limit)
        (self.directory / "market.toml").write_text(text)
        return ("--market", "market.toml", "--budget", budget)


def listed(directory):
    """What is in it, if it is there."""
    return list(directory.iterdir()) if directory.exists() else []


def expected(tasks):
    """What `task.sh` prints for tasks 1 to this one."""
    return {task: f"sent along\ntask {task}\n" for task in range(1, tasks + 1)}


def processes_with(sign):
    """Numbers of the processes whose environment has this in it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                if sign.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def command_of(number):
    """Its words; empty: it is gone, or has none any more."""
    try:
        data = Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return ""
    return data.replace(b"\0", b" ").decode(errors="replace")
