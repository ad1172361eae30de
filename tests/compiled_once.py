"""Test processes that need the same kernel compile it once: the others wait, and load it.

Without this, each of the processes that run tests side by side compiles for itself what none of
them has kept yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any
from unittest.mock import patch


@contextmanager
def compiled_once() -> Iterator[None]:
    """While this holds, no two processes compile one function at a time."""
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    compile_now = Dispatcher.compile

    def compile_alone(self: Any, sig: Any) -> Any:
        kept_in = self._cache.cache_path
        if kept_in is None:
            return compile_now(self, sig)
        place = Path(kept_in) / f"{self.py_func.__qualname__.replace('/', '_')[-100:]}.lock"
        # The lock of numba first: a thread that has it may need this function, too.
        with global_compiler_lock:
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("w") as file:
                flock(file, LOCK_EX)
                return compile_now(self, sig)

    with patch.object(Dispatcher, "compile", compile_alone):
        yield
