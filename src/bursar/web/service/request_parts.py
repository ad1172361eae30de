"""What handlers read from a request, and how they wait for the engine."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Final, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

from bursar.model.errors import InputError
from bursar.model.numbers import LARGEST_WHOLE, is_position, parse_whole
from bursar.runs.service import Service
from bursar.runs.service_work import MOST_PRIORITY
from bursar.web.service.guarding import Caller

Value = TypeVar("Value")
PAGE: Final = 100
LARGEST_PAGE: Final = 1_000


async def heard(future: Future[Value]) -> Value:
    """What the engine answers."""
    return await asyncio.wrap_future(future)


def whole(text: str | None, name: str, least: int = 0, most: int = LARGEST_WHOLE) -> int | None:
    """A number of the query."""
    try:
        return None if text is None else parse_whole(text, least, most)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def limit_of(request: Request) -> int:
    return whole(request.query_params.get("limit"), "limit", 1, LARGEST_PAGE) or PAGE


def work_number(service: Service, request: Request, caller: Caller) -> int:
    """The work that the address names; that of somebody else is not there either."""
    text = request.path_params["number"]
    number = int(text) if is_position(text, MOST_PRIORITY) else 0
    owner = service.owner_of(number)
    if owner is None or caller.owner not in (None, owner):
        raise HTTPException(404, "there is no such work")
    return number
