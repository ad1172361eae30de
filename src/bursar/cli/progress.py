"""The live line: tasks done, money committed, machines, expected end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from bursar.model.fleet import format_fleet
from bursar.model.money import format_money
from bursar.model.time import SECOND, format_duration
from bursar.report.forecast import Forecast
from bursar.state import RunState

if TYPE_CHECKING:
    from rich.text import Text

_BAR = 24
_SHORT_BAR = 10
_NARROW = 100
"""columns; below, the bar is short, so that the rest is seen"""


@contextmanager
def progress(state: RunState, *, quiet: bool) -> Iterator[Forecast]:
    """Show a line on stderr while the run goes on, if somebody can see it."""
    forecast = Forecast()
    if quiet or not sys.stderr.isatty():
        yield forecast
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False)
    with Live(
        console=console,
        get_renderable=lambda: line(state, forecast),
        refresh_per_second=5,
        transient=True,
    ):
        yield forecast


def line(state: RunState, forecast: Forecast) -> Text:
    from rich.text import Text

    share = state.settled / max(1, state.total)
    length = _BAR if get_terminal_size().columns >= _NARROW else _SHORT_BAR
    bar = "#" * round(length * share) + "." * (length - round(length * share))
    parts = [f"{state.settled:,}/{state.total:,} {bar}", _money(state)]
    if state.failed:
        parts.append(f"{state.failed:,} failed")
    remaining = forecast.remaining(state)
    if remaining is not None:
        end = time.strftime("%H:%M:%S", time.localtime(time.time() + remaining / SECOND))
        parts.append(f"ends {end} (in {format_duration(remaining)})")
    parts.append(format_fleet(dict(state.fleet)))
    if state.stopping is not None:
        parts.append("stopping")
    return Text("   ".join(parts), no_wrap=True, overflow="ellipsis")


def _money(state: RunState) -> str:
    currency = state.market.currency
    committed = f"{format_money(state.ledger.committed, currency)} committed"
    budget = state.ledger.budget
    return committed if budget is None else f"{committed} of {format_money(budget, currency)}"
