"""Connections that are too many, or that say nothing, to a server that somebody else uses, too."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from contextlib import closing

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from bursar.web.listening import Listening


async def hello(request):
    return PlainTextResponse("hello")


async def slow(request):
    async def parts():
        import asyncio

        for _ in range(20):
            yield b"x"
            await asyncio.sleep(0.05)

    return StreamingResponse(parts())


@pytest.fixture
def port():
    listening = Listening()
    bound = listening.bind()
    server = listening.server(Starlette(routes=[Route("/", hello), Route("/slow", slow)]))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    yield bound.getsockname()[1]
    server.should_exit = True
    thread.join(30)


def opened(port, sends=b"GET / HTTP/1.1\r\nHost: local"):
    made = socket.create_connection(("127.0.0.1", port), timeout=10)
    made.sendall(sends)
    return made


def is_closed(connection):
    """Whether the other side closes it; waits for that."""
    with connection:
        try:
            while connection.recv(1000):
                pass
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        return True


def ask(port, path="/"):
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", path)
        return connection.getresponse().read()


def test_there_are_never_so_many_that_nothing_else_can_be_opened(port, monkeypatch):
    monkeypatch.setattr("bursar.web.connections.most_connections", lambda: 5)
    held = [opened(port) for _ in range(5)]
    time.sleep(0.2)
    assert is_closed(opened(port)), "the sixth was kept"
    for one in held[:2]:
        one.close()
    time.sleep(0.2)
    assert ask(port) == b"hello"
    for one in held:
        one.close()


def test_one_that_never_asks_is_closed_and_others_are_served(port, monkeypatch):
    monkeypatch.setattr("bursar.web.connections.SILENCE", 0.3)
    whole = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    held = [opened(port, b""), opened(port), opened(port, whole), opened(port, whole + b"GET /")]
    assert ask(port) == b"hello"
    for one in held:
        assert is_closed(one)


def test_an_answer_that_takes_longer_is_sent_to_its_end(port, monkeypatch):
    monkeypatch.setattr("bursar.web.connections.SILENCE", 0.1)
    assert ask(port, "/slow") == b"x" * 20
