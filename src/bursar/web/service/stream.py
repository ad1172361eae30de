"""Watching: the events of a user's works as server-sent events, from the journal.

The id of an event is its number in the journal, so that somebody who was cut off goes on where he
was: browsers send the last one as `Last-Event-ID`, others may write `?after=17`. Without either, it
begins with what happens next. A slow watcher costs nothing but its place: nothing is queued for it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bursar.journal.reader import JournalReader
from bursar.model.codec import encode
from bursar.model.numbers import is_position
from bursar.model.time import SECOND
from bursar.runs.service import Service
from bursar.runs.service_work import name_of
from bursar.state import events as ev
from bursar.web.service.feed import EVERYBODY, Feed
from bursar.web.service.guarding import BusyError, Caller

BATCH: Final = 256
"""events that are read at once"""
QUIET: Final = 15.0
"""seconds after which a line without meaning shows that the connection lives"""
MOST_WATCHERS: Final = 50
"""of one user"""
_LARGEST: Final = 2**62


class EventStream:
    def __init__(self, service: Service, feed: Feed) -> None:
        self._service, self._feed = service, feed
        self._watchers: Counter[str] = Counter()
        self._reader: JournalReader | None = None

    def open(self, request: Request, caller: Caller, number: int | None = None) -> Response:
        """All events that the caller may see, or those of one work, which end with it."""
        if self._watchers[caller.name] >= MOST_WATCHERS:
            raise BusyError(f"{MOST_WATCHERS} connections watch already: close one")
        position = request.headers.get("last-event-id") or request.query_params.get("after")
        if position is not None and position != "0" and not is_position(position, _LARGEST):
            raise HTTPException(400, "after must be the number of an event")
        after = self._feed.seq if position is None else int(position)
        self._watchers[caller.name] += 1
        return StreamingResponse(
            self._lines(caller, min(after, self._feed.seq), number),
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
            media_type="text/event-stream",
        )

    async def _lines(self, caller: Caller, after: int, number: int | None) -> AsyncIterator[bytes]:
        news = self._feed.watch()
        try:
            yield b"retry: 1000\n\n"
            while True:
                news.clear()
                is_over = self._service.is_over
                is_settled = number is not None and self._service.is_settled(number)
                while after < self._feed.seq:
                    batch = self._read(after)
                    after += len(batch)
                    text = b"".join(self._shown(one, caller, number) for one in batch)
                    if text:
                        yield text
                    await asyncio.sleep(0)
                if is_settled or is_over:
                    yield b"event: end\ndata: {}\n\n"
                    return
                try:
                    await asyncio.wait_for(news.wait(), QUIET)
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self._feed.leave(news)
            self._watchers[caller.name] -= 1

    def _read(self, after: int) -> list[tuple[int, ev.AnyEvent]]:
        if self._reader is None:
            self._reader = JournalReader(self._service.directory / "journal.db")
        return list(enumerate(self._reader.some(after, BATCH), after + 1))

    def _shown(self, one: tuple[int, ev.AnyEvent], caller: Caller, number: int | None) -> bytes:
        """An event as a watcher gets it; nothing if it is not for him."""
        seq, event = one
        if caller.owner is not None and self._feed.user_of(event) not in (caller.owner, EVERYBODY):
            return b""
        work = self._feed.work_of(event, seq)
        if number is not None and work != number:
            return b""
        data = msgspec.json.encode(self._fields(event, work))
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, type(event).__name__.encode(), data)

    def _fields(self, event: ev.AnyEvent, work: int | None) -> dict[str, Any]:
        """What an event tells, with the work and the task that it is about."""
        if isinstance(event, ev.WorkArrived):
            arrived = event.work
            fields = {
                "owner": arrived.owner,
                "tasks": arrived.count,
                "name": name_of(arrived),
            }
        elif isinstance(event, ev.RunCreated | ev.GoalChanged):
            fields = {}
        else:
            fields = msgspec.json.decode(encode(event))
            fields.pop("type", None)
            fields.pop("at", None)
        fields["at_s"] = event.at / SECOND
        if work is not None:
            fields["work"] = work
        if (task := self._feed.task_of(event)) is not None:
            fields["task"] = task
        return fields
