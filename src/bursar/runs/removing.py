"""Removing a run: its journal and what bursar keeps with it, nothing that is somebody else's."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from bursar.journal.reader import JournalReader
from bursar.journal.replay import load_digest
from bursar.journal.runs import RunDir
from bursar.journal.writer import remove_journal
from bursar.model.errors import BursarError, InputError
from bursar.state.events import RunCreated


def remove_run(run: RunDir) -> list[Path]:
    """Remove a run that is not being executed; tells what stays in its directory.

    That is what bursar did not make. Results that were wanted elsewhere stay where they are.
    """
    with run.acquire():
        _check_machines(run)
        try:
            if run.outputs.is_symlink():
                run.outputs.unlink()
            elif run.outputs.exists():
                shutil.rmtree(run.outputs)
            remove_journal(run.journal)
            run.lock.unlink(missing_ok=True)
            left = sorted(run.path.iterdir())
            if not left:
                run.path.rmdir()
        except OSError as error:
            where = error.filename or run.path
            raise InputError(
                f"{where}: cannot be removed: {os.strerror(error.errno or 0)}"
            ) from None
    return left


def _check_machines(run: RunDir) -> None:
    """A run whose machines may still be up is needed to release them."""
    try:
        digest = load_digest(run.journal)
    except BursarError:
        return  # what cannot be read can be removed
    if digest.status is None and digest.machines and not _is_simulated(run):
        raise InputError(
            f"run {run.name} was cut off with machines up, which only it can release: bursar resume"
            f" {run.name} or bursar clean first"
        )


def _is_simulated(run: RunDir) -> bool:
    """A simulation that was kept and cut off has no machine that anybody could release."""
    with JournalReader(run.journal) as reader:
        created = reader.events_of([RunCreated], upto=1)
    return any(isinstance(one, RunCreated) and one.made_with.is_simulated for one in created)
