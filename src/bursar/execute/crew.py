"""The workers of a run, as bursar sees them: which are idle, and what the others are at."""

from __future__ import annotations

import socket
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from bursar.execute.calls import Answer, Call, CallError, FunctionCache, read_answer
from bursar.execute.outputs import last_lines
from bursar.execute.pickling import pack
from bursar.execute.processes import boottime
from bursar.execute.reports import Ended, outcome_of
from bursar.execute.wire import Channel, python_program
from bursar.execute.worker import MOST_FUNCTIONS


class PackedCall(NamedTuple):
    function: int
    """the number of the function"""
    code: bytes
    """the function, pickled"""
    arguments: bytes


class Worker:
    """A process that runs calls, one at a time."""

    __slots__ = ("attempt", "began", "channel", "functions", "is_new", "key", "machine", "stopped")

    def __init__(self, key: int, machine: int, channel: Channel) -> None:
        self.key = key
        self.machine = machine
        self.channel = channel
        self.attempt = 0
        """what it is at; 0: it is idle"""
        self.began = 0
        """when it was given that, by `boottime`"""
        self.is_new = True
        """it has not answered yet"""
        self.stopped = False
        """the warden was told to end it"""
        self.functions: OrderedDict[int, None] = OrderedDict()
        """functions it knows, in the order in which it got them"""

    def give(self, attempt: int, task: int, call: PackedCall, directory: str) -> None:
        """Send it a call, with the function if it does not know it."""
        self.attempt, self.began = attempt, boottime()
        code = b"" if self._knows(call.function) else call.code
        head = (attempt, task, directory, call.function, len(code))
        self.channel.send(head, code + call.arguments)

    def _knows(self, function: int) -> bool:
        """Whether it has this function; from now on it has. It forgets as the worker does."""
        if function in self.functions:
            return True
        if len(self.functions) >= MOST_FUNCTIONS:
            self.functions.popitem(last=False)
        self.functions[function] = None
        return False


class Crew:
    """Gives calls to idle workers of their machine, and has one hired where there is none.

    Workers are named by negative numbers, since attempts have the positive ones.
    """

    def __init__(
        self,
        hire: Callable[[Worker, list[str], int], None],
        part: Callable[[Worker], None],
    ) -> None:
        self._hire = hire
        """has the worker's program started, with this descriptor, and listens to the worker"""
        self._part = part
        """listens to it no more"""
        self._functions = FunctionCache(MOST_FUNCTIONS)
        self._program = python_program("bursar.execute.worker")
        self._workers: dict[int, Worker] = {}
        self._idle: dict[int, list[Worker]] = {}
        """by machine"""
        self._busy: dict[int, Worker] = {}
        """by attempt"""
        self._hired = 0

    def pack(self, call: Call) -> PackedCall:
        """Raises whatever pickling raises."""
        number, code = self._functions.get(call.function)
        return PackedCall(number, code, pack((call.args, call.kwargs)))

    def start(
        self, attempt: int, task: int, machine: int, call: PackedCall, directory: str
    ) -> Worker:
        """Send the call to a worker; not to one that died while it was idle."""
        idle = self._idle.get(machine, [])
        worker = idle.pop() if idle else self._new_worker(machine)
        worker.give(attempt, task, call, directory)
        while worker.channel.closed and not worker.is_new:
            worker.attempt = 0
            worker = idle.pop() if idle else self._new_worker(machine)
            worker.give(attempt, task, call, directory)
        self._busy[attempt] = worker
        return worker

    def stop(self, attempt: int) -> Worker | None:
        """The worker that must be ended to end this attempt, if it runs."""
        worker = self._busy.get(attempt)
        if worker is not None:
            worker.stopped = True
        return worker

    def hear(self, worker: Worker) -> Iterator[Ended]:
        """What a worker has sent."""
        for (attempt, kind, runtime, cpu, memory, wrote, text), data in worker.channel.receive():
            worker.attempt, worker.is_new = 0, False
            del self._busy[attempt]
            if not worker.stopped:
                self._idle.setdefault(worker.machine, []).append(worker)
            answer = read_answer(kind, text, data)
            failed = answer.error is not None
            yield Ended(
                attempt,
                "failed" if failed else "success",
                reason=last_lines(text or str(answer.error)) if failed else "",
                runtime=runtime,
                cpu=cpu,
                memory=memory,
                answer=answer,
                wrote=wrote,
            )

    def ended(self, key: int, cause: str, code: int, reason: str) -> Iterator[Ended]:
        """A worker has ended; so has what it was at, unless it sent the result before."""
        worker = self._workers.pop(key, None)
        if worker is None:
            return
        yield from self.hear(worker)
        idle = self._idle.get(worker.machine, [])
        if worker in idle:
            idle.remove(worker)
        if worker.attempt:
            del self._busy[worker.attempt]
            if cause == "exited":
                reason = f"the worker process ended: {reason}"
            error = TimeoutError(reason) if cause == "timeout" else CallError(reason)
            yield Ended(
                worker.attempt,
                "failed" if cause == "exited" else outcome_of(cause, code),
                reason,
                runtime=boottime() - worker.began,
                answer=Answer(error=error),
            )
        self._part(worker)
        worker.channel.close()

    def forget(self, machine: int) -> None:
        """The machine is gone, and its workers with it."""
        self._idle.pop(machine, None)
        for worker in [one for one in self._workers.values() if one.machine == machine]:
            del self._workers[worker.key]
            self._busy.pop(worker.attempt, None)
            self._part(worker)
            worker.channel.close()

    def _new_worker(self, machine: int) -> Worker:
        self._hired += 1
        ours, theirs = socket.socketpair()
        worker = Worker(-self._hired, machine, Channel(ours))
        self._workers[worker.key] = worker
        self._hire(worker, self._program, theirs.detach())
        return worker
