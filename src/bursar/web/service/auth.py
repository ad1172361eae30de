"""Who sends a request: a token for each user, and one for the administrator.

    .bursar/NAME/tokens/          readable by its owner only, as the whole directory of a run is
        admin                     one token a file, made when the service is first started
        team-a

A token stands in these files and in the header `Authorization: Bearer ...`, and nowhere else. To
replace one, remove its file and start the service again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from secrets import token_urlsafe
from tempfile import mkstemp
from typing import Final

from bursar.journal.problems import unreachable
from bursar.model.errors import InputError, shown

ADMIN: Final = "admin"
"""May see and cancel everything, and submit for every user."""
DIRECTORY: Final = "tokens"
_OTHERS: Final = 0o077
_LONGEST: Final = 4096
"""bytes of a file that may be a token"""


class Tokens:
    """Knows tokens by their digests: comparing takes as long for a wrong one as for a right one."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._digests = [(_digest(token), user) for user, token in tokens.items()]

    def user_of(self, authorization: str) -> str | None:
        """Whose token a request carries; None: none that is known."""
        scheme, _, token = authorization.partition(" ")
        digest, found = _digest(token.strip()), None
        for known, user in self._digests:
            if compare_digest(known, digest):
                found = user
        return found if scheme.lower() == "bearer" else None


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()


def tokens_of(run: Path, users: Iterable[str]) -> Tokens:
    """The tokens of a service, of which those are made that are not there."""
    directory = run / DIRECTORY
    try:
        directory.mkdir(0o700, exist_ok=True)
        if directory.stat().st_mode & _OTHERS:
            directory.chmod(0o700)
        return Tokens({name: _token(directory / name) for name in (ADMIN, *users)})
    except OSError as error:
        raise unreachable(directory, error) from None


def _token(file: Path) -> str:
    """It is there as a whole or not at all, also after a power failure."""
    if not file.exists():
        descriptor, part = mkstemp(prefix="token-", dir=file.parent.parent)  # for the owner only
        with os.fdopen(descriptor, "w") as stream:
            stream.write(f"{token_urlsafe(32)}\n")
            stream.flush()
            os.fsync(descriptor)
        Path(part).replace(file)
    return read_token(file)


def read_token(file: Path) -> str:
    """The token in a file, which nobody else may read."""
    try:
        if file.stat().st_mode & _OTHERS:
            raise InputError(f"{file} can be read by others: chmod 600 {file}")
        with file.open() as stream:
            token = stream.read(_LONGEST).strip()
    except OSError as error:
        raise InputError(
            f"the token in {shown(str(file))} cannot be read: {error.strerror}"
        ) from None
    except UnicodeDecodeError:
        token = ""
    if not token or not token.isprintable() or " " in token:
        raise InputError(f"{file} does not hold a token; it must be one line")
    return token
