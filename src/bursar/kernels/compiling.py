"""Plain functions made fast by numba, with their machine code kept between processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import sha256
from types import FunctionType
from typing import Any, Final

from bursar.kernels.linking import part_options
from bursar.kernels.loading import load_numba

_waiting: Final[list[Callable[[], None]]] = []
"""who wants to know of the first compilation, until numba is there to tell"""


DIVISION: Final = "numpy"
"""Kernels divide by nothing that may be 0, and need not be made ready to raise an exception."""


def on_compilation(tell: Callable[[], None] | None) -> None:
    """Call this once, when numba begins to compile something that was not kept; None: call nothing.

    That takes some seconds, which a program does not let people spend before a blank screen.
    Machine code that was kept is loaded without a call.
    """
    _waiting[:] = [] if tell is None else [tell]


def is_loaded() -> bool:
    """Whether numba is there already: what finds the same without need not load it."""
    return "numba" in sys.modules


def let_kernels_call(
    *parts: Callable[..., Any], inline: bool = False, makes_arrays: bool = True
) -> None:
    """Parts of kernels, which are compiled with the first kernel that calls them.

    They are never called from outside. With `inline` their code stands where they are called, as a
    call copies the descriptions of all arrays; it takes longer to compile where they are called
    often. Parts that make no arrays, as those inlined, need not count who uses one.
    """
    from numba.extending import register_jitable

    options = {**part_options(), "error_model": DIVISION, "no_cfunc_wrapper": True}
    if inline or not makes_arrays:
        options |= {"_nrt": False}
    if inline:
        options |= {"forceinline": True}
    for part in parts:
        register_jitable(**options)(part)


def compile_kept(function: Callable[..., Any], stamp: str = "") -> Callable[..., Any]:
    """Compile, with the machine code kept beside the package or in the user's cache directory.

    Numba finds it again by the name of the function, and drops it when the function's own file has
    changed. Where a kernel is spread over several files, their stamp becomes a part of the name.
    Where nothing can be written, it is compiled again in every process.
    """
    numba = load_numba()
    assert isinstance(function, FunctionType)  # noqa: S101
    named = function
    if stamp:
        named = FunctionType(function.__code__, function.__globals__)
        named.__qualname__ = f"{function.__qualname__}_{stamp}"
    _listen()
    result: Callable[..., Any]
    try:
        result = numba.njit(cache=True, nogil=True, error_model=DIVISION)(named)
    except RuntimeError:
        result = numba.njit(nogil=True, error_model=DIVISION)(named)
    return result


def _listen() -> None:
    """Let those who wait hear of the first compilation, in whichever thread it happens."""
    from numba.core import event

    class Begin(event.Listener):
        def __init__(self, tell: Callable[[], None]) -> None:
            self._once = [tell]

        def on_start(self, _: Any) -> None:
            with suppress(IndexError):  # a second compilation, or one in another thread
                self._once.pop()()

        def on_end(self, _: Any) -> None:
            pass

    while _waiting:
        event.register("numba:compile", Begin(_waiting.pop()))  # type: ignore[no-untyped-call]


def stamp_of(sources: Iterable[str]) -> str:
    return sha256("\0".join(sources).encode()).hexdigest()[:16]
