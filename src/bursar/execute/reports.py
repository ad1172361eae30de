"""What the processes of a run report: attempts that ended, machines that are gone."""

from __future__ import annotations

import signal
from typing import Final, NamedTuple

from bursar.execute.calls import Answer
from bursar.model.time import Time
from bursar.state.events import DownCause, Outcome

UNWANTED: Final = "cancelled by who submitted it"


class AttemptReport(NamedTuple):
    attempt: int
    outcome: Outcome
    reason: str = ""
    exit_code: int | None = None
    """negative: the number of the signal that killed it"""
    runtime: Time = 0
    cpu: Time = 0
    memory: int = 0
    answer: Answer | None = None
    """for a call"""
    wrote: bool = True
    """it may have an output directory"""
    unwanted: bool = False
    """a call that was cancelled before it began"""
    is_back: bool = False
    """it never began: all slots of its machine are busy for longer than was thought"""


def unwanted(attempt: int) -> AttemptReport:
    """A call that nobody waits for any more never begins."""
    return AttemptReport(attempt, "cancelled", UNWANTED, wrote=False, unwanted=True)


class MachineReport(NamedTuple):
    machine: int
    cause: DownCause
    at: int
    """by `boottime`; never after the lease"""
    why: str = ""


class JoinedReport(NamedTuple):
    """Attempts can be started on the machine; of machines elsewhere."""

    machine: int


class LineReport(NamedTuple):
    """A machine elsewhere does not answer, or answers again."""

    machine: int
    """0: the Dask scheduler"""
    is_cut: bool
    why: str = ""


Report = AttemptReport | MachineReport | JoinedReport | LineReport


def outcome_of(cause: str, code: int) -> Outcome:
    """The outcome of a process that ended by itself or for the warden's `cause`."""
    if cause == "cancelled":
        return "cancelled"
    if cause == "timeout":
        return "timeout"
    return "success" if cause == "exited" and code == 0 else "failed"


def describe_exit(code: int) -> str:
    """An exit code, or a signal as a negative number, in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
