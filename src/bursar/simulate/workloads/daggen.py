"""Random workflows by the rules of DAGGEN (Suter and others), as the workflow thesis used it.

About n^fat tasks on each level, more or less by what `regular` leaves open. A task has a parent
one level up, and up to so many more as `density` tells of that level's width; `jump` says how many
levels up a parent may stand. A task works on n x n data, in a n^2, a n^2 log(n^2) or n^3 steps, and
writes as many numbers of 8 bytes.
"""

from __future__ import annotations

from math import log2
from typing import Final

import msgspec
import numpy as np

from bursar.simulate.workloads.drawn import DrawnWorkflow, TaskDrawer

LEAST: Final = 1
OPERATIONS: Final = 1e9
"""a second, of a machine of speed 1"""
WORD: Final = 8
"""bytes of a number"""


class DaggenShape(msgspec.Struct, frozen=True):
    """The four parameters of the generator."""

    jump: int
    regular: float
    fat: float
    density: float


JUMPS: Final = (1, 2, 3)
REGULAR: Final = (0.2, 0.8)
FAT: Final = (0.2, 0.8)
DENSITY: Final = 0.1
"""the values of the thesis (section 3.4.1), each equally likely"""


def shape_of(rng: np.random.Generator) -> DaggenShape:
    """A shape with the values of the thesis."""
    jump, regular, fat = (
        values[int(rng.integers(len(values)))] for values in (JUMPS, REGULAR, FAT)
    )
    return DaggenShape(int(jump), regular, fat, DENSITY)


def daggen(size: int, rng: np.random.Generator, shape: DaggenShape | None = None) -> DrawnWorkflow:
    """Without a shape, one is drawn."""
    shape = shape_of(rng) if shape is None else shape
    drawer = TaskDrawer("daggen", rng)
    levels: list[list[int]] = []
    for width in _widths(size, shape, rng):
        level = [drawer.task("random", *_drawn(levels, shape, rng)) for _ in range(width)]
        levels.append(level)
    return drawer.done()


def _widths(size: int, shape: DaggenShape, rng: np.random.Generator) -> list[int]:
    """Levels of about size^fat tasks, until all are on one."""
    usual, widths = size**shape.fat, []
    left = size
    while left:
        spread = 1 - shape.regular
        width = max(1, round(usual * float(rng.uniform(1 - spread, 1 + spread))))
        widths.append(min(width, left))
        left -= widths[-1]
    return widths


def _parents(levels: list[list[int]], shape: DaggenShape, rng: np.random.Generator) -> list[int]:
    if not levels:
        return []
    width = len(levels[-1])
    count = min(1 + int(rng.integers(0, int(shape.density * width) + 1)), width)
    found = []
    for _ in range(count):
        up = min(int(rng.integers(1, shape.jump + 1)), len(levels))
        level = levels[-up]
        found.append(level[int(rng.integers(len(level)))])
    return found


def _drawn(
    levels: list[list[int]], shape: DaggenShape, rng: np.random.Generator
) -> tuple[float, list[int], int]:
    """Run time, parents and bytes written of a task."""
    seconds, written = _cost(rng)
    return seconds, _parents(levels, shape, rng), written


def _cost(rng: np.random.Generator) -> tuple[float, int]:
    """The run time of a task, by the size of its data and by what it does with it; that size."""
    side = 1024.0 * int(rng.integers(2, 12))
    factor = float(rng.uniform(64, 512))
    squared = side * side
    costs = (factor * squared, factor * squared * log2(squared), squared * side)
    return costs[int(rng.integers(3))] / OPERATIONS, int(squared) * WORD
