"""A journal for other tools: the ended attempts as rows of a GNU parallel joblog, or JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from signal import SIGHUP, SIGTERM
from typing import Final, NamedTuple

from bursar.journal.reader import JournalReader
from bursar.journal.replay import apply
from bursar.model.time import SECOND, Time
from bursar.model.workflow import Workflow
from bursar.state import events as ev
from bursar.state.attempts import OUTCOMES
from bursar.state.state import RunState
from bursar.state.view import Attempt

NO_EXIT: Final = -1
"""Exit value of an attempt that did not end by itself, as GNU parallel writes it.

With signal 0 it was cancelled, or lost with its machine; with `RELEASED` its machine was given
back, or its paid time ended; with another signal it timed out.
"""
RELEASED: Final = int(SIGHUP)


class EndedAttempt(NamedTuple):
    """The columns of a joblog, without `Send` and `Receive`, in their order."""

    seq: int
    """the task's number; a task with several attempts has several rows"""
    host: str
    start: float
    """seconds since 1970"""
    runtime: float
    """seconds"""
    exitval: int
    signal: int
    command: str


def ended_attempts(path: str | Path) -> Iterator[EndedAttempt]:
    """Every attempt that ended, in the order of their ends.

    Exit value and signal are both 0 for a success and for nothing else, which is how
    `parallel --resume-failed` and `--retry-failed` tell.
    """
    state = RunState()
    with JournalReader(path) as reader:
        for seq, event in enumerate(reader.events(), 1):
            ended = _ended_by(event, state)
            apply(event, state, f"{path}: event {seq}")
            for attempt in ended:
                yield _row(attempt, event, state)


def json_lines(path: str | Path) -> Iterator[bytes]:
    """The whole journal, an event a line."""
    with JournalReader(path) as reader:
        for record in reader.records():
            yield record + b"\n"


def _ended_by(event: ev.AnyEvent, state: RunState) -> list[Attempt]:
    """The attempts that live now and will not when the event is applied."""
    if isinstance(event, ev.AttemptEnded):
        attempt = state.attempts.get(event.attempt)
        return [] if attempt is None else [attempt]
    if isinstance(event, ev.MachineDown):
        machine = state.machines.get(event.machine)
        return [] if machine is None else [state.attempts[n] for n in sorted(machine.attempts)]
    return []


def _row(attempt: Attempt, event: ev.AnyEvent, state: RunState) -> EndedAttempt:
    runtime: Time = state.log.runtime[attempt.id]
    began = 0.0 if state.created is None else state.created.began
    if isinstance(event, ev.AttemptEnded):
        exitval, signal = _verdict(event)
    else:
        is_released = OUTCOMES[state.log.outcome[attempt.id]] == "released"
        exitval, signal = NO_EXIT, RELEASED if is_released else 0
    return EndedAttempt(
        seq=attempt.task,
        host=attempt.machine.name,
        start=began + (event.at - runtime) / SECOND,
        runtime=runtime / SECOND,
        exitval=exitval,
        signal=signal,
        command=_command(attempt.task, state),
    )


def _command(task: int, state: RunState) -> str:
    """What was run, character by character, without the name that a task of a workflow has."""
    work, index = state.locate(task)
    return work.typed(index) or (work.names[index] if isinstance(work, Workflow) else "task")


def _verdict(event: ev.AttemptEnded) -> tuple[int, int]:
    """Exit value and signal; an exit code below zero is the signal that ended the attempt."""
    code = event.exit_code or 0
    signal = max(0, -code)
    if event.outcome == "success":
        return 0, 0
    if event.outcome == "failed":
        return (0, signal) if signal else (code or 1, 0)
    if event.outcome == "timeout":
        return NO_EXIT, signal or SIGTERM
    if event.outcome == "released":
        return NO_EXIT, RELEASED
    return NO_EXIT, 0
