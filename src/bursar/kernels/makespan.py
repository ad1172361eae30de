"""Makespans of a workflow, sampled in plain functions that numba compiles.

Samples go side by side in lanes: a task's ends in all of them lie beside each other, and so do its
parents'. A random number belongs to its task and its sample, whatever the other tasks do: a task
that is moved to another offer changes its own time only, and keeps its luck. One hash is enough for
two samples.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from bursar.kernels.bag import GOLDEN, LOW, scaled, splitmix

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""

LANES: Final = 256
"""Samples side by side, an even number."""


def sample_blocks(
    parents_start: Array,
    parents: Array,
    moves: Array,
    order: Array,
    is_last: Array,
    table: Array,
    row: Array,
    seed: Any,
    first: int,
    last: int,
    makespans: Array,
) -> None:
    """Fill `makespans` of the blocks from first to last, each of as many samples as lanes.

    `table[row[task]]` are equally likely times of a task, `moves[edge]` is what passes between the
    end of a parent and the begin of a child. The makespan is the latest end of those tasks for
    which none waits.
    """
    tasks = len(order)
    ends = np.empty((tasks, LANES))
    for block in range(first, last):
        latest = makespans[block]
        latest[:] = 0.0
        for task in order:
            end = ends[task]
            end[:] = 0.0
            for edge in range(parents_start[task], parents_start[task + 1]):
                wait_for(end, ends[parents[edge]], moves[edge])
            luck = splitmix(np.uint64(seed) + np.uint64(GOLDEN) * np.uint64(task + 1))
            add_times(end, table[row[task]], luck, block)
            if is_last[task]:
                wait_for(latest, end, 0.0)


def wait_for(end: Array, parent: Array, move: float) -> None:
    for lane in range(LANES):
        arrival = parent[lane] + move
        end[lane] = arrival if arrival > end[lane] else end[lane]


def add_times(end: Array, times: Array, luck: Any, block: int) -> None:
    """Draw a time for each lane."""
    bins = len(times)
    state = luck + np.uint64(GOLDEN) * np.uint64(block * (LANES // 2))
    for pair in range(LANES // 2):
        drawn = splitmix(state + np.uint64(GOLDEN) * np.uint64(pair))
        end[2 * pair] += times[scaled(drawn & np.uint64(LOW), bins)]
        end[2 * pair + 1] += times[scaled(drawn >> np.uint64(32), bins)]


PARTS: Final = (wait_for, add_times)
"""what the compiler is to know"""
