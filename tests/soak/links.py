"""TCP lines between machines and bursar that can be cut: a forwarder for each.

    machine --> 127.0.0.1:PORT (here) --> scheduler          bursar --> (here) --> Dask worker

A line that is *held* carries nothing and loses nothing, as where packets are sent again until the
network is back. One that is *broken* has all its connections reset, and gets no new ones. Who wants
a line asks for it at a Unix socket: one line of JSON with a machine and a target, answered with a
port.
"""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

BUFFER = 1 << 16


class Links:
    """Lines by machine; from any thread."""

    def __init__(self, directory):
        self.path = Path(directory) / "links"
        self._loop = asyncio.new_event_loop()
        self._lines = {}
        self._servers = []
        self._ports = {}
        self.carried = 0
        """bytes"""
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(10)

    def port(self, machine, target):
        """Where to connect for a connection of this machine to `host:port`."""
        return self._do(self._forward(machine, target))

    def machines(self):
        return sorted(self._lines)

    def cut(self, machine, *, breaks):
        self._do(self._line(machine).cut(breaks=breaks))

    def mend(self, machine):
        self._do(self._line(machine).mend())

    def close(self):
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # --- in the loop -----------------------------------------------------------------------------

    def _do(self, what):
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(10)

    def _run(self, ready):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._listen())
        ready.set()
        self._loop.run_forever()

    async def _listen(self):
        self._servers.append(await asyncio.start_unix_server(self._answer, self.path))

    async def _answer(self, reader, writer):
        asked = json.loads(await reader.readline())
        port = await self._forward(asked["machine"], asked["target"])
        writer.write(b"%d\n" % port)
        await writer.drain()
        writer.close()

    def _line(self, machine):
        return self._lines.setdefault(machine, _Line(self))

    async def _forward(self, machine, target):
        key = machine, target
        if key not in self._ports:
            line = self._line(machine)
            host, _, port = target.rpartition(":")
            server = await asyncio.start_server(
                lambda reader, writer: line.carry(reader, writer, host, int(port)), "127.0.0.1", 0
            )
            self._servers.append(server)
            self._ports[key] = server.sockets[0].getsockname()[1]
        return self._ports[key]

    async def _close(self):
        for server in self._servers:
            server.close()
        for line in self._lines.values():
            await line.cut(breaks=True)
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


class _Line:
    """All connections of one machine."""

    def __init__(self, links):
        self._links = links
        self._goes = asyncio.Event()
        self._goes.set()
        self._breaks = False
        self._ends = set()

    async def cut(self, *, breaks):
        self._goes.clear()
        self._breaks = breaks
        if breaks:
            for end in list(self._ends):
                end.transport.abort()

    async def mend(self):
        self._breaks = False
        self._goes.set()

    async def carry(self, reader, writer, host, port):
        self._ends.add(writer)
        there = None
        try:
            if self._breaks:
                return
            await self._goes.wait()
            from_there, there = await asyncio.open_connection(host, port)
            self._ends.add(there)
            await asyncio.gather(self._pump(reader, there), self._pump(from_there, writer))
        except (OSError, asyncio.CancelledError):
            pass  # one of the two ends is gone, and so is the other then; or all are closed
        finally:
            for end in (writer, there):
                if end is not None:
                    self._ends.discard(end)
                    end.transport.abort()

    async def _pump(self, source, target):
        """Until it ends; what it says is told, and then the whole connection is over."""
        while True:
            await self._goes.wait()
            data = await source.read(BUFFER)
            await self._goes.wait()
            if not data:
                break
            target.write(data)
            self._links.carried += len(data)
            await target.drain()
        if target.can_write_eof():
            target.write_eof()
