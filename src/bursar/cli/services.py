"""What verbs share that speak with a service: its address, and the token of a user."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bursar.cli.common import home
from bursar.cli.options import SERVICE, option, together
from bursar.model.errors import InputError

if TYPE_CHECKING:
    from bursar.client import Client

TOKEN_FILE: Final = "BURSAR_TOKEN_FILE"  # noqa: S105 (the name of a variable)


def service_options(flag: str) -> Callable[..., Any]:
    """The service that is meant, and who asks."""
    return together(
        option(
            SERVICE,
            flag,
            "url",
            metavar="URL",
            help="The service: http://127.0.0.1:8765 (default: the one that was started in this"
            " directory).",
        ),
        option(
            SERVICE,
            "--token-file",
            metavar="FILE",
            help="File with your token (default: $BURSAR_TOKEN_FILE, or that of a service which"
            " was started in this directory).",
        ),
        option(
            SERVICE,
            "--user",
            metavar="NAME",
            help="Whose token to use, where this directory has those of several users.",
        ),
        option(
            SERVICE,
            "--ca-file",
            metavar="FILE",
            help="Certificate to trust, for a service with one of its own.",
        ),
    )


def client_of(
    url: str | None, token_file: str | None, user: str | None, ca_file: str | None
) -> Client:
    """A client with the token that was named or is found here."""
    from bursar.client import Client

    url = url or _running_here()
    file = token_file or os.environ.get(TOKEN_FILE) or _found(url, user)
    return Client(url, token_file=file, ca_file=ca_file)


def _running_here() -> str:
    """The service of this directory, if there is one."""
    from bursar.web.service.running import noted_address

    noted = [noted_address(run.path) for run in home().list() if run.owner() is not None]
    urls = [one.url for one in noted if one is not None]
    if len(urls) != 1:
        many = "no service runs" if not urls else "several services run"
        raise InputError(f"{many} in this directory: give the address, http://127.0.0.1:8765")
    return urls[0]


def _found(url: str, user: str | None) -> Path:
    """The token of a service that was started here."""
    from bursar.web.service.auth import ADMIN, DIRECTORY
    from bursar.web.service.running import noted_address

    asked = f"give --token-file FILE, or set {TOKEN_FILE}"
    for run in home().list():
        noted = noted_address(run.path)
        if noted is None or noted.url.rstrip("/") != url.rstrip("/"):
            continue
        files = sorted((run.path / DIRECTORY).iterdir())
        users = [file for file in files if file.name != ADMIN]
        wanted = users if user is None else [file for file in files if file.name == user]
        if len(wanted) == 1:
            return wanted[0]
        names = ", ".join(file.name for file in users)
        raise InputError(f"whose token? give --user with one of {names}; or {asked}")
    raise InputError(f"no token for {url} in this directory: {asked}")
