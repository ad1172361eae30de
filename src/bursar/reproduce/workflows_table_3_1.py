"""`workflows-table-3.1`: what distinguishes the placers of chapter 3, seen from what they do.

Each property is looked for in simulations: small workloads full of ties, in which estimates are
wrong. On alike machines tasks that start in one instant take idle machines in the order of their
numbers, so that the order of decisions is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.kernels.graph import ranks_of
from bursar.model.dag import frozen, topological_order
from bursar.model.time import SECOND
from bursar.model.workload_arrays import WorkloadArrays
from bursar.reproduce.result import Reproduction, Row, same
from bursar.reproduce.workflows_dynamic import NAMES
from bursar.reproduce.workflows_setting import MIXTURE
from bursar.simulate.placing import place_workload
from bursar.simulate.workloads.arrivals import at_utilization
from bursar.simulate.workloads.generate import generate
from bursar.simulate.workloads.spec import WorkloadSpec

Longs = NDArray[np.int64]
PLACERS: Final = NAMES | {"WHEFT": "wheft"}
WORKS: Final = 60
MACHINES: Final = 12
SEEDS: Final = (31_101, 31_102)
PUBLISHED: Final = {
    "plan-based": ("WHEFT",),
    "explicit queue, first come, first served": ("GBF", "CPP"),
    "joint eligible set, one task a workflow": ("OWM", "FDWS", "FWP"),
    "joint eligible set, all tasks": ("HR",),
    "fairness-aware": ("FDWS", "FWP"),
}
ASSUMED: Final = (
    "plan-based: a machine stays idle while a task is eligible; queue: no start while a workflow"
    " that arrived earlier has a task that waits; one task: of each workflow only the waiting task"
    " of the highest rank is started; all tasks: others, too; fair: of two workflows whose waiting"
    " tasks have the same rank, the later one may be served first, as it suffered more",
    "run times and estimates are 1, 2 or 3 s at random, apart from each other, so that ties abound;"
    " the shapes are those of our generator",
    "who proposed a placer cannot be seen in what it does: that row is left out",
)


class ObservedPlacer(msgspec.Struct):
    """What a placer was seen to do."""

    idles: bool = False
    """a machine, while a task is eligible"""
    overtakes: bool = False
    """a workflow with a waiting task, by a later one"""
    takes_others: bool = False
    """tasks that have not the highest rank of those of their workflow that wait"""
    breaks_ties: bool = False
    """in favour of the later workflow"""

    def properties(self) -> dict[str, bool]:
        joint = self.overtakes and not self.idles
        values = (
            self.idles,
            not self.overtakes and not self.idles,
            joint and not self.takes_others,
            joint and self.takes_others,
            joint and self.breaks_ties,
        )
        return dict(zip(PUBLISHED, values, strict=True))


def reproduce(name: str, *, quick: bool = False) -> Reproduction:
    return Reproduction(
        name=name,
        title="Distinctive properties of placers",
        source="workflow thesis, table 3.1",
        rows=tuple(_rows(SEEDS[:1] if quick else SEEDS)),
        assumed=ASSUMED,
    )


def _rows(seeds: Sequence[int]) -> Iterator[Row]:
    seen = {label: watch(placer, seeds).properties() for label, placer in PLACERS.items()}
    for what, published in PUBLISHED.items():
        for label in PLACERS:
            paper, ours = label in published, seen[label][what]
            yield same(f"{what}: {label}", "+" if paper else "-", "+" if ours else "-")


def watch(placer: str, seeds: Sequence[int]) -> ObservedPlacer:
    """Look at all decisions of a placer."""
    seen = ObservedPlacer()
    for seed in seeds:
        arrays, estimates = tied_workload(seed)
        schedule = place_workload(arrays, (1.0,) * MACHINES, placer, estimates, seed)
        _look(
            arrays, _ranks(arrays, estimates), schedule.start, schedule.end, schedule.machine, seen
        )
    return seen


def tied_workload(seed: int) -> tuple[WorkloadArrays, Longs]:
    """A workload, and estimates of its run times that say nothing."""
    kinds = tuple((kind, 1.0) for kind in MIXTURE)
    arrays = generate(WorkloadSpec(kinds=kinds, count=WORKS, seed=seed)).arrays
    rng = np.random.default_rng(seed)
    times, estimates = (SECOND * rng.integers(1, 4, len(arrays)) for _ in range(2))
    tied = msgspec.structs.replace(arrays, runtimes=frozen(times, np.int64))
    return at_utilization(tied, 0.9, MACHINES), estimates


def _ranks(arrays: WorkloadArrays, estimates: Longs) -> list[int]:
    order = topological_order(arrays.children, arrays.parents.counts())
    ranks = ranks_of(arrays.parents, order, estimates.astype(np.float64))
    return [int(rank) for rank in ranks]


def _look(
    arrays: WorkloadArrays,
    ranks: list[int],
    start: Longs,
    end: Longs,
    machine: NDArray[np.int32],
    seen: ObservedPlacer,
) -> None:
    """Go through the starts in the order in which they were decided."""
    eligible = _eligible(arrays, end)
    by_eligible = sorted(range(len(arrays)), key=lambda task: eligible[task])
    work = arrays.work.tolist()
    waiting: list[set[int]] = [set() for _ in arrays.arrived]
    place = 0
    for task in np.lexsort((machine, start)).tolist():
        now = int(start[task])
        while place < len(by_eligible) and eligible[by_eligible[place]] <= now:
            one = by_eligible[place]
            waiting[work[one]].add(one)
            place += 1
        mine = waiting[work[task]]
        highest = max(ranks[one] for one in mine)
        seen.takes_others |= ranks[task] < highest
        for earlier in range(work[task]):
            if waiting[earlier]:
                seen.overtakes = True
                seen.breaks_ties |= max(ranks[one] for one in waiting[earlier]) == ranks[task]
        mine.remove(task)
    busy = np.sort(end)
    for task in range(len(arrays)):  # it waited: were all machines busy just before it began?
        moment = int(start[task]) - 1
        if eligible[task] <= moment:
            running = np.count_nonzero(start <= moment) - np.searchsorted(busy, moment, "right")
            seen.idles |= bool(running < MACHINES)


def _eligible(arrays: WorkloadArrays, end: Longs) -> list[int]:
    """By task, when it became eligible."""
    found = arrays.arrived[arrays.work].copy()
    np.maximum.at(found, arrays.parents.rows(), end[arrays.parents.items])
    return [int(one) for one in found]
