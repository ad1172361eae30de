"""The workloads of chapters 2 and 3 of the workflow thesis, and runs of placers on them.

A set has 3,000 workflows, a third of each kind, with hyper-Gamma totals; every set imposes its
utilization exactly, and all placers get the same sets. The workflows are those of the published
generator where they are here (drawn with replacement), else ours; each page says which.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.formats.workflow import read_workflows
from bursar.model.dag import Dag, frozen
from bursar.model.work import Work
from bursar.model.workload import Arrival, Workload
from bursar.model.workload_arrays import WorkloadArrays
from bursar.simulate.estimate_errors import EstimateError
from bursar.simulate.placing import place_workload
from bursar.simulate.stability import Stability, in_system, stability
from bursar.simulate.workload_metrics import critical_paths, steady_middle, work_times
from bursar.simulate.workload_schedule import WorkloadSchedule
from bursar.simulate.workloads.arrivals import arrival_times, at_utilization
from bursar.simulate.workloads.generate import drawn_totals, generate
from bursar.simulate.workloads.spec import HYPER_GAMMA, Poisson, WorkloadSpec

Floats = NDArray[np.float64]

DATA: Final = Path("../shared/data/bharathi")
"""From the directory of the project."""
MIXTURE: Final = ("montage", "ligo", "sipht")
MACHINES: Final = 100
ALIKE: Final = (1.0,) * MACHINES
TWO_SPEEDS: Final = (1.5,) * 50 + (0.5,) * 50
WORKS: Final = 3000
SEEDS: Final = (31_001, 31_002, 31_003)
"""fresh: no reading was chosen on these sets"""
QUICK_WORKS: Final = 900
QUICK_SEEDS: Final = SEEDS[:1]


class RunSize(msgspec.Struct, frozen=True):
    """How much is simulated."""

    works: int = WORKS
    seeds: tuple[int, ...] = SEEDS

    @classmethod
    def of(cls, *, quick: bool) -> RunSize:
        return cls(QUICK_WORKS, QUICK_SEEDS) if quick else cls()


def data_text(folder: Path = DATA) -> str:
    """Which workflows the sets are drawn from."""
    if folder.exists():
        return (
            "workflows are those of the published generator (1,000 Montage, 999 LIGO, 1,000 SIPHT),"
            " drawn with replacement"
        )
    return "workflows are those of our generator, as the published ones are not here"


# --- sets ----------------------------------------------------------------------------------------


@cache
def _published(kind: str, folder: Path) -> tuple[Dag, ...]:
    return tuple(read_workflows(folder / f"{kind}.jsonl.gz"))


def published_flows(kind: str) -> tuple[Dag, ...]:
    """The workflows of a kind that the published generator drew."""
    return _published(kind, DATA)


@cache
def workload_one(
    kinds: tuple[str, ...], works: int, seed: int, folder: Path = DATA
) -> WorkloadArrays:
    """Workload I: these kinds in turn, totals of an hour in the mean, at a utilization of 1."""
    return mixed_workload(kinds, works, seed, folder).arrays


def mixed_workload(kinds: tuple[str, ...], works: int, seed: int, folder: Path = DATA) -> Workload:
    """The same with all that is known of its workflows; it is large, and not kept."""
    spec = WorkloadSpec(
        kinds=tuple((kind, 1.0) for kind in kinds),
        count=works,
        seed=seed,
        arrivals=Poisson(utilization=1.0, speed=MACHINES),
    )
    if not (folder.exists() and set(kinds) <= set(MIXTURE)):
        return generate(spec)
    rng = np.random.default_rng(seed)
    totals = drawn_totals(HYPER_GAMMA, works, rng)
    flows = []
    for number, total in enumerate(totals.tolist()):
        known = _published(kinds[number % len(kinds)], folder)
        dag = known[int(rng.integers(len(known)))]
        scaled = dag.runtimes * (total / dag.runtimes.sum())
        flows.append(msgspec.structs.replace(dag, runtimes=frozen(scaled, np.float64)))
    times = arrival_times(spec.arrivals, totals, rng).tolist()
    pairs = zip(times, flows, strict=True)
    return Workload(tuple(Arrival(at, Work.of_dag(flow)) for at, flow in pairs))


@cache
def workload_two(works: int, seed: int) -> WorkloadArrays:
    """Workload II: random workflows with run times as drawn, an hour in the mean."""
    spec = WorkloadSpec(
        kinds=(("daggen", 1.0),),
        count=works,
        seed=seed,
        totals=3600.0,
        arrivals=Poisson(utilization=1.0, speed=MACHINES),
    )
    return generate(spec).arrays


@cache
def _paths(arrays_of: str, works: int, seed: int, speed: float) -> Floats:
    return critical_paths(set_of(arrays_of, works, seed), speed)


def set_of(workload: str, works: int, seed: int) -> WorkloadArrays:
    """A set of workload `I` or `II`."""
    return workload_one(MIXTURE, works, seed) if workload == "I" else workload_two(works, seed)


# --- runs ----------------------------------------------------------------------------------------


class SetRun(msgspec.Struct, frozen=True, eq=False):
    """One placer on one set."""

    slowdowns: Floats
    """of the works that count"""
    in_system: float
    stability: Stability


class PlacerRuns(msgspec.Struct, frozen=True, eq=False):
    """One placer on all sets, taken together."""

    runs: tuple[SetRun, ...]

    @property
    def is_stable(self) -> bool:
        """Most sets were simulated to the end: neither cut nor left with a long queue.

        The drift decides alone: on a single set, Wieland's test rejects runs that are stable.
        """
        return 2 * sum(run.stability.by_drift for run in self.runs) > len(self.runs)

    @property
    def rejected(self) -> int:
        """Sets that Wieland's test finds unstable."""
        return sum(not run.stability.by_wieland for run in self.runs)

    @property
    def slowdowns(self) -> Floats:
        return np.concatenate([run.slowdowns for run in self.runs])

    @property
    def mean(self) -> float:
        return float(self.slowdowns.mean()) if self.is_stable else float("inf")

    @property
    def deviation(self) -> float:
        return float(self.slowdowns.std()) if self.is_stable else float("inf")

    @property
    def in_system(self) -> float:
        return float(np.mean([run.in_system for run in self.runs]))


@cache
def runs_of(
    workload: str,
    placer: str,
    speeds: tuple[float, ...],
    utilization: float,
    error: EstimateError,
    size: RunSize,
    cut: float = 1 / 3,
) -> PlacerRuns:
    """Simulate a placer on each set; a run stops when this share of its works is unfinished."""
    found = []
    for seed in size.seeds:
        arrays = at_utilization(set_of(workload, size.works, seed), utilization, sum(speeds))
        estimates = error.estimates(arrays, np.random.default_rng(seed + 1))
        most = int(cut * size.works)
        schedule = place_workload(arrays, speeds, placer, estimates, seed, most_works=most)
        paths = _paths(workload, size.works, seed, sum(speeds) / len(speeds))
        found.append(_set_run(arrays, schedule, paths))
    return PlacerRuns(tuple(found))


def _set_run(arrays: WorkloadArrays, schedule: WorkloadSchedule, paths: Floats) -> SetRun:
    times = work_times(arrays, schedule)
    slowdowns = (times.response / paths)[steady_middle(len(paths))]
    system = in_system(arrays.arrived, times.completed)
    last = int(arrays.arrived[-1])
    return SetRun(
        slowdowns[~np.isnan(slowdowns)],
        system.mean(0, last),
        stability(system, last, is_cut=not schedule.is_whole),
    )
