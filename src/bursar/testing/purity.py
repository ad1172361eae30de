"""Purity: what an entry of a role must not do while it decides."""

from __future__ import annotations

import datetime
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType, ModuleType
from typing import Any, Final

from bursar.testing.broken import expect

_FORBIDDEN: Final = {
    "time": "looks up the clock, or sleeps",
    "posix": "asks the operating system",
    "io": "opens a file",
    "_socket": "opens a connection",
}
"""By module of a function; what its own code does by calling it."""
_OUT_AND_IN: Final = (print, input)
_SHARED_GENERATOR: Final = random.random.__self__  # type: ignore[attr-defined]


@contextmanager
def pure(entry: object) -> Iterator[None]:
    """Complain if the entry's own package calls what a policy must not call.

    Other packages may: they import modules late, or compile.
    """
    is_own = _Own(type(entry).__module__.partition(".")[0])
    offences: list[str] = []

    def watch(frame: FrameType, event: str, function: Any) -> None:
        if event == "c_call" and is_own[frame.f_globals["__name__"]]:
            offence = _offence(function)
            if offence is not None:
                where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                offences.append(f"{type(entry).__name__} {offence} ({function.__name__}, {where})")

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(before)
    expect(not offences, "; ".join(offences))


class _Own(dict[str, bool]):
    """Whether a module is of a package: kept, for it is looked up at every call."""

    def __init__(self, package: str) -> None:
        super().__init__()
        self._package = package

    def __missing__(self, module: str) -> bool:
        self[module] = found = module.partition(".")[0] == self._package
        return found


def _offence(function: Any) -> str | None:
    owner = getattr(function, "__self__", None)
    if isinstance(owner, ModuleType):
        return _offence_of_module(function)
    if owner is _SHARED_GENERATOR:
        return "draws from the generator of `random` instead of its own"
    if isinstance(owner, type) and issubclass(owner, datetime.date):
        return "looks up the clock" if function.__name__ in ("now", "today", "utcnow") else None
    return _FORBIDDEN.get(function.__module__ or "")


@cache
def _offence_of_module(function: Any) -> str | None:
    """The same for a function of a module: there are few, and they are called all the time."""
    if function in _OUT_AND_IN:
        return "prints, or asks somebody"
    return _FORBIDDEN.get(function.__module__ or "")
