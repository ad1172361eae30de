"""Job logs as GNU parallel writes them with `--joblog`: one line for each attempt that ended.

Tab-separated with a header: Seq Host Starttime JobRuntime Send Receive Exitval Signal Command.
Times are seconds, a newline within a command is written as NUL, which no command can hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from bursar.formats.files import read_text, source_name
from bursar.model.errors import InputError, shown
from bursar.model.numbers import parse_number, parse_whole

_COLUMNS: Final = (
    "Seq",
    "Host",
    "Starttime",
    "JobRuntime",
    "Send",
    "Receive",
    "Exitval",
    "Signal",
    "Command",
)
HERE: Final = ":"
"""the host of an attempt on the computer that the log was written on"""
HEADER: Final = "\t".join(_COLUMNS) + "\n"


class JoblogRow(msgspec.Struct, frozen=True):
    """One attempt. Bytes sent and received are not known: bursar moves no files of its own."""

    seq: int
    """the task's number"""
    host: str
    start: float
    """seconds since 1970"""
    runtime: float
    """seconds"""
    exitval: int
    signal: int
    """that ended it; 0: none"""
    command: str

    @property
    def end(self) -> float:
        """Seconds since 1970."""
        return self.start + self.runtime

    @property
    def has_result(self) -> bool:
        """The command succeeded."""
        return self.exitval == 0 and self.signal == 0


def format_row(row: JoblogRow) -> str:
    """A line of the log, with its end."""
    host = "".join(letter if letter.isprintable() else " " for letter in row.host)
    fields = (
        str(row.seq),
        host or HERE,
        f"{row.start:.3f}",
        f"{row.runtime:10.3f}",
        "0",
        "0",
        str(row.exitval),
        str(row.signal),
        row.command.replace("\n", "\0"),
    )
    return "\t".join(fields) + "\n"


def format_joblog(rows: Iterable[JoblogRow]) -> str:
    return HEADER + "".join(format_row(row) for row in rows)


def read_joblog(path: str | Path) -> list[JoblogRow]:
    """Read the log of a run of bursar or of GNU parallel; `-` is standard input."""
    return parse_joblog(
        read_text(path, "job log", undecodable="backslashreplace"), source_name(path)
    )


def parse_joblog(text: str, source: str = "joblog") -> list[JoblogRow]:
    """Read the text of a job log; `source` is named in the error."""
    lines = text.split("\n")
    if [name.strip() for name in lines[0].split("\t")] != list(_COLUMNS):
        raise InputError(
            f"{source}, line 1: not a job log; its header must be {' '.join(_COLUMNS)}"
        )
    return [
        _parse_row(line, f"{source}, line {number}")
        for number, line in enumerate(lines[1:], 2)
        if line.strip()
    ]


def _parse_row(line: str, where: str) -> JoblogRow:
    fields = line.split("\t", len(_COLUMNS) - 1)
    if len(fields) != len(_COLUMNS):
        raise InputError(
            f"{where}: {len(fields)} fields, but a job log has {len(_COLUMNS)}, separated by tabs"
        )
    seq, host, start, runtime, _, _, exitval, signal, command = fields
    return JoblogRow(
        seq=_whole(seq, f"{where}, Seq"),
        host=host,
        start=_seconds(start, f"{where}, Starttime"),
        runtime=_seconds(runtime, f"{where}, JobRuntime"),
        exitval=_whole(exitval, f"{where}, Exitval"),
        signal=_whole(signal, f"{where}, Signal"),
        command=command.replace("\0", "\n"),
    )


def _whole(text: str, where: str) -> int:
    try:
        return parse_whole(text, -(2**63), 2**63 - 1)
    except InputError:
        raise InputError(f"{where}: {shown(text)} is not a whole number") from None


def _seconds(text: str, where: str) -> float:
    try:
        return parse_number(text, 0)
    except InputError:
        raise InputError(f"{where}: {shown(text)} is not a number of seconds") from None
