"""`bursar submit`: give a bag or a workflow to a service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

from bursar.cli.common import WordsCommand, print_json, print_line, say, words_settings
from bursar.cli.numbers import Whole
from bursar.cli.options import OUTPUT, WORK, argument_options, option
from bursar.cli.services import client_of, service_options
from bursar.model.errors import InputError
from bursar.model.numbers import LARGEST_WHOLE
from bursar.model.text import counted
from bursar.model.work import Bag


@click.command(cls=WordsCommand, context_settings=words_settings)
@click.argument("words", nargs=-1, metavar="COMMAND|FLOW.yaml [::: ARGUMENTS]")
@argument_options
@option(
    WORK,
    "--priority",
    metavar="N",
    type=Whole(-LARGEST_WHOLE),
    help="Larger is more urgent (default: 0).",
)
@option(WORK, "--deadline", metavar="TIME", help="When it should be done, from now on: 2h.")
@option(WORK, "--key", metavar="TEXT", help="What is submitted twice with this key is run once.")
@service_options("--to")
@option(OUTPUT, "--wait", is_flag=True, help="Wait until it is done.")
@option(OUTPUT, "--quiet", "-q", is_flag=True, default=None, help="Print no message.")
@option(OUTPUT, "--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    words: tuple[str, ...],
    url: str | None,
    token_file: str | None,
    user: str | None,
    ca_file: str | None,
    priority: int | None,
    deadline: str | None,
    key: str | None,
    wait: bool,
    quiet: bool | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Submit commands or a workflow to a service, and print the number of the work.

    \b
    bursar submit flow.yaml --to http://127.0.0.1:8765
    bursar submit --to http://127.0.0.1:8765 './simulate.sh {}' ::: 1 2 3

    Words are those of bursar run. An answer that is lost is asked for again: nothing is submitted
    twice. Commands run where the service was started.
    """  # noqa: D301 (click wants the character)
    from bursar.formats.job import Job

    job = Job.from_command_line(words, options)
    if job.file is not None:
        raise InputError("a job file is for bursar run: submit its command or its workflow")
    given: dict[str, Any] = {"priority": priority, "deadline": deadline, "key": key}
    with client_of(url, token_file, user, ca_file) as client:
        if job.workflow is not None:
            content, name = _content(job.workflow), _named(job.workflow)
            work = client.submit_workflow(content, filename=name, **given)
        else:
            work = client.submit_bag(**_sent(job.bag()), **given)
        number = work["number"]
        tasks = counted(work["tasks"], "task")
        say(f"work {number}: {tasks} for {work['owner']}", quiet=bool(quiet))
        if wait:
            work = client.wait(number)
            done = f"{work['done']:,} of {tasks} done"
            say(f"work {number}: {work['status']}, {done}", quiet=bool(quiet))
    if as_json:
        print_json(work)
    else:
        print_line(str(number))
    return {"failed": 3, "cancelled": 130}.get(work["status"], 0)


def _content(path: str) -> bytes:
    from bursar.formats.files import source_name
    from bursar.formats.workflow import unpacked

    return unpacked(path, source_name(path))


def _named(path: str) -> str:
    """What tells its format, where that is not plain from the content."""
    return Path(path.removesuffix(".gz")).name


def _sent(bag: Bag) -> dict[str, Any]:
    """A bag as it is sent."""
    sent: dict[str, Any] = {"command": bag.template, "shell": bag.shell}
    if not bag.rows:
        return {**sent, "repeat": bag.count}
    is_named = bag.columns != tuple(str(at) for at in range(1, len(bag.columns) + 1))
    return {**sent, "rows": bag.rows, "columns": bag.columns if is_named else None}
