"""A client of `bursar serve`, with nothing but the standard library.

    from bursar.client import Client

    with Client("http://127.0.0.1:8765", token_file=".bursar/service/tokens/ann") as client:
        work = client.submit_workflow("flow.yaml", priority=5)
        for event in client.watch(work["number"]):
            print(event["event"], event)
        print(client.wait(work["number"])["status"])

What the service answers is returned as it is: dictionaries, described by its `/openapi.json`. A
service that is restarted meanwhile is waited for, up to `patience` seconds; what is submitted has a
key, so that it is not submitted twice if only the answer was lost.
"""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit
from uuid import uuid4

from bursar.model.closable import Closable
from bursar.model.errors import BursarError, InputError, shown

Answer = dict[str, Any]
PATIENCE: Final = 30.0
TIMEOUT: Final = 60.0
PAUSES: Final = (0.05, 0.1, 0.2, 0.5, 1.0)
"""seconds between attempts, the last one again and again"""
LATER: Final = (429, 503)
"""statuses after which the same may succeed"""
SETTLED: Final = ("done", "failed", "cancelled")
API: Final = "/api/v1"


class ServiceError(BursarError):
    """The service refused something, or cannot be reached."""

    def __init__(self, line: str, status: int | None = None) -> None:
        super().__init__(line)
        self.status = status
        """of the answer; None: there was none"""


class Client(Closable):
    """One user of one service; may be used by several threads."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        token_file: str | PathLike[str] | None = None,
        ca_file: str | PathLike[str] | None = None,
        patience: float = PATIENCE,
        timeout: float = TIMEOUT,
    ) -> None:
        """The token is that of a user; `ca_file` has the certificate of a service of your own.

        An answer may take `timeout` seconds, each time it is asked for.
        """
        parts = urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"{shown(url)} is not the address of a service: http://HOST:PORT")
        try:
            self._host, self._port = parts.hostname, parts.port
        except ValueError:
            raise InputError(f"{shown(url)} has a wrong port: http://HOST:PORT") from None
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._tls = _tls(ca_file) if parts.scheme == "https" else None
        self._token = token if token_file is None else _read_token(Path(token_file))
        self._patience, self._timeout = patience, timeout
        self._connections = threading.local()

    # --- submitting ------------------------------------------------------------------------------

    def submit_bag(
        self,
        command: str | Sequence[str],
        rows: Sequence[Sequence[str]] | None = None,
        *,
        columns: Sequence[str] | None = None,
        repeat: int | None = None,
        shell: bool = False,
        priority: int | None = None,
        deadline: str | None = None,
        user: str | None = None,
        key: str | None = None,
    ) -> Answer:
        """A command with a row of arguments for each task, or the same one `repeat` times."""
        fields = {
            "command": command if isinstance(command, str) else list(command),
            "rows": None if rows is None else [list(row) for row in rows],
            "columns": None if columns is None else list(columns),
            "repeat": repeat,
            "shell": shell,
            "priority": priority,
            "deadline": deadline,
            "user": user,
        }
        body = json.dumps({name: one for name, one in fields.items() if one is not None})
        return self._submit("bags", body.encode(), {}, key)

    def submit_workflow(
        self,
        workflow: str | PathLike[str] | bytes,
        *,
        filename: str | None = None,
        priority: int | None = None,
        deadline: str | None = None,
        user: str | None = None,
        key: str | None = None,
    ) -> Answer:
        """A workflow file, by its path or as its content in bytes, in any format."""
        if not isinstance(workflow, bytes):
            path = Path(workflow)
            filename = filename or path.name
            try:
                workflow = path.read_bytes()
            except OSError as error:
                raise InputError(f"{shown(str(path))} cannot be read: {error.strerror}") from None
        query = {"filename": filename, "priority": priority, "deadline": deadline, "user": user}
        return self._submit("workflows", workflow, query, key)

    def _submit(self, what: str, body: bytes, query: Mapping[str, Any], key: str | None) -> Answer:
        headers = {"Idempotency-Key": key or uuid4().hex}
        return self._call("POST", f"{API}/{what}{_query(query)}", body, headers)

    # --- works -----------------------------------------------------------------------------------

    def works(self, after: int = 0) -> Iterator[Answer]:
        """All works behind a number that this user may see, in the order of their arrival."""
        last: int | None = after
        while last is not None:
            page = self._call("GET", f"{API}/works?after={last}")
            yield from page["works"]
            last = page["next"]

    def work(self, number: int) -> Answer:
        """How a work stands."""
        return self._call("GET", f"{API}/works/{number}")

    def cancel(self, number: int) -> Answer:
        """Start nothing more of a work, and stop what runs."""
        return self._call("POST", f"{API}/works/{number}/cancel")

    def set_priority(self, number: int, priority: int) -> Answer:
        """Larger is more urgent."""
        body = json.dumps({"priority": priority}).encode()
        return self._call("PATCH", f"{API}/works/{number}", body)

    def wait(self, number: int, timeout: float | None = None) -> Answer:
        """The work when it is settled; raises `TimeoutError` if it is not by then."""
        end = None if timeout is None else time.monotonic() + timeout
        pauses = iter((*PAUSES,))
        while (found := self.work(number))["status"] not in SETTLED:
            pause = next(pauses, PAUSES[-1])
            if end is not None and time.monotonic() + pause > end:
                raise TimeoutError(f"work {number} is {found['status']} after {timeout} s")
            time.sleep(pause)
        return found

    def tasks(self, number: int, status: str | None = None) -> Iterator[Answer]:
        """The tasks of a work, or those of them that stand so: `failed`, `running` and so on."""
        after: int | None = 0
        while after is not None:
            query = _query({"after": after, "status": status})
            page = self._call("GET", f"{API}/works/{number}/tasks{query}")
            yield from page["tasks"]
            after = page["next"]

    def log(self, number: int, task: int | str, stream: str = "stdout") -> Iterator[bytes]:
        """What a task printed so far, in parts; a task is known by its number or its name."""
        after, place = 0, f"{API}/works/{number}/tasks/{quote(str(task), safe='')}/log"
        while part := self._ask("GET", f"{place}{_query({'stream': stream, 'after': after})}"):
            after += len(part)
            yield part

    # --- watching --------------------------------------------------------------------------------

    def watch(self, number: int | None = None, after: int | None = None) -> Iterator[Answer]:
        """Events as they happen, of one work until it is settled, or all without end.

        Each has its `id` and its kind as `event`. With `after=0` from the first on. A connection
        that is lost is made again, where it was.
        """
        place = f"{API}/events" if number is None else f"{API}/works/{number}/events"
        if after is None and number is not None:
            after = 0
        end, pauses = time.monotonic() + self._patience, iter(PAUSES)
        while True:
            try:
                for event in self._events(f"{place}{_query({'after': after})}"):
                    if event["event"] == "end":
                        return
                    after, end, pauses = (
                        event["id"],
                        time.monotonic() + self._patience,
                        iter(PAUSES),
                    )
                    yield event
                # It was cut off, perhaps by a proxy that closes what is quiet.
                time.sleep(next(pauses, PAUSES[-1]))
            except ServiceError as error:
                pause = next(pauses, PAUSES[-1])
                if not _may_succeed(error) or time.monotonic() + pause > end:
                    raise
                time.sleep(pause)

    def _events(self, path: str) -> Iterator[Answer]:
        """Those of one connection; ends quietly when that is lost."""
        connection, response = self._open("GET", path, None, {"Accept": "text/event-stream"})
        try:
            if response.headers.get_content_type() != "text/event-stream":
                raise ServiceError(f"{self.url} answers with something else: no events", 200)
            event: Answer = {"event": "message", "id": None}
            data = ""
            for raw in response:
                line = raw.decode().rstrip("\n")
                if not line and data:
                    yield {**json.loads(data), **event}
                if not line:
                    event, data = {"event": "message", "id": None}, ""
                name, _, value = line.partition(": ")
                if name == "data":
                    data = value
                elif name == "event":
                    event["event"] = value
                elif name == "id":
                    event["id"] = int(value)
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()

    def why(self, after: int = 0) -> list[Answer]:
        """Decisions about this user's works and machines, with reasons."""
        found: list[Answer] = self._call("GET", f"{API}/why?after={after}&limit=1000")["decisions"]
        return found

    def users(self) -> list[Answer]:
        """This user's budget and its use; for the administrator, those of all."""
        found: list[Answer] = self._call("GET", f"{API}/users")["users"]
        return found

    # --- connections -----------------------------------------------------------------------------

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._connections, "kept", None)
        if connection is not None:
            connection.close()
            self._connections.kept = None

    def _call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """What is answered as JSON."""
        text = self._ask(method, path, body, headers)
        try:
            answer: Answer = json.loads(text)
        except ValueError as error:
            raise ServiceError(f"{self.url} answers with something else: {error}") from None
        return answer

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Ask until there is an answer; all that is asked here may be asked twice."""
        end, pauses = time.monotonic() + self._patience, iter(PAUSES)
        while True:
            try:
                return self._once(method, path, body, headers or {})
            except ServiceError as error:
                pause = next(pauses, PAUSES[-1])
                if not _may_succeed(error) or time.monotonic() + pause > end:
                    raise
                time.sleep(pause)

    def _once(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> bytes:
        kept: http.client.HTTPConnection | None = getattr(self._connections, "kept", None)
        self._connections.kept = None
        connection, response = self._open(method, path, body, headers, kept)
        try:
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise ServiceError(f"{self.url} was cut off: {error}") from None
        self._connections.kept = connection
        return answer

    def _open(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        kept: http.client.HTTPConnection | None = None,
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """An answer that is no mistake, of which the body can be read."""
        connection = kept or self._connect()
        headed = {"Content-Type": "application/octet-stream", **headers}
        if self._token is not None:
            headed["Authorization"] = f"Bearer {self._token}"
        try:
            connection.request(method, path, body if body is not None else b"", headed)
            response = connection.getresponse()
            if response.status < 400:
                return connection, response
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if kept is not None:  # which the service may have closed since
                return self._open(method, path, body, headers)
            raise ServiceError(f"{self.url} does not answer: {error}; is it running?") from None
        connection.close()
        raise ServiceError(_mistake(text, response.status), response.status)

    def _connect(self) -> http.client.HTTPConnection:
        if self._tls is not None:
            return http.client.HTTPSConnection(
                self._host, self._port, timeout=self._timeout, context=self._tls
            )
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)


def _may_succeed(error: ServiceError) -> bool:
    """Whether the same may succeed later."""
    return error.status is None or error.status in LATER


def _mistake(text: bytes, status: int) -> str:
    try:
        return str(json.loads(text)["error"])
    except (ValueError, KeyError, TypeError):
        return f"the service answered with the status {status}"


def _query(values: Mapping[str, Any]) -> str:
    given = {name: value for name, value in values.items() if value is not None}
    return f"?{urlencode(given, quote_via=quote)}" if given else ""


def _tls(ca_file: str | PathLike[str] | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise InputError(f"the certificate {shown(str(ca_file))} cannot be used: {error}") from None


def _read_token(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError as error:
        raise InputError(
            f"the token in {shown(str(file))} cannot be read: {error.strerror}"
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"{shown(str(file))} does not hold a token; it must be one line") from None
