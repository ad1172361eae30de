"""`bursar logs`: what a task printed."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import rich_click as click

from bursar.cli.common import complete_run, home, print_json, print_line, say
from bursar.cli.options import OUTPUT, WORK, json_option, option, settings
from bursar.model.errors import InputError

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
@option(OUTPUT, "--stderr", "stream", flag_value="stderr", help="Standard error alone.")
@option(OUTPUT, "--stdout", "stream", flag_value="stdout", help="Standard output alone.")
@option(OUTPUT, "--follow", "-f", is_flag=True, help="Go on while the task is running.")
@json_option
def command(task: str, run: str | None, stream: str | None, follow: bool, as_json: bool) -> None:
    """Print what a task wrote to standard output and error, also while it is running.

    TASK is its number, or its name in a workflow.
    """
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


def _print(file: Path, *, follow: bool) -> None:
    """A file gets the bytes as they are; a terminal would obey the control codes in them."""
    try:
        with file.open("rb") as opened:
            while True:
                while part := opened.read(1 << 16):
                    if sys.stdout.isatty():
                        print_line(part.decode("utf-8", "backslashreplace").rstrip("\n"))
                    else:
                        sys.stdout.buffer.write(part)
                        sys.stdout.buffer.flush()
                if not follow or not file.exists():
                    return
                time.sleep(PACE_S)
    except FileNotFoundError:
        return  # it was moved to its place meanwhile
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
