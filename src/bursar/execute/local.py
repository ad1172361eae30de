"""The runner of this computer: machines are places for processes here.

Orders go to a warden (`warden.py`), which starts and ends every process and knows the leases, and
to workers (`worker.py`), which run Python calls. Nothing here knows a process.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final

from bursar.engine.runner import Ended, Gone, Joined, LineChanged, RunnerNews
from bursar.engine.world import Fate
from bursar.execute.calls import Answer, Calls
from bursar.execute.clock import RunClock
from bursar.execute.dispatch import AnyDispatcher, Dispatcher
from bursar.execute.link import WardenLink
from bursar.execute.outputs import FIX, NO_SPACE, Outputs
from bursar.execute.reports import AttemptReport, JoinedReport, LineReport, MachineReport
from bursar.execute.staging import Staging
from bursar.model.errors import DiskError, shown
from bursar.model.market import Offer
from bursar.model.time import SECOND, Time
from bursar.state.events import DownCause

GRACE: Final[Time] = 2 * SECOND
"""from asking a process to end to making it end"""
LONGEST_QUEUE: Final[Time] = SECOND // 20
"""Commands so short that some fit in this time begin one after the other without asking: a task
waits no longer than this at a machine while another machine might be idle."""
MOST_AHEAD: Final = 48
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


class LocalRunner:
    """Executes commands, and those Python calls that `calls` has, with real processes.

    `mark` is what the processes of the run carry; `timeout` the longest run time of an attempt.
    """

    ahead = 0

    def __init__(
        self,
        run: str,
        outputs: Path,
        clock: RunClock,
        mark: str,
        *,
        calls: Calls | None = None,
        timeout: Time | None = None,
        grace: Time = GRACE,
        staging: Staging | None = None,
        dispatcher: AnyDispatcher | None = None,
    ) -> None:
        """`dispatcher`: who reaches the processes, where they are not on this computer."""
        self._run = run
        self._outputs = Outputs(outputs)
        self._clock = clock
        self._mark = mark
        self._calls = calls
        self._grace = grace
        self._staging = staging
        self._dispatcher = dispatcher or Dispatcher(
            self._open_link, timeout, calls, str(self._outputs.attempts)
        )
        self._machines: dict[int, Offer] = {}
        """those that are not gone"""
        self._leaving: dict[int, DownCause] = {}
        """why machines were asked to leave"""
        self._attempts: dict[int, tuple[int, int]] = {}
        """attempts that live: their machines and tasks"""
        self._unsettled: set[int] = set()
        """attempts that ended and may have a directory"""
        self._answers: dict[int, Answer] = {}
        """of calls that ended and are not settled"""
        self._pace: Time = SECOND
        """about the mean run time of the last attempts"""
        self._news: list[RunnerNews] = []
        self.stalled: AbstractSet[int] = frozenset()

    # --- orders ----------------------------------------------------------------------------------

    def join(self, machine: int, offer: Offer, until: Time) -> None:
        """There is nothing to wait for: the warden starts what it is sent when it is there."""
        self._machines[machine] = offer
        self.lease(machine, until)
        self._news.append(Joined(machine))

    def lease(self, machine: int, until: Time) -> None:
        offer = self._machines.get(machine)
        if offer is not None:
            self._dispatcher.lease(machine, self._clock.to_boottime(until), offer)

    def leave(self, machine: int, cause: DownCause) -> None:
        if machine not in self._machines:
            return
        self._leaving.setdefault(machine, cause)
        if cause == "lost":
            self._dispatcher.lose(machine)
        else:
            self._dispatcher.drop(machine)

    def start(self, attempt: int, task: int, machine: int, command: tuple[str, ...]) -> None:
        if machine not in self._machines:
            return
        self._attempts[attempt] = (machine, task)
        if not command and self._calls is not None and task in self._calls:
            self._dispatcher.run_call(attempt, task, machine)
            return
        if self._staging is not None:
            command = self._staged(self._staging, task, attempt)
        self._dispatcher.run_command(attempt, task, machine, command)

    def stop(self, attempt: int) -> None:
        self._dispatcher.stop(attempt, "cancelled")

    def flush(self) -> None:
        self._dispatcher.flush()

    def wake(self) -> None:
        self._dispatcher.wake()

    def settle(self, task: int, attempt: int, fate: Fate) -> None:
        """Move the attempt's directory into place, then hand a call's result to its future."""
        if attempt in self._unsettled:
            try:
                self._settle_output(task, attempt, fate)
            except OSError as error:
                raise self._outputs.disk_error(error) from error
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
        self._dispatcher.close()
        self._outputs.close(self._unsettled)

    def _staged(self, staging: Staging, task: int, attempt: int) -> tuple[str, ...]:
        """The command of a task that has files."""
        self._outputs.prepare()
        try:
            return staging.prepare(task, attempt)
        except OSError as error:
            if error.errno in NO_SPACE:
                raise self._outputs.disk_error(error) from error
            return (*TELL_AND_FAIL, f"cannot prepare the files of the task: {error}")

    def _open_link(self) -> WardenLink:
        self._outputs.prepare()
        return WardenLink(self._run, self._mark, str(self._outputs.attempts), self._grace)

    # --- reports ---------------------------------------------------------------------------------

    def poll(self, until: Time | None) -> Sequence[RunnerNews]:
        if self._news:
            until = 0
        for report in self._dispatcher.poll(
            None if until is None else self._clock.to_boottime(until)
        ):
            if isinstance(report, AttemptReport):
                self._attempt_ended(report)
            elif isinstance(report, JoinedReport):
                self._news.append(Joined(report.machine))
            elif isinstance(report, LineReport):
                self._news.append(LineChanged(*report))
            else:
                self._machine_gone(report)
        news, self._news = self._news, []
        return news

    def _attempt_ended(self, report: AttemptReport) -> None:
        attempt = report.attempt
        machine, task = self._attempts.pop(attempt, (0, 0))
        if not machine:
            return
        if report.reason.startswith(UNWRITABLE):  # not the task's fault
            raise DiskError(f"{self._outputs.root}: an attempt {report.reason}; {FIX}")
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
        if report.outcome == "success" and (lacking := self._lacking(task, attempt)):
            report = report._replace(outcome="failed", reason=lacking)
        why = "" if report.outcome == "success" else self._explain(report)
        self._news.append(
            Ended(
                attempt,
                report.outcome,
                report.runtime,
                report.exit_code,
                report.cpu,
                report.memory,
                why,
                report.unwanted,
            )
        )

    def _lacking(self, task: int, attempt: int) -> str:
        """What a task should have written and did not, in words; empty: nothing lacks."""
        if self._staging is None:
            return ""
        lacking = self._staging.lacking(task, attempt)
        names = ", ".join(map(shown, lacking[:MOST_LACKING]))
        more = f" and {len(lacking) - MOST_LACKING} more" if len(lacking) > MOST_LACKING else ""
        return f"it exited with code 0, but did not write {names}{more}" if lacking else ""

    def _explain(self, report: AttemptReport) -> str:
        """The end of stderr says more than an exit code, but not more than anything else."""
        tail = "" if report.answer is not None else self._outputs.tail(report.attempt)
        if tail and report.exit_code is not None and report.exit_code > 0:
            return tail
        return "\n".join(part for part in (report.reason, tail) if part)

    def _machine_gone(self, report: MachineReport) -> None:
        machine = report.machine
        del self._machines[machine]
        self.stalled -= {machine}
        for attempt in [one for one, (where, _) in self._attempts.items() if where == machine]:
            del self._attempts[attempt]
            self._outputs.drop(attempt)
        ordered = self._leaving.pop(machine, report.cause)
        cause = ordered if report.cause == "released" else report.cause
        at = self._clock.from_boottime(report.at)
        self._news.append(Gone(machine, cause, at, report.why))
