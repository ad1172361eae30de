"""`bursar logs`: what a task printed."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from bursar.cli.common import complete_run, home, print_json, print_line, say
from bursar.cli.numbers import Whole
from bursar.cli.options import OUTPUT, WORK, json_option, option, settings
from bursar.cli.services import client_of, service_options
from bursar.execute.directories import FILES
from bursar.model.errors import InputError
from bursar.model.numbers import LARGEST_WHOLE

if TYPE_CHECKING:
    from bursar.client import Client

NOT_FOUND = 404
PACE_S = 0.2
"""between two looks at a file that grows"""


@click.command(context_settings=settings)
@click.argument("task")
@option(
    WORK,
    "--run",
    metavar="RUN",
    shell_complete=complete_run,
    help="The run (default: the most recent one).",
)
@option(WORK, "--work", metavar="N", type=Whole(1, LARGEST_WHOLE), help="A work of a service.")
@option(OUTPUT, "--stderr", "stream", flag_value="stderr", help="Standard error alone.")
@option(OUTPUT, "--stdout", "stream", flag_value="stdout", help="Standard output alone.")
@option(OUTPUT, "--follow", "-f", is_flag=True, help="Go on while the task is running.")
@service_options("--of")
@json_option
def command(
    task: str,
    run: str | None,
    work: int | None,
    stream: str | None,
    follow: bool,
    as_json: bool,
    **service: str | None,
) -> None:
    """Print what a task wrote to standard output and error, also while it is running.

    TASK is its number, or its name in a workflow. With --work, it is a task of that work of a
    service, which may run elsewhere.
    """
    if work is not None:
        if follow or as_json or run is not None:
            raise InputError("--work goes with neither --follow, --json nor --run")
        with client_of(**service) as client:
            _print_remote(client, work, task, stream)
        return
    if any(service.values()):
        raise InputError("which work of the service? give --work N; bursar status --of lists them")
    from bursar.runs.task_logs import task_logs

    found = home().find(run)
    logs = task_logs(found, task)
    if as_json:
        print_json(
            [{"what": one.what, **{k: str(v) for k, v in one.files.items()}} for one in logs]
        )
        return
    if not logs:
        raise InputError(f"task {task} of run {found.name} has printed nothing so far")
    for one in logs:
        under_way = follow and one.what.startswith("attempt")
        files = [
            file
            for name, file in one.files.items()
            if stream in (None, name) and (under_way or file.stat().st_size)
        ]
        if len(logs) > 1 or len(files) > 1:
            say(f"task {one.task}, {one.what}: {', '.join(file.name for file in files)}")
        for file in files:
            _print(file, follow=under_way and file is files[-1])


def _print_remote(client: Client, work: int, task: str, stream: str | None) -> None:
    """Both streams, or one; the service says so if there is neither."""
    from bursar.client import ServiceError

    errors = []
    for name in FILES if stream is None else (stream,):
        try:
            for part in client.log(work, task, name):
                _print_part(part)
        except ServiceError as error:
            errors.append(error)
            if error.status != NOT_FOUND or stream is not None or len(errors) == len(FILES):
                raise


def _print_part(part: bytes) -> None:
    """A file gets the bytes as they are; a terminal would obey the control codes in them."""
    if sys.stdout.isatty():
        print_line(part.decode("utf-8", "backslashreplace").rstrip("\n"))
    else:
        sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()


def _print(file: Path, *, follow: bool) -> None:
    try:
        with file.open("rb") as opened:
            while True:
                while part := opened.read(1 << 16):
                    _print_part(part)
                if not follow or not file.exists():
                    return
                time.sleep(PACE_S)
    except FileNotFoundError:
        return  # it was moved to its place meanwhile
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
