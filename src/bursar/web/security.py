"""What every request passes: Host and Origin are checked, and answers tell browsers to be strict.

A page of another site can make a browser send requests to this computer. Its Host is then a name
that this server does not have (DNS rebinding), or its Origin is another site: both are refused,
whatever token they carry.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final
from urllib.parse import urlsplit

from bursar.web.answers import mistake

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""On every answer, unless the application sets one of them itself."""


class SecurityMiddleware:
    """Around an application: nothing else sees a request first."""

    def __init__(self, app: App, hosts: frozenset[str]) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def strict(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = [*message.get("headers", ())]
                names = {name.lower() for name, _ in given}
                message["headers"] = given + [one for one in HEADERS if one[0] not in names]
            await send(message)

        refusal = self.refusal(scope["headers"])
        if refusal is not None:
            status, why = refusal
            await mistake(status, why)(scope, receive, strict)
        else:
            await self._app(scope, receive, strict)

    def refusal(self, headers: list[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        """The status and the reason, or None for a request that may pass."""
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        if len(hosts) != 1 or bare(hosts[0]) not in self._hosts:
            return (
                421,
                "this server does not answer to that name; use another, or start it with that one",
            )
        for name, value in headers:
            if name == b"origin" and urlsplit(value.decode("latin-1")).netloc != hosts[0]:
                return 403, "requests of pages of other sites are refused"
        return None


def bare(host: str) -> str:
    """A Host without its port, in lower case: `[::1]:80` is `::1`."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
