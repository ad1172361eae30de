"""`bursar reproduce`: the figures of the papers, beside ours."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

import rich_click as click

from bursar.cli.common import print_json, print_line, print_table, say, write_text
from bursar.cli.options import OUTPUT, json_option, option, settings
from bursar.model.errors import InputError, shown
from bursar.model.text import counted
from bursar.report.plot import svg
from bursar.reproduce.page import figure, tally
from bursar.reproduce.result import ENTRIES, Reproduction, Verdict, reproduce

_COLUMNS: Final = ("what", "paper", "ours", "low", "high", "verdict", "note")


@click.command(context_settings=settings)
@click.argument("name", required=False)
@option(OUTPUT, "--list", "as_list", is_flag=True, help="List the names of all reproductions.")
@option(OUTPUT, "--plot", metavar="FILE.svg", help="Draw the figure into this file.")
@option(
    OUTPUT,
    "--html",
    metavar="FILE",
    help="Write table and plots into one page that opens in any browser.",
)
@option(
    OUTPUT,
    "--quick",
    is_flag=True,
    help="Compute with fewer draws, where a reproduction has a quick form.",
)
@json_option
def command(
    name: str | None,
    as_list: bool,
    plot: str | None,
    html: str | None,
    quick: bool,
    as_json: bool,
) -> int:
    """Recompute a table or figure of a paper, and show it beside the published one.

    Each row says yes, no or not judged. Ends with 3 if a row says no.
    """
    if as_list:
        print_line("\n".join(ENTRIES))
        return 0
    if name is None:
        raise InputError("name a table or figure: bursar reproduce NAME; --list shows all names")
    found = reproduce(name, quick=quick)
    if as_json:
        print_json(_values(found))
    else:
        _show(found)
    if plot is not None:
        _draw(found, plot)
    if html is not None:
        write_text(html, _page(found))
    return 3 if found.failed else 0


def _values(found: Reproduction) -> dict[str, object]:
    counts = found.counts
    return {
        "name": found.name,
        "rows": [
            {
                "what": row.what,
                "paper": row.paper,
                "ours": row.ours,
                "low": row.low,
                "high": row.high,
                "band": row.reason,
                "verdict": row.verdict,
                "note": row.remark,
            }
            for row in found.rows
        ],
        "published": counts.of_published,
        "own demands": counts.of_own,
    }


def _draw(found: Reproduction, target: str) -> None:
    if not found.plots:
        raise InputError(f"{found.name} is a table and has no plot; leave --plot out")
    try:
        Path(target).write_text(svg(found.plots[0]), encoding="utf-8")
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InputError(f"{shown(target)}: cannot write the plot: {why}") from None


def _page(found: Reproduction) -> str:
    """The table and all plots as a file."""
    from bursar.report.comparison import ComparedTable, comparison_html  # late: they bring numpy

    notes = " ".join(f"{line}." for line in [tally(found.counts).rstrip("."), *_notes(found)])
    table = ComparedTable(found.source, _COLUMNS, _rows(found), notes)
    return comparison_html(found.title, [table], found.plots)


def _show(found: Reproduction) -> None:
    print_line(f"{found.title} ({found.source})")
    print_table(_COLUMNS, _rows(found), right="paper ours low high")
    print_line(tally(found.counts))
    for note in _notes(found):
        say(note)


def _rows(found: Reproduction) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            row.what,
            figure(row.paper),
            figure(row.ours),
            figure(row.low),
            figure(row.high),
            row.verdict.upper() if row.verdict is Verdict.NO else row.verdict,
            row.remark,
        )
        for row in found.rows
    )


def _notes(found: Reproduction) -> list[str]:
    """Where bands come from, and what was assumed."""
    reasons = Counter(row.reason for row in found.rows if row.reason)
    bands = [f"Band of {counted(count, 'row')}: {reason}" for reason, count in reasons.items()]
    return [*bands, *(f"Assumed: {line}" for line in found.assumed)]
