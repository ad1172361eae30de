"""The sample that `bursar plan` runs first: a few tasks on every offer, whose results are kept."""

from __future__ import annotations

import sys
from typing import Final

import msgspec
import rich_click as click

from bursar.beliefs.sampling import sample_size
from bursar.cli.common import home, say
from bursar.cli.progress import progress
from bursar.cli.run import request_of
from bursar.formats.job import Job
from bursar.journal.runs import RunDir
from bursar.model.amount import money_in
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market
from bursar.model.money import ZERO, Money, format_money
from bursar.model.text import counted
from bursar.model.time import format_duration
from bursar.report.summary import NOT_INCLUDED, tell
from bursar.runs.planning import sample_cap
from bursar.runs.session import Session
from bursar.state.events import RunEnded

LARGE_PART: Final = 4
"""A sample that may cost more than one part in so many of the budget is asked for."""


def run_sample(job: Job, workers: int, budget: str | None, *, yes: bool) -> tuple[RunDir, RunEnded]:
    """Run a sample of the job's tasks, and tell how it went if it cannot be planned from."""
    request = request_of(job)
    cap = _sample_cap(request.market, workers, budget, job.budget)
    request = msgspec.structs.replace(
        request,
        goal=Goal(budget=None if request.market.is_free else cap),
        policies={"provisioner": "sample", "placer": "sample"},
        sample_workers=workers,
    )
    request.check()
    if budget is None and not yes and not request.market.is_free:
        _confirm(cap, job.budget, request.market.currency)
    quiet = bool(job.quiet)
    with Session.begin(home(), request) as session:
        state = session.state
        most = f"for at most {format_money(cap, request.market.currency)} ({NOT_INCLUDED})"
        say(
            f"sampling {sample_size(state.total)} of {counted(state.total, 'task')} on"
            f" {counted(len(request.market.offers), 'offer')},"
            f" {'free of charge' if request.market.is_free else most}",
            quiet=quiet,
        )
        with progress(state, quiet=quiet) as live:
            ended = session.execute([live.forecast])
        cost = format_money(state.ledger.committed, request.market.currency)
        kept = (
            f"{counted(state.done, 'task')} done and kept in {format_duration(state.now)}, {cost}"
        )
        say(kept, quiet=quiet)
        if ended.status not in ("planned", "budget", "done"):
            for line in tell(state, first=quiet):
                say(line)
        return session.run_dir, ended


def _sample_cap(market: Market, workers: int, asked: str | None, budget: Money | None) -> Money:
    """What the sample may cost: never more than the whole budget."""
    if asked is None:
        usual = sample_cap(market, workers)
        return usual if budget is None else min(usual, budget)
    try:
        cap = money_in(market.currency, asked)
    except InputError as error:
        raise InputError(f"--sample-budget: {error}") from None
    if cap < ZERO:
        raise InputError(f"--sample-budget: {cap} is negative; use 0 or more")
    if budget is not None and cap > budget:
        most = format_money(budget, market.currency)
        raise InputError(f"--sample-budget: more than the budget of {most}; give less")
    return cap


def _confirm(cap: Money, budget: Money | None, currency: str) -> None:
    """Ask before a large part of the budget goes into the sample; refuse if nobody can answer."""
    if budget is None or cap * LARGE_PART <= budget:
        return
    danger = (
        f"the sample may cost {format_money(cap, currency)} of the budget of"
        f" {format_money(budget, currency)}"
    )
    if not sys.stdin.isatty():
        raise InputError(f"{danger}: confirm with --yes, or set a limit with --sample-budget")
    click.confirm(f"{danger[0].upper()}{danger[1:]}. Continue?", err=True, abort=True)
