"""Executions of a workflow with drawn bandwidths: what an assignment costs and takes.

Nothing of the methods that are compared is used here, neither their histograms nor their kernels.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.reproduce.prob_setting import PRICES, QUANTILES, TYPES, ProbCase, disks, networks

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

EXECUTIONS: Final = 100
"""of each assignment, as in section 6.1"""
SEED: Final = 2019


class ExecutionOutcome(msgspec.Struct, frozen=True, eq=False):
    """[execution] each: seconds and dollars."""

    times: Floats
    costs: Floats

    @property
    def time(self) -> float:
        return float(self.times.mean())

    @property
    def cost(self) -> float:
        return float(self.costs.mean())

    @property
    def cost_error(self) -> float:
        """The standard error of the mean cost."""
        return float(self.costs.std(ddof=1) / np.sqrt(len(self.costs)))

    def share_within(self, budget: float) -> float:
        return float(np.mean(self.costs <= budget))


class WorkflowExecutions:
    """So many executions of one workflow; each task has the same luck whatever its offer.

    With shared luck all tasks of an execution have the same, as if the day were a good or bad one.
    """

    def __init__(
        self, case: ProbCase, count: int = EXECUTIONS, seed: int = SEED, *, is_shared: bool = False
    ) -> None:
        self._case = case
        rng = np.random.default_rng(seed)
        shape = (1 if is_shared else len(case.dag), count)
        self._disk_luck = rng.integers(0, QUANTILES, shape)
        self._network_luck = rng.integers(0, QUANTILES, shape)
        self._disks = 1 / np.array(disks())
        self._networks = 1 / np.array(networks())

    def task_times(self, offers: Integers) -> Floats:
        """[task, execution] in seconds"""
        work, disk, network = self._case.profiles
        speeds = np.array([one.speed for one in TYPES])[offers]
        chosen = offers[:, None]
        times: Floats = (work / speeds)[:, None] + disk[:, None] * self._disks[
            chosen, self._disk_luck
        ]
        times += network[:, None] * self._networks[chosen, self._network_luck]
        return times

    def ends(self, offers: Integers) -> Floats:
        """[task, execution]: when each task ends, if it begins as soon as its parents have ended"""
        dag, ends = self._case.dag, self.task_times(offers)
        starts = dag.parents.starts.tolist()
        for task in dag.order.tolist():
            parents = dag.parents.items[starts[task] : starts[task + 1]]
            if len(parents):
                ends[task] += ends[parents].max(axis=0)
        return ends

    def costs(self, offers: Integers) -> Floats:
        """[execution] in dollars"""
        costs: Floats = PRICES[offers] @ self.task_times(offers)
        return costs

    def run(self, offers: Integers) -> ExecutionOutcome:
        return ExecutionOutcome(self.ends(offers).max(axis=0), self.costs(offers))
