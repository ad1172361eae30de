"""The API for tasks of a work: how they stand, and what they printed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bursar.execute.directories import FILES
from bursar.model.errors import InputError, shown
from bursar.runs.service import Service
from bursar.runs.service_tasks import STATUSES, WorkTask, places_of, tasks_of
from bursar.runs.task_logs import read_part
from bursar.web.answers import answer
from bursar.web.service.guarding import Caller
from bursar.web.service.request_parts import heard, limit_of, whole, work_number

LOG_PART: Final = 1 << 20
"""bytes of a log in one answer"""
LARGEST_LOG: Final = 1 << 62
"""bytes of a log, far more than a file can have"""


class TaskList(msgspec.Struct, frozen=True):
    tasks: list[WorkTask]
    next: int | None
    """`after` of the next page; None: this is the last"""


class TaskApi:
    """A handler for each operation on tasks; `guarding` has checked who asks."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def tasks(self, request: Request, caller: Caller) -> Response:
        number = work_number(self._service, request, caller)
        status = request.query_params.get("status")
        if status is not None and status not in STATUSES:
            raise InputError(f"no status {shown(status)}; there are {', '.join(STATUSES)}")
        after = whole(request.query_params.get("after"), "after") or 0
        limit = limit_of(request)
        ask = partial(tasks_of, work=number, status=status, after=after, limit=limit)
        found = await heard(self._service.ask_soon(ask))
        return answer(TaskList(found, found[-1].task if len(found) == limit else None))

    async def log(self, request: Request, caller: Caller) -> Response:
        number = work_number(self._service, request, caller)
        stream = request.query_params.get("stream", FILES[0])
        if stream not in FILES:
            raise InputError(f"no stream {shown(stream)}; there are {', '.join(FILES)}")
        after = whole(request.query_params.get("after"), "after", most=LARGEST_LOG) or 0
        ask = partial(places_of, work=number, task=request.path_params["task"])
        try:
            places = await heard(self._service.ask_soon(ask))
        except InputError as error:
            raise HTTPException(404, str(error)) from None
        part = await run_in_threadpool(_first_part, places, stream, after)
        if part is None:
            raise HTTPException(404, "this task has printed nothing so far")
        return Response(part, 200, {"cache-control": "no-store"}, "application/octet-stream")


def _first_part(places: list[Path], stream: str, after: int) -> bytes | None:
    """Part of the log in the first place where the task has written."""
    parts = (read_part(place, stream, after, LOG_PART) for place in places)
    return next((part for part in parts if part is not None), None)
