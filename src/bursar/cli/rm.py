"""`bursar rm`: remove runs."""

from __future__ import annotations

import sys

import rich_click as click

from bursar.cli.common import complete_run, home, say
from bursar.cli.options import OUTPUT, option, settings
from bursar.model.errors import InputError


@click.command(context_settings=settings)
@click.argument("runs", nargs=-1, required=True, shell_complete=complete_run)
@option(OUTPUT, "--yes", "-y", is_flag=True, help="Do not ask.")
def command(runs: tuple[str, ...], yes: bool) -> None:
    """Remove runs, with their journals and the results in their directories.

    Results that were written elsewhere, by --output or by a workflow, stay. A run that is being
    executed is refused.
    """
    from bursar.runs.removing import remove_run

    known = {run.name: run for run in home().list()}
    missing = [name for name in runs if name not in known]
    if missing:
        raise InputError(f"no run '{missing[0]}' in {home().path}; write the whole name")
    if not yes:
        if not sys.stdin.isatty():
            raise InputError("nobody can be asked here: add --yes to remove them")
        names = ", ".join(dict.fromkeys(runs))
        if not click.confirm(f"Remove {names}, with journal and results?", err=True):
            raise click.Abort
    for name in dict.fromkeys(runs):
        left = remove_run(known[name])
        stays = f"; {left[0].parent} stays, as it has other files" if left else ""
        say(f"removed {name}{stays}")
