"""`bursar status`: runs, or one run."""

from __future__ import annotations

import rich_click as click

from bursar.cli.common import (
    home,
    print_json,
    print_line,
    print_table,
    run_argument,
    say,
)
from bursar.cli.options import json_option, settings
from bursar.cli.services import client_of, service_options
from bursar.journal.replay import load_digest
from bursar.journal.runs import RunDir
from bursar.model.budget_text import format_interval
from bursar.model.errors import BursarError
from bursar.model.fleet import format_fleet
from bursar.model.money import format_money
from bursar.model.text import counted
from bursar.model.time import format_duration
from bursar.report.summary import (
    ABANDONED,
    Summary,
    go_on,
    summary_of,
    tell_digest,
)
from bursar.state.digest import Digest


@click.command(context_settings=settings)
@run_argument()
@service_options("--of")
@json_option
def command(
    run: str | None,
    url: str | None,
    token_file: str | None,
    user: str | None,
    ca_file: str | None,
    as_json: bool,
) -> None:
    """List the runs of this directory, or show RUN in detail. A running run is not disturbed.

    With --of, list your works of a service, or show the one with the number RUN.
    """
    if url is not None:
        from bursar.cli.service_table import show_service

        with client_of(url, token_file, user, ca_file) as client:
            show_service(client, run, as_json=as_json)
        return
    if run is not None:
        _show(home().find(run), as_json=as_json)
        return
    runs = home().list()
    if as_json:
        print_json([_object(found) for found in runs])
    elif not runs:
        say("no runs here yet: start one with bursar run")
    else:
        columns = ("run", "status", "done", "committed", "budget", "time")
        print_table(columns, (_row(found) for found in runs), right="done committed budget time")


def _show(found: RunDir, *, as_json: bool) -> None:
    digest = load_digest(found.journal)
    if as_json:
        print_json(summary_of(digest))
        return
    is_abandoned = _is_abandoned(found, digest)
    for line in tell_digest(digest, is_abandoned=is_abandoned):
        print_line(line)
    if digest.machines:
        under_way = counted(digest.attempts, "attempt")
        print_line(f"machines: {format_fleet(digest.fleet)}; {under_way} under way")
    if is_abandoned:
        calls = "its Python calls are not in the journal: run your program again"
        advice = calls if digest.is_of_calls else f"continue with: {go_on(digest)}"
        print_line(f"no process executes it; {advice}")


def _object(found: RunDir) -> Summary | dict[str, str]:
    try:
        return summary_of(load_digest(found.journal))
    except BursarError as error:
        return {"run": found.name, "status": "unreadable", "why": _reason(found, error)}


def _reason(found: RunDir, error: BursarError) -> str:
    """Why a run cannot be shown, without its path: its name stands beside it."""
    return str(error).removeprefix(f"{found.journal}: ")


def _row(found: RunDir) -> tuple[str, ...]:
    try:
        digest = load_digest(found.journal)
    except BursarError as error:
        return (found.name, f"unreadable: {_reason(found, error)}", "", "", "", "")
    currency = digest.currency
    return (
        found.name,
        _status(found, digest),
        f"{digest.done:,}/{digest.total:,}",
        format_money(digest.committed, currency),
        _budget(digest),
        format_duration(digest.elapsed),
    )


def _budget(digest: Digest) -> str:
    """Budgets of several accounts may be for intervals of their own: they have no sum."""
    if digest.accounts > 1:
        return counted(digest.accounts, "account")
    if digest.budget is None:
        return "none"
    every = "" if digest.interval is None else format_interval(digest.interval.every)
    return f"{format_money(digest.budget, digest.currency)}{every}"


def _status(found: RunDir, digest: Digest) -> str:
    if digest.status is not None:
        return digest.status
    return ABANDONED if _is_abandoned(found, digest) else "running"


def _is_abandoned(found: RunDir, digest: Digest) -> bool:
    return digest.status is None and found.owner() is None
