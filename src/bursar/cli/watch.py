"""`bursar watch`: a run in the terminal, full screen."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import rich_click as click

from bursar.cli.colors import console
from bursar.cli.common import WIDTH, home, run_argument
from bursar.cli.options import settings

PACE_S: Final = 0.5
SHARE: Final = 20
"""a look takes at most one part in so many of the time"""


@click.command(context_settings=settings)
@run_argument()
def command(run: str | None) -> None:
    """Follow a run full screen: figures, sparklines, machines, decisions. The run is not disturbed.

    Keys: m machines, w why, f failures, l longest, o offers, q quit. Without a terminal, one
    screen is printed.
    """
    from rich.live import Live

    from bursar.report.page.watch import RunWatch, is_executed, time_of
    from bursar.report.screen import PANELS, screen

    found = home().find(run)
    is_seen = sys.stdout.isatty() and sys.stdin.isatty()
    printer = console(width=None if is_seen else WIDTH)
    with RunWatch(found.journal) as watch:
        watch.catch_up()
        panel = "machines"
        shown = watch.snapshot(time_of(watch.state, time.time()), is_live=is_executed(found))
        if not is_seen:
            printer.print(screen(shown, WIDTH, 200, panel))
            return
        first = screen(shown, printer.width, printer.height, panel)
        with _keys() as keys, Live(first, console=printer, screen=True, auto_refresh=False) as live:
            while True:
                began = time.monotonic()
                watch.catch_up()
                now, is_live = time_of(watch.state, time.time()), is_executed(found)
                shown = watch.snapshot(now, is_live=is_live)
                live.update(screen(shown, printer.width, printer.height, panel), refresh=True)
                took = time.monotonic() - began
                key = keys(max(PACE_S, SHARE * took) if shown.live else None)
                if key in ("q", "\x03", "\x04"):
                    return
                panel = PANELS.get(key, panel)


@contextmanager
def _keys() -> Iterator[_Keys]:
    """Single keys of the terminal, which is as before afterwards."""
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield _Keys()
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


class _Keys:
    def __call__(self, timeout: float | None) -> str:
        """The next key; empty: none within the time."""
        ready, _, _ = select.select([sys.stdin], [], [], timeout)
        return sys.stdin.read(1) if ready else ""
