"""The warden of a run: a child program that starts its processes and lets none survive.

bursar tells it what to start and how long each machine is paid for; it tells bursar what ended.
It holds to these promises, whatever becomes of bursar:

- nothing runs on a machine after the end of its lease, even if bursar hangs or is stopped;
- when bursar, the connection to it or the keeper (`keeper.py`) ends, everything is killed;
- when a process ends, its group and every descendant that left the group are killed too, and it is
  reported as ended when none of them is left. Orphans become children of the warden, which is a
  subreaper, and are known by their tags.

Messages are calls by name, in batches: bursar calls `lease`, `drop`, `lose`, `start`, `host` and
`stop` here; the warden calls `ready`, `ended` and `gone` there. Times are microseconds of
`boottime`.
"""

from __future__ import annotations

import errno
import os
import select
import signal
from typing import TYPE_CHECKING

from bursar.execute.directories import AttemptDirectories
from bursar.execute.orphans import Orphans
from bursar.execute.processes import (
    GRACE,
    Children,
    boottime,
    end_descendants,
    kill_child,
    kill_group,
)
from bursar.execute.starter import NOTHING_TO_READ, Starter, encode, writing_in
from bursar.execute.timers import Timers
from bursar.execute.wards import KeptMachine, Ward, first_free_slot
from bursar.execute.wire import LOST

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Final

    from bursar.execute.lifeline import Lifeline
    from bursar.execute.starter import Actions
    from bursar.execute.wire import Channel

SECOND: Final = 1_000_000
NAP: Final = SECOND
"""longest sleep: `select` does not count the time that the computer is asleep, leases do"""
DROP_GRACE: Final = SECOND // 10
"""from the first signal to the last for what runs on a machine that is released"""
SECOND_LOOK: Final = SECOND // 20
"""after this time orphans that should have ended are looked at again"""
LONGEST_DYING: Final = round(GRACE * SECOND)
"""A ward whose processes do not end for so long after they were killed has failed."""
DOUBT: Final = SECOND // 4
"""It waits so long for an orphan that may be its own, or another's."""
RESERVE: Final = 8
"""commands that wait for each slot while bursar may send more; a busy computer keeps it waiting"""
DELAY: Final = SECOND // 50
"""what has ended is reported after this time, even if there is enough to do"""
CANNOT_RUN: Final = 126
NOT_FOUND: Final = 127
"""exit codes of what could not be started, as shells have them"""
SCARCE: Final = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""what the system says that has no process, memory or descriptor to give just now"""
RETRY: Final = SECOND // 20
"""then it is asked again after this time,"""
LONGEST_WANT: Final = 60 * SECOND
"""and for so long before a task fails for it"""
LONGEST_TIDYING: Final = 3 * SECOND
STUCK: Final = "a process that it left behind cannot be ended"


class Warden:
    """Keeps `machines` and `wards` in step with the processes that exist."""

    def __init__(
        self,
        channel: Channel,
        masters: Sequence[int],
        lifeline: Lifeline,
        mark: str,
        tag: int,
        attempts: str,
        grace: int,
    ) -> None:
        self._channel = channel
        self._masters = masters
        """descriptors that tell when bursar or the keeper has ended"""
        self._starter = Starter(mark, tag, lifeline)
        self._children = Children()
        self._orphans = Orphans(mark, tag)
        self._directories = AttemptDirectories(attempts)
        self._grace = grace
        """from asking a process to end to making it end"""
        self._environment = dict(os.environb)
        self._machines: dict[int, KeptMachine] = {}
        self._wards: dict[int, Ward] = {}
        self._by_pid: dict[int, Ward] = {}
        """those whose own process has not ended"""
        self._ending: dict[int, Ward] = {}
        """the others, which have left processes behind"""
        self._timers = Timers()
        self._calls: list[tuple[Any, ...]] = [("ready",)]
        """to be reported to bursar"""
        self._is_urgent = True
        """it must be reported now"""
        self._in_want_since: int | None = None
        """when the system began to refuse processes, if it does"""
        self._orphans_expected = False
        self._bell = _ring_on_signals()
        self._stopping = False

    def run(self) -> None:
        """Serve until the connection ends, then leave nothing behind."""
        poll = select.poll()
        bell, link = self._bell, self._channel.fileno()
        poll.register(bell, select.POLLIN)
        for master in self._masters:
            poll.register(master, select.POLLIN)
        poll.register(link, select.POLLIN)
        stuffed = False
        try:
            while not (self._stopping or self._channel.closed):
                if self._orphans_expected:
                    self._hunt()
                self._report()
                self._directories.prepare()
                if stuffed != self._channel.pending:
                    stuffed = self._channel.pending
                    poll.modify(link, select.POLLIN | (select.POLLOUT if stuffed else 0))
                for descriptor, _ in poll.poll(self._patience()):
                    if descriptor == bell:
                        self._answer_bell()
                    elif descriptor in self._masters:
                        self._stopping = True
                    else:
                        self._channel.flush()
                        self._obey()
                self._look_at_clock()
            if not self._wards:
                self._tidy()
        finally:
            end_descendants()
            self._directories.close()

    # --- what bursar may call --------------------------------------------------------------------

    def lease(self, id: int, until: int, slots: int, offer: str, speed: str) -> None:
        """The machine is paid until then: a new one, or one that stays longer."""
        machine = self._machines.get(id)
        if machine is None:
            extras = {"BURSAR_MACHINE": str(id), "BURSAR_OFFER": offer, "BURSAR_SPEED": speed}
            environment = {**self._environment, **encode(extras)}
            first = first_free_slot(self._machines.values(), slots)
            machine = self._machines[id] = KeptMachine(id, until, slots, first, environment)
        elif machine.leaving or machine.until < boottime():
            return  # too late: it has ended, whether that was noticed or not
        machine.until = until
        self._timers.set(("lease", id), until)

    def lose(self, id: int) -> None:
        """Take the machine away without a warning: all on it is killed; `gone` follows."""
        machine = self._machines.get(id)
        if machine is not None and not machine.leaving:
            for ward in machine.wards.values():
                if not ward.ended:
                    kill_group(ward.pid, signal.SIGKILL)
            self._leave(machine, "lost", boottime())

    def drop(self, id: int) -> None:
        """Take the machine down now; `gone` follows, or was sent before."""
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
        machine.waiting[key] = (task, argv, timeout)
        self._begin_waiting(machine)

    def host(self, key: int, id: int, argv: tuple[str, ...]) -> None:
        """Run a program that talks to bursar over the descriptor sent along; `ended` follows."""
        descriptor = self._channel.take_descriptor()
        machine = self._machines.get(id)
        if descriptor == LOST:
            self._unstarted(key, OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "cannot start")
        elif machine is None or machine.leaving:
            os.close(descriptor)
        else:
            machine.visits[key] = (argv, descriptor)
            self._begin_waiting(machine)

    def stop(self, key: int, cause: str) -> None:
        """Ask a process to end; make it, after the grace."""
        ward = self._wards.get(key)
        if ward is not None:
            self._stop(ward, cause, boottime() + self._grace)
        for machine in self._machines.values():
            visit = machine.visits.pop(key, None)
            if visit is not None:
                os.close(visit[1])
            if visit is not None or machine.waiting.pop(key, None) is not None:
                self._directories.forget(key)
                self._note("ended", key, cause, 0, 0, 0, 0, "", False, urgent=True)

    # --- starting and ending ---------------------------------------------------------------------

    def _begin_waiting(self, machine: KeptMachine) -> None:
        """Start what waits, as long as there are free slots and the system gives processes."""
        for key in list(machine.visits):
            if not self._begin_visit(key, machine):
                return
        while machine.waiting and machine.commands < machine.slots:
            if not self._begin(next(iter(machine.waiting)), machine):
                return

    def _begin_visit(self, key: int, machine: KeptMachine) -> bool:
        argv, descriptor = machine.visits[key]
        os.set_inheritable(descriptor, True)
        try:
            self._spawn(key, machine, (*argv, str(descriptor)), {}, (NOTHING_TO_READ,))
        except (OSError, ValueError) as error:
            if self._is_in_want(error):
                os.set_inheritable(descriptor, False)
                return False
            self._unstarted(key, error, f"cannot start '{argv[0]}'")
        os.close(machine.visits.pop(key)[1])
        return True

    def _begin(self, key: int, machine: KeptMachine) -> bool:
        """Start a command, with a directory for what it writes; False: it must wait."""
        task, argv, timeout = machine.waiting[key]
        directory = None
        try:
            directory = self._directories.take(key)
            environment = {
                b"BURSAR_TASK": b"%d" % task,
                b"BURSAR_ATTEMPT": b"%d" % key,
                b"BURSAR_OUTPUT_DIR": os.fsencode(self._directories.path(key)),
            }
            self._spawn(key, machine, argv, environment, writing_in(directory))
        except (OSError, ValueError) as error:
            if self._is_in_want(error):
                if directory is not None:
                    self._directories.put_back(key, directory)
                return False
            what = "write in its directory" if directory is None else f"start '{argv[0]}'"
            self._unstarted(key, error, f"cannot {what}")
        else:
            if timeout is not None:
                self._timers.set(("timeout", key), boottime() + timeout)
        if directory is not None:
            directory.close()
        del machine.waiting[key]
        for soon in machine.waiting:
            self._directories.expect(soon)
            break
        return True

    def _spawn(
        self,
        key: int,
        machine: KeptMachine,
        argv: tuple[str, ...],
        extras: dict[bytes, bytes],
        actions: Actions,
    ) -> None:
        slot = machine.free_slot()
        job_slot = machine.first + slot - 1
        slots = {b"BURSAR_SLOT": b"%d" % slot, b"BURSAR_JOB_SLOT": b"%d" % job_slot}
        environment = {**machine.environment, **extras, **slots}
        pid, end = self._starter.start(key, argv, environment, actions)
        ward = Ward(key, pid, end, machine, slot, boottime())
        self._wards[key] = self._by_pid[pid] = ward
        machine.add(ward)
        self._in_want_since = None

    def _is_in_want(self, error: OSError | ValueError) -> bool:
        """Whether the system has no process or descriptor to give now, and is asked again soon."""
        now = boottime()
        since = now if self._in_want_since is None else self._in_want_since
        if getattr(error, "errno", None) not in SCARCE or now - since > LONGEST_WANT:
            self._in_want_since = None
            return False
        self._in_want_since = since
        self._timers.set(("retry", 0), now + RETRY)
        return True

    def _unstarted(self, key: int, error: OSError | ValueError, what: str) -> None:
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_RUN
        why = f"{what}: {getattr(error, 'strerror', None) or error}"
        self._note("ended", key, "unstarted", code, 0, 0, 0, why, True, urgent=True)

    def _stop(self, ward: Ward, cause: str, kill_at: int) -> None:
        if ward.ended:
            return  # and its number may be another's
        if ward.cause == "exited":
            ward.cause = cause
            kill_group(ward.pid, signal.SIGTERM)
            kill_group(ward.pid, signal.SIGCONT)
        self._timers.set(("kill", ward.key), kill_at)

    def _leave(self, machine: KeptMachine, cause: str, kill_at: int) -> None:
        machine.leaving = cause
        self._timers.discard(("lease", machine.id))
        for _, descriptor in machine.visits.values():
            os.close(descriptor)
        machine.visits.clear()
        for ward in machine.wards.values():
            self._stop(ward, "lost", kill_at)
        if machine.wards:
            self._timers.set(("gone", machine.id), kill_at + LONGEST_DYING)
        else:
            self._gone(machine)

    def _gone(self, machine: KeptMachine) -> None:
        del self._machines[machine.id]
        for key in machine.waiting:
            self._directories.forget(key)
        self._timers.discard(("gone", machine.id))
        at = min(boottime(), machine.until)
        self._note("gone", machine.id, machine.leaving, at, urgent=True)
        if not self._machines:
            self._directories.tidy_at_last()

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
                self._orphans.forget(found.si_pid)
                self._directories.removers.discard(found.si_pid)
                continue
            kill_group(ward.pid, signal.SIGKILL)
            _, status, usage = os.wait4(ward.pid, 0)
            cpu = round((usage.ru_utime + usage.ru_stime) * SECOND)
            ward.ended = boottime()
            ward.result = os.waitstatus_to_exitcode(status), cpu, usage.ru_maxrss * 1024
            self._ending[ward.key] = ward
            self._timers.discard(("timeout", ward.key))
            self._timers.discard(("kill", ward.key))

    def _hunt(self) -> None:
        """Kill orphans of wards whose process has ended; a ward has ended with the last of them.

        An orphan that may be of several wards lives while one of them does; the others wait for it
        no longer than it takes to be sure that it does not end by itself.
        """
        self._orphans_expected = False
        bound: set[int] = set()
        doubtful: set[int] = set()
        for pid in self._children.look():
            if pid in self._by_pid or pid in self._directories.removers:
                continue
            owners = self._orphans.owners(pid, self._wards)
            if all(key in self._ending for key in owners):
                bound.update(owners)
                kill_child(pid)
            else:
                doubtful.update(owners)
        now = boottime()
        ended: list[tuple[Ward, str]] = []
        for key, ward in self._ending.items():
            waited = now - ward.ended
            if waited < (LONGEST_DYING if key in bound else DOUBT if key in doubtful else 0):
                self._timers.set(("hunt", 0), now + SECOND_LOOK)
            else:
                ended.append((ward, STUCK if key in bound else ""))
        for ward, why in ended:
            self._make_room(ward, wholly=not (why or ward.key in doubtful))
        for ward, why in ended:
            self._ended(ward, why)

    def _make_room(self, ward: Ward, *, wholly: bool) -> None:
        """A ward has ended: what waited for its slot begins, before anything else is done."""
        key, machine = ward.key, ward.machine
        del self._wards[key], self._ending[key]
        machine.remove(ward)
        self._starter.ended(ward.end, wholly=wholly)
        if not machine.leaving:
            self._begin_waiting(machine)

    def _ended(self, ward: Ward, why: str) -> None:
        """Report that a ward has ended. What ends with its machine is reported by `gone`."""
        key, machine = ward.key, ward.machine
        if not machine.leaving:
            code, cpu, memory = ward.result
            runtime = ward.ended - ward.started
            wrote = code != 0 or key < 0 or bool(why)
            if wrote:
                self._directories.keep(key)
            else:
                wrote = self._directories.leave(key)
            cause = "stuck" if why else ward.cause
            self._note("ended", key, cause, code, runtime, cpu, memory, why, wrote)
            self._is_urgent |= len(machine.waiting) <= RESERVE * machine.slots
            return
        self._directories.keep(key)
        if not machine.wards and machine.id in self._machines:
            self._gone(machine)

    def _tidy(self) -> None:
        """Leave few directories behind, in a short time."""
        self._directories.tidy_at_last()
        end = boottime() + LONGEST_TIDYING
        while self._directories.removers and boottime() < end:
            if select.select([self._bell], [], [], LONGEST_TIDYING / SECOND)[0]:
                self._answer_bell()

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
            elif what == "retry":
                for machine in list(self._machines.values()):
                    self._begin_waiting(machine)
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
    signal.signal(signal.SIGIO, signal.SIG_IGN)  # of leases on files, see `directories.py`
    signal.set_wakeup_fd(hammer, warn_on_full_buffer=False)
    return bell


def _noted(number: int, frame: object) -> None:
    """The bell has been rung; the loop does the rest."""
