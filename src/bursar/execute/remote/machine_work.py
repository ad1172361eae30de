"""What an agent has done on its machine: orders become processes, what ends becomes reports.

The same dispatcher, warden and workers as on bursar's own computer; outputs are packed to travel.
"""

from __future__ import annotations

import os
import pickle
import stat
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from errno import EPERM
from pathlib import Path, PurePosixPath
from shutil import rmtree
from tarfile import TarError
from typing import Any, Final

from bursar.execute.calls import Answer, CallError, Calls
from bursar.execute.dispatch import Dispatcher
from bursar.execute.functions import Code
from bursar.execute.link import WardenLink
from bursar.execute.packing import PackedCall
from bursar.execute.processes import boottime
from bursar.execute.remote import messages as m
from bursar.execute.remote.dead_man_switch import DeadManSwitch
from bursar.execute.remote.packs import pack_directory, unpack
from bursar.execute.reports import AttemptReport, MachineReport
from bursar.execute.staging import FILES, TaskFiles, remove_copies, staged_command
from bursar.model.market import Offer
from bursar.model.money import ZERO

LARGEST_OUTPUT: Final = 1 << 30
"""bytes that one attempt may send back; the message says it in words"""
WORKING: Final = ("attempts", "work", "inputs")
"""directories of a machine; `inputs` holds files that tasks read, by work and name"""
LATE: Final = 1_000_000
"""microseconds after the end of a lease by which the warden has said so"""


class RawAnswer(Exception):  # noqa: N818
    """What a worker sent and this process does not unpickle: that is for bursar to do."""

    def __init__(self, kind: str, text: str, data: bytes) -> None:
        super().__init__(text)
        self.parts = (kind, text, data)


def keep_raw(kind: str, text: str, data: bytes | bytearray | memoryview) -> Answer:
    raw = RawAnswer(kind, text, bytes(data))
    return Answer(value=raw) if kind == "value" else Answer(error=raw)


class DeliveredCalls(Calls):
    """Calls as bursar packed them, with the functions that came before."""

    def __init__(self) -> None:
        super().__init__()
        self._codes: dict[int, Code] = {}
        self._packed: dict[int, PackedCall] = {}

    def take_order(self, order: m.StartCall) -> None:
        for number, data in order.codes:
            self._codes[number] = Code(number, data)
        codes = tuple(self._codes[number] for number in order.needs)
        self._packed[order.task] = PackedCall(order.function, codes, order.data)

    def __contains__(self, task: int) -> bool:
        return task in self._packed

    def size(self, task: int) -> int | None:
        return len(self._packed[task].data)

    def start(self, task: int) -> PackedCall | None:
        return self._packed[task]

    def release(self, task: int) -> None:
        """No attempt of it lives here."""
        self._packed.pop(task, None)


class MachineWork:
    """Carries out orders; `poll` tells what came of them. To be `close`d."""

    def __init__(self, config: m.AgentConfig, place: Path, until: int) -> None:
        self._config = config
        self._place = place
        self._attempts = place / "attempts"
        self._inputs = place / "inputs"
        self._staged: dict[int, m.StartStaged] = {}
        """attempts that live and have copies of files"""
        self._offer = Offer(config.offer, ZERO, slots=config.slots, speed=config.speed)
        self.until = until
        """the end of its lease by `boottime`"""
        self.is_over = False
        self._switch = DeadManSwitch() if config.turns_off else None
        self._calls = DeliveredCalls()
        self.dispatcher = Dispatcher(
            self._open_link, config.timeout, self._calls, str(self._attempts), read=keep_raw
        )
        self._is_leased = False
        """whether a warden knows of the machine"""
        self._living: set[int] = set()
        """attempts that run, or wait for a slot"""
        self._tasks: dict[int, int] = {}
        """of attempts that are calls and live"""
        self._packer = ThreadPoolExecutor(1, "bursar-packer")
        self._packing: dict[Future[bytes | Path | None], AttemptReport] = {}
        self._reports: list[m.AnyReport] = []
        self._obeyers: dict[type, Callable[[Any], None]] = {
            m.SetLease: self._lease,
            m.StartCommand: self._start_command,
            m.StartCall: self._start_call,
            m.StopAttempt: self._stop,
            m.EndMachine: self._end,
            m.ForgetOutput: self._forget,
            m.TakeFiles: self._take_files,
            m.TakeInput: self._take_input,
            m.StartStaged: self._start_staged,
            m.UseDirectory: self._use_directory,
        }

    @property
    def has_more_than_runs(self) -> bool:
        """Whether attempts wait for a slot: none will be idle for want of orders soon."""
        return len(self._living) > self._config.slots

    def obey(self, order: m.AnyOrder) -> None:
        self._obeyers[type(order)](order)

    def poll(self, until: int) -> list[m.AnyReport]:
        """What happened; waits for it until then at most."""
        due = min(until, self.until + LATE) if not self.is_over else until
        for report in self.dispatcher.poll(0 if self._reports else due):
            if isinstance(report, AttemptReport):
                self._attempt_over(report)
            elif isinstance(report, MachineReport):
                self._machine_over(report.cause, report.at, report.why)
        for done in [future for future in self._packing if future.done()]:
            self._packed(self._packing.pop(done), done)
        if not self.is_over and boottime() >= self.until + (LATE if self._is_leased else 0):
            self._machine_over("expired", self.until, "")
        reports, self._reports = self._reports, []
        return reports

    def close(self) -> None:
        """End everything, and leave no file behind."""
        self.dispatcher.close()
        self._packer.shutdown(cancel_futures=True)
        os.chdir(self._place)
        for name in WORKING:
            rmtree(self._place / name, ignore_errors=True)

    def _open_link(self) -> WardenLink:
        config = self._config
        return WardenLink(config.run, config.token, str(self._attempts), config.grace)

    # --- orders ----------------------------------------------------------------------------------

    def _lease(self, order: m.SetLease) -> None:
        if self.is_over:
            return
        until = order.stamp + order.stay
        if self._is_leased and until <= self.until:
            return  # it was heard before
        if boottime() <= self.until:
            self.until = until
            if self._switch is not None:
                self._switch.arm(until)
        self._is_leased = True
        self.dispatcher.lease(self._config.machine, self.until, self._offer)

    def _start_command(self, order: m.StartCommand) -> None:
        self._living.add(order.attempt)
        self.dispatcher.run_command(order.attempt, order.task, self._config.machine, order.argv)

    def _start_staged(self, order: m.StartStaged) -> None:
        inputs = self._inputs / str(order.work)
        reads = {name: str(inputs / name) for name in order.reads}
        files = TaskFiles(order.work, reads, order.writes)
        try:
            shows = os.getcwd()  # noqa: PTH109 -- the working directory of the run, or its copy
            argv = staged_command(self._attempts, order.attempt, files, order.argv, shows)
        except OSError as error:
            self._reports.append(m.FilesFailed(f"{self._attempts}: {error.strerror}"))
            return
        self._staged[order.attempt] = order
        self._living.add(order.attempt)
        self.dispatcher.run_command(order.attempt, order.task, self._config.machine, argv)

    def _start_call(self, order: m.StartCall) -> None:
        self._living.add(order.attempt)
        self._calls.take_order(order)
        self._tasks[order.attempt] = order.task
        self.dispatcher.run_call(order.attempt, order.task, self._config.machine)

    def _stop(self, order: m.StopAttempt) -> None:
        self.dispatcher.stop(order.attempt, "cancelled")

    def _end(self, order: m.EndMachine) -> None:
        if self.is_over:
            return
        if not self._is_leased:
            self._machine_over("released", boottime(), "")
        elif order.at_once:
            self.dispatcher.lose(self._config.machine)
        else:
            self.dispatcher.drop(self._config.machine)

    def _forget(self, order: m.ForgetOutput) -> None:
        directory = self.output_of(order.attempt)
        rmtree(self._attempts / str(order.attempt), ignore_errors=True)
        directory.unlink(missing_ok=True)

    def _take_files(self, order: m.TakeFiles) -> None:
        pack = self._place / "work.pack"
        try:
            with pack.open("r+b" if order.offset else "wb") as file:
                file.seek(order.offset)
                file.write(order.data)
            if order.is_last:
                with pack.open("rb") as file:
                    unpack(file, self._place / "work")
                pack.unlink()
        except (OSError, TarError) as error:
            self._reports.append(m.FilesFailed(f"the working directory: {error}"))

    def _take_input(self, order: m.TakeInput) -> None:
        """Files come one after the other; each is there as a whole or not at all."""
        part = self._place / "input.part"
        path = PurePosixPath(order.name)
        try:
            if path.is_absolute() or ".." in path.parts:
                raise PermissionError(EPERM, "it lies outside of the directory of a task")
            if stat.S_ISDIR(order.mode):
                (self._inputs / path).mkdir(parents=True, exist_ok=True)
                return
            with part.open("r+b" if order.offset else "wb") as file:
                file.seek(order.offset)
                file.write(order.data)
            if order.is_last:
                part.chmod(stat.S_IMODE(order.mode) & 0o777 | stat.S_IRUSR)
                (self._inputs / path).parent.mkdir(parents=True, exist_ok=True)
                part.replace(self._inputs / path)
        except OSError as error:
            self._reports.append(m.FilesFailed(f"the file {order.name}: {error.strerror}"))

    def _use_directory(self, order: m.UseDirectory) -> None:
        try:
            os.chdir(order.path)
        except OSError as error:
            why = f"{order.path}: {error.strerror}; it must be a directory that all machines share"
            self._reports.append(m.FilesFailed(why))

    # --- reports ---------------------------------------------------------------------------------

    def output_of(self, attempt: int) -> Path:
        """The file in which a large output waits."""
        return self._attempts / f"{attempt}.pack"

    def _machine_over(self, cause: str, at: int, why: str) -> None:
        self.is_over = True
        self._reports.append(m.MachineOver(cause, at, why))

    def _attempt_over(self, report: AttemptReport) -> None:
        self._living.discard(report.attempt)
        task = self._tasks.pop(report.attempt, None)
        if task is not None and task not in self._tasks.values():
            self._calls.release(task)
        directory = self._attempts / str(report.attempt)
        staged = self._staged.pop(report.attempt, None)
        if not report.wrote or not directory.is_dir():
            self._reports.append(over(report))
            return
        future = self._packer.submit(_pack_output, directory, staged)
        self._packing[future] = report
        future.add_done_callback(lambda _: self.dispatcher.wake())

    def _packed(self, report: AttemptReport, done: Future[bytes | Path | None]) -> None:
        try:
            pack = done.result()
        except (OSError, TarError) as error:
            self._reports.append(_failed(report, f"its output cannot be packed: {error}"))
            return
        if pack is None:
            why = "it wrote more than 1 GiB, the most that is sent back; write less, or elsewhere"
            rmtree(self._attempts / str(report.attempt), ignore_errors=True)
            self._reports.append(_failed(report, why))
        elif isinstance(pack, bytes):
            self._reports.append(over(report, wrote=True, packed=pack))
        else:
            self._reports.append(over(report, wrote=True, size=pack.stat().st_size))


def _pack_output(directory: Path, staged: m.StartStaged | None) -> bytes | Path | None:
    """What an attempt wrote, without the copies of what it read and links to the rest."""
    if staged is not None:
        remove_copies(directory.parent, directory.name, staged.reads, staged.writes)
        _remove_links(directory / FILES, f"{os.getcwd()}/")  # noqa: PTH109
    return pack_directory(directory, LARGEST_OUTPUT)


def _remove_links(directory: Path, into: str) -> None:
    """Those that lead into the working directory; no link is followed."""
    for place, directories, names in os.walk(directory):
        for name in (*directories, *names):
            path = Path(place, name)
            with suppress(OSError):  # it is no link, or gone
                if path.readlink().as_posix().startswith(into):
                    path.unlink()


def over(
    report: AttemptReport, *, wrote: bool = False, packed: bytes = b"", size: int = 0
) -> m.AttemptOver:
    return m.AttemptOver(
        report.attempt,
        report.outcome,
        report.reason,
        report.exit_code,
        report.runtime,
        report.cpu,
        report.memory,
        report.is_back,
        None if report.answer is None else _parts(report.answer),
        wrote,
        packed,
        size,
    )


def _failed(report: AttemptReport, why: str) -> m.AttemptOver:
    raw = None if report.answer is None else Answer(error=RawAnswer("unpicklable", why, b""))
    return over(report._replace(outcome="failed", reason=why, answer=raw))


def _parts(answer: Answer) -> tuple[str, str, bytes]:
    for raw in (answer.value, answer.error):
        if isinstance(raw, RawAnswer):
            return raw.parts
    error = answer.error or CallError("it has no answer")
    data = b""
    with suppress(Exception):
        data = pickle.dumps(error)
    return ("raised" if data else "unpicklable", str(error), data)
