"""How many submissions a second `bursar serve` takes, and how soon it answers, while others wait.

Submissions are sent when they are due, whatever became of those before them, and how long one took
counts from then: a server that hesitates is not given time to recover.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from benchmarks.measure import Goal, Line, Result
from bursar.client import Client
from bursar.web.service.running import noted_address

RATE = 200
"""submissions a second"""
SECONDS = 8
WAITING = 10_000
"""tasks before the first submission that counts"""
SENDERS = 8
MOST_SECONDS = 0.1
FLOW = b"""
name: pair
tasks:
  one: {run: "sleep 1000; echo one > part", files: {out: part}}
  two: {run: "cat part > copy", files: {in: part, out: copy}}
"""
MARKET = """
currency = "USD"
date = "2026-01-01"
[[offer]]
name = "small"
price = "0.01"
billing = "1h"
limit = 2
"""


class Answers(msgspec.Struct):
    """What a burst of submissions took."""

    seconds: float
    """from the first due time to the last answer"""
    latencies: list[float]
    processor: float
    """seconds of the server's processor time"""

    @property
    def p99(self) -> float:
        return sorted(self.latencies)[int(0.99 * len(self.latencies))]

    @property
    def p50(self) -> float:
        return sorted(self.latencies)[len(self.latencies) // 2]


class Server:
    def __init__(self, home: Path, process: subprocess.Popen[bytes]) -> None:
        self.home, self.process = home, process
        noted = None
        while noted is None:
            time.sleep(0.02)
            noted = noted_address(home)
        self.url, self.port = noted.url, noted.port
        self.token = (home / "tokens" / "ann").read_text().strip()

    def processor_time(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """The largest that it was, in MB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        (peak,) = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
        return int(peak) / 1000

    def fill(self, tasks: int) -> None:
        """Let tasks wait, some thousand works of a few tasks each."""
        with Client(self.url, self.token) as client:
            for _ in range(tasks // 10):
                client.submit_bag("sleep 1000", repeat=10)

    def send(self, count: int, rate: float | None) -> Answers:
        """Submit so many workflows, at this rate, or as fast as answers come."""
        latencies: list[float] = []
        used, began = self.processor_time(), time.perf_counter()
        threads = [
            threading.Thread(target=self._sender, args=(place, count, rate, began, latencies))
            for place in range(SENDERS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - began
        return Answers(seconds, latencies, self.processor_time() - used)

    def _sender(
        self, place: int, count: int, rate: float | None, began: float, latencies: list[float]
    ) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        headers = {"Authorization": f"Bearer {self.token}"}
        for number in range(place, count, SENDERS):
            due = time.perf_counter() if rate is None else began + number / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            connection.request("POST", "/api/v1/workflows?filename=a.yaml", FLOW, headers)
            response = connection.getresponse()
            reported = json.loads(response.read())
            assert response.status == 201, reported
            latencies.append(time.perf_counter() - due)
        connection.close()


@contextmanager
def serving() -> Iterator[Server]:
    """A service of one user on emulated machines, in a directory of its own."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "market.toml").write_text(MARKET)
        words = ["serve", "-q", "--market", "market.toml", "--user", "ann=1/h", "--port", "0"]
        process = subprocess.Popen([sys.executable, "-m", "bursar", *words], cwd=directory)
        try:
            yield Server(Path(directory, ".bursar", "service"), process)
        finally:
            process.send_signal(signal.SIGQUIT)
            process.wait()


def measure(rounds: int) -> Result:
    with serving() as server:
        server.fill(WAITING)
        steady = [server.send(RATE * SECONDS, RATE) for _ in range(rounds)]
        fastest = server.send(RATE * SECONDS, None)
        memory = server.memory()
    best = min(steady, key=lambda one: one.p99)
    each = min(one.processor for one in steady) / (RATE * SECONDS)
    return Result(
        title=f"A service with {WAITING:,} tasks waiting, {RATE} workflows submitted a second",
        lines=[
            Line("P50 of the answers", best.p50 * 1000, "ms"),
            Line("P99", best.p99 * 1000, "ms"),
            Line("one submission", each * 1000, "ms", "of the server's processor time"),
            Line("as fast as it can", len(fastest.latencies) / fastest.seconds, "/s"),
            Line("memory", memory, "MB", "the most that it had"),
        ],
        goals=[
            Goal("submissions a second", RATE * SECONDS / best.seconds, ">=", 0.98 * RATE, "/s"),
            Goal("P99 of the answers", best.p99, "<=", MOST_SECONDS, "s"),
        ],
    )
