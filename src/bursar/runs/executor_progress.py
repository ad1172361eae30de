"""The progress line of an executor: in a terminal one line on stderr, in a notebook one output.

A program writes what it likes meanwhile: while the line is there, what is printed to a terminal
comes above it, and an unfinished line of the program (a prompt, dots) keeps the progress away until
it is ended. Where nobody can see it, nothing is written.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterable
from html import escape
from typing import Any, Final, TextIO

from rich.cells import cell_len

from bursar.report.forecast import Forecast
from bursar.report.progress_line import line
from bursar.state.state import RunState

PACE_S: Final = 0.2
"""between two looks at a run"""
NOTEBOOK_PACE_S: Final = 0.5
MOST_COLUMNS: Final = 80


class ProgressThread:
    """Shows how a run stands until it is over; `join` when the last of it must be there."""

    def __init__(self, state: RunState, over: threading.Event) -> None:
        self._state, self._over, self._forecast = state, over, Forecast()
        self._shown: _TerminalLine | _NotebookOutput | None = _place()
        self._thread = threading.Thread(target=self._show, name="bursar-progress", daemon=True)
        if self._shown is not None:
            self._thread.start()

    def join(self) -> None:
        if self._shown is not None:
            self._thread.join()

    def _show(self) -> None:
        shown = self._shown
        assert shown is not None  # noqa: S101
        while not self._over.wait(shown.pace):
            shown.draw(self._state, self._text())
        shown.end(self._state, self._text())

    def _text(self) -> str:
        columns = shutil.get_terminal_size().columns
        # The last column stays empty: some terminals go to the next line once it is written.
        return line(self._state, self._forecast, min(MOST_COLUMNS, columns) - 1)


def _place() -> _TerminalLine | _NotebookOutput | None:
    """Where the line can be seen; None: nowhere, or another executor's is there."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is not None:
        return _NotebookOutput(sys.modules["IPython"].display)
    global _on_screen  # noqa: PLW0603
    if _on_screen is not None or not _is_terminal(sys.stderr):
        return None
    _on_screen = _TerminalLine(sys.stderr)
    return _on_screen


def _is_terminal(stream: Any) -> bool:
    try:
        return stream is not None and bool(stream.isatty())
    except ValueError:  # it is closed
        return False


class _TerminalLine:
    """The last line of a terminal."""

    pace = PACE_S

    def __init__(self, terminal: TextIO) -> None:
        self._terminal: TextIO | None = terminal
        self.lock = threading.RLock()
        self._drawn = 0
        """columns of the terminal that the line covers"""
        self.is_interrupted = False
        """the program has written a part of a line, which is not ended yet"""
        self._streams = {
            name: _Above(getattr(sys, name), self)
            for name in ("stdout", "stderr")
            if _is_terminal(getattr(sys, name))
        }
        for name, stream in self._streams.items():
            setattr(sys, name, stream)

    def draw(self, state: RunState, text: str) -> None:
        with self.lock:
            if state.total and not self.is_interrupted:
                wide = cell_len(text)
                self._write("\r" + text + " " * (self._drawn - wide))
                self._drawn = max(self._drawn, wide)

    def erase(self) -> None:
        """Before the program writes."""
        with self.lock:
            if self._drawn:
                self._write("\r" + " " * self._drawn + "\r")
                self._drawn = 0

    def end(self, state: RunState, text: str) -> None:
        """The line as it is at the end stays; from here on the program has its terminal back."""
        global _on_screen  # noqa: PLW0603
        with self.lock:
            self.erase()
            if state.total:
                self._write(("\n" if self.is_interrupted else "") + text + "\n")
            for name, stream in self._streams.items():
                if getattr(sys, name) is stream:  # else the program has put its own there
                    setattr(sys, name, stream.below)
            _on_screen = None

    def _write(self, text: str) -> None:
        if self._terminal is None:
            return
        try:
            self._terminal.write(text)
            self._terminal.flush()
        except (OSError, ValueError):
            self._terminal = None  # it was closed: the calls go on, unseen

    def forget(self) -> None:
        """In a child process: what it writes is its own, and the lock may be held for ever."""
        self.lock, self._terminal = threading.RLock(), None


class _Above:
    """A stream of the program: what is written comes above the progress line."""

    def __init__(self, below: TextIO, shown: _TerminalLine) -> None:
        self.below, self._shown = below, shown

    def write(self, text: str) -> int:
        with self._shown.lock:
            if text:
                self._shown.erase()
                self._shown.is_interrupted = not text.endswith("\n")
            return self.below.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for text in lines:
            self.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.below, name)


class _NotebookOutput:
    """An output of a cell that changes in place."""

    pace = NOTEBOOK_PACE_S

    def __init__(self, display: Any) -> None:
        self._display, self._handle = display, None
        self._last = ""

    def draw(self, state: RunState, text: str) -> None:
        if not state.total or text == self._last:
            return
        self._last, shown = text, _Picture(state.settled, state.total, text)
        if self._handle is None:
            self._handle = self._display.display(shown, display_id=True)
        else:
            self._handle.update(shown)

    end = draw


class _Picture:
    """A bar with its line, for a notebook that shows HTML and for one that does not."""

    def __init__(self, done: int, total: int, text: str) -> None:
        self._done, self._total, self._text = done, total, text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        bar = f'<progress value="{self._done}" max="{self._total}"></progress>'
        words = escape(self._text.replace("#", "").replace("..", ""))
        return f'<div style="font-variant-numeric: tabular-nums">{bar} {words}</div>'


_on_screen: _TerminalLine | None = None
"""the one line of this process's terminal that is taken"""


def _after_fork() -> None:
    if _on_screen is not None:
        _on_screen.forget()


os.register_at_fork(after_in_child=_after_fork)
