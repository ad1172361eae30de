"""`bursar stop`: stop a run that another process executes."""

from __future__ import annotations

import os
import signal

import rich_click as click

from bursar.cli.common import home, run_argument, say
from bursar.cli.options import FAILURES, option, settings
from bursar.model.errors import InputError


@click.command(context_settings=settings)
@run_argument()
@option(FAILURES, "--now", is_flag=True, help="Stop running attempts, too, without waiting.")
def command(run: str | None, now: bool) -> None:
    """Stop a run: start no more tasks, let running attempts finish, release the machines.

    Nothing is lost: bursar resume RUN continues it.
    """
    found = home().find(run)
    owner = found.owner()
    if not owner:
        raise InputError(
            f"run {found.name} is not running on this computer: there is nothing to stop"
        )
    try:
        os.kill(owner, signal.SIGQUIT if now else signal.SIGTERM)
    except PermissionError:
        raise InputError(found.belongs()) from None
    except ProcessLookupError:
        raise InputError(f"run {found.name} has just ended: there is nothing to stop") from None
    say(f"asked process {owner} to stop {found.name} {'now' if now else 'after its running tasks'}")
