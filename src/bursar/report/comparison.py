"""Policies side by side on one page: tables with the best of each column marked, and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

import msgspec

from bursar.report.pictures import document
from bursar.report.plot import Plot, svg

_CELL: Final = "padding:5px 14px 5px 0;white-space:nowrap;border-top:1px solid #8886;text-align:"
_BEST: Final = "font-weight:700"


class ComparedTable(msgspec.Struct, frozen=True):
    """Texts, as a terminal shows them."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    left: int = 1
    """columns of names, before those of figures"""
    less: tuple[str, ...] = ()
    """columns in which less is better ..."""
    more: tuple[str, ...] = ()
    """... and those in which more is"""
    figures: Mapping[str, tuple[float | None, ...]] = msgspec.field(default_factory=dict)
    """by column, a number for each row, where texts have units that differ"""

    units: Mapping[str, str] = msgspec.field(default_factory=dict)
    """by column, the unit of its figures, where neither its name nor its texts have one"""

    def heads(self) -> list[str]:
        """The columns with their units."""
        return [
            f"{name}, {self.units[name]}" if name in self.units else name for name in self.columns
        ]

    def best(self) -> set[tuple[int, int]]:
        """Places of the best figures: row and column; none where all are alike."""
        found: set[tuple[int, int]] = set()
        for place, name in enumerate(self.columns):
            if name not in (*self.less, *self.more):
                continue
            figures = self.figures.get(name) or [_figure(row[place]) for row in self.rows]
            known = [one for one in figures if one is not None]
            if len(set(known)) < 2:
                continue
            wanted = min(known) if name in self.less else max(known)
            found |= {(row, place) for row, one in enumerate(figures) if one == wanted}
        return found


def comparison_html(title: str, tables: Sequence[ComparedTable], plots: Sequence[Plot]) -> str:
    """One file that needs nothing else."""
    drawn = "".join(
        '<div style="overflow-x:auto;margin:16px 0" tabindex="0" role="region"'
        f' aria-label="{escape(one.title)}">{svg(one)}</div>'
        for one in plots
    )
    body = (
        '<div style="font:14px/1.45 system-ui,sans-serif;font-variant-numeric:tabular-nums;'
        'max-width:1232px;margin:0 auto">'
        f'<h1 style="font-size:21px">{escape(title)}</h1>'
        f"{''.join(map(_table, tables))}{drawn}</div>"
    )
    return document(title, body)


def _table(table: ComparedTable) -> str:
    best = table.best()
    sides = ["left" if n < table.left else "right" for n in range(len(table.columns))]
    head = "".join(
        f'<th scope="col" style="{_CELL}{side};border:0;font-weight:400">{escape(name)}</th>'
        for name, side in zip(table.heads(), sides, strict=True)
    )
    rows = []
    for number, row in enumerate(table.rows):
        cells = (
            f'<td style="{_CELL}{sides[n]}{";" + _BEST if (number, n) in best else ""}">'
            f"{escape(text)}</td>"
            for n, text in enumerate(row)
        )
        rows.append(f"<tr>{''.join(cells)}</tr>")
    marked = "Bold: the best of a column. " if best else ""
    return (
        f'<h2 style="font-size:16px;margin:20px 0 4px">{escape(table.title)}</h2>'
        '<div style="overflow-x:auto" tabindex="0" role="region"'
        f' aria-label="{escape(table.title)}"><table style="border-collapse:collapse">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        f'<p style="opacity:.75;max-width:90ch">{marked}{escape(table.note)}</p>'
    )


def _figure(text: str) -> float | None:
    """The number in a text with a sign or a unit around it; None: it has none."""
    digits = "".join(letter for letter in text if letter.isdigit() or letter in ".-")
    try:
        return float(digits)
    except ValueError:
        return None
