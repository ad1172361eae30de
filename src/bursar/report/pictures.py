"""Plans, frontiers, workflows and runs as pictures: for a file, and for notebooks.

Fragments of HTML with SVG in them; what comes from outside is escaped. Styles are inline, since a
notebook has its own page around them, and readable on light and dark ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor
from typing import Final

import msgspec

from bursar.model.fleet import format_fleet
from bursar.model.money import Money
from bursar.model.plan import Plan
from bursar.model.text import counted
from bursar.model.time import seconds
from bursar.model.workflow import Workflow
from bursar.report.page.graph import WorkflowGraph, graph_of
from bursar.report.page.numbers import amount, duration
from bursar.report.page.snapshot import RunSnapshot
from bursar.report.plans import PlanList
from bursar.report.plot import TIME_UNITS, round_step
from bursar.report.summary import Summary
from bursar.report.theme import MARKED, PAPER, SOFT_INK, STYLE

COLOURS: Final = {
    "useful": "#1f9b78", "running": "#5aa2ee", "replica": "#f0cf8a", "off": "#e5a92b",
    "failed": "#f4633a", "lost": "#d985bf", "booting": "#40749c", "idle": "#8b9099",
    "rounded": "#8b909966", "ahead": "#8b909933",
}  # fmt: skip
NODES: Final = {
    "done": "#1f9b78", "failed": "#d9481c", "blocked": "#d9481c", "running": MARKED,
    "ready": "#8b9099", "waiting": "#8b9099", "cancelled": "#8b9099",
}  # fmt: skip
WIDTH: Final = 640
HEIGHT: Final = 260
LEFT, TOP, RIGHT, BOTTOM = 64, 22, 620, 218
NO_CURRENCY: Final = ", in the currency of the prices"
"""where nobody named one"""
_BOX: Final = "font:13px system-ui,sans-serif;font-variant-numeric:tabular-nums;max-width:900px"
_CELL: Final = "padding:3px 12px 3px 0;text-align:{};border:0;background:none;white-space:nowrap"


class PlanePoint(msgspec.Struct, frozen=True):
    """Something on the plane of time and money."""

    time: float
    time_high: float
    cost: float
    cost_high: float
    name: str
    text: str
    label: str = ""
    """beside the point, where there is room"""
    is_marked: bool = False


def document(title: str, body: str) -> str:
    """A fragment as a page of its own, which needs nothing else."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title>'
        f'<link rel="icon" href="data:,"></head>\n'
        f'<body style="margin:24px"><main>{body}</main></body></html>\n'
    )


# --- plans ---------------------------------------------------------------------------------------


def plans_html(plans: PlanList) -> str:
    """The list of `bursar plan`, drawn and as a table."""
    currency = plans.currency
    rows = [
        (
            str(number),
            _label(plan),
            format_fleet(plan.fleet),
            duration(seconds(plan.makespan_s.p50)),
            duration(seconds(plan.makespan_s.p90)),
            amount(plan.cost_p50, currency),
            amount(plan.cost_p90, currency),
        )
        for number, plan in enumerate(plans.plans, 1)
    ]
    what = counted(plans.tasks, "task")
    title = what if plans.workflow is None else f"{plans.workflow}: {what}"
    columns = ("#", "choice", "fleet", "time P50", "time P90", "cost P50", "cost P90")
    notes = [f"Prices of {plans.date}, {currency}; storage and transfer are not included."]
    notes += [f"Caution: {caution}." for caution in plans.cautions]
    return _shown(title, plans_svg(plans), columns, rows, notes)


def plans_svg(plans: PlanList) -> str:
    """The plans on the plane of time and money."""
    points = [
        PlanePoint(
            time=plan.makespan_s.p50,
            time_high=plan.makespan_s.p90,
            cost=float(plan.cost_p50),
            cost_high=float(plan.cost_p90),
            name=", ".join(plan.names) or plan.name,
            text=format_fleet(plan.fleet),
            label=_label(plan),
            is_marked=plan.is_knee or plan.is_default,
        )
        for plan in plans.plans
    ]
    return plane_svg(points, plans.currency)


def _label(plan: Plan) -> str:
    """What it is called, beside its fleet; empty: nothing else."""
    return ", ".join(plan.names) or ("" if plan.name == format_fleet(plan.fleet) else plan.name)


def frontier_html(
    title: str, points: Sequence[PlanePoint], currency: str | None, notes: Sequence[str]
) -> str:
    """Strategies that no other beats, drawn and as a table."""
    money = currency or ""
    rows = [
        (
            one.name,
            one.text,
            duration(seconds(one.time)),
            duration(seconds(one.time_high)),
            amount(Money.nearest(one.cost), money),
            amount(Money.nearest(one.cost_high), money),
        )
        for one in points
    ]
    cost = f"cost{'' if currency else NO_CURRENCY}"
    columns = ("choice", "strategy", "makespan", "P90", cost, f"{cost} P90")
    return _shown(title, plane_svg(points, money), columns, rows, notes)


def _shown(
    title: str, drawing: str, columns: Sequence[str], rows: Sequence[Sequence[str]],
    notes: Sequence[str],
) -> str:  # fmt: skip
    names = {"choice", "fleet", "strategy"}
    sides = ["left" if name in names else "right" for name in columns]
    light = "font-weight:400;opacity:.75"
    head = "".join(
        f'<th scope="col" style="{_CELL.format(side)};{light}">{escape(name)}</th>'
        for name, side in zip(columns, sides, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_CELL.format(side)}">{escape(cell)}</td>'
            for cell, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    line = "".join(f'<p style="margin:4px 0;opacity:.75">{escape(note)}</p>' for note in notes)
    return (
        f'<div style="{_BOX}"><h1 style="font-size:16px;margin:4px 0">{escape(title)}</h1>'
        f'<div style="overflow-x:auto" tabindex="0" role="region" aria-label="{escape(title)}">'
        f'<div style="min-width:520px">{drawing}</div>'
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{line}</div>"
    )


def plane_svg(points: Sequence[PlanePoint], currency: str) -> str:
    """Time across, money upward; a line leads to the P90 of each."""
    if not points:
        return ""
    longest = max(max(one.time, one.time_high) for one in points)
    unit, name = next((u, n) for least, u, n in TIME_UNITS if longest >= least)
    times = axis_marks([v for one in points for v in (one.time, one.time_high)], unit)
    costs = axis_marks([v for one in points for v in (one.cost, one.cost_high)])

    def x(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * (value - times[0]) / (times[-1] - times[0])

    def y(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (value - costs[0]) / (costs[-1] - costs[0])

    parts = [
        _text(8, TOP - 8, f"cost{'' if currency else NO_CURRENCY}", "start"),
        _text(RIGHT, HEIGHT - 4, "time; lines lead to P90", "end"),
    ]
    labelled: list[tuple[float, float]] = []
    for cost in costs:
        parts.append(_line(LEFT, y(cost), RIGHT, y(cost), "#8b909944"))
        parts.append(_text(LEFT - 6, y(cost) + 4, _money(cost, currency), "end"))
    for time in times:
        parts.append(_line(x(time), BOTTOM, x(time), BOTTOM + 4, "#8b9099"))
        parts.append(_text(x(time), BOTTOM + 16, f"{round(time / unit, 6):g} {name}", "middle"))
    for one in points:
        parts.append(_line(x(one.time), y(one.cost), x(one.time_high), y(one.cost), "#8b9099"))
        parts.append(_line(x(one.time), y(one.cost), x(one.time), y(one.cost_high), "#8b9099"))
        inside = MARKED if one.is_marked else PAPER
        line = (
            f"{one.name}: {one.text}, {duration(seconds(one.time))}, {_money(one.cost, currency)}"
        )
        parts.append(
            f'<circle cx="{x(one.time):.1f}" cy="{y(one.cost):.1f}" r="5" fill="{inside}"'
            f' stroke="{MARKED}" stroke-width="1.5"><title>{escape(line)}</title></circle>'
        )
        here = (x(one.time), y(one.cost))
        if one.label and all(abs(here[0] - a) > 60 or abs(here[1] - b) > 13 for a, b in labelled):
            labelled.append(here)
            is_far = here[0] > RIGHT - 120
            place, side = (here[0] - 9, "end") if is_far else (here[0] + 9, "start")
            parts.append(_text(place, here[1] - 8, one.label[:24], side))
    return _svg(WIDTH, HEIGHT, "Time and cost of each plan", parts)


def axis_marks(values: Sequence[float], unit: float = 1.0) -> list[float]:
    """Round values from below the least to above the most: from nothing, or close to them."""
    least, most = min(values) / unit, max(values) / unit or 1.0
    is_close = most / 2 <= least < 0.98 * most
    low = max(0.0, least - (most - least) / 4) if is_close else 0.0
    step = round_step((most * 1.04 - low) / 5)
    first = floor(low / step + 1e-9)
    count = max(1, ceil((most * 1.04 - first * step) / step - 1e-9))
    return [round((first + number) * step * unit, 9) for number in range(count + 1)]


def _money(value: float, currency: str) -> str:
    return amount(Money.nearest(value), currency).strip()


# --- workflows -----------------------------------------------------------------------------------


def workflow_svg(flow: Workflow, states: Sequence[str] | None = None) -> str:
    """Tasks in levels from left to right."""
    return graph_svg(graph_of(flow, list(states or ["waiting"] * flow.count)))


def graph_svg(graph: WorkflowGraph) -> str:
    levels = max(1, len(graph.levels))
    width = max(320, min(1600, 40 + 130 * levels))
    tall = max(70, min(900, 24 * graph.widest + 20))

    def x(level: int) -> float:
        return width / 2 if levels == 1 else 40 + level * (width - 160) / (levels - 1)

    def y(place: float) -> float:
        return 12 + place * (tall - 24)

    parts = []
    for begin, end in graph.edges:
        one, two = graph.nodes[begin], graph.nodes[end]
        middle = (x(one.level) + x(two.level)) / 2
        parts.append(
            f'<path d="M{x(one.level):.1f} {y(one.place):.1f}C{middle:.1f} {y(one.place):.1f}'
            f' {middle:.1f} {y(two.place):.1f} {x(two.level):.1f} {y(two.place):.1f}"'
            ' fill="none" stroke="#8b9099" stroke-opacity="0.6"/>'
        )
    for node in graph.nodes:
        colour = NODES[node.state]
        inside = PAPER if node.state in ("waiting", "ready", "blocked") else colour
        parts.append(
            f'<circle cx="{x(node.level):.1f}" cy="{y(node.place):.1f}"'
            f' r="{5 if node.count == 1 else 8}" fill="{inside}"'
            f' stroke="{colour}" stroke-width="1.5"><title>{escape(node.text)}</title></circle>'
        )
        parts.append(_text(x(node.level) + 10, y(node.place) + 4, node.label[:16], "start"))
    title = f"{graph.name}: {counted(graph.tasks, 'task')}, {counted(levels, 'level')}"
    return _svg(width, tall, title, parts)


# --- runs ----------------------------------------------------------------------------------------


def summary_svg(summary: Summary) -> str:
    """Two bars: tasks by how they ended, and money of the budget, each with its figures."""
    tasks, money = summary.tasks, summary.money
    rest = tasks.total - tasks.done - tasks.failed - tasks.blocked - tasks.cancelled
    counts = (
        ("done", tasks.done, COLOURS["useful"]),
        ("failed", tasks.failed, COLOURS["failed"]),
        ("never began", tasks.blocked, COLOURS["off"]),
        ("cancelled", tasks.cancelled, COLOURS["idle"]),
        ("not done", rest, COLOURS["ahead"]),
    )
    of_tasks = [(count / max(1, tasks.total), colour) for _, count, colour in counts]
    line = ", ".join(f"{count:,} {word}" for word, count, _ in counts if count) or "no task"
    committed = float(money.committed)
    budget = 0.0 if money.budget is None else float(money.budget)
    whole = max(committed, budget if money.every_s is None else 0.0) or 1.0
    of_money = [(committed / whole, MARKED), (1 - committed / whole, COLOURS["ahead"])]
    limit = money.limited_to(_money(budget, money.currency))
    cost = f"{_money(committed, money.currency)}{limit}" if committed else "free of charge"
    took = duration(seconds(summary.makespan_s))
    parts = [
        *_bar(24, f"Tasks: {line}", of_tasks),
        *_bar(78, f"Money: {cost}; took {took}", of_money),
    ]
    return _svg(WIDTH, 116, f"{summary.run}: {line}, {cost}, {took}", parts)


def _bar(y: float, text: str, parts: Sequence[tuple[float, str]]) -> list[str]:
    """Parts of 1 side by side, with a text above."""
    drawn, x, room = [_text(12, y, text, "start")], 12.0, WIDTH - 24
    for part, colour in parts:
        if part > 0:
            place = f'x="{x:.1f}" y="{y + 8:.1f}" width="{room * part:.1f}" height="16"'
            drawn.append(f'<rect {place} fill="{colour}"/>')
            x += room * part
    return drawn


def run_html(shown: RunSnapshot) -> str:
    """The head of a run's page: the sentence, the figures, where the money went."""
    tiles = "".join(
        f'<div style="min-width:120px"><div style="opacity:.75">{escape(one.label)}</div>'
        f'<div style="font-size:20px;font-weight:600">{escape(one.value)}'
        f'<span style="font-size:13px;font-weight:400"> {escape(one.unit)}</span></div>'
        f'<div style="opacity:.75">{escape(f"{one.alert} {one.more}".strip())}</div></div>'
        for one in shown.tiles
    )
    bar = "".join(
        f'<i style="display:block;width:{100 * part.share:.2f}%;background:{COLOURS[part.use]}"'
        f' title="{escape(f"{part.word} {part.text}")}"></i>'
        for part in shown.money.parts
        if part.share
    )
    words = " · ".join(
        f"{part.word} {part.text} ({part.share_text})" for part in shown.money.parts if part.share
    )
    money = (
        f'<div style="display:flex;height:14px;margin:10px 0 4px">{bar}</div>'
        f'<div style="opacity:.75">{escape(words)}</div>'
        if bar
        else ""
    )
    return (
        f'<div style="{_BOX}"><div style="font-size:16px;font-weight:600">{escape(shown.run)}:'
        f" {escape(shown.verdict.text)}</div>"
        f'<div style="opacity:.75">{escape(shown.verdict.more)}</div>'
        f'<div style="display:flex;flex-wrap:wrap;gap:10px 28px;margin-top:10px">{tiles}</div>'
        f"{money}</div>"
    )


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {width:.0f} {height:.0f}" role="img" font-family="sans-serif"'
        f' font-size="11" style="max-width:100%;height:auto">'
        f"<title>{escape(title)}</title>{STYLE}"
        f'<rect width="100%" height="100%" rx="6" fill="{PAPER}"/>{"".join(parts)}</svg>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, stroke: str) -> str:
    place = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {place} stroke="{stroke}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{SOFT_INK}">{escape(text)}</text>'
