"""What became of every attempt of a run, in columns, so that millions of them fit."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final

from bursar.model.time import Time
from bursar.state import events as ev

OUTCOMES: Final[tuple[ev.Outcome, ...]] = (
    "success",
    "failed",
    "timeout",
    "cancelled",
    "lost",
    "released",
)
CODES: Final = {outcome: code for code, outcome in enumerate(OUTCOMES)}


class AttemptLog:
    """Every attempt of the run, ended or not, in columns; attempt `n` stands at index `n`."""

    LIVE: Final = 255

    def __init__(self) -> None:
        self.task = array("q", [0])
        self.machine = array("q", [0])
        self.started = array("q", [0])
        self.ended = array("q", [0])
        self.runtime = array("q", [0])
        self.outcome = bytearray([0])
        """index into OUTCOMES, or LIVE"""

    def __len__(self) -> int:
        return len(self.task) - 1

    def attempts_of(self, task: int) -> Iterator[int]:
        """All attempts of a task, ended or not."""
        attempt = 0
        while True:
            try:
                attempt = self.task.index(task, attempt + 1)
            except ValueError:
                return
            yield attempt

    def begin(self, task: int, machine: int, at: Time) -> None:
        self.task.append(task)
        self.machine.append(machine)
        self.started.append(at)
        self.ended.append(-1)
        self.runtime.append(0)
        self.outcome.append(self.LIVE)

    def end(self, attempt: int, at: Time, runtime: Time, outcome: ev.Outcome) -> None:
        self.ended[attempt] = at
        self.runtime[attempt] = runtime
        self.outcome[attempt] = CODES[outcome]


MOST_TEXTS: Final = 1_000
"""Failed tasks of which it is kept in memory what they said; the journal has it of all."""


class Failure:
    """Why a task failed for good."""

    __slots__ = ("attempt", "exit_code", "why")

    def __init__(self, attempt: int, exit_code: int | None, why: str | None) -> None:
        self.attempt = attempt
        self.exit_code = exit_code
        self.why = why
        """None: more than `MOST_TEXTS` had failed before"""
