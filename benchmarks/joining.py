"""300 machines elsewhere that join at once: what that costs the computer that bursar runs on.

bursar's side is real: its Dask scheduler, the hub that finds every worker, the TLS connections, the
greeting, the first lease. The machines are simulated: one process speaks for all of them, with a
listener each. They register with the scheduler as Dask workers do, and answer as agents do; there
is neither a worker nor a warden behind it (but for the first). So the figure is the processor
time of bursar's process and of its scheduler, which do all their work on one computer; what the
machines do is spread over them.
"""

from __future__ import annotations

import asyncio
import base64
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.measure import Goal, Line, Result

MACHINES = 300
FEW = 60
MOST_S = 30.0
"""processor time for all to join"""
MOST_GROWTH = 2.0
"""a machine among many may cost so many times as much as among few"""
PATIENCE_S = 240.0
AT_ONCE = 20
"""workers that register at the same time"""


def measure(rounds: int) -> Result:
    try:
        import_module("distributed")
    except ImportError:
        return Result("Machines that join", [], [], ["dask: pip install 'bursar[dask]'"])
    few = min((_joined(FEW) for _ in range(rounds)), key=lambda one: one.processor)
    many = min((_joined(MACHINES) for _ in range(rounds)), key=lambda one: one.processor)
    growth = (many.processor / MACHINES) / (few.processor / FEW)
    return Result(
        title=f"{MACHINES} machines join (simulated workers, real handshakes)",
        lines=[
            Line("processor time", many.processor, "s", "of bursar and its Dask scheduler"),
            Line("of bursar alone", many.own, "s"),
            Line("by the clock", many.clock, "s", "the simulated workers share this computer"),
            Line(f"processor time for {FEW}", few.processor, "s"),
        ],
        goals=[
            Goal("processor time", many.processor, "<=", MOST_S, "s"),
            Goal("growth for each machine", growth, "<=", MOST_GROWTH, f"times that of {FEW}"),
        ],
    )


class Joined(msgspec.Struct):
    clock: float
    processor: float
    own: float
    """processor time of bursar's process"""


class Given(msgspec.Struct, frozen=True):
    """What the process of the machines has to know."""

    scheduler: str
    handler: str
    names: list[str]
    credentials: Any


def _joined(machines: int) -> Joined:
    """Let so many join, and end."""
    from bursar.execute.processes import boottime
    from bursar.execute.remote.clusters import OwnCluster
    from bursar.execute.remote.dask_scheduler import SchedulerConfig
    from bursar.execute.remote.dispatch import RemoteDispatcher
    from bursar.execute.remote.places import name_of
    from bursar.execute.remote.security import make_credentials
    from bursar.execute.reports import JoinedReport
    from bursar.model.market import Offer
    from bursar.model.money import Money
    from bursar.model.time import HOUR, SECOND

    credentials = make_credentials()
    mark = f"joining-{os.getpid()}-{machines}"
    cluster = OwnCluster(mark, SchedulerConfig("127.0.0.1", 0, credentials))
    names = [f"{name_of(f'{mark}/{number}')}.1" for number in range(1, machines + 1)]
    given = Given(cluster.scheduler.address, cluster.handler, names, credentials)
    offer = Offer("elsewhere", Money.parse("0.1"))
    with tempfile.TemporaryDirectory() as place:
        dispatcher = RemoteDispatcher("joining", mark, cluster, Path(place), grace=SECOND)
        began = time.monotonic()
        own, scheduler = time.process_time(), _used(cluster.scheduler.pid)
        with subprocess.Popen(
            [sys.executable, "-m", __name__, place],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # what Dask logs of each worker
        ) as process:
            assert process.stdin is not None
            process.stdin.write(base64.b64encode(msgspec.msgpack.encode(given)) + b"\n")
            process.stdin.flush()
            for number in range(1, machines + 1):
                dispatcher.lease(number, boottime() + HOUR, offer)
            there: set[int] = set()
            while len(there) < machines and time.monotonic() < began + PATIENCE_S:
                reports = dispatcher.poll(boottime() + SECOND)
                there |= {one.machine for one in reports if isinstance(one, JoinedReport)}
            own = time.process_time() - own
            scheduler = _used(cluster.scheduler.pid) - scheduler
            clock = time.monotonic() - began
            dispatcher.close()
            process.stdin.close()
        if len(there) < machines:
            raise RuntimeError(f"only {len(there)} of {machines} machines joined")
    return Joined(clock, own + scheduler, own)


def _used(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


# --- the machines --------------------------------------------------------------------------------


class _SimulatedAgent:
    """Answers as an agent does that takes every order and has nothing to report but its end."""

    def __init__(self) -> None:
        self._seen = 0
        self._over: list[Any] = []

    async def handle(self, token: str, request: bytes, start: bytes = b"") -> bytes:
        from bursar.execute.processes import boottime
        from bursar.execute.remote import messages as m
        from bursar.model.time import SECOND

        asked = m.decode_request(request)
        if isinstance(asked, m.Deliver):
            self._seen = max(self._seen, asked.first + len(asked.orders) - 1)
            if any(isinstance(order, m.EndMachine) for order in asked.orders):
                self._over = [m.MachineOver("released", boottime(), "")]
        elif isinstance(asked, m.Listen) and not self._over:
            await asyncio.sleep(asked.hold / SECOND)
        version = m.VERSION if isinstance(asked, m.Greet) else ""
        reports = tuple(self._over)
        return m.encode(m.AgentAnswer(boottime(), self._seen, 1, reports, version=version))


async def _serve(given: Given, directory: str) -> None:
    """A listener for each machine; each registers with what a real worker, the first, tells."""
    from distributed import Worker
    from distributed.versions import get_versions

    from bursar.execute.remote.messages import Credentials
    from bursar.execute.remote.security import security_of

    security = security_of(msgspec.convert(given.credentials, Credentials))
    async with Worker(
        given.scheduler, name=given.names[0], nthreads=1, memory_limit=0, dashboard=False,
        local_directory=directory, security=security,
    ) as worker:  # fmt: skip
        worker.handlers[given.handler] = _SimulatedAgent().handle
        told = {
            "nthreads": 1, "resources": {}, "memory_limit": 0, "local_directory": directory,
            "services": {}, "nanny": None, "pid": os.getpid(), "versions": get_versions(),
            "metrics": await worker.get_metrics(), "extra": await worker.get_startup_information(),
        }  # fmt: skip
        turn = asyncio.Semaphore(AT_ONCE)
        kept = await asyncio.gather(
            *(_register(given, name, security, told, turn) for name in given.names[1:])
        )
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
        for line in kept:
            line.abort()


async def _register(
    given: Given, name: str, security: Any, told: dict[str, Any], turn: asyncio.Semaphore
) -> Any:
    """One machine: it listens, and registers as a Dask worker does; the line that stays open."""
    from distributed.comm import connect, listen

    agent = _SimulatedAgent()

    async def serve(line: Any) -> None:
        with suppress(OSError):  # until the other side is gone
            while True:
                asked = await line.read()
                if asked.pop("op") == given.handler:
                    words = {name: asked[name] for name in ("token", "request", "start")}
                    await line.write(await agent.handle(**words), serializers=["msgpack"])

    async with turn:
        listener = await listen(
            "tls://127.0.0.1:0", serve, **security.get_listen_args("worker"), deserialize=False
        )
        line = await connect(given.scheduler, **security.get_connection_args("worker"))
        now = time.time()
        await line.write(
            {
                "op": "register-worker", "reply": False, "address": listener.contact_address,
                "status": "running", "name": name, "now": now, "server_id": f"worker-{name}",
                "stimulus_id": f"worker-connect-{now}", **told,
            },
            serializers=["msgpack"],
        )  # fmt: skip
        answer = await line.read(deserializers=["msgpack"])
        if answer["status"] != "OK":
            raise RuntimeError(f"the scheduler refused a worker: {answer}")
    return line


def _machines(directory: str) -> None:
    import dask

    given = msgspec.msgpack.decode(base64.b64decode(sys.stdin.buffer.readline()), type=Given)
    dask.config.set({"distributed.worker.profile.enabled": False})
    asyncio.run(_serve(given, directory))


if __name__ == "__main__":
    _machines(sys.argv[1])
