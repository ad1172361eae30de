"""A Ctrl-C that bursar has answered in one line prints no traceback."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Final

ANSWERED: Final = "_answered_by_bursar"


def without_traceback(error: KeyboardInterrupt) -> None:
    """Where nothing handles this exception, the program ends as usual, without a traceback.

    `except`, `finally` and the exit status stay as they are, and so does the hook of a debugger, a
    notebook or the program itself: only Python's own printing of this one exception is left out.
    """
    if hasattr(sys, "ps1") or sys.excepthook not in (sys.__excepthook__, _print_others):
        return
    setattr(error, ANSWERED, True)
    sys.excepthook = _print_others


def _print_others(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if not hasattr(error, ANSWERED):
        sys.__excepthook__(kind, error, trace)
