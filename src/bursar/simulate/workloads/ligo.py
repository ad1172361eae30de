"""LIGO Inspiral: groups of detectors' data, analysed twice; groups may share some of the first.

A group of width w has w TmpltBank, each with its Inspiral, which one Thinca joins; then w TrigBank,
each with its Inspiral, and a second Thinca. Neighbouring groups may overlap: then a first Inspiral
goes to both. Moments and shapes are those of the generator of Bharathi et al.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from bursar.simulate.workloads.drawn import DrawnWorkflow, TaskDrawer, composition

LEAST: Final = 10
TASKS_A_GROUP: Final = 20
"""at least so many, but for small workflows, which have one group or two"""


def ligo(size: int, rng: np.random.Generator) -> DrawnWorkflow:
    """The number of tasks is even: of an odd size, one less."""
    drawer = TaskDrawer("ligo", rng)
    widths, overlaps = _groups(size - size % 2, rng)
    inspirals = []
    for _ in range(sum(widths) - sum(overlaps)):
        bank = drawer.task("TmpltBank", drawer.around(18.15, 0.426))
        inspirals.append(drawer.task("Inspiral", drawer.around(459.8, 131.0), (bank,)))
    begin = 0
    for width, overlap in zip(widths, [*overlaps, 0], strict=True):
        shared = inspirals[begin : begin + width]
        begin += width - overlap
        thinca = drawer.task("Thinca", drawer.around(5.36, 0.242), shared)
        second = []
        for _ in range(width):
            bank = drawer.task("TrigBank", drawer.around(5.11, 0.316), (thinca,))
            second.append(drawer.task("Inspiral", drawer.around(459.8, 131.0), (bank,)))
        drawer.task("Thinca", drawer.around(5.36, 0.242), second)
    return drawer.done()


def _groups(size: int, rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """Widths of the groups, and by how much each overlaps with the next.

    Half of the tasks are the groups and, twice, their width, less the overlap: so all are even or
    odd together, and draws that do not fit are drawn again.
    """
    half = size // 2
    while True:
        groups = int(rng.integers(1, max(2, size // TASKS_A_GROUP) + 1))
        overlap = int(rng.integers(0, max(3, groups) + 1)) if groups > 1 else 0
        doubled = half - groups + overlap
        if doubled % 2 or doubled // 2 < groups:
            continue
        widths = composition(rng, doubled // 2, groups)
        room = [min(pair) for pair in pairwise(widths)]
        if sum(room) < overlap:
            continue
        overlaps = [0] * (groups - 1)
        for _ in range(overlap):
            free = [place for place in range(groups - 1) if overlaps[place] < room[place]]
            overlaps[free[int(rng.integers(len(free)))]] += 1
        return widths, overlaps
