"""Several workflows for one budget and one deadline, on machines of one offer.

This is the setting of SPSS and DPDS (Malawski, Juve, Deelman and Nabrzyski, 2012 and 2015). Files
are in a storage that all machines share, so that run times count their moves.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from bursar.model.dag import Csr, Dag, Longs, dag_of_edges, frozen
from bursar.model.errors import InputError
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import Time
from bursar.plan.workflow.heft import Floats, Network
from bursar.plan.workflow.schedule import Schedule, check_times, microseconds


class Member(msgspec.Struct, frozen=True, eq=False):
    """A workflow of an ensemble."""

    dag: Dag
    runtimes: Floats
    """[task] in seconds, on the ensemble's offer"""
    priority: int = 0
    """larger is more urgent; of equals the first is"""


class EnsemblePlan(msgspec.Struct, frozen=True, eq=False):
    """What becomes of an ensemble; tasks are numbered on from workflow to workflow."""

    schedule: Schedule
    first: Longs
    """[workflow]: the number of its first task in the schedule"""
    finished: tuple[int, ...]
    """the workflows all of whose tasks run, ascending"""

    def check(self, members: Sequence[Member], offer: Offer) -> None:
        """Raise if the schedule cannot be run; see `Schedule.check`."""
        dag, _ = joined([member.dag for member in members])
        runtimes = np.concatenate([*(member.runtimes for member in members), np.zeros(0)])
        volumes, market = np.zeros(dag.edges), Market("", "", (offer,))
        self.schedule.check(dag, runtimes[:, np.newaxis], volumes, Network.even(1), market)


class Ensemble(msgspec.Struct, frozen=True, eq=False):
    """All workflows as one dag, with what is common to their planners."""

    offer: Offer
    budget: Money
    deadline: Time
    dag: Dag
    first: Longs
    """[workflow]: its first task; and after the last, the number of all tasks"""
    times: Longs
    """[task]: run time in microseconds"""
    turns: tuple[int, ...]
    """the workflows, most urgent first"""

    @classmethod
    def of(cls, members: Sequence[Member], offer: Offer, budget: Money, deadline: Time) -> Ensemble:
        if budget < ZERO or deadline < 0:
            raise InputError("a budget and a deadline cannot be below zero; give more")
        for member in members:
            check_times("run time", np.asarray(member.runtimes), (len(member.dag),))
        dag, first = joined([member.dag for member in members])
        turns = sorted(range(len(members)), key=lambda each: -members[each].priority)
        times = [microseconds(member.runtimes) for member in members]
        flat = np.concatenate([*times, np.zeros(0, np.int64)])
        return cls(offer, budget, deadline, dag, first, flat, tuple(turns))

    @property
    def market(self) -> Market:
        return Market(currency="", date="", offers=(self.offer,))

    def tasks(self, workflow: int) -> range:
        return range(int(self.first[workflow]), int(self.first[workflow + 1]))

    def order(self, workflow: int) -> list[int]:
        """The tasks of a workflow, each after its parents."""
        own: list[int] = self.dag.order[self.first[workflow] : self.first[workflow + 1]].tolist()
        return own

    def parents(self, task: int) -> list[int]:
        start = self.dag.parents.starts
        row: list[int] = self.dag.parents.items[start[task] : start[task + 1]].tolist()
        return row

    def planned(self, schedule: Schedule, finished: Sequence[int]) -> EnsemblePlan:
        return EnsemblePlan(schedule, self.first[:-1], tuple(sorted(finished)))


def joined(dags: Sequence[Dag]) -> tuple[Dag, Longs]:
    """All workflows as one, and the number of the first task of each, and of all tasks."""
    first = np.cumsum([0, *(len(dag) for dag in dags)])
    edges = np.cumsum([0, *(dag.edges for dag in dags)])
    starts = [dag.parents.starts[1:] + edge for dag, edge in zip(dags, edges, strict=False)]
    parents = [dag.parents.items + task for dag, task in zip(dags, first, strict=False)]
    orders = [dag.order + task for dag, task in zip(dags, first, strict=False)]
    none = np.zeros(0, np.int64)
    edges_of = Csr(
        frozen(np.concatenate([[0], *starts]), np.int64),
        frozen(np.concatenate([*parents, none]), np.int32),
    )
    order = frozen(np.concatenate([*orders, none]), np.int32)  # one workflow after the other
    return msgspec.structs.replace(dag_of_edges(edges_of), order=order), first
