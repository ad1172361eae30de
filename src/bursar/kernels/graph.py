"""What goes through a whole graph, task by task, parents before children or the other way round.

These loops cannot be written in numpy: a chain has as many steps as tasks. They run on lists as
plain Python while the graph is small, and are compiled for a large one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import msgspec
import numpy as np

from bursar.kernels.compiling import compile_kept
from bursar.model.dag import Csr, Floats, Ints

LARGE: Final = 200_000
"""tasks and edges from which compiled code is worth the half second that numba takes to load"""


class Loops(msgspec.Struct, frozen=True):
    """The loops, in one form."""

    fill_levels: Callable[..., None]
    fill_ranks: Callable[..., None]


def fill_levels(starts: Any, children: Any, order: Any, levels: Any) -> None:
    """A level is 0, or one more than the largest of the parents."""
    for task in order:
        below = levels[task] + 1
        for at in range(starts[task], starts[task + 1]):
            child = children[at]
            if levels[child] < below:  # noqa: PLR1730 -- numba compiles this to less than max()
                levels[child] = below


def fill_ranks(starts: Any, children: Any, order: Any, ranks: Any) -> None:
    """To a task's own weight, which is there, the largest rank of its children is added."""
    for number in range(len(order) - 1, -1, -1):
        task = order[number]
        longest = 0.0
        for at in range(starts[task], starts[task + 1]):
            longest = max(longest, ranks[children[at]])
        ranks[task] += longest


PLAIN: Final = Loops(fill_levels, fill_ranks)


@cache
def compiled() -> Loops:
    """The loops for arrays; the first call imports numba and, once on a computer, compiles."""
    return Loops(compile_kept(fill_levels), compile_kept(fill_ranks))


def levels_of(children: Csr, order: Ints, *, large: bool | None = None) -> Ints:
    """By task, the number of edges on the longest way from a task without parents."""
    if _is_large(children, large):
        levels = np.zeros(len(order), dtype=np.int32)
        compiled().fill_levels(children.starts, children.items, order, levels)
        return levels
    listed = [0] * len(order)
    PLAIN.fill_levels(children.starts.tolist(), children.items.tolist(), order.tolist(), listed)
    return np.array(listed, dtype=np.int32)


def ranks_of(children: Csr, order: Ints, weights: Floats, *, large: bool | None = None) -> Floats:
    """By task, the largest sum of weights on a way from it, itself included, to an end."""
    if _is_large(children, large):
        ranks = np.array(weights, dtype=np.float64)
        compiled().fill_ranks(children.starts, children.items, order, ranks)
        return ranks
    listed = weights.tolist()
    PLAIN.fill_ranks(children.starts.tolist(), children.items.tolist(), order.tolist(), listed)
    return np.array(listed, dtype=np.float64)


def _is_large(children: Csr, large: bool | None) -> bool:
    return len(children.starts) + len(children.items) > LARGE if large is None else large
