"""The warden of a run: a child program that starts its processes and lets none survive.

bursar tells it what to start and how long each machine is paid for; it tells bursar what ended.
It holds to these promises, whatever becomes of bursar:

- nothing runs on a machine after the end of its lease, even if bursar hangs or is stopped;
- when bursar or the connection to it ends, however bursar died, everything is killed;
- when a process ends, its group and every descendant that left the group are killed too. Orphans
  become children of the warden, which is a subreaper, and are known by `BURSAR_WARD`.

Messages are calls by name, in batches: bursar calls `lease`, `drop`, `lose`, `start`, `host` and
`stop` here; the warden calls `ready`, `ended` and `gone` there. Times are microseconds of
`boottime`.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from shutil import which
from typing import TYPE_CHECKING

from bursar.execute.desks import Desks
from bursar.execute.processes import (
    PATIENCE,
    WARD,
    boottime,
    children,
    kill_child,
    kill_group,
    set_subreaper,
    ward_of,
)
from bursar.execute.timers import Timers
from bursar.execute.wire import Channel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Final

    from bursar.execute.desks import Desk

    Order = tuple[int, tuple[str, ...], int | None]
    """task, command and longest run time"""

SECOND: Final = 1_000_000
NAP: Final = SECOND
"""longest sleep: `select` does not count the time that the computer is asleep, leases do"""
DROP_GRACE: Final = SECOND // 10
"""from the first signal to the last for what runs on a machine that is released"""
SECOND_LOOK: Final = SECOND // 20
"""after this time an orphan without a mark is looked at again"""
RESERVE: Final = 2
"""commands that wait for each slot while bursar is told that it may send more"""
DELAY: Final = SECOND // 200
"""what has ended is told after this time, even if there is enough to do"""
CANNOT_RUN: Final = 126
NOT_FOUND: Final = 127
"""exit codes of what could not be started, as shells have them"""
NOTHING_TO_READ: Final = (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)
RESET_SIGNALS: Final = (
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGTERM,
    signal.SIGPIPE,
    signal.SIGCHLD,
    signal.SIGXFSZ,
)
"""what Python or the warden handles, and what it starts must not inherit"""


class Machine:
    """A lease, and what runs on it."""

    __slots__ = ("environment", "first", "id", "leaving", "slots", "until", "waiting", "wards")

    def __init__(
        self, id: int, until: int, slots: int, first: int, environment: dict[bytes, bytes]
    ) -> None:
        self.id = id
        self.first = first
        """of the job slots: the numbers of its slots among those of all machines, from 1"""
        self.until = until
        self.slots = slots
        self.environment = environment
        self.wards: dict[int, Ward] = {}
        """by slot, from 1"""
        self.waiting: dict[int, Order] = {}
        """commands to start as slots get free, by attempt"""
        self.leaving = ""
        """why it goes down: `released`, `lost` or `expired`; empty while it stays"""


class Ward:
    """A process under watch: the leader of its own session and group."""

    __slots__ = ("cause", "key", "machine", "pid", "slot", "started")

    def __init__(self, key: int, pid: int, machine: Machine, slot: int, started: int) -> None:
        self.key = key
        self.pid = pid
        self.machine = machine
        self.slot = slot
        self.started = started
        self.cause = "exited"
        """why it ends: by itself, or `cancelled`, `timeout`, `lost`"""


class Warden:
    """Keeps `machines` and `wards` in step with the processes that exist."""

    def __init__(self, channel: Channel, master: int, mark: str, attempts: str, grace: int) -> None:
        self._channel = channel
        self._master = master
        """a descriptor that tells when bursar's process has ended"""
        self._mark = mark
        self._desks = Desks(attempts)
        self._programs: dict[str, str] = {}
        self._grace = grace
        """from asking a process to end to making it end"""
        self._environment = dict(os.environb)
        self._machines: dict[int, Machine] = {}
        self._wards: dict[int, Ward] = {}
        self._by_pid: dict[int, Ward] = {}
        self._strangers: dict[int, set[int]] = {}
        """orphans without a mark, and the wards that lived when each was first seen"""
        self._timers = Timers()
        self._calls: list[tuple[Any, ...]] = [("ready",)]
        """to be told to bursar"""
        self._is_urgent = True
        """it must be told now"""
        self._orphans_expected = False
        self._bell = _ring_on_signals()
        self._stopping = False

    def run(self) -> None:
        """Serve until the connection ends, then leave nothing behind."""
        poll = select.poll()
        bell, link = self._bell, self._channel.fileno()
        poll.register(bell, select.POLLIN)
        poll.register(self._master, select.POLLIN)
        poll.register(link, select.POLLIN)
        stuffed = False
        try:
            while not (self._stopping or self._channel.closed):
                self._report()
                if self._orphans_expected:
                    self._hunt()
                self._desks.prepare(reuse=not self._strangers)
                if stuffed != self._channel.pending:
                    stuffed = self._channel.pending
                    poll.modify(link, select.POLLIN | (select.POLLOUT if stuffed else 0))
                for descriptor, _ in poll.poll(self._patience()):
                    if descriptor == bell:
                        self._answer_bell()
                    elif descriptor == self._master:
                        self._stopping = True
                    else:
                        self._channel.flush()
                        self._obey()
                self._look_at_clock()
        finally:
            self._end_everything()
            self._desks.close()

    # --- what bursar may call --------------------------------------------------------------------

    def lease(self, id: int, until: int, slots: int, offer: str, speed: str) -> None:
        """The machine is paid until then: a new one, or one that stays longer."""
        machine = self._machines.get(id)
        if machine is None:
            extras = {"BURSAR_MACHINE": str(id), "BURSAR_OFFER": offer, "BURSAR_SPEED": speed}
            environment = {**self._environment, **_encode(extras)}
            first = _first_free(self._machines.values(), slots)
            machine = self._machines[id] = Machine(id, until, slots, first, environment)
        elif machine.leaving:
            return
        machine.until = until
        self._timers.set(("lease", id), until)

    def lose(self, id: int) -> None:
        """Take the machine away without a warning: all on it is killed; `gone` follows."""
        machine = self._machines.get(id)
        if machine is not None and not machine.leaving:
            for ward in machine.wards.values():
                kill_group(ward.pid, signal.SIGKILL)
            self._leave(machine, "lost", boottime())

    def drop(self, id: int) -> None:
        """Take the machine down now; `gone` follows, or was told before."""
        machine = self._machines.get(id)
        if machine is not None and not machine.leaving:
            self._leave(machine, "released", min(boottime() + DROP_GRACE, machine.until))

    def start(
        self, key: int, id: int, task: int, argv: tuple[str, ...], timeout: int | None
    ) -> None:
        """Run a command of a task, once its machine has a free slot; `ended` follows."""
        machine = self._machines.get(id)
        if machine is None or machine.leaving:
            return
        if sum(ward.key > 0 for ward in machine.wards.values()) < machine.slots:
            self._begin(key, machine, (task, argv, timeout))
        else:
            machine.waiting[key] = (task, argv, timeout)

    def _begin(self, key: int, machine: Machine, order: Order) -> None:
        """Start a command, with a directory for what it writes."""
        task, argv, timeout = order
        try:
            desk = self._desks.take(key)
        except OSError as error:
            self._unstarted(key, CANNOT_RUN, f"cannot write in its directory: {error.strerror}")
            return
        extras = {"TASK": str(task), "ATTEMPT": str(key), "OUTPUT_DIR": desk.directory}
        environment = _encode({f"BURSAR_{name}": value for name, value in extras.items()})
        self._spawn(key, machine, argv, environment, _files_of(desk))
        desk.close()
        if timeout is not None and key in self._wards:
            self._timers.set(("timeout", key), boottime() + timeout)

    def host(self, key: int, id: int, argv: tuple[str, ...]) -> None:
        """Run a program that talks to bursar over the descriptor sent along; `ended` follows."""
        descriptor = self._channel.take_descriptor()
        machine = self._machines.get(id)
        if machine is not None and not machine.leaving:
            os.set_inheritable(descriptor, True)
            self._spawn(key, machine, (*argv, str(descriptor)), {}, (NOTHING_TO_READ,))
        os.close(descriptor)

    def stop(self, key: int, cause: str) -> None:
        """Ask a process to end; make it, after the grace."""
        ward = self._wards.get(key)
        if ward is not None:
            self._stop(ward, cause, boottime() + self._grace)
        for machine in self._machines.values():
            if machine.waiting.pop(key, None) is not None:
                self._note("ended", key, cause, 0, 0, 0, 0, "", False, urgent=True)

    # --- starting and ending ---------------------------------------------------------------------

    def _spawn(
        self,
        key: int,
        machine: Machine,
        argv: tuple[str, ...],
        extras: dict[bytes, bytes],
        actions: Sequence[tuple[Any, ...]],
    ) -> None:
        slot = next(slot for slot in range(1, 2 + len(machine.wards)) if slot not in machine.wards)
        job_slot = str(machine.first + slot - 1)
        slots = {"BURSAR_SLOT": str(slot), "BURSAR_JOB_SLOT": job_slot}
        own = _encode({WARD: f"{self._mark}/{key}", **slots})
        try:
            pid = os.posix_spawnp(
                self._program(argv[0]),
                argv,
                {**machine.environment, **extras, **own},
                file_actions=actions,
                setsid=True,
                setsigmask=(),
                setsigdef=RESET_SIGNALS,
            )
        except (OSError, ValueError) as error:
            code = NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_RUN
            self._unstarted(key, code, f"cannot start '{argv[0]}': {_reason(error)}")
            return
        ward = Ward(key, pid, machine, slot, boottime())
        self._wards[key] = self._by_pid[pid] = machine.wards[slot] = ward

    def _program(self, name: str) -> str:
        """Where a program is: to look it up once saves the kernel a search for each process."""
        found = self._programs.get(name)
        if found is None or not os.access(found, os.X_OK):
            found = self._programs[name] = which(name) or name
        return found

    def _unstarted(self, key: int, code: int, why: str) -> None:
        self._note("ended", key, "unstarted", code, 0, 0, 0, why, True, urgent=True)

    def _stop(self, ward: Ward, cause: str, kill_at: int) -> None:
        if ward.cause == "exited":
            ward.cause = cause
            kill_group(ward.pid, signal.SIGTERM)
            kill_group(ward.pid, signal.SIGCONT)
        self._timers.set(("kill", ward.key), kill_at)

    def _leave(self, machine: Machine, cause: str, kill_at: int) -> None:
        machine.leaving = cause
        self._timers.discard(("lease", machine.id))
        for ward in machine.wards.values():
            self._stop(ward, "lost", kill_at)
        if machine.wards:
            self._timers.set(("gone", machine.id), kill_at + round(PATIENCE * SECOND))
        else:
            self._gone(machine)

    def _gone(self, machine: Machine) -> None:
        del self._machines[machine.id]
        self._timers.discard(("gone", machine.id))
        at = min(boottime(), machine.until)
        self._note("gone", machine.id, machine.leaving, at, urgent=True)

    def _reap(self) -> None:
        """Collect what ended. A group is killed while its dead leader still holds the number."""
        look = os.WEXITED | os.WNOHANG | os.WNOWAIT
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, look)
            except ChildProcessError:
                return
            if found is None:
                return
            self._orphans_expected = True
            ward = self._by_pid.pop(found.si_pid, None)
            if ward is None:
                os.waitpid(found.si_pid, 0)
                self._strangers.pop(found.si_pid, None)
            else:
                kill_group(ward.pid, signal.SIGKILL)
                _, status, usage = os.wait4(ward.pid, 0)
                cpu = round((usage.ru_utime + usage.ru_stime) * SECOND)
                self._ended(ward, os.waitstatus_to_exitcode(status), cpu, usage.ru_maxrss * 1024)

    def _ended(self, ward: Ward, code: int, cpu: int, memory: int) -> None:
        """What ends with its machine is not told: `gone` says it all."""
        key, machine = ward.key, ward.machine
        del self._wards[key]
        del machine.wards[ward.slot]
        self._timers.discard(("timeout", key))
        self._timers.discard(("kill", key))
        if not machine.leaving:
            runtime = boottime() - ward.started
            wrote = code != 0 or key < 0 or self._desks.leave(key)
            self._note("ended", key, ward.cause, code, runtime, cpu, memory, "", wrote)
            self._begin_waiting(machine)
            self._is_urgent |= len(machine.waiting) <= RESERVE * machine.slots
        elif not machine.wards and machine.id in self._machines:
            self._gone(machine)

    def _begin_waiting(self, machine: Machine) -> None:
        while machine.waiting and len(machine.wards) < machine.slots:
            key = next(iter(machine.waiting))
            self._begin(key, machine, machine.waiting.pop(key))

    def _hunt(self) -> None:
        """Kill orphans of processes that have ended.

        One that hides its mark is killed once all wards that lived when it was first seen ended.
        One that is just being replaced by another program hides it for a moment only.
        """
        self._orphans_expected = False
        for pid in children():
            if pid in self._by_pid:
                continue
            mark, _, number = (ward_of(pid) or "").rpartition("/")
            if mark == self._mark:
                alive = int(number) in self._wards
            else:
                if pid not in self._strangers:
                    self._strangers[pid] = set(self._wards)
                    self._timers.set(("hunt", 0), boottime() + SECOND_LOOK)
                alive = not self._strangers[pid].isdisjoint(self._wards)
            if not alive:
                kill_child(pid)

    def _end_everything(self) -> None:
        """Kill all descendants; those of the killed come here as orphans and are killed too."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for ward in self._by_pid.values():
                kill_group(ward.pid, signal.SIGKILL)
            left = children()
            for pid in left:
                kill_child(pid)
            self._reap()
            if not left:
                return
            time.sleep(0.001)

    # --- the loop's parts ------------------------------------------------------------------------

    def _note(self, *call: Any, urgent: bool = False) -> None:
        """Tell bursar: at once, or soon if there is enough to do until then."""
        if not self._calls:
            self._timers.set(("report", 0), boottime() + DELAY)
        self._calls.append(call)
        self._is_urgent |= urgent

    def _report(self) -> None:
        if self._calls and self._is_urgent:
            self._channel.send(self._calls)
            self._calls = []
            self._is_urgent = False
            self._timers.discard(("report", 0))

    def _obey(self) -> None:
        for calls, _ in self._channel.receive(descriptors=True):
            for name, *arguments in calls:
                COMMANDS[name](self, *arguments)

    def _answer_bell(self) -> None:
        rung = os.read(self._bell, 4096)
        if signal.SIGTERM in rung:
            self._stopping = True
        self._reap()

    def _look_at_clock(self) -> None:
        for what, number in self._timers.due(boottime()):
            if what == "lease":
                machine = self._machines[number]
                self._leave(machine, "expired", machine.until)
            elif what == "timeout":
                self.stop(number, "timeout")
            elif what == "kill":
                kill_group(self._wards[number].pid, signal.SIGKILL)
            elif what == "report":
                self._is_urgent = True
            elif what == "gone":
                self._gone(self._machines[number])
            else:
                self._orphans_expected = True

    def _patience(self) -> float | None:
        """Milliseconds until something is due."""
        due = self._timers.next()
        if due is None:
            return None
        return min(NAP, max(0, due - boottime())) / 1000


COMMANDS: Final = {
    name: getattr(Warden, name) for name in ("lease", "drop", "lose", "start", "host", "stop")
}


def _ring_on_signals() -> int:
    """A descriptor from which the numbers of signals that came can be read."""
    bell, hammer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, _noted)
    signal.signal(signal.SIGTERM, _noted)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.set_wakeup_fd(hammer, warn_on_full_buffer=False)
    return bell


def _noted(number: int, frame: object) -> None:
    """The bell has been rung; the loop does the rest."""


def _files_of(desk: Desk) -> Sequence[tuple[Any, ...]]:
    """Where a command reads and writes."""
    return (
        NOTHING_TO_READ,
        (os.POSIX_SPAWN_DUP2, desk.stdout, 1),
        (os.POSIX_SPAWN_DUP2, desk.stderr, 2),
    )


def _first_free(machines: Iterable[Machine], slots: int) -> int:
    """The least number from which so many job slots are free."""
    first = 1
    for machine in sorted(machines, key=lambda machine: machine.first):
        if first + slots <= machine.first:
            break
        first = max(first, machine.first + machine.slots)
    return first


def _encode(variables: dict[str, str]) -> dict[bytes, bytes]:
    return {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}


def _reason(error: OSError | ValueError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def main() -> None:
    """Arguments: the connection's descriptor, bursar's process, the mark, the directory, the grace.

    bursar's process is watched too: one that it forked may hold the connection open after it.
    """
    descriptor, master, mark, attempts, grace = sys.argv[1:]
    link = socket.socket(fileno=int(descriptor))
    link.set_inheritable(False)
    set_subreaper(True)
    handle = os.pidfd_open(int(master))
    if os.getppid() == int(master):
        Warden(Channel(link), handle, mark, attempts, int(grace)).run()
