"""`bursar resume`: go on with a run."""

from __future__ import annotations

import os

import msgspec
import rich_click as click

from bursar.cli.common import home, print_json, run_argument, say
from bursar.cli.options import FAILURES, GOAL, OUTPUT, option, settings
from bursar.cli.run import drive
from bursar.journal.replay import load_state
from bursar.model.goal import Goal
from bursar.model.reading import read_duration, read_money
from bursar.model.text import counted
from bursar.model.time import format_duration
from bursar.report.summary import EXIT_CODES, budget_told, summarise, tell
from bursar.runs.session import Session, check_budget
from bursar.state.state import RunState


@click.command(context_settings=settings)
@run_argument()
@option(
    GOAL,
    "--budget",
    "-b",
    metavar="MONEY",
    help="New budget for the whole run, including what is already committed.",
)
@option(GOAL, "--deadline", metavar="TIME", help="New deadline, counted from the start of the run.")
@option(FAILURES, "--retry-failed", is_flag=True, help="Retry the tasks that failed.")
@option(OUTPUT, "--quiet", "-q", is_flag=True, help="Print no progress and no report.")
@option(OUTPUT, "--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
def command(
    run: str | None,
    budget: str | None,
    deadline: str | None,
    retry_failed: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Continue a run that was interrupted, crashed or stopped by its budget.

    Finished tasks are not repeated; tasks that were running start again. Without RUN, the most
    recent run continues.
    """
    found = home().find(run)
    state = load_state(found.journal)
    goal = _new_goal(state, budget, deadline)
    if _is_complete(state, retry_failed=retry_failed):
        if not quiet:
            for line in tell(state):
                say(line)
        if as_json:
            print_json(summarise(state))
        return EXIT_CODES["failed" if state.failed else "done"]
    with Session.take_up(found, goal, retry_failed=retry_failed) as session:
        os.chdir(session.directory)
        left = session.state.total - session.state.settled
        state = session.state
        cap = budget_told(state.market, state.goal.budget)
        told = f"{counted(left, 'task')} left, {cap}{_time_left(session)}"
        say(f"run {state.run}: {told}", quiet=quiet)
        return drive(session, quiet=quiet, as_json=as_json)


def _time_left(session: Session) -> str:
    """What is left of the deadline, if there is one."""
    deadline = session.state.goal.deadline
    if deadline is None:
        return ""
    left = deadline - session.world.now()
    if left <= 0:
        return f"; its deadline passed {format_duration(-left)} ago: give --deadline LATER"
    return f", and {format_duration(left)} until its deadline"


def _is_complete(state: RunState, *, retry_failed: bool) -> bool:
    if state.arrivals_open or state.settled < state.total or state.machines:
        return False
    return not (retry_failed and state.failed)


def _new_goal(state: RunState, budget: str | None, deadline: str | None) -> Goal | None:
    """The goal that is asked for, checked even if nothing is left to do; None: as before."""
    changed = state.goal
    if budget is not None:
        money = read_money(budget, state.market.currency)
        changed = msgspec.structs.replace(changed, budget=money)
        check_budget(state, changed)
    if deadline is not None:
        until = state.begun + read_duration(deadline, least=1)
        changed = msgspec.structs.replace(changed, deadline=until)
    return changed if changed != state.goal else None
