"""The list of all runs: a row each, from the digests of their journals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final
from urllib.parse import quote

import msgspec

from bursar.journal.replay import load_digest
from bursar.journal.runs import Home, RunDir
from bursar.model.errors import BursarError
from bursar.model.text import counted
from bursar.report.page.html import escape
from bursar.report.page.numbers import amount, duration, share
from bursar.report.page.watch import is_executed
from bursar.report.summary import ABANDONED, STATUS_TEXT
from bursar.state.digest import Digest

MOST: Final = 300
"""runs in the list, the latest"""
TONES: Final = {
    "running": "running",
    "done": "useful",
    "failed": "failed",
    "planned": "idle",
}


class RunRow(msgspec.Struct, frozen=True):
    """Texts as they are shown; bars as parts of 1."""

    run: str
    state: str
    tone: str
    done: str
    failed: str
    tasks: dict[str, float]
    used: float | None
    committed: str
    budget: str
    chance: str
    """to keep budget and deadline, of a run that goes on"""
    time: str


class RunList(msgspec.Struct, frozen=True):
    verdict: str
    more: str
    rows: list[RunRow]


def run_list(home: Home) -> RunList:
    """All runs of a place, the latest first."""
    rows = [_row(run) for run in home.list()[:MOST]]
    live = sum(row.state == "running" for row in rows)
    short = sum(row.tone not in ("running", "useful", "idle") for row in rows)
    ended = counted(len(rows) - live, "run")
    verdict = f"{counted(live, 'run')} {'is' if live == 1 else 'are'} live."
    if not live:
        verdict = f"No run is live. {ended} ended." if rows else "No run yet."
    more = f"{counted(short, 'run')} ended short of the goal." if short else ""
    return RunList(verdict, more, rows)


def _row(run: RunDir) -> RunRow:
    try:
        digest = load_digest(run.journal)
    except BursarError as error:
        why = str(error).removeprefix(f"{run.journal}: ")
        return RunRow(run.name, f"unreadable: {why}", "failed", "", "", {}, None, "", "", "", "")
    word, tone = _state(run, digest)
    total, budget, currency = max(1, digest.total), digest.budget, digest.currency
    used = digest.committed if digest.interval is None else digest.interval.committed
    has_users = digest.accounts > 1
    return RunRow(
        run=run.name,
        state=word,
        tone=tone,
        done=f"{digest.done:,} / {digest.total:,}",
        failed=f"{digest.failed:,}" if digest.failed else "–",
        tasks={
            "useful": digest.done / total,
            "failed": (digest.failed + digest.blocked) / total,
            "running": min(digest.attempts, total - digest.settled) / total,
        },
        used=float(Fraction(used.nanos, budget.nanos)) if budget and not has_users else None,
        committed="free" if digest.is_free else amount(digest.committed, currency),
        budget=_budget(digest),
        chance="–" if word != "running" or digest.chance is None else share(digest.chance),
        time=duration(digest.elapsed),
    )


def _budget(digest: Digest) -> str:
    """Budgets of several users may be for intervals of their own: they have no sum."""
    if digest.accounts > 1:
        return counted(digest.accounts, "user")
    every = "" if digest.interval is None else f" per {duration(digest.interval.every)}"
    return "none" if digest.budget is None else f"{amount(digest.budget, digest.currency)}{every}"


def _state(run: RunDir, digest: Digest) -> tuple[str, str]:
    if digest.status is not None:
        return STATUS_TEXT[digest.status], TONES.get(digest.status, "off")
    return ("running", "running") if is_executed(run) else (ABANDONED, "off")


def rows_html(rows: Sequence[RunRow]) -> str:
    return "\n".join(map(_row_html, rows))


def _row_html(row: RunRow) -> str:
    address, name = quote(row.run, safe=""), escape(row.run)
    cells = [
        f'<td><a href="/run/{address}"><b>{name}</b></a></td>',
        f'<td><span class="state"><i class="{row.tone}"></i>{escape(row.state)}</span></td>',
        "<td></td>",
        f'<td class="r">{escape(row.done)}</td>',
        f'<td class="r">{escape(row.failed)}</td>',
        "<td></td>",
        f'<td class="r">{escape(row.committed)}</td>',
        f'<td class="r">{escape(row.budget)}</td>',
        f'<td class="r">{escape(row.chance)}</td>',
        f'<td class="r">{escape(row.time)}</td>',
    ]
    return f"<tr>{''.join(cells)}</tr>"
