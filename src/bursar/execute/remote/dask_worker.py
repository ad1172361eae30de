"""The program of the Dask worker that an agent starts: it carries, and runs nothing itself."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from typing import Final

import dask
import msgspec

from bursar.execute.remote import messages as m
from bursar.execute.remote.carrier import PR_SET_PDEATHSIG
from bursar.execute.remote.security import security_of

FAREWELL: Final = 1.0
"""seconds in which bursar hears that the agent is gone"""


async def serve(config: m.CarrierConfig, agent: int, socket: str, directory: str) -> None:
    """Until the scheduler or the agent is gone."""
    from distributed import Worker

    from bursar.execute.remote.plugin import AgentPlugin

    watching = asyncio.ensure_future(_end_after(agent))
    async with Worker(
        config.scheduler,
        name=config.name,
        nthreads=1,
        memory_limit=0,
        dashboard=False,
        local_directory=directory,
        security=security_of(config.credentials),
        plugins=(AgentPlugin(config.handler, socket),),
    ) as worker:
        await worker.finished()
    watching.cancel()
    os._exit(0)


async def _end_after(agent: int) -> None:
    """`agent`: its handle. Dask would try for ever to reach a scheduler that is gone, too."""
    gone = asyncio.Event()
    asyncio.get_running_loop().add_reader(agent, gone.set)
    await gone.wait()
    await asyncio.sleep(FAREWELL)
    os._exit(0)


def main() -> None:
    """Arguments: the agent's socket, a directory for Dask's files; the rest is on stdin.

    From here on the kernel does not kill it when its agent dies, but wakes it if it was stopped, so
    that it says so and ends.
    """
    parent = os.getppid()
    agent = os.pidfd_open(parent)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGCONT)
    if os.getppid() != parent:
        return  # it died before
    config = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=m.CarrierConfig)
    dask.config.set({"distributed.worker.profile.enabled": False})
    asyncio.run(serve(config, agent, *sys.argv[1:3]))
