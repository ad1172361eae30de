"""The agent of a machine elsewhere: what bursar is to a warden on its own computer.

    bursar ... Dask worker --socket-- agent -- keeper -- warden -- tasks

It outlives the Dask worker that carries orders to it, and bursar, but not the lease of its machine:
until then attempts go on, and what became of them is kept until bursar has heard it. It starts the
Dask worker, and starts it again when it ends or freezes, unless somebody else does so. When the
agent ends, for whatever reason, nothing of it is left (`keeper.py`).
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from bursar.execute.processes import boottime
from bursar.execute.remote import messages as m
from bursar.execute.remote.carrier import Carrier
from bursar.execute.remote.machine_work import WORKING, MachineWork
from bursar.execute.remote.places import AgentPlace, socket_name
from bursar.execute.wire import Channel
from bursar.model.time import SECOND

FIRST_CONTACT: Final = 120 * SECOND
"""A machine that bursar has not spoken to for so long after its start ends."""
LATE_CONTACT: Final = 20 * SECOND
"""The same where its lease is over by the wall clock, which may be wrong."""
LINGER: Final = 5 * SECOND
"""A machine that is over waits so long for bursar to hear it."""
GATHER: Final = SECOND // 50
"""Where attempts wait for a slot, reports are sent only this often, so that fewer messages carry
them. It is less than what waits takes (`LONGEST_QUEUE` of `local.py`): no slot is idle for it."""
NAP: Final = SECOND
PEER: Final = struct.Struct("3i")
"""process, user and group of the other end of a socket"""
PING: Final = 0
"""the number of a frame that asks the Dask worker whether it is awake"""


class Agent:
    """Serves one machine until it is over."""

    def __init__(self, config: m.AgentConfig, place: AgentPlace) -> None:
        self._config = config
        self._place = place.path
        now = boottime()
        left = round((config.expires - time.time()) * SECOND)
        self._first_until = now + min(config.stay, FIRST_CONTACT, max(left, LATE_CONTACT))
        self._session = ""
        """of the process of bursar that was heard last"""
        self._seen = 0
        """orders that were taken"""
        self._reports: deque[m.AnyReport] = deque()
        """those that bursar has not confirmed"""
        self._confirmed = 0
        """how many it has"""
        self._gathers_until = 0
        """when the next reports are due"""
        self._over: int | None = None
        """when the machine was found to be over"""
        self._channels: dict[int, Channel] = {}
        self._held: tuple[Channel, int, int] | None = None
        """a request that waits for a report: where, its number, and until when"""
        self._listener = _listen(self._place / "socket")
        self._stopping = False
        self._carrier = None if config.carrier is None else Carrier(config.carrier, self._place)
        self._work = self._begin(self._first_until)

    def run(self) -> None:
        """Serve until the machine is over and bursar knows, or may not want to."""
        signal.signal(signal.SIGTERM, self._asked_to_end)
        try:
            while not (self._stopping or self._is_done()):
                self._take(self._work.poll(boottime() + self._patience()))
                self._answer_held()
                if self._carrier is not None and self._over is None:
                    self._carrier.look(self._channels.values())
        finally:
            self._work.close()
            if self._carrier is not None:
                self._carrier.close()
            for channel in self._channels.values():
                channel.close()
            self._listener.close()

    def _take(self, reports: Sequence[m.AnyReport]) -> None:
        """Keep what happened until bursar has heard it."""
        self._reports += reports
        if any(isinstance(report, m.MachineOver) for report in reports):
            self._over = boottime()

    def _begin(self, until: int) -> MachineWork:
        """New work, in empty directories."""
        for name in WORKING:
            (self._place / name).mkdir(exist_ok=True)
        os.chdir(self._place / "work")
        work = MachineWork(self._config, self._place, until)
        work.dispatcher.attend(self._listener.fileno(), self._accept)
        for channel in self._channels.values():
            work.dispatcher.attend(channel.fileno(), self._hearing(channel))
        return work

    def _is_done(self) -> bool:
        if self._over is None:
            return False
        return not self._reports or boottime() >= lingers_until(self._over, self._work.until)

    def _patience(self) -> int:
        if self._held is None:
            return NAP
        due = min(self._held[2], self._gathers_until) if self._reports else self._held[2]
        return max(0, min(NAP, due - boottime()))

    def _asked_to_end(self, number: int, frame: object) -> None:
        self._stopping = True
        self._work.dispatcher.wake()

    # --- the socket ------------------------------------------------------------------------------

    def _accept(self) -> None:
        """Only processes of the same user are heard."""
        try:
            end, _ = self._listener.accept()
        except (BlockingIOError, ConnectionError):
            return
        peer = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
        if PEER.unpack(peer)[1] != os.getuid():
            end.close()
            return
        if self._carrier is not None:
            self._carrier.is_awake()
        channel = Channel(end)
        self._channels[channel.fileno()] = channel
        self._work.dispatcher.attend(channel.fileno(), self._hearing(channel))

    def _hearing(self, channel: Channel) -> _Hearing:
        return _Hearing(self, channel)

    def hear(self, channel: Channel) -> None:
        channel.flush()
        for number, body in channel.receive():
            if number == PING:
                if self._carrier is not None:
                    self._carrier.is_awake()
            else:
                self._handle(channel, number, body)
        if channel.closed:
            self._work.dispatcher.ignore(channel.fileno())
            del self._channels[channel.fileno()]
            channel.close()
        else:
            self._work.dispatcher.watch(channel)

    def _answer(self, channel: Channel, number: int, answer: m.AgentAnswer) -> None:
        if not channel.closed:
            channel.send(number, m.encode(answer))
            self._work.dispatcher.watch(channel)

    # --- requests --------------------------------------------------------------------------------

    def _handle(self, channel: Channel, number: int, body: bytes) -> None:
        try:
            request = m.decode_request(body)
        except msgspec.DecodeError as error:
            text = f"a message cannot be read ({error}); it has bursar {m.VERSION}"
            self._answer(channel, number, self._reply(error=text))
            return
        if isinstance(request, m.Greet):
            self._greet(request)
        elif request.session != self._session:
            self._answer(channel, number, self._reply(error=m.REPLACED))
            return
        elif isinstance(request, m.Deliver):
            self._deliver(request)
        elif isinstance(request, m.ReadOutput):
            data = self._read(request)
            self._answer(channel, number, self._reply(data=data))
            return
        else:
            self._listen_for(channel, number, request)
            return
        self._answer(channel, number, self._reply())

    def _greet(self, request: m.Greet) -> None:
        """A new process of bursar knows nothing of what runs: that is ended first."""
        if request.protocol != m.PROTOCOL or request.session == self._session:
            return
        if self._session and self._over is None:
            until = self._work.until
            self._work.close()
            self._work = self._begin(until)
            self._reports.clear()
            self._seen = self._confirmed = 0
        self._session = request.session

    def _deliver(self, request: m.Deliver) -> None:
        for number, order in enumerate(request.orders, request.first):
            if number == self._seen + 1:
                self._seen = number
                self._work.obey(order)

    def _listen_for(self, channel: Channel, number: int, request: m.Listen) -> None:
        if request.lease is not None:
            self._work.obey(request.lease)
        while self._reports and self._confirmed < request.seen:
            self._reports.popleft()
            self._confirmed += 1
        if self._held is not None:
            self._answer(*self._held[:2], self._reply())
        self._held = (channel, number, boottime() + request.hold)

    def _answer_held(self) -> None:
        if self._held is None:
            return
        channel, number, until = self._held
        if self._has_news() or boottime() >= until:
            self._held = None
            self._answer(channel, number, self._reply(with_reports=True))
            self._gathers_until = boottime() + GATHER

    def _has_news(self) -> bool:
        """Whether there is something to tell that should not be gathered for longer."""
        is_due = not self._work.has_more_than_runs or boottime() >= self._gathers_until
        return bool(self._reports) and is_due

    def _read(self, request: m.ReadOutput) -> bytes:
        try:
            with self._work.output_of(request.attempt).open("rb") as file:
                file.seek(request.offset)
                return file.read(m.CHUNK)
        except OSError:
            return b""

    def _reply(
        self, *, with_reports: bool = False, data: bytes = b"", error: str = ""
    ) -> m.AgentAnswer:
        reports = _some(self._reports) if with_reports else ()
        return m.AgentAnswer(
            boottime(), self._seen, self._confirmed + 1, reports, data, error, m.VERSION
        )


def lingers_until(over: int, until: int) -> int:
    """How long a machine that was over then waits to be heard, with a lease to `until`."""
    return max(over, min(over + LINGER, until + m.EXPIRY_SLACK))


class _Hearing:
    """What to do when a channel has something to say."""

    def __init__(self, agent: Agent, channel: Channel) -> None:
        self._agent = agent
        self._channel = channel

    def __call__(self) -> None:
        self._agent.hear(self._channel)


def _some(reports: deque[m.AnyReport]) -> tuple[m.AnyReport, ...]:
    """As many from the front as make a message of a reasonable size; at least one."""
    some: list[m.AnyReport] = []
    size = 0
    for report in reports:
        size += 100
        if isinstance(report, m.AttemptOver):
            size += len(report.packed) + (0 if report.answer is None else len(report.answer[2]))
        if some and size > m.LARGEST_MESSAGE:
            break
        some.append(report)
    return tuple(some)


def _listen(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with socket_name(path) as name:
        listener.bind(name)
    path.chmod(0o600)
    listener.listen(8)
    listener.setblocking(False)
    return listener
