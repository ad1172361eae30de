"""The local world: machines are places for processes on this computer, and the clock is real.

Decisions become orders to the staff, whose reports become events. Nothing here knows a process:
a warden (`agent.py`) starts and ends them all, and workers (`worker.py`) run Python calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Final, Protocol

from bursar.engine.world import External, Fate, happening
from bursar.execute.calls import Answer, Calls
from bursar.execute.clock import RunClock
from bursar.execute.dispatch import Staff
from bursar.execute.lateness import Lateness
from bursar.execute.link import WardenLink
from bursar.execute.outputs import MEND, NO_SPACE, Outputs
from bursar.execute.processes import sweep as sweep_processes
from bursar.execute.processes import ward_of
from bursar.execute.reports import Ended, Gone
from bursar.execute.staging import Staging
from bursar.execute.timers import Timers
from bursar.model.errors import DiskError, shown
from bursar.model.market import Offer
from bursar.model.time import SECOND, Time
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.state.view import Machine

LEAD: Final[Time] = SECOND // 4
"""to tell the warden of a lease, on a computer that has time for it"""
GRACE: Final[Time] = 2 * SECOND
"""from asking a process to end to making it end"""
LONGEST_QUEUE: Final[Time] = SECOND // 50
"""Commands so short that some fit in this time begin one after the other without asking: a task
waits no longer than this at a machine while another machine might be idle."""
MOST_AHEAD: Final = 8
MOST_CALLS_AHEAD: Final = 160
"""Python calls may be much shorter than commands, and can be taken back while they wait."""
MOST_LACKING: Final = 3
"""files that a message names"""
RECENT: Final = 16
"""The mean run time is of about so many attempts."""

UNWRITABLE: Final = "cannot write in its directory"
"""so begins what the warden says of an attempt that could not have one"""

TELL_AND_FAIL: Final = ("/bin/sh", "-c", 'printf "%s\\n" "$0" >&2; exit 126')
"""A command in place of one that cannot even begin, to be given the reason: its task fails."""


class Lives(Protocol):
    """How long machines stay before they are taken away, as those of unreliable offers are."""

    notice: Time
    """how long before that it is announced; 0: not at all"""

    def life(self, machine: Machine) -> Time | None:
        """Since it was rented; None: it is not taken away."""
        ...


def mark_of(state: RunState, place: str = "") -> str:
    """What the processes of a run carry: its name, an id of its own, and where it lives.

    A copy of the run's directory has the same id, and another `place`.
    """
    created = state.created
    if created is None or "id" not in created.settings:  # made by an earlier version
        return f"{state.run}@{0.0 if created is None else created.began!r}"
    return f"{state.run}@{created.settings['id']}@{place}"


def sweep(state: RunState, place: str = "") -> int:
    """Kill the processes that a crashed run left behind; to be called before it goes on."""
    return sweep_processes(mark_of(state, place))


def lives_elsewhere(state: RunState, place: str) -> bool:
    """Whether a copy of the run's directory, or its original, is being executed."""
    created, mine = state.created, mark_of(state, place)
    if created is None or "id" not in created.settings:
        return False
    others = f"{state.run}@{created.settings['id']}@"
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    marks = ((ward_of(pid) or "").rpartition("/")[0] for pid in pids)
    return any(mark.startswith(others) and mark != mine for mark in marks)


class LocalWorld:
    """Carries decisions out with real processes.

    A task is a call if `calls` has it, else the command that the state tells. Without a clock,
    time goes on from the state's. `mark` is what the processes of the run carry.
    """

    ahead = 0

    def __init__(
        self,
        state: RunState,
        outputs: Path,
        *,
        clock: RunClock | None = None,
        mark: str | None = None,
        calls: Calls | None = None,
        grace: Time = GRACE,
        lives: Lives | None = None,
        staging: Staging | None = None,
    ) -> None:
        self._state = state
        self._outputs = Outputs(outputs)
        self._calls = calls
        self._grace = grace
        self._clock = clock or RunClock(state.now, None)
        self._mark = mark or mark_of(state)
        attempts = str(self._outputs.attempts)
        self._staff = Staff(self._open_link, state.limits.timeout, calls, attempts)
        self._leases: dict[int, Time] = {}
        """machines that are not down, and the ends of their leases"""
        self._attempts: dict[int, int] = {}
        """attempts that live, and their machines"""
        self._unsettled: set[int] = set()
        """attempts that ended and may have a directory"""
        self._answers: dict[int, Answer] = {}
        """of calls that ended and are not settled"""
        self._pace: Time = SECOND
        """about the mean run time of the last attempts"""
        self._lives = lives
        self._staging = staging
        self._timers = Timers()
        """when a machine has booted, when its loss is announced, and when it is lost"""
        self.stalled: AbstractSet[int] = frozenset()
        self._lateness = Lateness()
        self._awake: Time | None = None
        """since when the engine should have been at work, and is"""
        self._happened: list[ev.AnyEvent] = []
        self._posted: deque[External] = deque()
        self._closed = False
        self._performers: dict[type, Callable[[Any], None]] = {
            ev.MachineRented: self._rent,
            ev.LeaseExtended: self._extend,
            ev.ReleaseOrdered: self._release,
            ev.AttemptStarted: self._start,
            ev.CancelOrdered: self._cancel,
        }

    def now(self) -> Time:
        return self._clock.now()

    def post(self, event: External) -> None:
        self._posted.append(event)
        self._staff.wake()

    def lead(self, offer: Offer) -> Time:
        """Longer while this process is late, as on a computer that is busy with the tasks."""
        return LEAD + self._lateness.expected(self.now())

    def wait(self, until: Time | None) -> Sequence[ev.AnyEvent]:
        """Late is what was not carried out before the engine waits again, since it was due."""
        entered = self.now()
        if self._awake is not None:
            self._lateness.learn(entered - self._awake, entered)
        if until is None and not self._leases and not self._state.arrivals_open:
            until = self.now()
        while not self._happened:
            self._listen(until)
            if until is not None and self.now() >= until:
                break
        now = self.now()
        self._awake = now if until is None else min(now, max(entered, until))
        happened, self._happened = self._happened, []
        return happened

    def perform(self, decisions: Sequence[ev.Decision]) -> None:
        for decision in decisions:
            performer = self._performers.get(type(decision))
            if performer is not None:
                performer(decision)
        self._staff.flush()

    def settle(self, task: int, attempt: int, fate: Fate) -> None:
        """Move the attempt's directory into place, then hand a call's result to its future."""
        if attempt in self._unsettled:
            try:
                self._settle_output(task, attempt, fate)
            except OSError as error:
                raise self._outputs.trouble(error) from error
            self._unsettled.remove(attempt)  # last: what could not be moved is not lost
        answer = self._answers.pop(attempt, None)
        if answer is not None and self._calls is not None and fate != "drop":
            self._calls.settle(task, answer)

    def _settle_output(self, task: int, attempt: int, fate: Fate) -> None:
        if fate == "keep":
            self._outputs.keep(task, attempt)
            if self._staging is not None:
                self._staging.publish(task)
        elif fate == "failure":
            self._outputs.keep_failure(task, attempt)
        else:
            self._outputs.drop(attempt)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._staff.close()
            self._outputs.close(self._unsettled)

    # --- decisions -------------------------------------------------------------------------------

    def _rent(self, decision: ev.MachineRented) -> None:
        self._lease(decision.machine, decision.until)
        machine = self._state.machines[decision.machine]
        boot = machine.offer.boot
        self._timers.set(("boot", decision.machine), decision.at + boot)
        life = None if self._lives is None else self._lives.life(machine)
        if self._lives is not None and life is not None:
            self._timers.set(("lose", machine.id), decision.at + life)
            if 0 < self._lives.notice <= life:
                announced = decision.at + life - self._lives.notice
                self._timers.set(("announce", machine.id), announced)

    def _extend(self, decision: ev.LeaseExtended) -> None:
        if decision.machine in self._leases:
            self._lease(decision.machine, decision.until)

    def _lease(self, number: int, until: Time) -> None:
        self._leases[number] = until
        offer = self._state.machines[number].offer
        end = self._clock.to_boottime(until)
        self._staff.lease(number, end, offer)

    def _release(self, decision: ev.ReleaseOrdered) -> None:
        self._staff.drop(decision.machine)

    def _start(self, decision: ev.AttemptStarted) -> None:
        attempt, task, machine = decision.attempt, decision.task, decision.machine
        if machine not in self._leases:
            return
        self._attempts[attempt] = machine
        if self._calls is None or task not in self._calls:
            self._staff.run_command(attempt, task, machine, self._command(task, attempt))
            return
        self._staff.run_call(attempt, task, machine)

    def _command(self, task: int, attempt: int) -> tuple[str, ...]:
        if self._staging is None:
            return self._state.command(task)
        self._outputs.prepare()
        try:
            return self._staging.prepare(task, attempt)
        except OSError as error:
            if error.errno in NO_SPACE:
                raise self._outputs.trouble(error) from error
            return (*TELL_AND_FAIL, f"cannot prepare the files of the task: {error}")

    def _cancel(self, decision: ev.CancelOrdered) -> None:
        self._staff.stop(decision.attempt, "cancelled")

    def _open_link(self) -> WardenLink:
        self._outputs.prepare()
        directory = str(self._outputs.attempts)
        return WardenLink(self._state.run, self._mark, directory, self._grace)

    # --- reports ---------------------------------------------------------------------------------

    def _listen(self, until: Time | None) -> None:
        """Turn what was reported, posted or due into events, all of one time."""
        times = [time for time in (until, self._timers.next()) if time is not None]
        end = self._clock.to_boottime(min(times)) if times else None
        reports = self._staff.poll(end)
        now = self.now()
        for report in reports:
            if isinstance(report, Ended):
                self._attempt_ended(report, now)
            else:
                self._machine_gone(report, now)
        for what, machine in self._timers.due(now):
            if machine in self._leases:
                self._let_happen(what, machine, now)
        while self._posted:
            self._happened += happening(self._posted.popleft(), now)

    def _let_happen(self, what: str, machine: int, now: Time) -> None:
        if what == "boot":
            self._happened.append(ev.MachineUp(now, machine))
        elif what == "announce" and self._lives is not None:
            self._happened.append(ev.LossAnnounced(now, machine, now + self._lives.notice))
        else:
            self._staff.lose(machine)

    def _attempt_ended(self, report: Ended, now: Time) -> None:
        attempt = report.attempt
        machine = self._attempts.pop(attempt, None)
        if machine is None:
            return
        if report.reason.startswith(UNWRITABLE):  # not the task's fault
            raise DiskError(f"{self._outputs.root}: an attempt {report.reason}; {MEND}")
        if report.is_back:
            self.stalled |= {machine}
        else:
            self.stalled -= {machine}
            self._pace += (report.runtime - self._pace) // RECENT
            most = MOST_AHEAD if self._calls is None else MOST_CALLS_AHEAD
            self.ahead = min(most, LONGEST_QUEUE // max(1, self._pace))
        if report.wrote:
            self._unsettled.add(attempt)
        if report.answer is not None:
            self._answers[attempt] = report.answer
        if report.outcome == "success" and (lacking := self._lacking(attempt)):
            report = report._replace(outcome="failed", reason=lacking)
        why = "" if report.outcome == "success" else self._explain(report)
        self._happened.append(
            ev.AttemptEnded(
                now,
                attempt,
                report.outcome,
                report.runtime,
                report.exit_code,
                report.cpu,
                report.memory,
                why,
            )
        )

    def _lacking(self, attempt: int) -> str:
        """What a task should have written and did not, told; empty: nothing lacks."""
        if self._staging is None:
            return ""
        lacking = self._staging.lacking(self._state.log.task[attempt], attempt)
        told = ", ".join(map(shown, lacking[:MOST_LACKING]))
        more = f" and {len(lacking) - MOST_LACKING} more" if len(lacking) > MOST_LACKING else ""
        return f"it exited with code 0, but did not write {told}{more}" if lacking else ""

    def _explain(self, report: Ended) -> str:
        """The end of stderr says more than an exit code, but not more than anything else."""
        tail = "" if report.answer is not None else self._outputs.tail(report.attempt)
        if tail and report.exit_code is not None and report.exit_code > 0:
            return tail
        return "\n".join(part for part in (report.reason, tail) if part)

    def _machine_gone(self, report: Gone, now: Time) -> None:
        machine = report.machine
        del self._leases[machine]
        self.stalled -= {machine}
        for attempt in [one for one, where in self._attempts.items() if where == machine]:
            del self._attempts[attempt]
            self._outputs.drop(attempt)
        ended = min(now, self._clock.from_boottime(report.at))
        self._happened.append(ev.MachineDown(now, machine, report.cause, ended, report.why))
