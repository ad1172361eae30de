"""Two queries of TPC-H as MapReduce workflows: Q1 of two jobs and Q9 of seven (Prob, section 6.1).

Every reduce of a job waits for all its maps, and every map for all reduces of the job before. So a
query of n jobs has 2n levels, and whatever varies has a maximum in each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from bursar.beliefs.calibrated import REFERENCE_DISK, REFERENCE_NETWORK
from bursar.model.dag import Dag
from bursar.model.workflow_builder import WorkflowBuilder

GIGABYTE: Final = 1e9
WORK: Final = 12.0
"""processor seconds at speed 1 for a gigabyte that a task reads"""


class MapReduceJob(msgspec.Struct, frozen=True):
    """Maps read from local disks; what they write goes over the network to the reduces."""

    maps: int
    read: float
    reduces: int
    moved: float
    written: float
    """all three in gigabytes, of the whole job"""


Q1: Final = (MapReduceJob(188, 375, 24, 60, 12), MapReduceJob(12, 12, 1, 1, 0.1))
Q9: Final = (
    MapReduceJob(194, 387, 48, 120, 40),
    MapReduceJob(24, 41, 24, 40, 40),
    MapReduceJob(48, 97, 48, 90, 40),
    MapReduceJob(64, 125, 48, 110, 30),
    MapReduceJob(16, 30, 16, 30, 20),
    MapReduceJob(12, 20, 8, 10, 1),
    MapReduceJob(1, 1, 1, 1, 1),
)
ASSUMED: Final = (
    "the queries at scale factor 500, by sizes of the tables of TPC-H (lineitem has 375 of 500 GB);"
    " jobs as maps, GB read, reduces, GB moved, GB written: "
    + "; ".join(
        f"{name}: "
        + ", ".join(
            f"{one.maps}/{one.read:g}/{one.reduces}/{one.moved:g}/{one.written:g}" for one in jobs
        )
        for name, jobs in (("Q1", Q1), ("Q9", Q9))
    )
    + f"; {WORK:g} s of processor for a GB read; maps read locally, what reduces read crosses the"
    " network, and all that is read or written the disk; tasks of a level are alike"
)


def query(name: str, jobs: Sequence[MapReduceJob]) -> Dag:
    """The jobs one after the other, each level as tasks of one kind."""
    flow = WorkflowBuilder(name)
    before: list[str] = []
    for number, job in enumerate(jobs):
        shared = (job.read / job.maps, job.moved / job.maps)
        before = _level(flow, f"map{number}", job.maps, before, *shared, is_remote=False)
        shared = (job.moved / job.reduces, job.written / job.reduces)
        before = _level(flow, f"reduce{number}", job.reduces, before, *shared, is_remote=True)
    return flow.build()


def _level(
    flow: WorkflowBuilder,
    kind: str,
    count: int,
    before: Sequence[str],
    read: float,
    written: float,
    *,
    is_remote: bool,
) -> list[str]:
    parts = {
        "cpu": WORK * read,
        "io": (read + written) * GIGABYTE / REFERENCE_DISK,
        "network": read * GIGABYTE / REFERENCE_NETWORK if is_remote else 0.0,
    }
    return [
        flow.task(f"{kind}_{place}", needs=before, runtime=parts, kind=kind)
        for place in range(count)
    ]
