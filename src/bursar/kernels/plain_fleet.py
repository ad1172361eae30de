"""A given bag on a fleet of machines with several slots, in plain functions that numba compiles.

Every machine is rented at once. A slot takes the next task when its machine is up and whenever it
falls idle; a machine is released when nothing is left to start and its last task has ended.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from bursar.kernels.bag import bits, leaves, plant

Array = Any
"""A numpy array; the compiler wants no more than that it is one."""


def run_plain_fleet(runtimes: Array, offer: Array, boot: Array, ends: Array) -> int:
    """The makespan. `runtimes[offer, task]`, and by slot its `offer`, `boot` and last `ends`.

    Tasks are taken in their order; of slots that are idle in the same instant, the first in the
    list is served first. A slot without a task ends with its boot, or with the bag.
    """
    slots = len(offer)
    width = leaves(slots)
    tree = np.empty(2 * width, np.int64)
    plant(tree, boot, slots, width)
    mask, shift = width - 1, bits(width)
    makespan = 0
    for slot in range(slots):
        ends[slot] = -1
    for task in range(runtimes.shape[1]):
        slot = tree[1] & mask
        end = (tree[1] >> shift) + runtimes[offer[slot], task]
        ends[slot] = end
        makespan = max(makespan, end)
        value = (end << shift) | slot
        node = width + slot
        while node > 1:
            tree[node] = value
            value = min(value, tree[node ^ 1])
            node >>= 1
        tree[1] = value
    for slot in range(slots):
        if ends[slot] < 0:
            ends[slot] = min(boot[slot], makespan)
    return makespan


PARTS: Final = (plant, bits, leaves)
"""what the compiler is to know"""
