"""`workflows-generator`: our shapes beside those of the generator of Bharathi et al.

The shapes and the moments of run times were taken from these very workflows, so that agreement
says that the code does what was read, and no more. Bands were stated before the comparison.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from bursar.formats.workflow import read_workflows
from bursar.model.dag import Dag
from bursar.model.errors import InputError
from bursar.reproduce.result import Reproduction, Row, around, judged, shown_only
from bursar.reproduce.workflows_shape_facts import ShapeFacts, shape_facts
from bursar.simulate.workloads.kinds import draw

DATA: Final = Path("../shared/data/bharathi")
"""From the directory of the project."""
SEED: Final = 71


class ComparedKind(msgspec.Struct, frozen=True):
    """A kind, its file, and how far its figures may be off, relatively."""

    kind: str
    file: str
    shape: float
    parallelism: float
    mean: float


COMPARED: Final = (
    ComparedKind("montage", "montage", 0.03, 0.05, 0.05),
    ComparedKind("ligo", "ligo", 0.03, 0.05, 0.05),
    ComparedKind("sipht", "sipht", 0.03, 0.05, 0.05),
    ComparedKind("cybershake", "cybershake", 0.05, 0.1, 0.1),
    ComparedKind("epigenomics", "genome", 0.05, 0.15, 0.35),
)
"""bands stated before the comparison: 500 workflows of the first three, 50 of the
others; in epigenomics a whole workflow is fast or slow, and a few large ones hold most tasks"""
FEW: Final = "50 workflows, of which two or three large ones hold most of this time"
"""why a mean is off, where it is"""
ASSUMED: Final = (
    "shapes and moments were taken from the published workflows, so that this is a check of the"
    " code, no confirmation; every second workflow of each file is compared",
    "sizes are asked for as the published workflow has them (SIPHT: the even number above, as it"
    " was asked for there)",
    "the level of parallelism by tokens is the largest generation; parallelism is the total run"
    " time by the critical path",
)


def reproduce(name: str, folder: Path = DATA) -> Reproduction:
    rows: list[Row] = []
    for compared in COMPARED:
        published = _published(compared, folder)
        rng = np.random.default_rng(SEED)
        ours = (draw(compared.kind, _asked(compared, len(dag)), rng).dag() for dag in published)
        rows += _rows(compared, shape_facts(published), shape_facts(ours))
    return Reproduction(
        name=name,
        title="Shapes and run times of generated workflows",
        source="the generator of Bharathi et al., as the workflow thesis used it (section 2.4)",
        rows=tuple(rows),
        assumed=ASSUMED,
    )


def _published(compared: ComparedKind, folder: Path) -> list[Dag]:
    path = folder / f"{compared.file}.jsonl.gz"
    if not path.exists():
        raise InputError(f"{path}: no such workflows; make them with the published generator")
    return list(read_workflows(path))[1::2]


def _asked(compared: ComparedKind, size: int) -> int:
    return size + size % 2 if compared.kind == "sipht" else size


def _rows(compared: ComparedKind, paper: ShapeFacts, ours: ShapeFacts) -> list[Row]:
    kind, reason = compared.kind, f"chance in {len(paper.sizes)} workflows"
    shapes = (
        ("tasks in a workflow, mean", float(paper.sizes.mean()), float(ours.sizes.mean())),
        ("largest generation by tasks, mean", paper.width_share, ours.width_share),
        ("edges by tasks, mean", paper.branching, ours.branching),
        ("generations, mean", float(paper.paths.mean()), float(ours.paths.mean())),
    )
    rows = [
        judged(f"{kind}: {what}", theirs, found, around(theirs, compared.shape, reason))
        for what, theirs, found in shapes
    ]
    for what, share in (("P50", 0.5), ("P90", 0.9)):
        theirs, found = (float(np.quantile(one.parallelism, share)) for one in (paper, ours))
        band = around(theirs, compared.parallelism, reason)
        rows.append(judged(f"{kind}: parallelism, {what}", theirs, found, band))
    for label, moments in paper.moments.items():
        made = ours.moments[label.removesuffix("_chr21")]
        band = around(moments.mean, compared.mean, reason)
        rows.append(judged(f"{kind}: {label}, mean, s", moments.mean, made.mean, band, why=FEW))
        deviation = f"{kind}: {label}, deviation, s"
        rows.append(shown_only(deviation, moments.deviation, made.deviation))
    return rows
