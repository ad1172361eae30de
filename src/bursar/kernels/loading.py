"""numba without the linear algebra of scipy, which takes long to load and which no kernel uses.

With its array functions numba loads scipy, only to see whether it is there: bursar needs it, so it
is. Whatever does call for linear algebra looks for it again, and loads it then.

This looks into numba, which promises nothing of it: where it looks different, all is loaded.
"""

from __future__ import annotations

import sys
from functools import cache
from types import ModuleType
from typing import Final

ARRAYS: Final = "numba.np.arraymath"
"""the module that looks for scipy while it is loaded"""


@cache
def load_numba() -> ModuleType:
    """numba, with all that a compilation or machine code that was kept needs of it."""
    import numba  # late: it takes a while
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target
    from numba.np import linalg

    look = getattr(linalg, "ensure_blas", None)
    if ARRAYS in sys.modules or look is None:
        return numba
    with global_compiler_lock:
        linalg.ensure_blas = _suppose_so
        try:
            cpu_target.target_context.refresh()
        finally:
            linalg.ensure_blas = look
            if ARRAYS in sys.modules:
                sys.modules[ARRAYS].__dict__["ensure_blas"] = look
    return numba


def _suppose_so() -> None:
    """In the place of a look for scipy."""
