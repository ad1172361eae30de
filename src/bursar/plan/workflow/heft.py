"""HEFT: a workflow on machines that differ, planned ahead (Topcuoglu, Hariri and Wu, 2002).

Tasks are taken by their upward rank, the longest way to the end in mean run times and mean moves of
files; each goes to the machine on which it ends first, perhaps between two tasks that were placed
before. Times are seconds, or any unit that all have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.kernels import heft as heft_kernel
from bursar.kernels.compiling import compile_kept, let_kernels_call
from bursar.kernels.graph import ranks_of
from bursar.model.dag import Dag
from bursar.model.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Network(msgspec.Struct, frozen=True, eq=False):
    """What it takes to move files between machines, by their offers; on one machine, nothing."""

    latency: Floats
    """[offer, offer]: time before the first byte"""
    pace: Floats
    """[offer, offer]: time for a byte"""

    @classmethod
    def even(cls, offers: int, pace: float = 0.0, latency: float = 0.0) -> Network:
        """The same between all machines."""
        return cls(np.full((offers, offers), latency), np.full((offers, offers), pace))


class Placement(msgspec.Struct, frozen=True, eq=False):
    """Where and when each task is to run."""

    machine: Integers
    """[task]"""
    begin: Floats
    """[task]"""
    end: Floats
    """[task]"""
    rank: Floats
    """[task]: the upward rank"""

    @property
    def makespan(self) -> float:
        return float(self.end.max(initial=0.0))


def heft(
    dag: Dag,
    runtimes: Floats,
    volumes: Floats,
    machines: Integers,
    network: Network,
) -> Placement:
    """Place all tasks.

    `runtimes[task, offer]` and `volumes[edge]`, the bytes that a child needs of a parent, in the
    order of the dag's edges. `machines` are their offers' numbers.
    """
    given = Given.of(dag, runtimes, volumes, machines, network)
    return place_by(given.rank_upward(), given)


def place_by(rank: Floats, given: Given) -> Placement:
    """Place all tasks in the order of these ranks, the highest first."""
    dag = given.dag
    by_rank = dag.order[np.argsort(-rank[dag.order], kind="stable")]
    chosen = np.zeros(len(dag), dtype=np.int64)
    begins, ends = np.zeros(len(dag)), np.zeros(len(dag))
    compiled().place_all(
        dag.parents.starts,
        dag.parents.items,
        given.volumes,
        by_rank,
        given.runtimes,
        given.machines,
        given.latency,
        given.pace,
        chosen,
        begins,
        ends,
    )
    return Placement(chosen, begins, ends, rank)


class Given(msgspec.Struct, frozen=True, eq=False):
    """What is to be planned, checked, and as the kernels take it."""

    dag: Dag
    runtimes: Floats
    volumes: Floats
    machines: Integers
    latency: Floats
    pace: Floats

    @classmethod
    def of(
        cls,
        dag: Dag,
        runtimes: Floats,
        volumes: Floats,
        machines: Integers,
        network: Network,
    ) -> Given:
        times = np.ascontiguousarray(runtimes, dtype=np.float64)
        moved = np.ascontiguousarray(volumes, dtype=np.float64)
        offer = np.ascontiguousarray(machines, dtype=np.int64)
        latency = np.ascontiguousarray(network.latency, dtype=np.float64)
        pace = np.ascontiguousarray(network.pace, dtype=np.float64)
        _check(dag, times, moved, offer, latency, pace)
        return cls(dag, times, moved, offer, latency, pace)

    def rank_upward(self) -> Floats:
        """By task: the longest way to the end in mean run times and mean moves of files."""
        counts = np.bincount(self.machines, minlength=self.runtimes.shape[1])
        latency, pace = (_mean_of_pairs(each, self.machines) for each in (self.latency, self.pace))
        means, moves = self.runtimes @ (counts / len(self.machines)), latency + self.volumes * pace
        return ranks_of(self.dag.parents, self.dag.order, means, moves)


def _mean_of_pairs(matrix: Floats, offer: Integers) -> float:
    """The mean over all pairs of different machines; 0 with one machine."""
    machines = len(offer)
    if machines == 1:
        return 0.0
    counts = np.bincount(offer, minlength=len(matrix)).astype(np.float64)
    total = counts @ matrix @ counts - counts @ np.diag(matrix)
    return float(total) / (machines * (machines - 1))


def _check(
    dag: Dag, runtimes: Floats, volumes: Floats, offer: Integers, latency: Floats, pace: Floats
) -> None:
    if len(offer) == 0:
        raise InputError("a plan without machines; give it at least one")
    if runtimes.ndim != 2 or len(runtimes) != len(dag):
        raise InputError(f"run times for {len(runtimes)} of {len(dag)} tasks; give one row each")
    offers = runtimes.shape[1]
    if offer.min() < 0 or offer.max() >= offers:
        raise InputError("a machine of an offer without run times; give a column for each offer")
    if volumes.shape != (dag.edges,):
        raise InputError(f"{len(volumes)} volumes for {dag.edges} edges; give one for each")
    if latency.shape != (offers, offers) or pace.shape != (offers, offers):
        raise InputError("the network needs a latency and a pace for each pair of offers")
    for what, values in (
        ("run time", runtimes),
        ("volume", volumes),
        ("latency", latency),
        ("pace", pace),
    ):
        if not np.all((values >= 0) & np.isfinite(values)):
            raise InputError(f"every {what} must be finite and not negative")


class HeftKernels(msgspec.Struct, frozen=True):
    place_all: Callable[..., Any]


@cache
def compiled() -> HeftKernels:
    """The kernels; the first call imports numba and, once on a computer, compiles."""
    let_kernels_call(*heft_kernel.PARTS)
    return HeftKernels(
        place_all=compile_kept(heft_kernel.place_all),
    )
