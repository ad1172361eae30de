"""`bursar clean`: machines that a run left behind."""

from __future__ import annotations

import rich_click as click

from bursar.cli.common import home, print_json, print_table, say
from bursar.cli.options import MACHINES, json_option, option, settings
from bursar.model.errors import BursarError
from bursar.model.text import counted


@click.command(context_settings=settings)
@option(MACHINES, "--dry-run", is_flag=True, help="List them only; release nothing.")
@json_option
def command(dry_run: bool, as_json: bool) -> int:
    """List and release machines of runs that are not being executed.

    Looks where the runs of this directory had their machines: hosts, Slurm, EC2, Dask clusters.
    Such machines end with their leases anyway; this ends them now.
    """
    from bursar.runs.clean import left_machines

    problems: list[str] = []
    left = list(left_machines(home(), problems.append))
    for one in () if dry_run else left:
        try:
            one.end()
        except BursarError as error:
            problems.append(f"{one.machine.where}: {error}")
    if as_json:
        print_json([one.machine for one in left])
    elif left:
        rows = [(one.machine.run, str(one.machine.machine), one.machine.where) for one in left]
        print_table(("run", "machine", "where"), rows)
    for problem in problems:
        say(f"bursar: {problem}")
    if not as_json:
        done = "found" if dry_run else "released"
        where = " where one could ask" if problems else ""
        none = f"no machine was left behind{where}"
        say(f"{counted(len(left), 'machine')} {done}" if left else none)
    return 1 if problems else 0
