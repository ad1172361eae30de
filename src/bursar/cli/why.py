"""`bursar why`: decisions and their reasons."""

from __future__ import annotations

import rich_click as click

from bursar.cli.common import home, json_option, print_json, run_argument
from bursar.journal.store import JournalReader
from bursar.model.time import seconds
from bursar.report.decisions import clock, decisions


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@run_argument()
@click.option("--task", type=int, metavar="N", help="Tell the story of this task instead.")
@json_option
def command(run: str | None, task: int | None, as_json: bool) -> None:
    """Tell what was decided in a run, when, and why."""
    found = home().find(run)
    if task is not None:
        _story(found.journal, task, as_json=as_json)
        return
    with JournalReader(found.journal) as reader:
        told = list(decisions(reader.events()))
    if as_json:
        print_json(told)
        return
    for one in told:
        reason = f"   {one.why}" if one.why else ""
        click.echo(f"{clock(seconds(one.at_s)):>8}  {one.what}{reason}")


def _story(journal: object, task: int, *, as_json: bool) -> None:
    from pathlib import Path

    from bursar.journal.replay import load_state
    from bursar.model.errors import InputError

    state = load_state(Path(str(journal)))
    if not 1 <= task <= state.total:
        raise InputError(f"no task {task}: the run has tasks 1 to {state.total}")
    lines = state.story(task)
    if as_json:
        print_json(lines)
    else:
        for line in lines:
            click.echo(line)
