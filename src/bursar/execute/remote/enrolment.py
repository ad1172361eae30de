"""How a machine that was rented from a provider gets at what its agent must know.

What a provider is given to start a machine with, others may read: it holds no key. It holds a
secret, for which bursar gives each machine its configuration, once. A machine that asks again
because the answer was lost has the same nonce as before; anybody else has not, and is refused.
"""

from __future__ import annotations

import hmac
import os
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

import msgspec

from bursar.execute.remote.messages import AgentConfig, Credentials, encode
from bursar.model.errors import BursarError
from bursar.model.number_ranges import read_ranges

KEPT: Final = "enrolment.json"
"""in the directory of a run"""
ENROLLED: Final = "enrolled"
"""beside it: a line for each machine that has its configuration"""
TIMEOUT: Final = 20.0
"""seconds for one conversation"""
LARGEST: Final = 1 << 16
"""bytes of a message"""
AT_ONCE: Final = 16


class EnrolRequest(msgspec.Struct, frozen=True):
    """What a machine says."""

    batch: str
    """numbers of the machines that were rented together, such as `1-300`"""
    machine: int
    secret: str
    """of the batch"""
    nonce: str
    """made up by the machine"""


class EnrolAnswer(msgspec.Struct, frozen=True):
    config: AgentConfig | None = None
    error: str = ""
    """why there is none"""
    is_final: bool = True
    """whether it is of no use to ask again"""


class EnrolmentError(BursarError):
    """Nobody can enrol here."""

    exit_code = 1


class _KeptEnrolment(msgspec.Struct, frozen=True):
    port: int
    seed: str


class Enrolment:
    """Listens in threads of its own; a resumed run listens at the same address as before."""

    def __init__(
        self,
        home: Path,
        host: str,
        credentials: Credentials,
        config_of: Callable[[int], AgentConfig | None],
    ) -> None:
        """`config_of` is called in a thread; None: there is no such machine."""
        self.certificate = credentials.certificate
        self._config_of = config_of
        kept = _kept(home)
        self._seed = token_hex(32) if kept is None else kept.seed
        self._listener = _listen(host, 0 if kept is None else kept.port)
        port = self._listener.getsockname()[1]
        self.address = f"{host}:{port}"
        _write_private(home / KEPT, msgspec.json.encode(_KeptEnrolment(port, self._seed)))
        self._enrolled = home / ENROLLED
        self._nonces = _nonces_in(self._enrolled)
        self._lock = threading.Lock()
        self._context = _server_context(credentials)
        self._pool = ThreadPoolExecutor(AT_ONCE, "bursar-enrolment")
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def secret(self, batch: str) -> str:
        return hmac.new(self._seed.encode(), batch.encode(), "sha256").hexdigest()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        self._pool.shutdown(cancel_futures=True)

    def _accept(self) -> None:
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:
                return  # it was closed
            with suppress(RuntimeError):
                self._pool.submit(self._serve, line)

    def _serve(self, line: socket.socket) -> None:
        line.settimeout(TIMEOUT)
        try:
            with self._context.wrap_socket(line, server_side=True) as secured:
                request = msgspec.msgpack.decode(receive(secured), type=EnrolRequest)
                send(secured, encode(self._answer(request)))
        except (OSError, ValueError, msgspec.DecodeError):
            line.close()  # it was no machine of ours, or its line was cut

    def _answer(self, request: EnrolRequest) -> EnrolAnswer:
        if not hmac.compare_digest(self.secret(request.batch), request.secret):
            return EnrolAnswer(error="the secret is wrong")
        if request.machine not in read_ranges(request.batch):
            return EnrolAnswer(error="the secret is of other machines")
        with self._lock:
            used = self._nonces.get(request.machine)
        if used is not None and used != request.nonce:
            return EnrolAnswer(error="the secret was used before")
        config = self._config_of(request.machine)
        if config is None:
            why = "no such machine is wanted now"
            return EnrolAnswer(error=why, is_final=False)
        with self._lock:
            if self._nonces.setdefault(request.machine, request.nonce) != request.nonce:
                return EnrolAnswer(error="the secret was used before")
            if used is None:
                _append_private(self._enrolled, f"{request.machine} {request.nonce}\n")
        return EnrolAnswer(config)


def receive(line: socket.socket) -> bytes:
    """A message; OSError if the line breaks, ValueError if it is too large."""
    size = int.from_bytes(_read(line, 4))
    if size > LARGEST:
        raise ValueError("a message is too large")
    return _read(line, size)


def send(line: socket.socket, data: bytes) -> None:
    line.sendall(len(data).to_bytes(4) + data)


def _read(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = line.recv(size - len(data))
        if not part:
            raise ConnectionError("the line was cut")
        data += part
    return data


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise EnrolmentError(
            f"machines cannot be heard at {host}:{port} ({error.strerror}); is that an address of"
            " this computer, and the port free?"
        ) from None


def _server_context(credentials: Credentials) -> ssl.SSLContext:
    """Python reads certificates from files only: one that nobody else can read, for a moment."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(f"{credentials.key}\n{credentials.certificate}")
        file.flush()
        context.load_cert_chain(file.name)
    return context


def client_context(certificate: str) -> ssl.SSLContext:
    """Only those who have this certificate are heard; names mean nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cadata=certificate)
    return context


def _kept(home: Path) -> _KeptEnrolment | None:
    try:
        return msgspec.json.decode((home / KEPT).read_bytes(), type=_KeptEnrolment)
    except FileNotFoundError:
        return None


def _nonces_in(path: Path) -> dict[int, str]:
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return {}
    words = (line.split() for line in lines)
    return {int(pair[0]): pair[1] for pair in words if len(pair) == 2}


def _write_private(path: Path, data: bytes) -> None:
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    part.replace(path)


def _append_private(path: Path, text: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "w") as file:
        file.write(text)
