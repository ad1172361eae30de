"""The workers of a run, as bursar sees them: which are idle, and what the others are at.

A machine has as many workers as slots. Very short calls wait at a worker, where they begin one
after the other; if one of them takes long, those behind it are taken back, and go to another worker
of the machine or, if all are busy for long, back to the caller.
"""

from __future__ import annotations

import os
import sys
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, NamedTuple

from bursar.execute.calls import Answer, CallError, Calls, described, read_answer
from bursar.execute.functions import MOST_BYTES, Code
from bursar.execute.link import socket_pair
from bursar.execute.outputs import last_lines
from bursar.execute.packets import PacketChannel, packet_pair, take_back
from bursar.execute.packing import PackedCall
from bursar.execute.processes import boottime
from bursar.execute.reports import AttemptReport, outcome_of, unwanted
from bursar.execute.wire import python_program
from bursar.model.time import SECOND, Time

LONGEST_WAIT: Final[Time] = SECOND // 20
"""A call waits at a worker no longer than this while its predecessor runs."""
LONGEST_START: Final[Time] = 60 * SECOND
"""A worker that takes longer than this to begin counts as being at its first call."""
MOST_AT_WORKER: Final = 160
"""calls, the one that runs included"""
LARGEST_WAITING: Final = 1 << 12
"""A call of more bytes is sent to a worker that has nothing else."""


News = tuple[list[tuple[int, int]], list[tuple[int, int]], bytes | None]
"""numbers and sizes of functions that come along, and of those to forget, and a key"""


class CallOrder(NamedTuple):
    attempt: int
    task: int


class Worker:
    """A process that runs calls, one at a time."""

    __slots__ = (
        "at",
        "began",
        "channel",
        "far_end",
        "functions",
        "is_alone",
        "is_new",
        "key",
        "machine",
        "secret",
        "size",
        "stopped",
    )

    def __init__(self, key: int, machine: CallMachine) -> None:
        ours, self.far_end = socket_pair(packet_pair)
        """its own end, through which calls that it has not taken are taken back"""
        self.key = key
        self.machine = machine
        self.channel = PacketChannel(ours)
        self.at: deque[CallOrder] = deque()
        """what it was given and has not answered; it is at the first"""
        self.began = 0
        """when it could begin with the first, by `boottime`"""
        self.is_new = True
        """it has not said yet that it is there"""
        self.is_alone = False
        """what it is at is large: nothing may wait behind it"""
        self.stopped = 0
        """the attempt because of which the warden was asked to end it"""
        self.functions: OrderedDict[int, int] = OrderedDict()
        """functions it knows, and the sizes of their pickles, in the order in which it got them"""
        self.size = 0
        """of these pickles"""
        self.secret: bytes | None = None
        """the key of this program, as it was received"""

    def give(self, order: CallOrder, call: PackedCall) -> bool:
        """Send it a call, with what it does not know yet; False: there is no room."""
        codes = [code for code in call.codes if code.number not in self.functions]
        news = self._news(call, codes)
        body = b"".join((*(code.data for code in codes), call.data)) if codes else call.data
        if self.at and len(body) > LARGEST_WAITING:
            return False
        if not self.channel.send((order.attempt, order.task, call.function, news), body):
            return False
        self.is_alone = len(body) > LARGEST_WAITING
        if news is not None:
            self._learn(*news)
        if not self.at:
            self.began = boottime()
        self.at.append(order)
        return True

    def is_free_for(self, size: int | None) -> bool:
        """Whether a call of this size may be given to it now; None: it is large."""
        if self.stopped or not self.at:
            return not self.stopped
        if self.is_new or self.is_alone or size is None or size > LARGEST_WAITING:
            return False
        return len(self.at) < MOST_AT_WORKER and boottime() - self.began < LONGEST_WAIT

    def take_back(self) -> list[CallOrder]:
        """What it has not begun; it will not."""
        heads = take_back(self.far_end)
        for _, _, _, news in reversed(heads):
            if news is not None:
                self._unlearn(*news)
        taken = {head[0] for head in heads}
        back = [order for order in self.at if order.attempt in taken]
        self.at = deque(order for order in self.at if order.attempt not in taken)
        return back

    def close(self) -> None:
        self.channel.close()
        self.far_end.close()

    def _news(self, call: PackedCall, codes: list[Code]) -> News | None:
        """What to send along: functions, those to forget, and the key."""
        secret = _secret()
        if not codes and secret == self.secret:
            return None
        wanted = {code.number for code in call.codes}
        size = self.size + sum(len(code.data) for code in codes)
        forgotten: list[tuple[int, int]] = []
        for number, its_size in self.functions.items():
            if size <= MOST_BYTES:
                break
            if number not in wanted:
                forgotten.append((number, its_size))
                size -= its_size
        new = [(code.number, len(code.data)) for code in codes]
        return new, forgotten, secret if secret != self.secret else None

    def _learn(
        self, new: list[tuple[int, int]], forgotten: list[tuple[int, int]], secret: bytes | None
    ) -> None:
        """Note what it knows once it has read the news."""
        for number, size in forgotten:
            del self.functions[number]
            self.size -= size
        for number, size in new:
            self.functions[number] = size
            self.size += size
        self.secret = secret or self.secret

    def _unlearn(
        self, new: list[tuple[int, int]], forgotten: list[tuple[int, int]], secret: bytes | None
    ) -> None:
        """The news did not reach it."""
        self._learn(forgotten, new, None)
        self.secret = self.secret if secret is None else None


class CallMachine:
    """The workers of a machine, and what waits for one of them."""

    __slots__ = ("id", "slots", "waiting", "workers")

    def __init__(self, id: int, slots: int) -> None:
        self.id = id
        self.slots = slots
        self.workers: list[Worker] = []
        self.waiting: deque[CallOrder] = deque()

    def worker_for(self, size: int | None) -> Worker | None:
        """The worker with the least to do that may get a call of this size."""
        free = [worker for worker in self.workers if worker.is_free_for(size)]
        return min(free, key=lambda worker: len(worker.at), default=None)


class Workers:
    """Gives calls to the workers of their machine, and has one hired where there is none.

    Workers are named by negative numbers, since attempts have the positive ones.
    """

    def __init__(
        self,
        calls: Calls,
        attempts: str,
        *,
        hire: Callable[[Worker, list[str], int], None],
        part: Callable[[Worker], None],
        watch: Callable[[Worker], None],
        end: Callable[[int], None],
        timeout: Time | None,
        read: Callable[..., Answer] = read_answer,
    ) -> None:
        self._calls = calls
        self._read = read
        """makes an answer of what a worker sent"""
        self._attempts = attempts
        """the directory in which attempts write"""
        self._hire = hire
        """has the worker's program started, with this descriptor, and listens to the worker"""
        self._part = part
        """listens to it no more"""
        self._watch = watch
        """waits for room to send it the rest of a large call"""
        self._end = end
        """ends an attempt that takes longer than `timeout`"""
        self._timeout = timeout
        self._machines: dict[int, CallMachine] = {}
        self._workers: dict[int, Worker] = {}
        self._where: dict[int, CallMachine | Worker] = {}
        """by attempt: the worker that has it, or the machine where it waits"""
        self._hired = 0
        self._reports: list[AttemptReport] = []

    def reports(self) -> list[AttemptReport]:
        """What came to its end since this was last asked."""
        reports, self._reports = self._reports, []
        return reports

    @property
    def has_reports(self) -> bool:
        return bool(self._reports)

    # --- orders ----------------------------------------------------------------------------------

    def lease(self, machine: int, slots: int) -> None:
        if machine not in self._machines:
            self._machines[machine] = CallMachine(machine, slots)

    def start(self, attempt: int, task: int, machine: int) -> None:
        """Let a worker of the machine run this call, as soon as one can."""
        where = self._machines[machine]
        self._where[attempt] = where
        where.waiting.append(CallOrder(attempt, task))
        self._feed(where)

    def stop(self, attempt: int) -> Worker | None:
        """End an attempt, if it is not over; returns the worker that must be ended for it."""
        where = self._where.get(attempt)
        if isinstance(where, Worker) and not where.is_alone:
            self._take_back(where)
            where = self._where[attempt]
        if isinstance(where, Worker):
            where.stopped = attempt
            return where
        if where is not None:
            where.waiting = deque(order for order in where.waiting if order.attempt != attempt)
            self._report(AttemptReport(attempt, "cancelled", "cancelled", wrote=False))
        return None

    def feed(self) -> None:
        """Give workers what waits."""
        for machine in self._machines.values():
            self._feed(machine)

    def _feed(self, machine: CallMachine) -> None:
        while machine.waiting:
            order = machine.waiting[0]
            worker = machine.worker_for(self._calls.size(order.task))
            if worker is None and len(machine.workers) < machine.slots:
                worker = self._new_worker(machine)
            if worker is None or not self._give(worker, order):
                return
            machine.waiting.popleft()

    def _give(self, worker: Worker, order: CallOrder) -> bool:
        """Send a call to a worker; False: it has enough to do for now."""
        try:
            call = self._calls.start(order.task)
        except BaseException as error:  # whatever pickling raises is the answer
            reason = f"the call cannot be pickled: {described(error)}"
            answer = Answer(error=error)
            self._report(AttemptReport(order.attempt, "failed", reason, answer=answer, wrote=False))
            return True
        if call is None:  # nobody waits for it any more
            self._report(unwanted(order.attempt))
            return True
        if not worker.give(order, call):
            return False
        if worker.channel.pending:
            self._watch(worker)
        self._where[order.attempt] = worker
        return True

    def _new_worker(self, machine: CallMachine) -> Worker:
        self._hired += 1
        worker = Worker(-self._hired, machine)
        self._workers[worker.key] = worker
        machine.workers.append(worker)
        program = python_program("bursar.execute.worker", self._attempts)
        self._hire(worker, program, os.dup(worker.far_end.fileno()))
        return worker

    # --- what waits for long ---------------------------------------------------------------------

    @property
    def reserve(self) -> int:
        """Calls that wait at the worker which has the fewest; 0 if there is no worker."""
        return min((len(worker.at) for worker in self._workers.values()), default=0)

    def next_look(self) -> int | None:
        """When `look` may find something, by `boottime`."""
        times = []
        for worker in self._workers.values():
            if len(worker.at) > 1 or (worker.at and worker.machine.waiting):
                times.append(worker.began + LONGEST_WAIT)
            if worker.at and self._timeout is not None and not worker.stopped:
                start = LONGEST_START if worker.is_new else 0
                times.append(worker.began + start + self._timeout)
        return min(times, default=None)

    def look(self, now: int) -> None:
        """Take back what waits behind a call that takes long, and end what takes too long."""
        for worker in self._workers.values():
            if self._is_overdue(worker, now):
                self._end(worker.at[0].attempt)
            if len(worker.at) > 1 and now - worker.began >= LONGEST_WAIT:
                self._take_back(worker)
        for machine in self._machines.values():
            if machine.waiting:
                self._feed(machine)
            if machine.waiting and all(now - w.began >= LONGEST_WAIT for w in machine.workers):
                self._give_back(machine)

    def _is_overdue(self, worker: Worker, now: int) -> bool:
        if self._timeout is None or worker.stopped or not worker.at:
            return False
        return now - worker.began >= self._timeout + (LONGEST_START if worker.is_new else 0)

    def _take_back(self, worker: Worker) -> None:
        """What it has not begun waits at its machine again, before all others."""
        back = worker.take_back()
        worker.machine.waiting.extendleft(reversed(back))
        for order in back:
            self._where[order.attempt] = worker.machine

    def _give_back(self, machine: CallMachine) -> None:
        """Let another machine have what waits at this one."""
        reason = "it waited behind longer calls, and another machine may be free"
        for order in machine.waiting:
            self._report(
                AttemptReport(order.attempt, "cancelled", reason, wrote=False, is_back=True)
            )
        machine.waiting.clear()

    # --- reports ---------------------------------------------------------------------------------

    def hear(self, worker: Worker) -> None:
        """Take what a worker has sent."""
        for head, body in worker.channel.receive():
            worker.is_new, worker.began = False, boottime()
            if head is None or not worker.at or worker.at[0].attempt != head[0]:
                continue
            attempt, kind, runtime, cpu, memory, wrote, size = head
            worker.at.popleft()
            text = bytes(body[:size]).decode() if size else ""
            answer = self._read(kind, text, memoryview(body)[size:])
            failed = answer.error is not None
            self._report(
                AttemptReport(
                    attempt,
                    "failed" if failed else "success",
                    reason=last_lines(text or str(answer.error)) if failed else "",
                    runtime=runtime,
                    cpu=cpu,
                    memory=memory,
                    answer=answer,
                    wrote=wrote,
                )
            )
        if not worker.stopped:
            self._feed(worker.machine)

    def ended(self, key: int, cause: str, code: int, reason: str) -> None:
        """A worker has ended; so has what it was at, unless it sent the result before."""
        worker = self._workers.pop(key, None)
        if worker is None:
            return
        worker.machine.workers.remove(worker)
        self.hear(worker)
        if not worker.is_new:
            self._take_back(worker)
        if worker.at:
            self._lost(worker, cause, code, reason)
        self._part(worker)
        worker.close()
        self._feed(worker.machine)

    def _lost(self, worker: Worker, cause: str, code: int, reason: str) -> None:
        """What a worker was at when it ended."""
        attempt = worker.at[0].attempt
        runtime = boottime() - worker.began
        if worker.stopped and worker.stopped != attempt:
            reason = "its worker was stopped because of another call"
            self._report(AttemptReport(attempt, "cancelled", reason, runtime=runtime))
            return
        if cause == "exited":
            reason = f"the worker process ended: {reason}"
        error = TimeoutError(reason) if cause == "timeout" else CallError(reason)
        outcome = "failed" if cause == "exited" else outcome_of(cause, code)
        self._report(
            AttemptReport(attempt, outcome, reason, runtime=runtime, answer=Answer(error=error))
        )

    def forget(self, machine: int) -> None:
        """The machine is gone, and its workers with it."""
        gone = self._machines.pop(machine)
        for worker in gone.workers:
            del self._workers[worker.key]
            for order in worker.at:
                del self._where[order.attempt]
            self._part(worker)
            worker.close()
        for order in gone.waiting:
            del self._where[order.attempt]

    def _report(self, ended: AttemptReport) -> None:
        del self._where[ended.attempt]
        self._reports.append(ended)


def _secret() -> bytes | None:
    """The key by which the processes of this program know each other, if it has any."""
    processes = sys.modules.get("multiprocessing.process")
    return None if processes is None else bytes(processes.current_process().authkey)
