"""Stopping a run that another process executes, as `bursar stop` and the page do."""

from __future__ import annotations

import os
import signal

from bursar.journal.runs import RunDir
from bursar.model.errors import InputError


def stop_run(run: RunDir, *, now: bool = False) -> str:
    """Ask its process to stop; tells what was asked. Nothing is lost, and it can be resumed."""
    owner = run.owner()
    if not owner:
        raise InputError(
            f"run {run.name} is not running on this computer: there is nothing to stop"
        )
    try:
        os.kill(owner, signal.SIGQUIT if now else signal.SIGTERM)
    except PermissionError:
        raise InputError(run.belongs()) from None
    except ProcessLookupError:
        raise InputError(f"run {run.name} has just ended: there is nothing to stop") from None
    when = "now" if now else "after its running tasks"
    return f"asked process {owner} to stop {run.name} {when}"
