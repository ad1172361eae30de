"""Where a server listens, and the names that it answers to.

Loopback by default. Elsewhere a token would travel in the clear, so that TLS is asked for, or that
the user says that a proxy does it.
"""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bursar.model.errors import InputError, shown

if TYPE_CHECKING:
    import uvicorn

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def require_web() -> None:
    """Say in one line what is missing for servers, if something is."""
    try:
        import starlette
        import uvicorn  # noqa: F401
    except ImportError:
        raise InputError("this needs bursar[web]: pip install 'bursar[web]'") from None
    del starlette


class Listening(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server listens; checked when it is bound."""

    host: str = "127.0.0.1"
    port: int = 0
    """0: any that is free"""
    tls_cert: str | None = None
    tls_key: str | None = None
    behind_proxy: bool = False
    """somebody else does the TLS"""
    names: tuple[str, ...] = ()
    """further names that users reach it by"""

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def scheme(self) -> str:
        return "https" if self.tls_cert else "http"

    def allowed_hosts(self) -> frozenset[str]:
        """What the Host of a request may be, without its port; an unknown one is an attack."""
        known = {name.lower() for name in self.names}
        if self.is_loopback:
            return frozenset(known | LOOPBACK_NAMES | {self.host})
        return frozenset(known | {self.host, socket.gethostname().lower(), *LOOPBACK_NAMES})

    def check(self) -> None:
        """Refuse what would let others read tokens."""
        if bool(self.tls_cert) != bool(self.tls_key):
            raise InputError("TLS needs both --tls-cert and --tls-key")
        for file in (self.tls_cert, self.tls_key):
            if file and not Path(file).is_file():
                raise InputError(f"{shown(file)} does not exist; check --tls-cert and --tls-key")
        if not (self.is_loopback or self.tls_cert or self.behind_proxy):
            raise InputError(
                f"{shown(self.host)} is reached from other computers, and tokens would travel in"
                " the clear: give --tls-cert and --tls-key, or --behind-proxy if a proxy does it"
            )

    def bind(self) -> socket.socket:
        """A socket that listens there; its port is known from here on."""
        self.check()
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        # What it accepts inherits it; else an answer in two parts waits for 40 ms in between.
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((self.host, self.port))
            bound.listen(1024)
        except (OSError, OverflowError) as error:
            bound.close()
            raise InputError(
                f"cannot listen on {self.host}, port {self.port}: {error}; choose another"
            ) from None
        return bound

    def url(self, bound: socket.socket) -> str:
        """How users on this computer reach it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{bound.getsockname()[1]}"

    def server(self, app: Any, **settings: Any) -> uvicorn.Server:
        """A uvicorn for an application; `serve(sockets=[...])` and `should_exit` drive it."""
        require_web()
        import uvicorn

        from bursar.web.connections import LimitedProtocol

        config = uvicorn.Config(
            app,
            http=LimitedProtocol,
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            lifespan="off",
            ssl_certfile=self.tls_cert,
            ssl_keyfile=self.tls_key,
            **{"timeout_graceful_shutdown": 2, "ws": "none", **settings},
        )
        try:
            config.load()
        except OSError as error:  # a certificate that is none
            raise InputError(f"the TLS certificate or key cannot be used: {error}") from None
        return uvicorn.Server(config)
