"""Connections to a server: not so many that nothing else can be opened, none that stays silent.

The process that serves also drives runs: it needs files for journals and tasks. And where a process
can open no more files, asyncio tries to accept, and says so, thousands of times a second.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

SILENCE: Final = 20.0
"""seconds that a connection may stay open without a request that is whole"""


def most_connections() -> int:
    """Half of what this process may open."""
    return max(8, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


class LimitedProtocol(HttpToolsProtocol):
    """Closes connections that are too many, or that never ask for anything."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._seen: object = None
        """the request that was the last one when it was looked at"""
        self._look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            transport.abort()
        else:
            self._look = self.loop.call_later(SILENCE, self._close_if_silent)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def _close_if_silent(self) -> None:
        """What is being answered may take long; events are sent for days."""
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if self.cycle is self._seen and not is_answering:
            self.transport.abort()
            return
        self._seen = self.cycle
        self._look = self.loop.call_later(SILENCE, self._close_if_silent)
