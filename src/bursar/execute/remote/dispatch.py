"""The processes of a run on machines elsewhere: the same orders and reports as on this computer.

What an attempt wrote is unpacked into its directory here before it is reported as ended.
"""

from __future__ import annotations

import os
import select
import weakref
from collections import deque
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from tarfile import TarError
from typing import Final

from bursar.execute.calls import Answer, Calls, described, read_answer
from bursar.execute.outputs import last_lines
from bursar.execute.processes import boottime
from bursar.execute.remote import messages as m
from bursar.execute.remote.clusters import Cluster, Wanted
from bursar.execute.remote.hub import Hub, Told
from bursar.execute.remote.input_files import parts_to_send
from bursar.execute.remote.machine_link import AnySent, MachineLink
from bursar.execute.remote.packs import unpack
from bursar.execute.reports import AttemptReport, LineReport, MachineReport, Report, unwanted
from bursar.execute.staging import TaskFiles
from bursar.model.errors import DiskError
from bursar.model.market import Offer
from bursar.model.time import SECOND, Time

LONGEST_SLEEP: Final[Time] = SECOND
CLOSING: Final[Time] = 12 * SECOND
"""for machines that are still there to end"""


class RemoteDispatcher:
    """`lease` of a machine that is not known lets it join; `JoinedReport` follows."""

    def __init__(
        self,
        run: str,
        mark: str,
        cluster: Cluster,
        attempts: Path,
        *,
        timeout: Time | None = None,
        grace: Time,
        calls: Calls | None = None,
        opening: Sequence[AnySent] = (),
    ) -> None:
        self._run = run
        self._mark = mark
        self._timeout = timeout
        self._grace = grace
        self._attempts = attempts
        self._calls = Calls() if calls is None else calls
        self._session = token_hex(8)
        self._offers: dict[int, Offer] = {}
        """of machines that are not gone"""
        self._where: dict[int, int] = {}
        """attempts that live, and their machines"""
        self._known: dict[int, set[int]] = {}
        """numbers of the functions that a machine has got"""
        self._sent: dict[int, dict[str, tuple[int, ...]]] = {}
        """files that a machine has got, by name, and which of that name it was"""
        self._gathered: dict[int, list[AnySent]] = {}
        """orders by machine, until `flush`"""
        self._inbox: deque[tuple[int, Told]] = deque()
        self._ready: list[Report] = []
        """what needs no machine to be known"""
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        weakref.finalize(self, os.close, self._bell)
        self._poll = select.poll()
        self._poll.register(self._bell, select.POLLIN)
        self._hub = Hub(
            cluster, self._session, attempts, self._start_config, opening, self._received
        )

    # --- orders ----------------------------------------------------------------------------------

    def lease(self, machine: int, until: int, offer: Offer) -> None:
        if machine in self._offers:
            self._hub.do(lambda: self._hub.lease(machine, until))
            return
        self._offers[machine] = offer
        self._known[machine] = set()
        self._sent[machine] = {}
        wanted = Wanted(f"{self._mark}/{machine}", offer.name, None)

        def join() -> None:
            self._hub.join(
                MachineLink(machine, wanted, self._session, until, self._attempts, self._hub.hear)
            )

        self._hub.do(join)

    def drop(self, machine: int) -> None:
        self._leave(machine, at_once=False)

    def lose(self, machine: int) -> None:
        self._leave(machine, at_once=True)

    def _leave(self, machine: int, *, at_once: bool) -> None:
        if machine in self._offers:
            self.flush()
            self._hub.do(lambda: self._hub.leave(machine, at_once=at_once))

    def run_command(self, attempt: int, task: int, machine: int, argv: Sequence[str]) -> None:
        if machine not in self._offers:
            return
        if not argv:
            self._report_at_once(
                AttemptReport(attempt, "failed", "the task has no command", wrote=False)
            )
            return
        self._give(machine, attempt, m.StartCommand(attempt, task, tuple(argv)))

    def run_staged(
        self, attempt: int, task: int, machine: int, argv: Sequence[str], files: TaskFiles
    ) -> None:
        """As `run_command`, with copies of the files; each is sent to a machine once."""
        if machine not in self._offers:
            return
        orders = self._gathered.setdefault(machine, [])
        for name, source in files.reads.items():
            orders += parts_to_send(source, f"{files.work}/{name}", self._sent[machine])
        reads = tuple(files.reads)
        order = m.StartStaged(attempt, task, tuple(argv), files.work, reads, files.writes)
        self._give(machine, attempt, order)

    def run_call(self, attempt: int, task: int, machine: int) -> None:
        """What pickling raises is the answer; what nobody waits for any more is done."""
        if machine not in self._offers:
            return
        try:
            call = self._calls.start(task)
        except BaseException as error:
            reason = f"the call cannot be pickled: {described(error)}"
            answer = Answer(error=error)
            self._report_at_once(
                AttemptReport(attempt, "failed", reason, answer=answer, wrote=False)
            )
            return
        if call is None:
            self._report_at_once(unwanted(attempt))
            return
        known = self._known[machine]
        new = tuple((code.number, code.data) for code in call.codes if code.number not in known)
        known.update(number for number, _ in new)
        needs = tuple(code.number for code in call.codes)
        order = m.StartCall(attempt, task, call.function, new, needs, call.data)
        self._give(machine, attempt, order)

    def stop(self, attempt: int, cause: str) -> None:
        machine = self._where.get(attempt)
        if machine is not None:
            self._gathered.setdefault(machine, []).append(m.StopAttempt(attempt))

    def _give(self, machine: int, attempt: int, order: m.AnyOrder) -> None:
        self._where[attempt] = machine
        self._gathered.setdefault(machine, []).append(order)

    def _report_at_once(self, report: AttemptReport) -> None:
        self._ready.append(report)
        self.wake()

    def flush(self) -> None:
        if not self._gathered:
            return
        gathered, self._gathered = self._gathered, {}

        def deliver() -> None:
            for machine, orders in gathered.items():
                self._hub.order(machine, orders)

        self._hub.do(deliver)

    # --- reports ---------------------------------------------------------------------------------

    def wake(self) -> None:
        os.eventfd_write(self._bell, 1)

    def poll(self, until: int | None) -> list[Report]:
        """What was reported; perhaps nothing, at `until` or soon, or when woken."""
        self.flush()
        left = LONGEST_SLEEP if until is None else min(LONGEST_SLEEP, max(0, until - boottime()))
        if self._inbox or self._ready:
            left = 0
        if self._poll.poll(left / 1000):
            os.eventfd_read(self._bell)
        reports, self._ready = self._ready, []
        while self._inbox:
            machine, message = self._inbox.popleft()
            if isinstance(message, BaseException):
                raise message
            if isinstance(message, LineReport):
                reports.append(message)
            elif isinstance(message, m.AttemptOver):
                if self._where.pop(message.attempt, None) is not None:
                    reports.append(self._heard(machine, message))
            elif machine in self._offers:
                if isinstance(message, MachineReport):
                    self._forget(machine)
                reports.append(message)
        return reports

    def close(self) -> None:
        """End all machines that are left, and wait until they have ended."""
        for machine in list(self._offers):
            self.drop(machine)
        end = boottime() + CLOSING
        while self._offers and boottime() < end:
            try:
                self.poll(end)
            except Exception:  # noqa: S112 (whatever went wrong, the others must be ended)
                continue
        self._hub.close()

    def _received(self, machine: int, message: Told) -> None:
        self._inbox.append((machine, message))
        self.wake()

    def _forget(self, machine: int) -> None:
        del self._offers[machine], self._known[machine], self._sent[machine]
        self._gathered.pop(machine, None)
        for attempt in [one for one, where in self._where.items() if where == machine]:
            del self._where[attempt]

    def _heard(self, machine: int, message: m.AttemptOver) -> AttemptReport:
        """Unpack what is small here; what is large was unpacked as it came."""
        if message.packed:
            try:
                unpack(BytesIO(message.packed), self._attempts / str(message.attempt))
            except OSError as error:
                raise DiskError(
                    f"{self._attempts}: cannot keep what a task wrote: {error.strerror};"
                    " fix that, then continue with bursar resume"
                ) from None
            except TarError as error:
                why = f"its output cannot be unpacked: {error}"
                return AttemptReport(message.attempt, "failed", why, wrote=False)
        if message.wrote:
            self._gathered.setdefault(machine, []).append(m.ForgetOutput(message.attempt))
        answer = None if message.answer is None else read_answer(*message.answer)
        outcome, reason = message.outcome, message.reason
        if outcome == "success" and answer is not None and answer.error is not None:
            outcome, reason = "failed", last_lines(str(answer.error))
        if reason.startswith("cannot write in its directory"):
            reason = f"on its machine: {reason}"
        return AttemptReport(
            message.attempt,
            outcome,
            reason,
            message.exit_code,
            message.runtime,
            message.cpu,
            message.memory,
            answer,
            wrote=message.wrote,
            is_back=message.is_back,
        )

    def _start_config(self, link: MachineLink) -> bytes:
        """What an agent must know that the worker of somebody's cluster starts."""
        return m.encode(
            agent_config(
                self._run,
                link.wanted.token,
                link.machine,
                self._offers[link.machine],
                link.until - boottime(),
                timeout=self._timeout,
                grace=self._grace,
            )
        )


def agent_config(
    run: str,
    token: str,
    machine: int,
    offer: Offer,
    stay: Time,
    *,
    timeout: Time | None,
    grace: Time,
    carrier: m.CarrierConfig | None = None,
    turns_off: bool = False,
) -> m.AgentConfig:
    """What an agent must know to begin now."""
    import time

    return m.AgentConfig(
        token=token,
        run=run,
        machine=machine,
        offer=offer.name,
        slots=offer.slots,
        speed=offer.speed,
        stay=stay,
        expires=time.time() + stay / SECOND,
        timeout=timeout,
        grace=grace,
        carrier=carrier,
        turns_off=turns_off,
    )
