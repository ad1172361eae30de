"""`bursar resume`: go on with a run."""

from __future__ import annotations

import os
from functools import partial

import msgspec
import rich_click as click

from bursar.cli.common import home, print_json, read_as, run_argument, say
from bursar.cli.options import FAILURES, GOAL, OUTPUT, option, settings
from bursar.cli.run import drive
from bursar.journal.replay import load_digest, load_state
from bursar.journal.runs import RunDir
from bursar.model.budget_text import budget_in
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.option_words import COMMAND_LINE
from bursar.model.reading import read_duration
from bursar.model.text import counted
from bursar.model.time import format_duration
from bursar.report.summary import EXIT_CODES, budget_shown, summarise, tell
from bursar.runs.session import GoalOf, Session, check_budget
from bursar.state.digest import Digest
from bursar.state.state import RunState


@click.command(context_settings=settings)
@run_argument()
@option(
    GOAL,
    "--budget",
    "-b",
    metavar="MONEY",
    help="New budget for the whole run, including what is already committed; or 5/h.",
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
    new_goal = partial(_new_goal, budget=budget, deadline=deadline)
    digest = load_digest(found.journal)
    if digest.arrivals_open and not digest.is_of_calls:
        raise InputError(
            f"run {found.name} is a service, which takes more work: bursar serve --resume"
            f" {found.name}"
        )
    if _is_complete(digest, retry_failed=retry_failed):
        return _tell_complete(found, new_goal, quiet=quiet, as_json=as_json)
    with Session.take_up(found, new_goal, retry_failed=retry_failed) as session:
        os.chdir(session.directory)
        left = session.state.total - session.state.settled
        state = session.state
        cap = budget_shown(state.market, state.goal)
        what = f"{counted(left, 'task')} left, {cap}{_time_left(session)}"
        say(f"run {state.run}: {what}", quiet=quiet)
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


def _is_complete(digest: Digest, *, retry_failed: bool) -> bool:
    if digest.arrivals_open or digest.settled < digest.total or digest.machines:
        return False
    return not (retry_failed and digest.failed)


def _tell_complete(run: RunDir, new_goal: GoalOf, *, quiet: bool, as_json: bool) -> int:
    """Say how a run ended of which nothing is left to do."""
    state = load_state(run.journal)
    new_goal(state)
    if not quiet:
        for line in tell(state):
            say(line)
    if as_json:
        print_json(summarise(state))
    return EXIT_CODES["failed" if state.failed else "done"]


def _new_goal(state: RunState, budget: str | None, deadline: str | None) -> Goal | None:
    """The goal that is asked for, checked even if nothing is left to do; None: as before."""
    changed = state.goal
    if budget is not None:
        new = read_as("--budget", partial(budget_in, state.market.currency), budget)
        changed = msgspec.structs.replace(changed, budget=new.amount, every=new.every)
        check_budget(state, changed, COMMAND_LINE)
    if deadline is not None:
        until = state.begun + read_as("--deadline", partial(read_duration, least=1), deadline)
        changed = msgspec.structs.replace(changed, deadline=until)
    return changed if changed != state.goal else None
