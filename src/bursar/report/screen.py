"""A run on a terminal, full screen: the page's figures, sparklines and lists, without a browser.

The same snapshot as the page, and the same states in the colours that a terminal has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bursar.model.text import printable
from bursar.report.page.money_split import USES
from bursar.report.page.numbers import SPACE
from bursar.report.page.series import Steps
from bursar.report.page.snapshot import RunSnapshot

COLOURS: Final = {
    "useful": "green",
    "running": "blue",
    "replica": "yellow",
    "off": "yellow",
    "failed": "red",
    "lost": "magenta",
    "booting": "cyan",
    "idle": "bright_black",
    "rounded": "bright_black",
    "ahead": "bright_black",
}
LETTERS: Final = dict(zip(USES, "█▓▚▒×†░·/ ", strict=True))
"""so that no state has its colour alone"""
TONES: Final = {"good": "green", "warn": "yellow", "bad": "red", "wait": "blue"}
BLOCKS: Final = " ▁▂▃▄▅▆▇█"
PANELS: Final = {"m": "machines", "w": "why", "f": "failures", "l": "longest", "o": "offers"}


def screen(shown: RunSnapshot, width: int, height: int, panel: str = "machines") -> Group:
    """As many lines as there is room for."""
    head: list[RenderableType] = [
        Text(_clean(shown.run), "bold") + Text(f"   {shown.state}   {shown.seq:,} events", "dim"),
        Text(_clean(shown.verdict.text), f"bold {TONES[shown.verdict.tone]}", no_wrap=True),
        Text(_clean(shown.verdict.more), "dim", no_wrap=True),
        Text(""),
        _tiles(shown),
        Text(""),
        *_sparks(shown, width),
        _money(shown, width),
        Text(""),
        _choice(panel),
    ]
    room = max(1, height - len(head) - 4)
    body = {
        "machines": _machines,
        "why": _why,
        "failures": _failures,
        "longest": _longest,
        "offers": _offers,
    }[panel]
    return Group(*head, *body(shown, width)[:room])


def sparkline(values: Sequence[float], most: float) -> str:
    """A line of blocks; nothing is a space, the most a full block."""
    top = len(BLOCKS) - 1
    return "".join(
        BLOCKS[max(0, min(top, round(top * value / most)))] if most else " " for value in values
    )


def sampled(steps: Steps, end: float, count: int) -> list[float]:
    """The value at so many moments from 0 to the end."""
    found, place = [], 0
    for number in range(1, count + 1):
        moment = end * number / count
        while place + 1 < len(steps.t) and steps.t[place + 1] <= moment:
            place += 1
        found.append(steps.v[place] if steps.t and steps.t[place] <= moment else 0.0)
    return found


def _tiles(shown: RunSnapshot) -> Table:
    table = Table.grid(padding=(0, 3, 0, 0))
    for _ in shown.tiles:
        table.add_column(no_wrap=True)
    table.add_row(*(Text(_clean(one.label), "dim") for one in shown.tiles))
    table.add_row(
        *(Text(_clean(one.value), "bold") + Text(f" {_clean(one.unit)}") for one in shown.tiles)
    )
    table.add_row(
        *(
            Text(f"{_clean(one.alert)} ", "red") + Text(_clean(one.more), "dim")
            for one in shown.tiles
        )
    )
    return table


def _sparks(shown: RunSnapshot, width: int) -> list[RenderableType]:
    charts = shown.charts
    room = max(10, min(width - 34, 120))
    lines: list[RenderableType] = []
    for name, steps, most, colour, ending in (
        ("tasks done", charts.done, charts.total, "green", shown.tiles[0].value),
        ("running", charts.running, max(charts.running.v, default=1), "blue", ""),
        ("machines", charts.fleet, max(charts.fleet.v, default=1), "bright_black", ""),
        ("committed", charts.money, charts.budget or max(charts.money.v, default=1), "white",
         shown.tiles[1].value),
    ):  # fmt: skip
        values = sampled(steps, charts.now, room)
        last = ending or f"{values[-1] if values else 0:,.0f}"
        spark = Text(sparkline(values, most), colour)
        lines.append(Text(f"{name:<11}", "dim") + spark + Text(f" {_clean(last)}"))
    return lines


def _money(shown: RunSnapshot, width: int) -> Text:
    """Where the money went, as a bar and in words."""
    bar, room = Text(f"{'money':<11}", "dim"), max(10, min(width - 34, 120))
    for part in shown.money.parts:
        bar.append(LETTERS[part.use] * round(part.share * room), COLOURS[part.use])  # type: ignore[index]
    words = [
        f"{LETTERS[part.use]} {part.word} {part.share_text}"  # type: ignore[index]
        for part in shown.money.parts
        if part.share
    ]
    lines, cleaned = [""], [_clean(one) for one in words]
    for one in cleaned:  # no word leaves its letter
        if len(lines[-1]) + len(one) + 2 > width - 11:
            lines.append("")
        lines[-1] += f"{'  ' if lines[-1] else ''}{one}"
    return bar + Text("".join("\n" + " " * 11 + line for line in lines), "dim")


def _choice(panel: str) -> Text:
    text = Text()
    for key, name in PANELS.items():
        text.append(f" {key} ", "reverse" if name == panel else "bold")
        text.append(f"{name}  ", "" if name == panel else "dim")
    return text + Text(" q  quit", "dim")


def _machines(shown: RunSnapshot, width: int) -> list[RenderableType]:
    rows = shown.machines.rows
    if rows is None:
        return [Text(f"{shown.machines.rented:,} rented, {shown.machines.lost:,} lost")]
    room, now = max(10, min(width - 22, 140)), max(shown.charts.now, 1e-9)
    lines: list[RenderableType] = []
    for row in sorted(rows, key=lambda one: (one.gone is not None, -one.rented)):
        cells = [" "] * room
        ends = now if row.gone is None else row.gone
        _fill(cells, row.rented, ends if row.up is None else row.up, now, "booting")
        if row.up is not None:
            _fill(cells, row.up, ends, now, "idle")
        for begin, end, use, _, _ in row.segments:
            _fill(cells, begin, end, now, USES[use])
        line = Text(f"{_clean(row.name)[:18]:<19}", "dim")
        for cell in cells:
            line.append(LETTERS.get(cell, " "), COLOURS.get(cell, ""))  # type: ignore[call-overload]
        lines.append(line + Text("†" if row.lost else "", "magenta"))
    return lines or [Text("no machine yet", "dim")]


def _fill(cells: list[str], begin: float, end: float, now: float, use: str) -> None:
    first = int(begin / now * len(cells))
    last = max(first + 1, round(end / now * len(cells)))
    for place in range(first, min(last, len(cells))):
        cells[place] = use


def _why(shown: RunSnapshot, width: int) -> list[RenderableType]:
    return [
        Text(f"{_clean(one.last):>8}  ", "dim") + Text(_clean(one.what), "bold")
        + Text(f"   {_clean(one.why)}", "dim", no_wrap=True)
        for one in shown.why.groups
    ] or [Text("nothing decided yet", "dim")]  # fmt: skip


def _failures(shown: RunSnapshot, width: int) -> list[RenderableType]:
    lines: list[RenderableType] = [
        Text(f"{one.count:>5}  ", "red") + Text(f"{_clean(one.line)}  ", no_wrap=True)
        + Text(f"task {one.tasks[0]}", "dim")
        for one in shown.failures.groups
    ]  # fmt: skip
    return lines or [Text("no task failed for good", "dim")]


def _longest(shown: RunSnapshot, width: int) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for one in shown.longest.rows:
        late = one.p90 is not None and one.age > one.p90
        lines.append(
            Text(f"task {one.task:<8} {_clean(one.machine):<20} ")
            + Text(_clean(one.text), "yellow" if late else "blue")
            + Text("  longer than nine in ten" if late else "", "dim")
        )
    return lines or [Text("no task is running", "dim")]


def _offers(shown: RunSnapshot, width: int) -> list[RenderableType]:
    table = Table(box=None, pad_edge=False)
    for name in ("offer", "price", "up", "rented", "lost", "P50", "useful", "others", "money"):
        table.add_column(name, justify="left" if name == "offer" else "right")
    for one in shown.offers:
        cells = (
            one.offer, one.price, one.up, one.rented, one.lost, one.p50, one.useful, one.others,
            one.money,
        )  # fmt: skip
        table.add_row(*(Text(_clean(cell)) for cell in cells))
    return [table]


def _clean(text: str) -> str:
    return printable(text.replace(SPACE, " ").replace("\n", " "))
