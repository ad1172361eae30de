"""What is expected of the tasks of a workload that is placed by plans: known, or learned."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from bursar.kernels.graph import ranks_of
from bursar.model.dag import topological_order
from bursar.model.learning import correction, first_correction, kind_mean, size_class
from bursar.model.workload_arrays import WorkloadArrays

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


class PlannedEstimates:
    """Run times that are known, right or wrong, and do not change."""

    def __init__(self, arrays: WorkloadArrays, times: Longs) -> None:
        self._arrays = arrays
        self._order = topological_order(arrays.children, arrays.parents.counts())
        self.times = times.astype(np.float64)
        """by task at speed 1, as it was expected when its work arrived"""
        self.ranks: Floats = ranks_of(arrays.parents, self._order, self.times)
        """upward ranks by task, of these times"""
        self.factor = np.ones(len(arrays.arrived))
        """by work: what corrects its times and ranks"""

    @property
    def order(self) -> NDArray[np.int32]:
        """All tasks, parents before their children."""
        return self._order

    def arrive(self, work: int) -> None:
        """A work has arrived, after all that ended at that time."""
        return

    def complete(self, task: int, took: int) -> None:
        """A task has ended, which took that long at speed 1."""
        return

    def corrected(self, tasks: Longs) -> Floats:
        """What tasks are expected to take now, at speed 1."""
        found: Floats = self.times[tasks] * self.factor[self._arrays.work[tasks]]
        return found

    def ranked(self, tasks: Longs) -> Floats:
        """Their upward ranks now."""
        found: Floats = self.ranks[tasks] * self.factor[self._arrays.work[tasks]]
        return found


class LearnedEstimates(PlannedEstimates):
    """Run times by kind, as `bursar.beliefs.learned.LearnedRunTimes` learns them in the engine."""

    def __init__(self, arrays: WorkloadArrays, kinds: NDArray[np.int32]) -> None:
        super().__init__(arrays, np.zeros(len(arrays), np.int64))
        self._kinds = kinds.tolist()
        by_work = np.argsort(arrays.work[self._order], kind="stable")
        self._parents_first = self._order[by_work].tolist()
        """tasks by work, in each of them parents before their children"""
        self._count: defaultdict[int, int] = defaultdict(int)
        """by kind: tasks that ended ..."""
        self._took: defaultdict[int, int] = defaultdict(int)
        """... and what they took"""
        self._all = [0, 0]
        """what all tasks took that ended, and their number"""
        self._classes: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        """by size class of works: what those that ended took, and were expected to take"""
        works = len(arrays.arrived)
        self._first, self._total = [1.0] * works, [0] * works
        """by work, when it arrived: what corrected it, and what it was expected to take"""
        self._left = np.diff(arrays.first).tolist()
        """by work: tasks that have not ended"""
        self._work_took, self._work_expected = [0] * works, [0] * works
        """by work: what its tasks took that have ended, and were expected to take"""

    def arrive(self, work: int) -> None:
        begin, end = (int(one) for one in self._arrays.first[work : work + 2])
        found = [
            kind_mean(self._took[kind], self._count[kind], *self._all)
            for kind in self._kinds[begin:end]
        ]
        self.times[begin:end] = found
        self._rank(begin, end)
        self._total[work] = sum(found)
        seen = self._classes[size_class(self._total[work])]
        self._first[work] = self.factor[work] = first_correction(*seen)

    def _rank(self, begin: int, end: int) -> None:
        """Fill the ranks of a work, its last tasks first."""
        starts, items = self._arrays.children.starts, self._arrays.children.items
        for task in reversed(self._parents_first[begin:end]):
            below = self.ranks[items[starts[task] : starts[task + 1]]]
            self.ranks[task] = self.times[task] + below.max(initial=0)

    def complete(self, task: int, took: int) -> None:
        work, kind = int(self._arrays.work[task]), self._kinds[task]
        self._took[kind] += took
        self._count[kind] += 1
        self._all[0] += took
        self._all[1] += 1
        self._left[work] -= 1
        self._work_took[work] += took
        self._work_expected[work] += int(self.times[task])
        total, tasks = self._total[work], int(np.diff(self._arrays.first[work : work + 2])[0])
        done = (self._work_took[work], self._work_expected[work])
        self.factor[work] = correction(self._first[work], *done, total, tasks)
        if not self._left[work]:
            ended = self._classes[size_class(total)]
            ended[0] += self._work_took[work]
            ended[1] += total
