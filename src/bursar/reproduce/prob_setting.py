"""The setting of Prob's evaluation (section 6.1): four offers, four workflows, two budgets.

The paper prints no histogram of disk or network. Those assumed here are the same for every row of
every reproduction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.calibrated import REFERENCE_DISK, REFERENCE_NETWORK
from bursar.beliefs.histogram import Histogram
from bursar.beliefs.performance import Performance, Profile
from bursar.beliefs.task_times import Profiles, TaskTimes, profiles, workflow_times
from bursar.formats.workflow import read_workflow
from bursar.model.dag import Dag
from bursar.model.errors import InputError
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import SECOND
from bursar.plan.published.prob_problem import Problem
from bursar.plan.workflow.makespan import WorkflowTimes
from bursar.reproduce.prob_queries import ASSUMED as QUERIES_ASSUMED
from bursar.reproduce.prob_queries import Q1, Q9, query

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DATA: Final = Path("../shared/data/bharathi/large")
"""From the directory of the project."""
QUANTILES: Final = 20_000
"""executions draw bandwidths as fine as this"""
TIGHT: Final = 0.25
LOOSE: Final = 0.75
"""of the way from the cheapest offer for all to the dearest"""
BUDGETS: Final[Mapping[str, float]] = {"tight": TIGHT, "loose": LOOSE}


class Machines(msgspec.Struct, frozen=True):
    """A type of instance: dollars an hour, megabytes a second, coefficients of variation."""

    name: str
    price: str
    speed: float
    disk: float
    disk_variation: float
    network: float
    network_variation: float


TYPES: Final = (
    Machines("m1.small", "0.044", 1.0, 80, 0.30, 30, 0.40),
    Machines("m1.medium", "0.087", 1.7, 90, 0.25, 45, 0.35),
    Machines("m1.large", "0.175", 3.0, 105, 0.20, 70, 0.25),
    Machines("m1.xlarge", "0.350", 5.0, 115, 0.15, 90, 0.20),
)
NAMES: Final = tuple(one.name for one in TYPES)
PRICES: Final[Floats] = np.array([float(one.price) for one in TYPES]) / 3600
"""dollars a second"""
ASSUMED: Final = (
    "dollars an hour, speed, mean MB/s of disk and of network, each with its coefficient of"
    " variation: "
    + "; ".join(
        f"{one.name} {one.price}, {one.speed:g}, {one.disk:g} ({one.disk_variation:g}),"
        f" {one.network:g} ({one.network_variation:g})"
        for one in TYPES
    )
    + "; prices and the speed of m1.large by that of m1.small as in Table 2, the rest is ours, as"
    " the histograms are not printed",
    "bandwidths are gamma distributed, and drawn for each task again, as in definition 1; Average"
    " takes their mean, Worst-case the 99th percentile of the time for a byte",
    "Montage and CyberShake are made with the generator of Bharathi et al.; the given run times"
    " hold at 100 MB/s; what a task with parents reads crosses the network, all that is read or"
    " written the disk; Q1 and Q9 are ours",
    QUERIES_ASSUMED,
    "a cost is the time of each task by the price of its offer (equation 2), without billing units",
)


# --- machines ------------------------------------------------------------------------------------


def bandwidths(mean: float, variation: float) -> Floats:
    """Equally likely bandwidths in bytes a second, ascending, of a gamma distribution."""
    from scipy.special import gammaincinv

    shape = variation**-2
    middles = (np.arange(QUANTILES) + 0.5) / QUANTILES
    found: Floats = gammaincinv(shape, middles) * (mean * 1e6 / shape)
    return found


def disks() -> list[Floats]:
    return [bandwidths(one.disk, one.disk_variation) for one in TYPES]


def networks() -> list[Floats]:
    return [bandwidths(one.network, one.network_variation) for one in TYPES]


def performances() -> list[Performance]:
    return [
        Performance(kind.speed, Histogram.from_bandwidths(disk), Histogram.from_bandwidths(network))
        for kind, disk, network in zip(TYPES, disks(), networks(), strict=True)
    ]


def of_average(one: Performance) -> Performance:
    """As a static method sees it that takes mean bandwidths (section 2.2)."""
    disk, network = (
        Histogram.constant(1 / float(np.mean(1 / row.values))) for row in (one.disk, one.network)
    )
    return Performance(one.speed, disk, network)


def of_worst_case(one: Performance) -> Performance:
    """As a static method sees it that takes 99th percentiles of the time for a byte."""
    disk, network = (Histogram.constant(row.quantile(0.99)) for row in (one.disk, one.network))
    return Performance(one.speed, disk, network)


# --- workflows -----------------------------------------------------------------------------------


class ProbCase:
    """A workflow on the four offers."""

    def __init__(self, name: str, dag: Dag) -> None:
        self.name, self.dag = name, dag
        self.kinds = dag.kinds.astype(np.int64)
        self.profiles: Profiles = profiles(dag)
        self.performances = performances()

    @cached_property
    def times(self) -> WorkflowTimes:
        """As they are."""
        return self.seen_by(lambda one: one)

    def seen_by(self, static: Callable[[Performance], Performance]) -> WorkflowTimes:
        """As a method takes them that sees machines like that."""
        seen = {name: static(one) for name, one in zip(NAMES, self.performances, strict=True)}
        found: TaskTimes = workflow_times(self.dag, _offers(), seen)
        return WorkflowTimes.from_table(self.dag, found.table, found.rows)

    @cached_property
    def expected(self) -> Floats:
        """[task, offer] in seconds"""
        means: Floats = self.times.table.mean(axis=1)[self.times.rows]
        return means

    def budget(self, share: float) -> float:
        """So far from the expected cost of all tasks on the cheapest offer to the dearest."""
        costs = (self.expected * PRICES).sum(axis=0)
        return float(costs[0] + share * (costs[-1] - costs[0]))

    def problem(self, budget: float, network_costs: Floats | None = None) -> Problem:
        """For the search as it was published; moving files is free unless said otherwise."""
        rows = zip(*(row.tolist() for row in self.profiles), strict=True)
        given = [
            Profile(round(work * SECOND), round(disk), round(network))
            for work, disk, network in rows
        ]
        moved = np.zeros(len(self.dag)) if network_costs is None else network_costs
        return Problem(self.dag, self.kinds, given, self.performances, PRICES, moved, budget)


def _offers() -> list[Offer]:
    return [Offer(one.name, Money.parse(one.price), speed=one.speed) for one in TYPES]


def generated(path: Path) -> Dag:
    """A workflow of the generator, with the parts of its run times given."""
    if not path.exists():
        raise InputError(
            f"{path}: no such workflow; make it with the generator of Bharathi et al. and put it"
            " there"
        )
    dag = read_workflow(path)
    found = profiles(dag)
    network = np.zeros(len(dag))
    if dag.volumes is not None:
        moved = dag.volumes.sum(axis=1)
        kept = np.divide(found.disk, moved, out=np.zeros(len(dag)), where=moved > 0)
        network = np.where(dag.parents.counts() > 0, dag.volumes[:, 0] * kept, 0.0)
    parts = [found.work, found.disk / REFERENCE_DISK, network / REFERENCE_NETWORK]
    return msgspec.structs.replace(dag, parts=np.column_stack(parts))


def montage(folder: Path = DATA) -> ProbCase:
    return ProbCase("Montage", generated(folder / "montage-10568.json.gz"))


def cybershake(folder: Path = DATA) -> ProbCase:
    return ProbCase("CyberShake", generated(folder / "cybershake-1000.json.gz"))


def q1() -> ProbCase:
    return ProbCase("Q1", query("Q1", Q1))


def q9() -> ProbCase:
    return ProbCase("Q9", query("Q9", Q9))


def cases(folder: Path = DATA) -> list[ProbCase]:
    return [montage(folder), cybershake(folder), q1(), q9()]
