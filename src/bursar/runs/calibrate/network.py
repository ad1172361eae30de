"""Measuring the network: so many bytes there and as many back, over one TCP connection.

    client                      server
      <--- nonce ---------------            16 bytes, new for each connection
      --- size, proof --------->            8 bytes; HMAC-SHA256 of nonce and size by the token
      <--- verdict -------------            1 byte
      === size bytes =========>             measured from here
      <== size bytes ===========            to here

The token never travels, and a proof that was overheard is of no use for another connection. Without
a token anybody who can connect may measure, so a server has none on the loopback only. What a
client may take of a server is limited by the constants below, and one is served at a time, since
two would measure each other.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
import secrets
import socket
import struct
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from bursar.model.errors import InputError, shown

CHUNK: Final = 1 << 18
"""bytes sent or received at once"""
LEAST_SIZE: Final = 1 << 16
MOST_SIZE: Final = 1 << 33
"""bytes in one direction of one connection: 8 GiB"""
HANDSHAKE_SECONDS: Final = 5.0
"""for a client to show that it knows the token"""
SILENT_SECONDS: Final = 20.0
"""without a byte, after which a connection is given up"""
LONGEST_SECONDS: Final = 600.0
"""of one connection"""
_WAITING: Final = 8
"""connections that may wait for their turn"""
_POLL_SECONDS: Final = 0.2
_NONCE: Final = 16
_PROOF: Final = 32
_SIZE: Final = struct.Struct(">Q")
_PORT: Final = re.compile(r"[0-9]{1,5}")
_WELCOME, _REFUSED = b"+", b"-"


class _Gone(Exception):  # noqa: N818 -- nobody but this file sees it
    """The other side has closed the connection, or takes too long."""


# --- addresses -----------------------------------------------------------------------------------


def parse_address(text: str) -> tuple[str, int]:
    """Read `HOST:PORT`; an IPv6 address stands in brackets."""
    host, sign, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (sign and host and _PORT.fullmatch(port)) or int(port) > 65535:
        raise InputError(f"{shown(text)} is not an address; write HOST:PORT, e.g. 10.0.0.7:7000")
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Whether nobody from elsewhere can mean this host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def new_token() -> str:
    return secrets.token_urlsafe(12)


# --- the server ----------------------------------------------------------------------------------


class BandwidthServer:
    """Answers measurements in a thread of its own, from `with` to the end of it."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0, token: str = "") -> None:
        if not token and not is_loopback(host):
            raise InputError(f"serving {shown(host)} to others needs a token; give it one")
        self._token = token
        self._ended = threading.Event()
        self.served = 0
        """measurements that went to their end"""
        self.refused = 0
        """connections that did not know the token, or asked for too much"""
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._socket = socket.create_server((host, port), family=family, backlog=_WAITING)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise InputError(f"cannot serve on {host}:{port}: {why}; use another address") from None
        self._socket.settimeout(_POLL_SECONDS)
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        self._thread = threading.Thread(target=self._serve, name="bursar-bandwidth", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while not self._ended.is_set():
            try:
                end, _ = self._socket.accept()
            except (TimeoutError, ConnectionAbortedError):
                continue
            with end, suppress(_Gone, OSError):  # it is the client who tells its user
                self._answer(_Line(end, self._ended))

    def _answer(self, line: _Line) -> None:
        nonce = secrets.token_bytes(_NONCE)
        line.limit(HANDSHAKE_SECONDS)
        line.send(nonce)
        asked = line.receive(_SIZE.size + _PROOF)
        size = _SIZE.unpack_from(asked)[0]
        proof = _proof(self._token, nonce, size)
        if not hmac.compare_digest(proof, asked[_SIZE.size :]) or size > MOST_SIZE:
            self.refused += 1
            line.send(_REFUSED)
            return
        line.send(_WELCOME)
        line.limit(LONGEST_SECONDS)
        line.swallow(size)
        line.pour(size)
        self.served += 1


# --- the client ----------------------------------------------------------------------------------


def measure_network(address: tuple[str, int], size: int, token: str = "") -> float:
    """Bytes a second, of this size there and back."""
    host, port = address
    where = f"{host}:{port}"
    if not LEAST_SIZE <= size <= MOST_SIZE:
        raise InputError(f"{size:,} bytes; use {LEAST_SIZE:,} to {MOST_SIZE:,}")
    try:
        with socket.create_connection(address, HANDSHAKE_SECONDS) as end:
            line = _Line(end)
            line.limit(LONGEST_SECONDS)
            nonce = line.receive(_NONCE)
            line.send(_SIZE.pack(size) + _proof(token, nonce, size))
            if line.receive(1) != _WELCOME:
                raise InputError(f"{where}: refused; check the token that its --serve printed")
            start = time.perf_counter()
            line.pour(size)
            line.swallow(size)
            return 2 * size / (time.perf_counter() - start)
    except _Gone as error:
        raise InputError(f"{where}: {error}; is bursar calibrate --serve running there?") from None
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"{where}: {why}; run bursar calibrate --serve there, and check the address"
        ) from None


def _proof(token: str, nonce: bytes, size: int) -> bytes:
    return hmac.digest(token.encode(errors="surrogateescape"), nonce + _SIZE.pack(size), "sha256")


class _Line:
    """A connection whose every wait is limited, and ends when `ended` is set."""

    def __init__(self, end: socket.socket, ended: threading.Event | None = None) -> None:
        end.settimeout(_POLL_SECONDS)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._end = end
        self._ended = ended or threading.Event()
        self._until = 0.0
        self._moved = time.monotonic()

    def limit(self, seconds: float) -> None:
        """All from now on must be done within this time."""
        self._moved = time.monotonic()
        self._until = self._moved + seconds

    def send(self, data: bytes) -> None:
        self._send(memoryview(data))

    def receive(self, size: int) -> bytes:
        data = bytearray(size)
        self._receive(memoryview(data))
        return bytes(data)

    def pour(self, size: int) -> None:
        """Send so many bytes."""
        data = memoryview(os.urandom(CHUNK))
        while size:
            size -= self._send(data[: min(size, CHUNK)])

    def swallow(self, size: int) -> None:
        """Receive so many bytes, and forget them."""
        room = memoryview(bytearray(CHUNK))
        while size:
            size -= self._receive(room[: min(size, CHUNK)])

    def _send(self, data: memoryview) -> int:
        done = 0
        while done < len(data):
            self._check()
            with suppress(TimeoutError):
                done += self._end.send(data[done:])
                self._moved = time.monotonic()
        return done

    def _receive(self, room: memoryview) -> int:
        done = 0
        while done < len(room):
            self._check()
            with suppress(TimeoutError):
                got = self._end.recv_into(room[done:])
                if got == 0:
                    raise _Gone("the connection was closed")
                done += got
                self._moved = time.monotonic()
        return done

    def _check(self) -> None:
        """Raise where it takes too long, also one byte at a time."""
        now = time.monotonic()
        if self._ended.is_set() or now > self._until or now - self._moved > SILENT_SECONDS:
            raise _Gone("no answer in time")
