"""The page of reproductions in the documentation, written from the computed rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from bursar.model.text import counted
from bursar.reproduce.result import Counts, Figure, Reproduction, Row, Verdict

HEAD: Final = """\
# Reproductions

Published figures beside those that bursar computes. Written by `make reproduce`;
`bursar reproduce NAME` computes one of them again.

A row says **yes** if ours lies within its band, **no** if it does not, and **not judged** if it has
no band. A band is stated before the run, with its reason: what the source prints, its own spread,
or the chance in so many draws. Rows without a published figure are demands of our own, or
information.
"""
PLAIN: Final = 1e3
LARGE: Final = 1e9
"""from and below this a figure is written without a fraction and without an exponent"""


def figure(value: Figure) -> str:
    """A figure with about four digits."""
    if value is None:
        return ""
    if isinstance(value, float) and PLAIN <= abs(value) < LARGE:
        return f"{value:,.0f}"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def plot_file(found: Reproduction, number: int) -> str:
    """The name of the file with one of its plots."""
    return f"{found.name}.svg" if number == 0 else f"{found.name}-{number + 1}.svg"


def page(reproductions: Iterable[Reproduction]) -> str:
    """Markdown: a summary, a table for each reproduction, and what was assumed."""
    every = list(reproductions)
    lines = [HEAD, *_summary(every)]
    for found in every:
        lines.extend(_section(found))
    return "\n".join(lines)


def tally(counts: Counts) -> str:
    """The counts in words."""
    of = counts.of_published
    told = (
        f"{counts.rows:,} rows; {counted(counts.published, 'published figure')}:"
        f" {of[Verdict.YES]} yes, {of[Verdict.NO]} no, {of[Verdict.NOT_JUDGED]} not judged"
    )
    own = counts.of_own
    demands = own[Verdict.YES] + own[Verdict.NO]
    return told + (f"; {own[Verdict.YES]} of {demands} demands of our own hold" if demands else "")


def _summary(every: Sequence[Reproduction]) -> Iterator[str]:
    yield "## Summary"
    yield ""
    yield f"{tally(Counts.of(row for found in every for row in found.rows))}."
    yield ""
    yield "| entry | rows | published | yes | no | not judged | own demands: yes | no |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for found in every:
        counts = found.counts
        own = (counts.of_own[verdict] for verdict in (Verdict.YES, Verdict.NO))
        cells = (counts.rows, counts.published, *counts.of_published.values(), *own)
        link = f"[{found.name}](#{found.name.replace('.', '')})"
        yield f"| {link} | {' | '.join(map(str, cells))} |"
    yield ""
    if any(found.failed for found in every):
        yield "Each row that says no, and why:"
        yield ""
    for found in every:
        for row in found.failed:
            yield f"- {found.name}: {row.what}: {_apart(row)}: {row.why or 'not known why'}"
    yield ""


def _apart(row: Row) -> str:
    """What is demanded, and what came out."""
    ours = f"ours {figure(row.ours)}"
    if row.paper is not None:
        return f"paper {figure(row.paper)}, {ours}"
    return f"{ours}, not {figure(row.low)} to {figure(row.high)}"


def _section(found: Reproduction) -> Iterator[str]:
    yield f"## {found.name}"
    yield ""
    yield f"{found.title} ({found.source}). {tally(found.counts)}."
    yield ""
    yield "| what | paper | ours | low | high | band | verdict | note |"
    yield "|---|---:|---:|---:|---:|---|---|---|"
    for row in found.rows:
        figures = (figure(value) for value in (row.paper, row.ours, row.low, row.high))
        verdict = f"**{row.verdict}**" if row.verdict is Verdict.NO else str(row.verdict)
        yield f"| {' | '.join((row.what, *figures, row.reason, verdict, row.told))} |"
    yield ""
    for number, plot in enumerate(found.plots):
        yield f"![{plot.title}](plots/{plot_file(found, number)})"
        yield ""
    for line in found.assumed:
        yield f"- Assumed: {line}"
    if found.assumed:
        yield ""
