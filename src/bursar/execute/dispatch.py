"""The processes that work for a run: a warden, and workers for Python calls.

One place that talks to all of them: it takes orders, and tells in reports what became of them. All
times are microseconds of `boottime`.
"""

from __future__ import annotations

import os
import select
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from bursar.execute.calls import Answer, Calls, read_answer
from bursar.execute.link import DispatchError, WardenLink, require_descriptors
from bursar.execute.packets import PacketChannel
from bursar.execute.processes import boottime
from bursar.execute.reports import AttemptReport, MachineReport, Report, describe_exit, outcome_of
from bursar.execute.wire import Channel
from bursar.execute.workers import Worker, Workers
from bursar.model.market import Offer
from bursar.model.time import Time, format_duration

LONGEST_SLEEP: Final[Time] = 1_000_000
"""waiting does not count the time that the computer is asleep, deadlines do"""
RESERVE: Final = 16
"""While so many calls wait at every worker, what they answer need not be heard at once ..."""
DELAY: Final[Time] = 20
"""... but after this time for each of them, which is less than they take."""


class AnyDispatcher(Protocol):
    """What a runner needs of one; see `Dispatcher` for what each does."""

    def lease(self, machine: int, until: int, offer: Offer) -> None: ...
    def drop(self, machine: int) -> None: ...
    def lose(self, machine: int) -> None: ...
    def run_command(self, attempt: int, task: int, machine: int, argv: Sequence[str]) -> None: ...
    def run_call(self, attempt: int, task: int, machine: int) -> None: ...
    def stop(self, attempt: int, cause: str) -> None: ...
    def flush(self) -> None: ...
    def wake(self) -> None: ...
    def poll(self, until: int | None) -> Sequence[Report]: ...
    def close(self) -> None: ...


class Dispatcher:
    """Orders are sent by `flush` or the next `poll`; if the warden is lost, so are its machines."""

    def __init__(
        self,
        open_link: Callable[[], WardenLink],
        timeout: Time | None,
        calls: Calls | None = None,
        attempts: str = "",
        read: Callable[..., Answer] = read_answer,
    ) -> None:
        """`read` makes an answer of what a worker sends."""
        require_descriptors()
        self._open_link = open_link
        self._timeout = timeout
        """longest run time of an attempt"""
        self._link: WardenLink | None = None
        self._is_ready = False
        """the warden has spoken"""
        self._leases: dict[int, int] = {}
        """machines that are not gone, and the ends of their leases"""
        self._call_workers = Workers(
            Calls() if calls is None else calls,
            attempts,
            hire=self._hire,
            part=self._part,
            watch=lambda worker: self.watch(worker.channel),
            end=lambda attempt: self.stop(attempt, "timeout"),
            timeout=timeout,
            read=read,
        )
        self._reports: list[Report] = []
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        weakref.finalize(self, os.close, self._bell)
        self._poll = select.epoll()
        self._poll.register(self._bell, select.EPOLLIN)
        self._workers: dict[int, Worker] = {}
        """by descriptor"""
        self._others: dict[int, Callable[[], None]] = {}
        """what to do when such a descriptor can be read"""
        self._stuffed: set[Channel | PacketChannel] = set()
        """channels that did not take all that was sent"""
        self._hearers: dict[str, Callable[..., None]] = {
            "ready": self._heard_ready,
            "ended": self._heard_ended,
            "gone": self._heard_gone,
        }

    # --- orders ----------------------------------------------------------------------------------

    def lease(self, machine: int, until: int, offer: Offer) -> None:
        """The machine may exist until then; it is a new one, or stays longer."""
        self._leases[machine] = until
        self._call_workers.lease(machine, offer.slots)
        self._warden().call("lease", machine, until, offer.slots, offer.name, f"{offer.speed:g}")

    def drop(self, machine: int) -> None:
        """Take the machine down; a report follows, unless it is gone already."""
        if machine in self._leases:
            self._warden().call("drop", machine)

    def lose(self, machine: int) -> None:
        """Take the machine away as its provider might, at once; a report follows."""
        if machine in self._leases:
            self._warden().call("lose", machine)

    def run_command(self, attempt: int, task: int, machine: int, argv: Sequence[str]) -> None:
        """Start a command, once a slot is free; a report follows, unless the machine goes first."""
        if not argv:
            self._report_at_once(
                AttemptReport(attempt, "failed", "the task has no command", wrote=False)
            )
        elif machine in self._leases:
            self._warden().call("start", attempt, machine, task, tuple(argv), self._timeout)

    def run_call(self, attempt: int, task: int, machine: int) -> None:
        """Start a call; a report follows, unless the machine is gone before."""
        if machine in self._leases:
            self._call_workers.start(attempt, task, machine)

    def _report_at_once(self, report: AttemptReport) -> None:
        self._reports.append(report)
        self.wake()

    def stop(self, attempt: int, cause: str) -> None:
        """End an attempt, if it still runs."""
        worker = self._call_workers.stop(attempt)
        if self._link is not None:
            self._link.call("stop", attempt if worker is None else worker.key, cause)

    def flush(self) -> None:
        if self._link is not None:
            self._link.flush()
            self.watch(self._link.channel)

    # --- reports ---------------------------------------------------------------------------------

    def wake(self) -> None:
        """Let `poll` return; from any thread, or from a signal handler."""
        os.eventfd_write(self._bell, 1)

    def poll(self, until: int | None) -> list[Report]:
        """What was reported; perhaps nothing, at `until` or soon, or when woken."""
        self.flush()
        if self._call_workers.reserve >= RESERVE:
            time.sleep(
                self._call_workers.reserve * DELAY / 1_000_000
            )  # to hear of many answers at once
        for descriptor, _ in self._poll.poll(self._poll_timeout(until)):
            if descriptor == self._bell:
                os.eventfd_read(self._bell)
            elif descriptor in self._workers:
                self._hear_worker(self._workers[descriptor])
            elif descriptor in self._others:
                self._others[descriptor]()
            elif self._link is not None:
                self._hear_warden(self._link)
        self._call_workers.look(boottime())
        reports, self._reports = self._reports + self._call_workers.reports(), []
        return reports

    def attend(self, descriptor: int, hear: Callable[[], None]) -> None:
        """Let `poll` call this when there is something to read; `ignore` ends that."""
        self._others[descriptor] = hear
        self._poll.register(descriptor, select.EPOLLIN)

    def ignore(self, descriptor: int) -> None:
        del self._others[descriptor]
        self._poll.unregister(descriptor)
        self._stuffed = {channel for channel in self._stuffed if channel.fileno() != descriptor}

    def close(self) -> None:
        """End all processes."""
        if self._link is not None:
            self._link.close()
            self._link = None
        for machine in list(self._leases):
            self._forget(machine)
        self._poll.close()

    def _poll_timeout(self, until: int | None) -> float | None:
        """Seconds."""
        if self._call_workers.has_reports:
            return 0
        times = [due for due in (self._call_workers.next_look(), until) if due is not None]
        if not times:
            return None
        return min(LONGEST_SLEEP, max(0, min(times) - boottime())) / 1_000_000

    # --- the warden ------------------------------------------------------------------------------

    def _warden(self) -> WardenLink:
        """The warden of the run; a new one if there is none, or none any more."""
        if self._link is None:
            self._link = self._open_link()
            self._is_ready = False
            self._poll.register(self._link.channel.fileno(), select.EPOLLIN)
        return self._link

    def _hear_warden(self, link: WardenLink) -> None:
        link.channel.flush()
        for calls, _ in link.channel.receive():
            for name, *arguments in calls:
                self._hearers[name](*arguments)
        if link.channel.closed:
            self._lose_warden(link)
        else:
            self.watch(link.channel)

    def _heard_ready(self) -> None:
        self._is_ready = True

    def _heard_ended(
        self,
        key: int,
        cause: str,
        code: int,
        runtime: int,
        cpu: int,
        memory: int,
        why: str,
        wrote: bool,
    ) -> None:
        reason = why or self._describe(cause, code)
        if key < 0:
            self._call_workers.ended(key, cause, code, reason)
            return
        outcome = outcome_of(cause, code)
        exit_code = None if outcome in ("cancelled", "timeout") else code
        self._reports.append(
            AttemptReport(key, outcome, reason, exit_code, runtime, cpu, memory, wrote=wrote)
        )

    def _heard_gone(self, machine: int, cause: Any, at: int) -> None:
        if machine in self._leases:
            self._forget(machine)
            self._reports.append(MachineReport(machine, cause, at))

    def _lose_warden(self, link: WardenLink) -> None:
        """It was killed: what it watched over is killed too, and its machines are lost."""
        self._stuffed.discard(link.channel)
        link.close()
        self._link = None
        if not self._is_ready:
            raise DispatchError("the process that supervises tasks did not start; see above")
        now = boottime()
        for machine, until in list(self._leases.items()):
            self._forget(machine)
            why = "the process that supervises it was killed"
            self._reports.append(MachineReport(machine, "lost", min(now, until), why))

    def _describe(self, cause: str, code: int) -> str:
        if cause == "timeout":
            return f"timed out after {format_duration(self._timeout or 0)}"
        if cause == "cancelled":
            return "cancelled"
        return describe_exit(code)

    # --- workers ---------------------------------------------------------------------------------

    def _hire(self, worker: Worker, program: list[str], descriptor: int) -> None:
        self._workers[worker.channel.fileno()] = worker
        self._poll.register(worker.channel.fileno(), select.EPOLLIN)
        self._warden().call_with(descriptor, "host", worker.key, worker.machine.id, program)

    def _hear_worker(self, worker: Worker) -> None:
        worker.channel.flush()
        self._call_workers.hear(worker)
        self.watch(worker.channel)

    def _part(self, worker: Worker) -> None:
        """Listen to it no more."""
        descriptor = worker.channel.fileno()
        if self._workers.pop(descriptor, None) is not None:
            self._poll.unregister(descriptor)
            self._stuffed.discard(worker.channel)

    def _forget(self, machine: int) -> None:
        del self._leases[machine]
        self._call_workers.forget(machine)

    def watch(self, channel: Channel | PacketChannel) -> None:
        """Listen for room to send where there was none."""
        if channel.pending:
            self._poll.modify(channel.fileno(), select.EPOLLIN | select.EPOLLOUT)
            self._stuffed.add(channel)
        elif channel in self._stuffed:
            self._poll.modify(channel.fileno(), select.EPOLLIN)
            self._stuffed.remove(channel)
