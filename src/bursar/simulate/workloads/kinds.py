"""The kinds of workflows that can be drawn, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from bursar.model.errors import InputError, instead_of, shown
from bursar.simulate.workloads import cybershake, daggen, epigenomics, ligo, montage, sipht
from bursar.simulate.workloads.drawn import DrawnWorkflow

Drawer = Callable[[int, np.random.Generator], DrawnWorkflow]

KINDS: Final[Mapping[str, tuple[Drawer, int]]] = {
    "montage": (montage.montage, montage.LEAST),
    "ligo": (ligo.ligo, ligo.LEAST),
    "sipht": (sipht.sipht, sipht.LEAST),
    "cybershake": (cybershake.cybershake, cybershake.LEAST),
    "epigenomics": (epigenomics.epigenomics, epigenomics.LEAST),
    "daggen": (daggen.daggen, daggen.LEAST),
}
"""with the fewest tasks that such a workflow has"""


def draw(kind: str, size: int, rng: np.random.Generator) -> DrawnWorkflow:
    """A workflow of this kind with so many tasks, or a few less where its shape wants that."""
    found = KINDS.get(kind)
    if found is None:
        raise InputError(f"no kind of workflows {shown(kind)}; {instead_of(kind, KINDS)}")
    drawer, least = found
    if size < least:
        raise InputError(f"a {kind} workflow has at least {least:,} tasks; {size:,} are too few")
    return drawer(size, rng)
