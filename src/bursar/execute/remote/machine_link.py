"""bursar's end of the line to one machine: orders that wait, reports that come, and what is known.

All of it belongs to the event loop of `hub.py`. Two requests are under way at a time: one that
delivers orders, and one that waits for reports and shows, by being answered, that the machine is
there.
"""

from __future__ import annotations

import asyncio
import stat
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bursar.execute.processes import boottime
from bursar.execute.remote import messages as m
from bursar.execute.remote.clusters import FoundWorker, Wanted
from bursar.execute.remote.packs import unpack
from bursar.model.errors import InputError
from bursar.model.time import SECOND

if TYPE_CHECKING:
    from distributed.core import rpc

HOLD: Final = 2 * SECOND
"""how long a machine waits for a report before it answers that there is none"""
ANSWER_TIMEOUT: Final = 8.0
"""seconds beyond that; then the line counts as cut, and another is opened"""
SLOWEST_LINE: Final = 100_000
"""bytes a second that a line carries at least"""
GREET_TIMEOUT: Final = 40.0
"""seconds: an agent may have to be started first, or to end what ran before"""
MOST_ORDERS: Final = 500
"""in one message"""


class FilePart(NamedTuple):
    """Part of a file to be sent, read when it is."""

    path: Path
    offset: int
    is_last: bool

    def read(self) -> m.TakeFiles:
        with self.path.open("rb") as file:
            file.seek(self.offset)
            return m.TakeFiles(self.offset, file.read(m.CHUNK), self.is_last)


class InputPart(NamedTuple):
    """Part of a file that tasks read, or a directory; read when it is sent."""

    path: str
    name: str
    offset: int
    mode: int
    is_last: bool

    def read(self) -> m.TakeInput:
        """What is gone by now comes as nothing: the task that reads it then fails."""
        data = b""
        if not stat.S_ISDIR(self.mode):
            with suppress(OSError), open(self.path, "rb") as file:  # noqa: PTH123
                file.seek(self.offset)
                data = file.read(m.CHUNK)
        return m.TakeInput(self.name, self.offset, data, self.mode, self.is_last)


AnySent = m.AnyOrder | FilePart | InputPart
"""what is sent to a machine, or where to find it when it is"""


class MachineError(Exception):
    """Why a machine is no longer of use, in words for its user."""


class MachineLink:
    """Knows one machine from joining to its end."""

    def __init__(
        self,
        machine: int,
        wanted: Wanted,
        session: str,
        until: int,
        outputs: Path,
        tell: Callable[[MachineLink, m.AnyReport | None], None],
    ) -> None:
        self.machine = machine
        self.wanted = wanted
        self._session = session
        self.until = until
        """the end of its lease, by our `boottime`"""
        self._outputs = outputs
        """the directory of attempts, where what is large is put"""
        self._tell = tell
        """gets each report, and None when the machine has joined"""
        self.worker: FoundWorker | None = None
        self.heard: int | None = None
        """when it answered last; None: never"""
        self.is_over = False
        self.is_connected = False
        self.last_error = ""
        """why the line was cut, the last time"""
        self._stamp: tuple[int, int] | None = None
        """a time of its clock, and when we got it, by ours: never earlier than it was"""
        self._orders: deque[AnySent] = deque()
        """those that it has not confirmed"""
        self._confirmed = 0
        """how many it has"""
        self._seen = 0
        """reports that have arrived"""
        self._opening: list[AnySent] = []
        """what it must do before it has joined"""
        self._joins_at: int | None = None
        """with the confirmation of this order it has joined; 0: it has"""
        self._lease: m.SetLease | None = None
        """the last one that it was given"""
        self._something = asyncio.Event()
        self._to_read: asyncio.Queue[m.AttemptOver] = asyncio.Queue()

    @property
    def has_joined(self) -> bool:
        return self._joins_at == 0

    def prepare(self, orders: list[AnySent]) -> None:
        self._opening = orders

    def push(self, order: AnySent) -> None:
        self._orders.append(order)
        self._something.set()

    def lease(self, until: int) -> None:
        """Tell it, as so long after a time of its own: whatever takes time shortens the lease."""
        self.until = until
        if self._stamp is not None:
            stamp, at = self._stamp
            self._lease = m.SetLease(stamp, until - at)
            self.push(self._lease)

    def their_time(self, at: int) -> int:
        """A time of its clock by ours."""
        stamp, ours = self._stamp or (at, boottime())
        return min(boottime(), ours + at - stamp)

    # --- the line --------------------------------------------------------------------------------

    async def converse(self, line: rpc, handler: str, start: bytes) -> None:
        """Until the line breaks, which is an error, or the machine is over."""
        operation = getattr(line, handler)
        token = self.wanted.token

        async def ask(request: m.AnyRequest, timeout: float, begin: bytes = b"") -> m.AgentAnswer:
            data = m.encode(request)
            reply = await asyncio.wait_for(
                operation(token=token, request=data, start=begin), timeout
            )
            return self._checked(m.decode_answer(reply))

        await self._greet(await ask(m.Greet(self._session), GREET_TIMEOUT, start))
        tasks = [
            asyncio.ensure_future(part)
            for part in (self._deliver(ask), self._listen(ask), self._read(ask))
        ]
        self.is_connected = True
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self.is_connected = False
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _checked(self, answer: m.AgentAnswer) -> m.AgentAnswer:
        if answer.version and answer.version != m.VERSION:
            where = "" if self.worker is None else f" ({self.worker.address})"
            raise InputError(
                f"machine {self.machine}{where} has bursar {answer.version}, and this is"
                f" {m.VERSION}; install the same version there"
            )
        if answer.error == m.CUT_OFF:
            raise ConnectionError(answer.error)
        if answer.error:
            raise MachineError(answer.error)
        self.heard = boottime()
        self._stamp = (answer.stamp, self.heard)
        return answer

    async def _greet(self, answer: m.AgentAnswer) -> None:
        """The first time, tell it what it must do to join."""
        if self._joins_at is None:
            for order in self._opening:
                self.push(order)
            self.lease(self.until)
            self._joins_at = len(self._orders)
        self._confirm(answer.seen)

    async def _deliver(self, ask: Any) -> None:
        while not self.is_over:
            await self._something.wait()
            self._something.clear()
            while self._orders:
                batch, size = self._batch()
                answer = await ask(
                    m.Deliver(self._session, self._confirmed + 1, batch),
                    ANSWER_TIMEOUT + size / SLOWEST_LINE,
                )
                self._confirm(answer.seen)

    def _batch(self) -> tuple[tuple[m.AnyOrder, ...], int]:
        """The next orders, and about how many bytes they are."""
        batch: list[m.AnyOrder] = []
        size = 0
        for order in self._orders:
            made = order.read() if isinstance(order, FilePart | InputPart) else order
            if isinstance(made, m.TakeFiles | m.TakeInput | m.StartCall):
                size += len(made.data)
            if batch and (size > m.LARGEST_MESSAGE or len(batch) >= MOST_ORDERS):
                break
            batch.append(made)
        return tuple(batch), size

    def _confirm(self, seen: int) -> None:
        while self._orders and self._confirmed < seen:
            self._orders.popleft()
            self._confirmed += 1
        if self._orders:
            self._something.set()
        if self._joins_at and self._confirmed >= self._joins_at:
            self._joins_at = 0
            self._tell(self, None)

    async def _listen(self, ask: Any) -> None:
        while not self.is_over:
            request = m.Listen(self._session, self._seen, HOLD, self._lease)
            answer = await ask(request, HOLD / SECOND + ANSWER_TIMEOUT)
            for number, report in enumerate(answer.reports, answer.first):
                if number == self._seen + 1:
                    self._seen = number
                    self._hear(report)
        await ask(m.Listen(self._session, self._seen, 0), ANSWER_TIMEOUT)  # it waits to be heard

    def _hear(self, report: m.AnyReport) -> None:
        if isinstance(report, m.AttemptOver) and report.size:
            self._to_read.put_nowait(report)
        else:
            self._tell(self, report)

    # --- large outputs ---------------------------------------------------------------------------

    async def _read(self, ask: Any) -> None:
        """Fetch what waits at the machine, part by part; what was cut off begins again."""
        while not self.is_over:
            report = await self._to_read.get()
            try:
                await self._fetch(ask, report)
            except BaseException:
                self._to_read.put_nowait(report)
                raise
            self._tell(self, report)

    async def _fetch(self, ask: Any, report: m.AttemptOver) -> None:
        pack = self._outputs / f"{report.attempt}.pack"
        with pack.open("wb") as file:
            while file.tell() < report.size:
                request = m.ReadOutput(self._session, report.attempt, file.tell())
                answer = await ask(request, ANSWER_TIMEOUT + 30)
                if not answer.data:
                    raise MachineError(f"what attempt {report.attempt} wrote is gone")
                file.write(answer.data)

        def unpack_all() -> None:
            with pack.open("rb") as file:
                unpack(file, self._outputs / str(report.attempt))
            pack.unlink()

        await asyncio.to_thread(unpack_all)
