"""Serving the dashboard: for itself, or as a process beside a run.

Beside a run it is a process of its own, so that it takes no time from the loop.
The run binds the socket, so that the link is known at once, and hands it over with the token. The
process ends with the run.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from secrets import token_urlsafe
from typing import Final
from urllib.parse import quote

from bursar.journal.runs import Home
from bursar.web.listening import Listening

TOKEN_BYTES: Final = 9
GRACE_S: Final = 2.0
"""for which it goes on after the run, at least ..."""
LONGEST_GRACE_S: Final = 30.0
"""... and at most, until all pages have heard of the end"""


def new_token() -> str:
    return token_urlsafe(TOKEN_BYTES)


def serve(home: Home, listening: Listening, bound: socket.socket, token: str) -> None:
    """Until Ctrl-C."""
    from bursar.web.page.app import Dashboard

    server = listening.server(Dashboard(home, token).app(listening.allowed_hosts()))
    with suppress(KeyboardInterrupt):
        asyncio.run(server.serve(sockets=[bound]))


class PageServer:
    """A server of this run's page, in a process of its own; to be used in a `with` statement."""

    def __init__(self, home: Home, run: str) -> None:
        listening = Listening()
        bound = listening.bind()
        self.token = new_token()
        self.link = f"{listening.url(bound)}/run/{quote(run, safe='')}"
        words = [sys.executable, "-m", __name__, str(bound.fileno()), str(home.path.absolute())]
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[bound.fileno()],
            start_new_session=True,  # Ctrl-C is for the run
        )
        bound.close()
        assert self._process.stdin is not None  # noqa: S101
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{self.token}\n".encode())
            self._process.stdin.flush()

    def __enter__(self) -> PageServer:
        return self

    def __exit__(self, *_: object) -> None:
        """Let it go: it ends by itself when its input does, a little later."""
        assert self._process.stdin is not None  # noqa: S101
        with suppress(OSError):
            self._process.stdin.close()


def _beside(descriptor: int, home: str) -> None:
    """The process: it serves until its standard input ends."""
    token = sys.stdin.readline().strip()
    from bursar.web.page.app import Dashboard

    listening = Listening()
    bound = socket.socket(fileno=descriptor)
    dashboard = Dashboard(Home(home), token)
    server = listening.server(dashboard.app(listening.allowed_hosts()))

    def wait_for_the_end() -> None:
        sys.stdin.read()
        ended = time.monotonic()
        time.sleep(GRACE_S)
        while dashboard.viewers and time.monotonic() < ended + LONGEST_GRACE_S:
            time.sleep(GRACE_S / 10)
        server.should_exit = server.force_exit = True

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    asyncio.run(server.serve(sockets=[bound]))


if __name__ == "__main__":
    _beside(int(sys.argv[1]), sys.argv[2])
