"""A feed: what is new of one run, for everybody who looks at its page.

One watch a run, shared by all viewers; nothing is read while nobody looks. The journal is opened
read-only and only what was added is read. What an event changes goes out within a second. Charts
and tables of a very large run take long to make, so they go out less often than the figures at the
top, and take a twentieth of a processor at most. Parts that did not change are not sent.

Who opens a page waits for it, so that is done at once. All that follows is done with the lowest
priority, so that runs of this computer come first.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, Literal, TypeVar

import msgspec

from bursar.journal.runs import RunDir
from bursar.model.errors import BursarError
from bursar.model.time import Time
from bursar.report.page.snapshot import RunSnapshot
from bursar.report.page.watch import RunWatch, is_executed, time_of

T = TypeVar("T")
Group = Literal["tick", "series", "forecast", "decision"]

PACE_S: Final = 0.25
"""between two looks at the journal: with the time to make, send and draw it, and with others at
work here, less than a second passes from an event to what shows it"""
CHARTS_S: Final = 0.5
"""between two times that charts are made, at least: nobody sees more of them"""
QUIET_S: Final = 2.0
"""between two times that charts are made while nothing happens: only their time goes on"""
SHARE: Final = 20
"""charts and tables take at most one part in twenty of the time of a processor"""
LOWEST_PRIORITY: Final = 19
MOST_FAILURES: Final = 5
"""looks one after the other that find a journal which cannot be read"""
ALIVE_S: Final = 2.0
"""a word to the browser at least so often"""
GROUPS: Final[dict[str, Group]] = {
    "verdict": "tick",
    "tiles": "tick",
    "live": "tick",
    "state": "tick",
    "forecast": "forecast",
    "why": "decision",
    **dict.fromkeys(
        (
            "charts", "machines", "money", "failures", "longest", "runtimes", "offers", "ledger",
            "graphs", "about",
        ),
        "series",
    ),
}  # fmt: skip


def _give_way() -> None:
    """This thread gets what others leave of the processors, where threads have a priority."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)


class Section(msgspec.Struct):
    """One part of a snapshot as JSON, and since which version it is so."""

    data: bytes
    version: int


class RunFeed:
    """Used from one event loop; the journal is read in other threads, by one at a time."""

    def __init__(self, run: RunDir) -> None:
        self.run = run
        self._thread = ThreadPoolExecutor(1, "page", initializer=_give_way)
        self._watch: RunWatch | None = None
        self.sections: dict[str, Section] = {}
        self.seq = 0
        self._first = self.version = time.time_ns() // 1_000_000
        """one more at each change; it begins at the clock, so that those of a feed that was
        forgotten are not taken for those of the next"""
        self.is_over = False
        """the run has ended: nothing will be new"""
        self.viewers = 0
        self.last_used = time.monotonic()
        self._changed = asyncio.Condition()
        self._driver: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._may_draw_at = 0.0
        """by the clock: when charts may be made again, as they would not take too much time"""
        self._drawn = (0, 0.0)
        """the last event that charts know of, and when they were made"""
        self._shown: RunSnapshot | None = None
        self._was_live = False

    # --- reading ---------------------------------------------------------------------------------

    async def snapshot(self) -> RunSnapshot:
        """How the run stands now."""
        self.last_used = time.monotonic()
        async with self._lock:
            if not (self.is_over and self._shown is not None):
                await self._refresh(whole=True)
        assert self._shown is not None  # noqa: S101
        return self._shown

    async def _refresh(self, *, whole: bool = False) -> None:
        if whole:
            fresh = await asyncio.to_thread(self._look, whole=True)
        else:
            fresh = await self._in_thread(lambda: self._look(whole=False))
        if not fresh:
            return
        self.version += 1
        for name, data in fresh.items():
            self.sections[name] = Section(data, self.version)
        async with self._changed:
            self._changed.notify_all()

    def _look(self, *, whole: bool) -> dict[str, bytes]:
        """In the thread: sections that are new or changed."""
        if self._watch is None:
            self._watch = RunWatch(self.run.journal)
        watch = self._watch
        watch.catch_up()
        is_live = watch.state.ended is None and is_executed(self.run)
        now = time_of(watch.state, time.time())
        found: dict[str, object]
        has_turned = watch.state.ended is not None or is_live != self._was_live
        if whole or has_turned or self._is_time_to_draw(watch.state.events):
            found = self._draw(watch, now, is_live=is_live)
        elif is_live:
            verdict, tiles, _ = watch.headline(now, is_live=is_live)
            found = {"verdict": verdict, "tiles": tiles, "live": is_live}
        else:
            found = {}
        self._was_live = is_live
        self.seq = watch.state.events
        self.is_over = watch.state.ended is not None and not is_executed(self.run)
        encoded = {name: msgspec.json.encode(value) for name, value in found.items()}
        return {
            name: data
            for name, data in encoded.items()
            if name not in self.sections or self.sections[name].data != data
        }

    def _is_time_to_draw(self, last: int) -> bool:
        known, at = self._drawn
        now = time.monotonic()
        return now >= self._may_draw_at and (last != known or now >= at + QUIET_S)

    def _draw(self, watch: RunWatch, now: Time, *, is_live: bool) -> dict[str, object]:
        """All sections; how long it took decides when it may be done again."""
        began = time.thread_time()
        self._shown = shown = watch.snapshot(now, is_live=is_live)
        at = time.monotonic()
        self._drawn = watch.state.events, at
        self._may_draw_at = at + max(CHARTS_S, SHARE * (time.thread_time() - began))
        return {name: getattr(shown, name) for name in GROUPS}

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    # --- telling ---------------------------------------------------------------------------------

    async def events(self, since: int | None) -> AsyncIterator[bytes]:
        """Server-sent events; `since`: the version that the viewer has, if it has one."""
        self.viewers += 1
        if self._driver is None or self._driver.done():
            self._driver = asyncio.create_task(self._drive())
        try:
            async for message in self._tell(since):
                yield message
        finally:
            self.viewers -= 1
            self.last_used = time.monotonic()

    async def _tell(self, since: int | None) -> AsyncIterator[bytes]:
        yield b"retry: 1000\n\n"
        if since is not None and self._first < since <= self.version:
            seen = since
        else:
            shown = await self.snapshot()
            seen = self.version
            yield self._message("snapshot", msgspec.json.encode(shown))
        while True:
            for message in self._since(seen):
                yield message
            seen = self.version
            if self.is_over:
                yield self._message("ended", b'{"seq":%d,"live":false}' % self.seq)
                return
            if not await self._wait(seen):
                if self._driver is None or self._driver.done():
                    return  # nobody reads any more: who looks comes again, and finds out why
                yield b"event: alive\ndata: {}\n\n"

    def _since(self, version: int) -> list[bytes]:
        groups: dict[str, list[str]] = {}
        for name, section in self.sections.items():
            if section.version > version:
                groups.setdefault(GROUPS[name], []).append(name)
        return [
            self._message(
                group,
                b'{"seq":%d' % self.seq
                + b"".join(
                    b',"' + name.encode() + b'":' + self.sections[name].data for name in names
                )
                + b"}",
            )
            for group, names in groups.items()
        ]

    def _message(self, name: str, data: bytes) -> bytes:
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (self.version, name.encode(), data)

    async def _wait(self, version: int) -> bool:
        """Until something is newer than a version; False: not within a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(ALIVE_S), self._changed:
                await self._changed.wait_for(lambda: self.version > version or self.is_over)
                return True
        return False

    async def _drive(self) -> None:
        """Look at the journal while somebody looks at the page.

        The process that writes a journal may be in the way for a moment, most likely at its end.
        """
        failures = 0
        while self.viewers and not self.is_over and failures < MOST_FAILURES:
            try:
                async with self._lock:
                    await self._refresh()
                failures = 0
            except (BursarError, sqlite3.Error):
                failures += 1
                await self._in_thread(self._forget)
            await asyncio.sleep(PACE_S)
        async with self._changed:
            self._changed.notify_all()

    def _forget(self) -> None:
        """In the thread: the journal is opened again at the next look."""
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()

    async def close(self) -> None:
        if self._driver is not None:
            self._driver.cancel()
        await self._in_thread(self._forget)
        self._thread.shutdown(wait=False)
