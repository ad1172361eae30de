"""The page of reproductions in the documentation, written from the computed rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bursar.reproduce.result import Figure, Reproduction


def figure(value: Figure) -> str:
    """A figure with about four digits."""
    if value is None:
        return ""
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def plot_file(found: Reproduction, number: int) -> str:
    """The name of the file with one of its plots."""
    return f"{found.name}.svg" if number == 0 else f"{found.name}-{number + 1}.svg"


def page(reproductions: Iterable[Reproduction]) -> str:
    """Markdown: a table for each reproduction, and what was assumed."""
    lines = [
        "# Reproductions",
        "",
        "Published figures beside those that bursar computes. Written by `make reproduce`;",
        "`bursar reproduce NAME` computes one of them anew.",
        "",
    ]
    for found in reproductions:
        lines.extend(_section(found))
    return "\n".join(lines)


def _section(found: Reproduction) -> Iterator[str]:
    yield f"## {found.name}"
    yield ""
    yield f"{found.title} ({found.source})."
    yield ""
    yield "| what | paper | ours | low | high | ok | note |"
    yield "|---|---:|---:|---:|---:|---|---|"
    for row in found.rows:
        figures = (figure(value) for value in (row.paper, row.ours, row.low, row.high))
        verdict = "yes" if row.ok else "**no**"
        yield f"| {' | '.join((row.what, *figures, verdict, row.note))} |"
    yield ""
    for number, plot in enumerate(found.plots):
        yield f"![{plot.title}](plots/{plot_file(found, number)})"
        yield ""
    for line in found.assumed:
        yield f"- Assumed: {line}"
    if found.assumed:
        yield ""
