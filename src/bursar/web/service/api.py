"""The API: what users do over HTTP with a service. `openapi.py` describes it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import Final, TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bursar.model.errors import InputError, shown
from bursar.model.work import Work
from bursar.runs.service import Service
from bursar.runs.service_work import (
    MOST_PRIORITY,
    WorkStatus,
    check_priority,
    new_status,
    status_of,
)
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.web.answers import answer
from bursar.web.service.feed import Feed, WhyLine
from bursar.web.service.guarding import BusyError, Caller, Guarding
from bursar.web.service.metrics import metrics_text
from bursar.web.service.request_parts import heard, limit_of, whole, work_number
from bursar.web.service.stream import EventStream
from bursar.web.service.submissions import bag_work, read_bag, workflow_work
from bursar.web.service.users import UserStatus, users_of

Value = TypeVar("Value")
MOST_WAITING: Final = 1_000_000
"""tasks of one user that are not settled"""
MOST_AT_ONCE: Final = 1_000
"""submissions that wait for the journal"""
SMALL: Final = 50_000
"""bytes of a submission that is read at once; a thread reads larger ones"""
LONGEST_KEY: Final = 200


class WorkList(msgspec.Struct, frozen=True):
    works: list[WorkStatus]
    next: int | None
    """`after` of the next page; None: this is the last"""


class WhyList(msgspec.Struct, frozen=True):
    decisions: list[WhyLine]
    is_complete: bool
    """False: the service was resumed, and only `bursar why` has the earlier decisions"""


class WorkChanges(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    priority: int


class Api:
    """A handler for each operation; `guarding` has checked who asks."""

    def __init__(self, service: Service, feed: Feed, guarding: Guarding) -> None:
        self._service, self._feed, self._guarding = service, feed, guarding
        self._stream = EventStream(service, feed)
        self._at_once = 0

    # --- submitting ------------------------------------------------------------------------------

    async def submit_bag(self, request: Request, caller: Caller) -> Response:
        body = await self._guarding.body(request)
        try:
            submitted = await _read(len(body), partial(read_bag, body))
            owner = self._owner(submitted.user, caller)
            work = await _read(len(body), partial(bag_work, submitted, owner))
        finally:
            self._guarding.received(body)
        return await self._submit(request, work, body)

    async def submit_workflow(self, request: Request, caller: Caller) -> Response:
        query = request.query_params
        owner = self._owner(query.get("user"), caller)
        priority = whole(query.get("priority"), "priority", -MOST_PRIORITY, MOST_PRIORITY)
        read = partial(
            workflow_work,
            filename=query.get("filename", ""),
            owner=owner,
            priority=priority,
            deadline=query.get("deadline"),
        )
        body = await self._guarding.body(request)
        try:
            work = await _read(len(body), partial(read, body))
        finally:
            self._guarding.received(body)
        return await self._submit(request, work, body)

    async def _submit(self, request: Request, work: Work, body: bytes) -> Response:
        """Answered when it is in the journal."""
        key = request.headers.get("idempotency-key", "")
        if len(key) > LONGEST_KEY or not key.isascii() or not key.isprintable():
            raise InputError(f"an Idempotency-Key has at most {LONGEST_KEY} printable characters")
        if self._at_once >= MOST_AT_ONCE:
            raise BusyError("too much is being submitted at once: try again")
        if self._service.unsettled_tasks(work.owner) + work.count > MOST_WAITING:
            raise BusyError(f"{MOST_WAITING:,} tasks wait already: try again when some are done")
        what = f"{request.url.path}?{request.url.query}"  # by whatever name it is reached
        digest = sha256(b"%s\0%s" % (what.encode(), body)).hexdigest()[:16]
        self._at_once += 1
        try:
            submit = partial(self._service.submit_soon, work, key, digest if key else "")
            found = await heard(await _read(len(body), submit))
        finally:
            self._at_once -= 1
        if found.is_new:
            status = new_status(self._service.state, found.number, work)
        else:
            status = await self._status(found.number)
        place = {"location": f"/api/v1/works/{found.number}"}
        return answer(status, 201 if found.is_new else 200, place)

    def _owner(self, submitted: str | None, caller: Caller) -> str:
        """Whose a submission is."""
        if not caller.is_admin:
            if submitted not in (None, caller.name):
                raise HTTPException(403, f"this token submits for {caller.name} only")
            return caller.name
        names = self._names()
        if submitted is None and len(names) == 1:
            return names[0]
        if submitted is None:
            raise InputError(f"for which user is this? give one of {', '.join(names)}")
        if submitted not in names:
            raise InputError(f"no user {shown(submitted)}; there are {', '.join(names)}")
        return submitted

    def _names(self) -> list[str]:
        return [one.name for one in self._service.state.goal.accounts]

    # --- works -----------------------------------------------------------------------------------

    async def works(self, request: Request, caller: Caller) -> Response:
        numbers = self._service.numbers_of(caller.owner)
        after = whole(request.query_params.get("after"), "after") or 0
        limit = limit_of(request)
        begin = bisect_right(numbers, after)
        page = numbers[begin : begin + limit]
        found = await heard(self._service.ask_soon(partial(_statuses, numbers=page)))
        more = begin + limit < len(numbers)
        return answer(WorkList(found, page[-1] if more else None))

    async def work(self, request: Request, caller: Caller) -> Response:
        return answer(await self._status(work_number(self._service, request, caller)))

    async def cancel(self, request: Request, caller: Caller) -> Response:
        number = work_number(self._service, request, caller)
        await heard(self._service.happen_soon(ev.WorkCancelled(0, number, "requested")))
        return answer(await self._status(number))

    async def change(self, request: Request, caller: Caller) -> Response:
        number = work_number(self._service, request, caller)
        body = await self._guarding.body(request)
        self._guarding.received(body)
        try:
            submitted = msgspec.json.decode(body, type=WorkChanges)
        except msgspec.ValidationError as error:
            raise InputError(f"the changes: {error}") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise HTTPException(400, f"the body cannot be read as JSON: {error}") from None
        check_priority(submitted.priority)
        await heard(self._service.happen_soon(ev.PriorityChanged(0, number, submitted.priority)))
        return answer(await self._status(number))

    async def _status(self, number: int) -> WorkStatus:
        return await heard(self._service.ask_soon(lambda state: status_of(state, number - 1)))

    # --- watching --------------------------------------------------------------------------------

    async def events(self, request: Request, caller: Caller) -> Response:
        return self._stream.open(request, caller)

    async def work_events(self, request: Request, caller: Caller) -> Response:
        return self._stream.open(request, caller, work_number(self._service, request, caller))

    async def why(self, request: Request, caller: Caller) -> Response:
        after = whole(request.query_params.get("after"), "after") or 0
        lines = self._feed.why(caller.owner, after, limit_of(request))
        return answer(WhyList(lines, self._feed.is_complete))

    async def users(self, request: Request, caller: Caller) -> Response:
        return answer({"users": await self._users(caller)})

    async def metrics(self, request: Request, caller: Caller) -> Response:
        users = await self._users(caller)
        works = {
            user.name: (
                len(self._service.numbers_of(user.name)),
                self._service.unsettled_tasks(user.name),
            )
            for user in users
        }
        text = metrics_text(users, works, self._guarding if caller.is_admin else None)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _users(self, caller: Caller) -> list[UserStatus]:
        names = self._names() if caller.owner is None else [caller.owner]
        return await heard(
            self._service.ask_soon(lambda state: users_of(state, names, self._service.now()))
        )


def _statuses(state: RunState, numbers: Sequence[int]) -> list[WorkStatus]:
    return [status_of(state, number - 1) for number in numbers]


async def _read(size: int, read: Callable[[], Value]) -> Value:
    """Read what was submitted; the server goes on while something large is read."""
    return read() if size <= SMALL else await run_in_threadpool(read)
