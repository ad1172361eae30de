"""What goes through a whole graph, task by task: levels and upward ranks.

Plain functions for arrays or lists; `bursar.kernels.graph` compiles them for large graphs.
"""

from __future__ import annotations

from typing import Any


def fill_levels(starts: Any, children: Any, order: Any, levels: Any) -> None:
    """A level is 0, or one more than the largest of the parents."""
    for task in order:
        below = levels[task] + 1
        for at in range(starts[task], starts[task + 1]):
            child = children[at]
            if levels[child] < below:  # noqa: PLR1730 -- numba compiles this to less than max()
                levels[child] = below


def fill_ranks(starts: Any, parents: Any, order: Any, weights: Any, moves: Any, ranks: Any) -> None:
    """Fill the ranks (zero at first) from the last task on; `moves` are by edge."""
    for number in range(len(order) - 1, -1, -1):
        task = order[number]
        ranks[task] += weights[task]
        for edge in range(starts[task], starts[task + 1]):
            parent = parents[edge]
            ranks[parent] = max(ranks[parent], moves[edge] + ranks[task])
