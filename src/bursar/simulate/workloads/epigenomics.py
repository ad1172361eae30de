"""Epigenomics (Genome): lanes of reads that are split, mapped piece by piece, and merged.

Moments and shapes are those of the generator of Bharathi et al. There the pieces of a workflow are
of one size, so that run times differ more between workflows than within one.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bursar.simulate.workloads.drawn import DrawnWorkflow, TaskDrawer

LEAST: Final = 8
FEWEST_PIECES: Final = 5
"""of a lane, where there are several lanes"""


def epigenomics(size: int, rng: np.random.Generator) -> DrawnWorkflow:
    """Lanes are alike, so that the size may be a few tasks below what was asked for."""
    drawer = TaskDrawer("epigenomics", rng)
    most = max(1, (size - 3) // (4 * FEWEST_PIECES + 2))
    lanes = int(rng.integers(1, most + 1))
    pieces = max(1, (size - (4 if lanes == 1 else 3 + 2 * lanes)) // (4 * lanes))
    large, long = drawer.skewed(1.0, 0.45), drawer.skewed(1.0, 0.42)
    merged = [_lane(drawer, pieces, large, long) for _ in range(lanes)]
    total = lanes * pieces
    if lanes > 1:
        merged = [drawer.task("mapMerge", drawer.around(2.75 * total, 0.3 * total), merged)]
    index = drawer.task("maqindex", drawer.skewed(0.0045 * total, 0.002 * total), merged)
    drawer.task("pileup", drawer.skewed(3650.0, 1520.0), (index,))
    return drawer.done()


def _lane(drawer: TaskDrawer, pieces: int, large: float, long: float) -> int:
    split = drawer.task("fastqSplit", drawer.skewed(47.5, 19.1))
    mapped = []
    for _ in range(pieces):
        task = drawer.task("filterContams", large * drawer.skewed(5.6, 1.9), (split,))
        task = drawer.task("sol2sanger", large * drawer.skewed(1.52, 0.45), (task,))
        task = drawer.task("fastq2bfq", large * drawer.skewed(2.6, 0.88), (task,))
        mapped.append(drawer.task("map", long * drawer.skewed(9350.0, 2250.0), (task,)))
    return drawer.task("mapMerge", drawer.skewed(15.7, 5.3), mapped)
