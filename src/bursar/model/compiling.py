"""Plain functions made fast by numba, with their machine code kept between processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from types import FunctionType
from typing import Any


def compile_kept(function: Callable[..., Any], stamp: str = "") -> Callable[..., Any]:
    """Compile, with the machine code kept beside the package or in the user's cache directory.

    Numba finds it again by the name of the function, and drops it when the function's own file has
    changed. Where a kernel is spread over several files, their stamp becomes a part of the name.
    Where nothing can be written, it is compiled anew in every process.
    """
    import numba  # late: it takes a while

    assert isinstance(function, FunctionType)  # noqa: S101
    named = function
    if stamp:
        named = FunctionType(function.__code__, function.__globals__)
        named.__qualname__ = f"{function.__qualname__}_{stamp}"
    result: Callable[..., Any]
    try:
        result = numba.njit(cache=True, nogil=True)(named)
    except RuntimeError:
        result = numba.njit(nogil=True)(named)
    return result


def stamp_of(sources: Iterable[str]) -> str:
    return sha256("\0".join(sources).encode()).hexdigest()[:16]
