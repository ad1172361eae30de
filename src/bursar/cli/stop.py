"""`bursar stop`: stop a run that another process executes."""

from __future__ import annotations

import rich_click as click

from bursar.cli.common import home, run_argument, say
from bursar.cli.options import FAILURES, option, settings


@click.command(context_settings=settings)
@run_argument()
@option(FAILURES, "--now", is_flag=True, help="Stop running attempts, too, without waiting.")
def command(run: str | None, now: bool) -> None:
    """Stop a run: start no more tasks, let running attempts finish, release the machines.

    Nothing is lost: bursar resume RUN continues it.
    """
    from bursar.runs.stopping import stop_run

    say(stop_run(home().find(run), now=now))
