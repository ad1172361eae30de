"""`bursar why`: decisions and their reasons."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from bursar.cli.common import home, print_json, print_line, run_argument
from bursar.cli.options import OUTPUT, WORK, json_option, option, settings
from bursar.journal.reader import JournalReader
from bursar.journal.replay import load_state
from bursar.model.time import seconds
from bursar.report.decisions import clock, decisions, grouped


@click.command(context_settings=settings)
@run_argument()
@option(WORK, "--task", metavar="N", help="Show the attempts of one task, by its number or name.")
@option(
    OUTPUT, "--all", "every", is_flag=True, help="Print one line per decision, without grouping."
)
@json_option
def command(run: str | None, task: str | None, every: bool, as_json: bool) -> None:
    """Show what was decided in a run, when and why. Equal decisions are grouped."""
    found = home().find(run)
    if task is not None:
        _story(found.journal, task, as_json=as_json)
        return
    with JournalReader(found.journal) as reader:
        made = list(decisions(reader.events()))
    each = [one.line for one in made]
    if as_json:
        print_json(each)
        return
    for one in each if every else grouped(made):
        reason = f"   {one.why}" if one.why else ""
        print_line(f"{clock(seconds(one.at_s)):>8}  {one.what}{reason}")


def _story(journal: Path, task: str, *, as_json: bool) -> None:
    from bursar.runs.task_logs import task_number  # late: most of it is for other verbs

    state = load_state(journal)
    lines = state.story(task_number(task, state))
    if as_json:
        print_json(lines)
    else:
        for line in lines:
            print_line(line)
