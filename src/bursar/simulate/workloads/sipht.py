"""SIPHT: searches for small RNAs, each with many quick Patser and a few long searches.

Independent groups of alike shape, about one for 30 tasks. Moments and shapes are those of the
generator of Bharathi et al.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bursar.simulate.workloads.drawn import DrawnWorkflow, TaskDrawer

LEAST: Final = 13
FIXED: Final = 12
"""tasks of a group that are not Patser"""
TASKS_A_GROUP: Final = 30.2


def sipht(size: int, rng: np.random.Generator) -> DrawnWorkflow:
    drawer = TaskDrawer("sipht", rng)
    groups = max(1, round(size / TASKS_A_GROUP))
    for patsers in _patsers(size - FIXED * groups, groups, rng):
        _group(drawer, patsers)
    return drawer.done()


def _patsers(total: int, groups: int, rng: np.random.Generator) -> list[int]:
    """Half of them evenly, half by chance."""
    even = total // (2 * groups)
    left = rng.multinomial(total - even * groups, [1 / groups] * groups)
    counts: list[int] = (left + even).tolist()
    return counts


def _group(drawer: TaskDrawer, patsers: int) -> None:
    around = drawer.around
    found = [drawer.task("Patser", around(1.273, 0.286)) for _ in range(patsers)]
    concat = drawer.task("Patser_concate", around(0.081, 0.023), found)
    first = [
        drawer.task("Findterm", around(1355, 363)),
        drawer.task("RNAMotif", around(36.45, 7.98)),
        drawer.task("Transterm", around(56.1, 15.95)),
        drawer.task("Blast", around(2374, 631)),
    ]
    srna = drawer.task("SRNA", around(360.6, 103.4), first)
    parsed = drawer.task("FFN_Parse", around(1.643, 0.247), (srna,))
    last = [
        drawer.task("Blast_candidate", around(5.19, 0.932), (srna,)),
        drawer.task("Blast_QRNA", around(1413.5, 98.8), (srna,)),
        drawer.task("Blast_synteny", 33.0, (srna, parsed)),
        drawer.task("Blast_paralogues", around(4.97, 1.06), (srna,)),
    ]
    drawer.task("SRNA_annotate", around(1.684, 0.456), (*last, concat, srna))
