"""CyberShake: seismograms of many ruptures, their peaks, and two archives.

Moments and shapes are those of the generator of Bharathi et al.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bursar.simulate.workloads.drawn import DrawnWorkflow, TaskDrawer

LEAST: Final = 8


def cybershake(size: int, rng: np.random.Generator) -> DrawnWorkflow:
    """Two extractions, or three of an odd size."""
    drawer = TaskDrawer("cybershake", rng)
    extractions = 2 + size % 2
    ruptures = (size - 2 - extractions) // 2
    spare = rng.multinomial(ruptures - ruptures // 2, [1 / extractions] * extractions)
    shares = spare + ruptures // 2 // extractions
    shares[0] += ruptures - shares.sum()
    seismograms, peaks = [], []
    for share in shares.tolist():
        extract = drawer.task("ExtractSGT", drawer.around(134.0, 38.3))
        for _ in range(share):
            made = drawer.task("SeismogramSynthesis", drawer.around(43.64, 12.05), (extract,))
            seismograms.append(made)
            peaks.append(drawer.task("PeakValCalcOkaya", drawer.around(1.094, 0.312), (made,)))
    drawer.task("ZipSeis", drawer.skewed(0.0123 * ruptures, 0.0049 * ruptures), seismograms)
    drawer.task("ZipPSA", drawer.skewed(0.0088 * ruptures, 0.0038 * ruptures), peaks)
    return drawer.done()
