"""The program of the Dask worker that an agent starts: it carries, and runs nothing itself."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Final

import dask
import msgspec

from bursar.execute.remote import messages as m
from bursar.execute.remote.security import security_of

FAREWELL: Final = 1.0
"""seconds in which bursar hears that the agent is gone"""


async def serve(config: m.CarrierConfig, socket: str, directory: str) -> None:
    """Until the scheduler or the agent is gone."""
    from distributed import Worker

    from bursar.execute.remote.plugin import AgentPlugin

    plugin = AgentPlugin(config.handler, socket)
    async with Worker(
        config.scheduler,
        name=config.name,
        nthreads=1,
        memory_limit=0,
        dashboard=False,
        local_directory=directory,
        security=security_of(config.credentials),
        plugins=(plugin,),
    ) as worker:
        finished = asyncio.ensure_future(worker.finished())
        await asyncio.wait({finished, plugin.agent_ended}, return_when=asyncio.FIRST_COMPLETED)
        if plugin.agent_ended.done():
            await asyncio.sleep(FAREWELL)
    os._exit(0)


def main() -> None:
    """Arguments: the agent's socket, a directory for Dask's files; the rest is on stdin."""
    config = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=m.CarrierConfig)
    dask.config.set({"distributed.worker.profile.enabled": False})
    asyncio.run(serve(config, *sys.argv[1:3]))
