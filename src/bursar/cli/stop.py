"""`bursar stop`: stop a run that another process executes."""

from __future__ import annotations

import os
import signal

import rich_click as click

from bursar.cli.common import home, run_argument, say
from bursar.model.errors import InputError


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@run_argument()
@click.option("--now", is_flag=True, help="Do not wait for running attempts.")
def command(run: str | None, now: bool) -> None:
    """Stop a run: start nothing more, let attempts finish, release the machines.

    Nothing is lost: bursar resume RUN goes on.
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
    say(f"asked process {owner} to stop {found.name} {'now' if now else 'gently'}")
