"""Plots of reproductions as SVG: points, lines, steps and bars, with axes and a legend.

A plot has a background of its own, and follows whether the reader prefers light or dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Final, Literal

import msgspec

from bursar.report.theme import FRAME, GRID, INK, PAPER, SERIES, STYLE

Point = tuple[float, float]
Style = Literal["points", "line", "step", "bars"]

HEIGHT: Final = 460
LEFT: Final = 84.0
RIGHT: Final = 720.0
TOP: Final = 44.0
BOTTOM: Final = 400.0
"""where the axes are; the legend is to the right of them"""
LINE: Final = 18
"""between two lines of the legend"""
LETTER: Final = 7.3
"""the width of a letter, about"""
TICKS: Final = 6
"""on an axis, about"""
TIME_UNITS: Final = ((172_800, 86_400, "d"), (7_200, 3_600, "h"), (120, 60, "min"), (0, 1, "s"))
"""from so many seconds on, the unit of an axis"""
LABEL_ROOM: Final = 60
LABEL_LINE: Final = 14
"""labels that are closer to each other stand in lines of this height"""
BARS: Final = 0.8
"""of the room of a category is taken by its bars"""


class Series(msgspec.Struct, frozen=True):
    """What is drawn in one colour; `labels`, where given, stand beside the points."""

    name: str
    points: tuple[Point, ...]
    style: Style = "points"
    labels: tuple[str, ...] = ()


class Plot(msgspec.Struct, frozen=True, kw_only=True):
    """Series over common axes, which begin at 0 where that leaves room for what is drawn."""

    title: str
    across: str
    upward: str
    """names of the axes, with units"""
    series: tuple[Series, ...]
    categories: tuple[str, ...] = ()
    """of bars; then the x of a bar is the place of its category"""
    top: float | None = None
    """where the upper end of the plot cuts off what is higher, and its value is written there"""


class _Axis(msgspec.Struct, frozen=True):
    """Values from low to high between two places of the picture."""

    low: float
    high: float
    begin: float
    end: float
    step: float

    def place(self, value: float) -> float:
        return self.begin + (self.end - self.begin) * (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        count = round((self.high - self.low) / self.step)
        return [self.low + self.step * number for number in range(count + 1)]


def svg(plot: Plot) -> str:
    """The plot as a whole SVG document."""
    width = round(RIGHT + _legend_width(plot.series) + 12)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}"'
        f' viewBox="0 0 {width} {HEIGHT}" font-family="sans-serif" font-size="12" role="img">',
        f"<title>{escape(plot.title)}</title>",
        STYLE,
        f'<rect width="{width}" height="{HEIGHT}" rx="6" fill="{PAPER}"/>',
        _text((LEFT + RIGHT) / 2, 24, plot.title, anchor="middle", more=' font-size="15"'),
    ]
    across, upward = _axes(plot)
    lines.extend(_frame(plot, across, upward))
    for number, series in enumerate(plot.series):
        lines.extend(_drawn(plot, number, series, across, upward))
    lines.extend(_legend(plot.series))
    lines.append("</svg>\n")
    return "\n".join(lines)


# --- axes ----------------------------------------------------------------------------------------


def _axes(plot: Plot) -> tuple[_Axis, _Axis]:
    points = [point for series in plot.series for point in series.points]
    heights = [y if plot.top is None else min(y, plot.top) for _, y in points]
    upward = _axis([0.0, *heights], BOTTOM, TOP)
    if plot.categories:
        return _Axis(-0.5, len(plot.categories) - 0.5, LEFT, RIGHT, 1.0), upward
    return _axis([x for x, _ in points], LEFT, RIGHT), upward


def _axis(values: Sequence[float], begin: float, end: float) -> _Axis:
    """An axis with round ticks around the values; from 0 if they begin in its first third."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if 0 < low < high / 3:
        low = 0.0
    if low == high:
        low, high = low - 0.5, high + 0.5
    step = round_step((high - low) / TICKS)
    return _Axis(floor(low / step) * step, ceil(high / step) * step, begin, end, step)


def round_step(least: float) -> float:
    """1, 2 or 5 times a power of ten, at least so much."""
    power = float(10 ** floor(log10(least)))
    return next(power * part for part in (1, 2, 5, 10) if power * part >= least * (1 - 1e-9))


def _frame(plot: Plot, across: _Axis, upward: _Axis) -> Iterator[str]:
    for value in upward.ticks():
        y = upward.place(value)
        yield f'<path d="M{LEFT:.1f} {y:.1f}H{RIGHT:.1f}" stroke="{GRID}"/>'
        yield _text(LEFT - 6, y + 4, f"{value:,.10g}", anchor="end")
    if plot.categories:
        for number, category in enumerate(plot.categories):
            yield _text(across.place(number), BOTTOM + 18, category, anchor="middle")
    else:
        for value in across.ticks():
            x = across.place(value)
            yield f'<path d="M{x:.1f} {BOTTOM:.1f}v5" stroke="{FRAME}"/>'
            yield _text(x, BOTTOM + 18, f"{value:,.10g}", anchor="middle")
    yield f'<path d="M{LEFT:.1f} {TOP:.1f}V{BOTTOM:.1f}H{RIGHT:.1f}" fill="none" stroke="{FRAME}"/>'
    yield _text((LEFT + RIGHT) / 2, BOTTOM + 42, plot.across, anchor="middle")
    middle = (TOP + BOTTOM) / 2
    turned = f' transform="rotate(-90 16 {middle:.1f})"'
    yield _text(16, middle, plot.upward, anchor="middle", more=turned)


# --- series --------------------------------------------------------------------------------------


def _drawn(plot: Plot, number: int, series: Series, across: _Axis, upward: _Axis) -> Iterator[str]:
    colour = SERIES[number % len(SERIES)]
    if series.style == "bars":
        yield from _bars(plot, series, colour, across, upward)
        return
    places = [(across.place(x), upward.place(y)) for x, y in series.points]
    if series.style in ("line", "step"):
        path = _path(places, is_step=series.style == "step")
        yield f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>'
    radius = 3.5 if series.style == "points" else 2.5
    for x, y in places:
        place = f'cx="{x:.1f}" cy="{y:.1f}"'
        yield f'<circle {place} r="{radius}" fill="{colour}" fill-opacity="0.75"/>'
    taken: list[Point] = []
    for (x, y), label in zip(places, series.labels, strict=False):
        is_far = x > (LEFT + RIGHT) / 2
        away = -7 if is_far else 7
        line = y - 6
        while any(abs(x - a) < LABEL_ROOM and abs(line - b) < LABEL_LINE for a, b in taken):
            line -= LABEL_LINE  # above the label that is there
        taken.append((x, line))
        yield _text(x + away, line, label, anchor="end" if is_far else "start")


def _path(places: Iterable[Point], *, is_step: bool) -> str:
    """Through all places; a step goes across first, then up or down."""
    parts: list[str] = []
    for x, y in places:
        if not parts:
            parts.append(f"M{x:.1f} {y:.1f}")
        else:
            parts.append(f"H{x:.1f}V{y:.1f}" if is_step else f"L{x:.1f} {y:.1f}")
    return "".join(parts)


def _bars(plot: Plot, series: Series, colour: str, across: _Axis, upward: _Axis) -> Iterator[str]:
    """Bars of several series stand side by side in each category."""
    beside = [one for one in plot.series if one.style == "bars"]
    room = (across.place(1) - across.place(0)) * BARS
    width = room / len(beside)
    for x, y in series.points:
        left = across.place(x) - room / 2 + width * beside.index(series)
        height = upward.place(min(y, upward.high))
        yield (
            f'<rect x="{left:.1f}" y="{height:.1f}" width="{width:.1f}"'
            f' height="{BOTTOM - height:.1f}" fill="{colour}" stroke="{PAPER}"/>'
        )
        if y > upward.high:
            place = (left + width / 2 + 4, TOP + 4)
            turned = f' transform="rotate(-90 {place[0]:.1f} {place[1]:.1f})" fill="{PAPER}"'
            yield _text(*place, f"{y:,.0f}", anchor="end", more=turned)


def _legend_width(series: Sequence[Series]) -> float:
    longest = max((len(one.name) for one in series), default=0)
    return 34 + LETTER * longest if longest else 0.0


def _legend(series: Sequence[Series]) -> Iterator[str]:
    named = [(number, one) for number, one in enumerate(series) if one.name]
    for line, (number, one) in enumerate(named):
        x, y = RIGHT + 14, TOP + 8 + LINE * line
        colour = SERIES[number % len(SERIES)]
        yield f'<rect x="{x:.1f}" y="{y - 5:.1f}" width="12" height="10" fill="{colour}"/>'
        yield _text(x + 18, y + 4, one.name)


def _text(x: float, y: float, text: str, *, anchor: str = "start", more: str = "") -> str:
    ink = "" if "fill=" in more else f' fill="{INK}"'
    place = f'x="{x:.1f}" y="{y:.1f}"'
    return f'<text {place} text-anchor="{anchor}"{ink}{more}>{escape(text)}</text>'
