"""bursar's plug-in for a Dask worker: what bursar sends to the worker goes to the agent beside it.

The worker understands nothing of it. One handler: a machine's token and a request, both as bytes,
give the agent's answer. Where the worker belongs to somebody else's cluster, the plug-in starts the
agent when it is asked to; it is no child of the worker, and outlives it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from distributed.diagnostics.plugin import WorkerPlugin

from bursar.execute.processes import boottime
from bursar.execute.remote import messages as m
from bursar.execute.remote.places import (
    end_agent,
    found_agents,
    note_worker,
    place_of,
    socket_name,
)
from bursar.execute.wire import Channel, python_program

PING: Final = 0


class AgentConnection:
    """A Unix socket to an agent, for an event loop."""

    def __init__(self, path: Path) -> None:
        end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with socket_name(path) as name:
                end.connect(name)
        except OSError:
            end.close()
            raise
        self._channel = Channel(end)
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._number = 0
        self._is_writing = False
        self.ended: asyncio.Future[None] = self._loop.create_future()
        """done when the agent is gone"""
        self._loop.add_reader(self._channel.fileno(), self._hear)

    async def ask(self, request: bytes) -> bytes:
        """ConnectionError if the agent goes before it has answered."""
        if self.ended.done():
            raise ConnectionError("the agent is gone")
        self._number += 1
        number = self._number
        answer: asyncio.Future[bytes] = self._loop.create_future()
        self._waiting[number] = answer
        try:
            self._channel.send(number, request)
            self._watch()
            return await answer
        finally:
            self._waiting.pop(number, None)

    def close(self) -> None:
        if self.ended.done():
            return
        self._loop.remove_reader(self._channel.fileno())
        if self._is_writing:
            self._loop.remove_writer(self._channel.fileno())
        self._channel.close()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the agent is gone"))
        self.ended.set_result(None)

    def _hear(self) -> None:
        for number, body in self._channel.receive():
            if number == PING:
                self._channel.send(PING)
            elif (answer := self._waiting.get(number)) is not None and not answer.done():
                answer.set_result(body)
        self._watch()
        if self._channel.closed:
            self.close()

    def _watch(self) -> None:
        if self._channel.pending == self._is_writing or self._channel.closed:
            return
        self._is_writing = self._channel.pending
        if self._is_writing:
            self._loop.add_writer(self._channel.fileno(), self._flush)
        else:
            self._loop.remove_writer(self._channel.fileno())

    def _flush(self) -> None:
        self._channel.flush()
        self._watch()


class AgentPlugin(WorkerPlugin):  # type: ignore[misc]
    """Adds a handler of this name to a worker."""

    def __init__(self, handler: str, agent: str = "") -> None:
        self.handler = handler
        self.name = handler
        self._agent = agent
        """the socket of the only agent that it speaks to; empty: that of the token"""
        self._connections: dict[str, AgentConnection] = {}
        self._worker = ""
        """the name of the worker that it is in"""

    def setup(self, worker: Any) -> None:
        self._connections = {}
        self._worker = str(worker.name)
        worker.handlers[self.handler] = self.handle
        if self._agent:
            self._connect("")

    def teardown(self, worker: Any) -> None:
        worker.handlers.pop(self.handler, None)
        for connection in self._connections.values():
            connection.close()

    async def handle(self, token: str, request: bytes, start: bytes = b"") -> bytes:
        """`start`: how to start an agent, where there is none."""
        try:
            connection = await self._reached(token, start)
        except OSError as error:
            return m.encode(m.AgentAnswer(boottime(), error=f"{m.NO_AGENT}: {error}"))
        try:
            return await connection.ask(request)
        except OSError:
            return m.encode(m.AgentAnswer(boottime(), error=self._cut_off(token)))

    def _cut_off(self, token: str) -> str:
        """Whether the agent is gone, or only this line to it."""
        try:
            self._connect(token)
        except OSError as error:
            return f"{m.NO_AGENT}: {error}"
        return m.CUT_OFF

    async def _reached(self, token: str, start: bytes) -> AgentConnection:
        try:
            return self._connect(token)
        except OSError:
            if not start:
                raise
        await _start_agent(start)
        note_worker(token, self._worker)
        return self._connect(token)

    def _connect(self, token: str) -> AgentConnection:
        key = "" if self._agent else token
        found = self._connections.get(key)
        if found is None or found.ended.done():
            path = Path(self._agent) if self._agent else place_of(token) / "socket"
            found = self._connections[key] = AgentConnection(path)
        return found


def list_agents(prefix: str) -> dict[str, str]:
    """For a worker: living agents on its computer whose tokens begin so, and who started each."""
    return {one.token: one.worker for one in found_agents() if one.token.startswith(prefix)}


async def end_agents(tokens: Sequence[str]) -> None:
    """For a worker: end these agents, where they are on its computer."""

    def end_all() -> None:
        for token in tokens:
            end_agent(token)

    await asyncio.to_thread(end_all)


async def _start_agent(config: bytes) -> None:
    """Start an agent apart from this worker; OSError with what it says if it does not begin."""
    request = m.encode({"start": msgspec.msgpack.decode(config)})
    process = await asyncio.create_subprocess_exec(
        *python_program("bursar.execute.remote.agent_main"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env=_environment(),
    )
    output, _ = await process.communicate(request)
    if process.returncode:
        raise OSError(f"the agent did not begin: {output.decode(errors='replace').strip()[-500:]}")


def _environment() -> dict[str, str]:
    """That of the worker without what Dask sets for itself."""
    return {name: value for name, value in os.environ.items() if not name.startswith("DASK_")}
