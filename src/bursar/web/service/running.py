"""Running a service with its server: three threads, and what ends them.

engine   drives the run, writes the journal (`bursar.runs.service.Service`)
server   answers requests (uvicorn, one asyncio loop)
main     waits for the end, and gets the signals: once stops after the running tasks, twice now
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bursar.model.errors import InputError
from bursar.runs.service import Service
from bursar.web.listening import Listening
from bursar.web.service.app import make_app
from bursar.web.service.auth import tokens_of
from bursar.web.service.feed import Feed

if TYPE_CHECKING:
    import uvicorn

ADDRESS: Final = "service.json"
"""In the directory of a service: where it was listening last."""
ENDING: Final = 10.0
"""seconds that a server may take to end"""


class Address(msgspec.Struct, frozen=True):
    """Where a service is reached on this computer."""

    url: str
    host: str
    port: int


def run_service(
    begin: Callable[[Feed], Service], listening: Listening, tell: Callable[[Service, str], None]
) -> Service:
    """Serve until the run ends; `begin` makes the service, `tell` says where it listens.

    The socket is bound first, so that no money is spent for a service that nobody reaches.
    """
    with listening.bind() as bound:
        feed = Feed()
        service = begin(feed)
        url = listening.url(bound)
        try:
            users = [one.name for one in service.state.goal.accounts]
            tokens = tokens_of(service.directory, users)
            server = listening.server(make_app(service, feed, tokens, listening.allowed_hosts()))
            _note(service.directory, Address(url, listening.host, bound.getsockname()[1]))
            with _signals(service), _serving(server, bound):
                tell(service, url)
                service.join()
        except BaseException:
            service.stop("its server failed", now=True)
            raise
    return service


@contextmanager
def _serving(server: uvicorn.Server, bound: socket.socket) -> Iterator[None]:
    """The server, in a thread of its own."""
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [bound]}, name="bursar-server", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(ENDING)


def _note(directory: Path, address: Address) -> None:
    (directory / ADDRESS).write_bytes(msgspec.json.encode(address))


def noted_address(directory: Path) -> Address | None:
    """Where the service of a run listened last; None: it is none, or never did."""
    try:
        return msgspec.json.decode((directory / ADDRESS).read_bytes(), type=Address)
    except (OSError, msgspec.MsgspecError):
        return None


@contextmanager
def _signals(service: Service) -> Iterator[None]:
    """Stop as a run does on Ctrl-C."""
    asked = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP)
    stops = 0

    def stop(number: int, _: Any) -> None:
        nonlocal stops
        stops += 1
        at_once = stops > 1 or number in (signal.SIGQUIT, signal.SIGHUP)
        service.stop(f"stopped by {signal.Signals(number).name}", now=at_once)

    if threading.current_thread() is not threading.main_thread():
        raise InputError("a service is run by the main thread of a program")
    before = {number: signal.signal(number, stop) for number in asked}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
