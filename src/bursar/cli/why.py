"""`bursar why`: decisions and their reasons."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from bursar.cli.common import home, print_json, print_line, run_argument
from bursar.cli.options import OUTPUT, WORK, json_option, option, settings
from bursar.journal.reader import JournalReader
from bursar.journal.replay import load_state
from bursar.model.errors import InputError, shown
from bursar.model.numbers import is_position
from bursar.model.time import seconds
from bursar.model.workflow import Workflow
from bursar.report.decisions import clock, decisions, grouped
from bursar.state.state import RunState


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
    state = load_state(journal)
    lines = state.story(_number(task, state))
    if as_json:
        print_json(lines)
    else:
        for line in lines:
            print_line(line)


def _number(task: str, state: RunState) -> int:
    """The task of this number, or of this name in a workflow."""
    if is_position(task, state.total):
        return int(task)
    for before, work in state.work:
        if isinstance(work.tasks, Workflow) and task in work.tasks.names:
            return before + work.tasks.names.index(task) + 1
    raise InputError(f"no task {shown(task)}: the run has tasks 1 to {state.total}")
