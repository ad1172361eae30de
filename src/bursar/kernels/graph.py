"""What goes through a whole graph, task by task, parents before children or the other way round.

These loops cannot be written in numpy: a chain has as many steps as tasks. They run on lists as
plain Python while the graph is small, and are compiled for a large one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import msgspec
import numpy as np

from bursar.kernels.compiling import compile_kept
from bursar.model.dag import Csr, Floats, Ints
from bursar.model.graph_loops import fill_levels, fill_ranks

LARGE: Final = 200_000
"""tasks and edges from which compiled code is worth the half second that numba takes to load"""


class Loops(msgspec.Struct, frozen=True):
    """The loops, in one form."""

    fill_levels: Callable[..., None]
    fill_ranks: Callable[..., None]


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


def ranks_of(
    parents: Csr,
    order: Ints,
    weights: Floats,
    moves: Floats | None = None,
    *,
    large: bool | None = None,
) -> Floats:
    """The upward ranks of HEFT: the longest way from each task, itself included, to an end.

    `weights` are by task; `moves`, by edge in the order of `parents`, lie between two tasks.
    """
    between = np.zeros(len(parents.items)) if moves is None else moves
    if _is_large(parents, large):
        ranks = np.zeros(len(order))
        compiled().fill_ranks(parents.starts, parents.items, order, weights, between, ranks)
        return ranks
    listed = [0.0] * len(order)
    lists = (one.tolist() for one in (parents.starts, parents.items, order, weights, between))
    PLAIN.fill_ranks(*lists, listed)
    return np.array(listed, dtype=np.float64)


def _is_large(edges: Csr, large: bool | None) -> bool:
    return len(edges.starts) + len(edges.items) > LARGE if large is None else large
