"""`hr`: the task of the lowest upward rank of all; of the highest, where one work is alone.

Hybrid rank, section 3.3.6 of the thesis on workloads of workflows.
"""

from __future__ import annotations

from bursar.kernels.placing_keys import HR, lowest_rank
from bursar.model.time import Time
from bursar.policies.workload_placer import CompiledRule, WorkloadPlacer
from bursar.state.ranked_works import RankedWork


class HrPlacer(WorkloadPlacer):
    @property
    def compiled(self) -> CompiledRule:
        return CompiledRule(HR)

    def key(self, work: RankedWork, now: Time) -> float:
        return lowest_rank(work.rank_of(work.lowest))

    def task_of(self, work: RankedWork) -> int:
        return work.highest if len(self._waiting) == 1 else work.lowest
