"""The pages of reproductions in the documentation: one for each, and an index of all.

A page carries its summary in its first line, so that the index can be written from the pages that
are there: to compute one reproduction again does not ask for all the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from bursar.model.errors import InputError
from bursar.model.text import counted
from bursar.reproduce.result import Counts, Figure, Reproduction, Row, Verdict

HEAD: Final = """\
# Reproductions

Published figures beside those that bursar computes. Written by `make reproduce`;
`make reproduce ONLY="NAME ..."` writes some of the pages again, and `bursar reproduce NAME` shows
one of them on your screen.

A row says **yes** if ours lies within its band, **no** if it does not, and **not judged** if it has
no band. A band is stated before the run, with its reason: what the source prints, its own spread,
or the chance in so many draws. Rows without a published figure are demands of our own, or
information.
"""
SUMMARY_LINE: Final = ("<!-- summary: ", " -->")
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


class PageSummary(msgspec.Struct, frozen=True):
    """What the index says of a reproduction."""

    name: str
    counts: Counts
    failed: tuple[str, ...]
    """a line for each row that says no"""

    @staticmethod
    def of(found: Reproduction) -> PageSummary:
        return PageSummary(found.name, found.counts, tuple(map(_failure, found.failed)))


def entry_page(found: Reproduction) -> str:
    """Markdown: the summary, the table, the plots, and what was assumed."""
    summary = msgspec.json.encode(PageSummary.of(found)).decode()
    first = summary.replace(">", "\\u003e").join(SUMMARY_LINE)  # a comment ends at the first arrow
    return "\n".join((first, *_entry(found)))


def summary_in(text: str, place: str) -> PageSummary:
    """The summary of a page that `entry_page` wrote."""
    start, end = SUMMARY_LINE
    first = text.partition("\n")[0]
    try:
        if not (first.startswith(start) and first.endswith(end)):
            raise ValueError("its first line holds no summary")
        return msgspec.json.decode(first.removeprefix(start).removesuffix(end), type=PageSummary)
    except ValueError as error:
        message = f"{place}: this is no page of a reproduction ({error}); compute it again"
        raise InputError(message) from error


def index_page(summaries: Sequence[PageSummary], missing: Sequence[str] = ()) -> str:
    """Markdown: how many rows of each say yes and no, and why those that say no do."""
    return "\n".join((HEAD, *_table(summaries, missing), *_failures(summaries)))


def tally(counts: Counts) -> str:
    """The counts in words."""
    of = counts.of_published
    counted_rows = (
        f"{counts.rows:,} rows; {counted(counts.published, 'published figure')}:"
        f" {of[Verdict.YES]} yes, {of[Verdict.NO]} no, {of[Verdict.NOT_JUDGED]} not judged"
    )
    own = counts.of_own
    demands = own[Verdict.YES] + own[Verdict.NO]
    if not demands:
        return counted_rows
    return f"{counted_rows}; {own[Verdict.YES]} of {demands} demands of our own hold"


def _table(summaries: Sequence[PageSummary], missing: Sequence[str]) -> Iterator[str]:
    yield "## Summary"
    yield ""
    yield f"{tally(Counts.sum(one.counts for one in summaries))}."
    yield ""
    yield "| entry | rows | published | yes | no | not judged | own demands: yes | no |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for one in summaries:
        counts = one.counts
        own = (counts.of_own[verdict] for verdict in (Verdict.YES, Verdict.NO))
        cells = (counts.rows, counts.published, *counts.of_published.values(), *own)
        yield f"| [{one.name}](reproductions/{one.name}.md) | {' | '.join(map(str, cells))} |"
    yield ""
    if missing:
        yield f"Without a page yet: {', '.join(f'`{name}`' for name in missing)}."
        yield ""


def _failures(summaries: Iterable[PageSummary]) -> Iterator[str]:
    lines = [f"- {one.name}: {failure}" for one in summaries for failure in one.failed]
    if lines:
        yield from ("Each row that says no, and why:", "", *lines, "")


def _failure(row: Row) -> str:
    return f"{row.what}: {_apart(row)}: {row.why or 'not known why'}"


def _apart(row: Row) -> str:
    """What is demanded, and what came out."""
    ours = f"ours {figure(row.ours)}"
    if row.paper is not None:
        return f"paper {figure(row.paper)}, {ours}"
    return f"{ours}, not {figure(row.low)} to {figure(row.high)}"


def _entry(found: Reproduction) -> Iterator[str]:
    yield f"# {found.name}"
    yield ""
    yield f"{found.title} ({found.source}). {tally(found.counts)}."
    yield ""
    yield "| what | paper | ours | low | high | band | verdict | note |"
    yield "|---|---:|---:|---:|---:|---|---|---|"
    for row in found.rows:
        figures = (figure(value) for value in (row.paper, row.ours, row.low, row.high))
        verdict = f"**{row.verdict}**" if row.verdict is Verdict.NO else str(row.verdict)
        yield f"| {' | '.join((row.what, *figures, row.reason, verdict, row.remark))} |"
    yield ""
    for number, plot in enumerate(found.plots):
        yield f"![{plot.title}](../plots/{plot_file(found, number)})"
        yield ""
    for line in found.assumed:
        yield f"- Assumed: {line}"
    if found.assumed:
        yield ""
