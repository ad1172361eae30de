"""Around every request of the API: who sends it, how much at once, and what its mistakes become."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from bursar.model.errors import BursarError, InputError, one_line
from bursar.runs.executor_run import RunOver
from bursar.runs.submission_keys import KeyUsedError
from bursar.web.answers import mistake
from bursar.web.service.auth import ADMIN, Tokens
from bursar.web.service.submissions import NotJsonError, TooLargeError

LARGEST_BODY: Final = 8_000_000
"""bytes of one submission"""
MOST_BYTES: Final = 64_000_000
"""of all submissions that are being received or read; beyond that, try again later"""
RECEIVING: Final = 60.0
"""seconds in which a body has to arrive"""
AGAIN: Final = {"retry-after": "1"}


class Caller:
    """Who sends a request."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def is_admin(self) -> bool:
        return self.name == ADMIN

    @property
    def owner(self) -> str | None:
        """Whose works this caller may see; None: all."""
        return None if self.is_admin else self.name


class BusyError(Exception):
    """There is too much to do: the caller should try again later."""


Handler = Callable[[Request, Caller], Awaitable[Response]]


class Guarding:
    """Lets those in who have a token, and counts what is asked."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._bytes = 0
        """of bodies that are held now"""
        self.answered: Counter[int] = Counter()
        """requests by status"""
        self.seconds = 0.0
        """spent on all of them"""

    def guarded(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """The endpoint that a handler becomes."""

        async def endpoint(request: Request) -> Response:
            began = monotonic()
            user = self._tokens.user_of(request.headers.get("authorization", ""))
            if user is None:
                text = "the token is missing or wrong: send it as 'Authorization: Bearer TOKEN'"
                response = mistake(401, text, {"www-authenticate": "Bearer"})
            else:
                response = await self._answered(handler, request, Caller(user))
            self.answered[response.status_code] += 1
            self.seconds += monotonic() - began
            return response

        return endpoint

    async def _answered(self, handler: Handler, request: Request, caller: Caller) -> Response:
        try:
            return await handler(request, caller)
        except NotJsonError as error:
            return mistake(400, str(error))
        except TooLargeError as error:
            return mistake(413, str(error))
        except KeyUsedError as error:
            return mistake(409, str(error))
        except InputError as error:
            return mistake(422, one_line(str(error)))
        except BusyError as error:
            return mistake(429, str(error), AGAIN)
        except RunOver as error:
            return mistake(503, str(error))
        except HTTPException as error:
            return mistake(error.status_code, error.detail)
        except ClientDisconnect:
            return mistake(400, "the connection was closed")
        except BursarError as error:
            return mistake(503, one_line(str(error)))
        except Exception as error:
            print(f"bursar serve: {type(error).__name__}: {error}", file=sys.stderr)
            return mistake(500, "something went wrong here; the service's output tells more")

    async def body(self, request: Request) -> bytes:
        """All of a body, if there is room for it; `received` when it is not needed any more."""
        text = request.headers.get("content-length", "0")
        if text.isdecimal() and int(text) > LARGEST_BODY:
            raise TooLargeError(_TOO_LARGE)
        parts, size = list[bytes](), 0
        try:
            async with asyncio.timeout(RECEIVING):
                async for part in request.stream():
                    size += len(part)
                    self._bytes += len(part)
                    parts.append(part)
                    if size > LARGEST_BODY:
                        raise TooLargeError(_TOO_LARGE)
                    if self._bytes > MOST_BYTES:
                        raise BusyError("too much is being submitted at once: try again")
            return b"".join(parts)
        except TimeoutError:
            self._bytes -= size
            raise HTTPException(408, f"the body did not arrive within {RECEIVING:g} s") from None
        except BaseException:
            self._bytes -= size
            raise

    def received(self, body: bytes) -> None:
        """A body is not held any more."""
        self._bytes -= len(body)


_TOO_LARGE: Final = f"a submission has at most {LARGEST_BODY // 10**6} MB; submit several"
