"""The live line of a run in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from bursar.cli.colors import console
from bursar.report.forecast import Forecast
from bursar.report.progress_line import line
from bursar.state.state import RunState

if TYPE_CHECKING:
    from rich.live import Live

T = TypeVar("T")


class Shown:
    """The line while a run goes on; `live` is None where nobody can see it."""

    def __init__(self, state: RunState) -> None:
        self.forecast = Forecast()
        self.live: Live | None = None
        self._state = state

    def while_hidden(self, ask: Callable[[], T]) -> T:
        """Somebody is asked: the line makes room, and comes back after the answer."""
        live = self.live
        if live is None:
            return ask()
        live.stop()
        try:
            return ask()
        finally:
            if self._state.ended is None:
                live.start()


@contextmanager
def progress(state: RunState, *, quiet: bool) -> Iterator[Shown]:
    """Show a line on stderr while the run goes on, if somebody can see it."""
    shown = Shown(state)
    if quiet or not sys.stderr.isatty():
        yield shown
        return
    from rich.live import Live
    from rich.text import Text

    printer = console(err=True)

    def draw() -> Text:
        # The last column stays empty: some terminals go to the next line once it is written.
        return Text(line(state, shown.forecast, printer.width - 1), no_wrap=True)

    shown.live = Live(console=printer, get_renderable=draw, refresh_per_second=5, transient=True)
    with shown.live:
        yield shown
