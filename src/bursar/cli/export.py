"""`bursar export`: a run for other tools."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import rich_click as click

from bursar.cli.common import home, print_line, run_argument
from bursar.cli.options import OUTPUT, option, settings
from bursar.formats.joblog import JoblogRow, format_joblog
from bursar.journal.export import ended_attempts, json_lines
from bursar.model.errors import InputError


@click.command(context_settings=settings)
@run_argument()
@option(
    OUTPUT, "--joblog", metavar="FILE", help="Write attempts as a GNU parallel job log (-: stdout)."
)
@option(OUTPUT, "--events", metavar="FILE", help="Write every event as a JSON line (-: stdout).")
def command(run: str | None, joblog: str | None, events: str | None) -> None:
    """Write a run's attempts as a job log, or its whole journal as JSON lines."""
    if joblog is None and events is None:
        raise InputError("nothing to write: add --joblog FILE or --events FILE ('-' is stdout)")
    found = home().find(run)
    if joblog is not None:
        rows = (JoblogRow(*attempt) for attempt in ended_attempts(found.journal))
        _write(joblog, [format_joblog(rows).encode("utf-8", "surrogateescape")])
    if events is not None:
        _write(events, json_lines(found.journal))


def _write(target: str, parts: Iterable[bytes]) -> None:
    if target == "-":
        # A file gets the bytes as they are; a terminal would obey the control codes in them.
        if sys.stdout.isatty():
            for part in parts:
                print_line(part.decode("utf-8", "surrogateescape").rstrip("\n"))
            return
        for part in parts:
            sys.stdout.buffer.write(part)
        return
    try:
        with Path(target).open("wb") as file:
            file.writelines(parts)
    except OSError as error:
        raise InputError(f"{target}: cannot write there: {error.strerror}") from None
