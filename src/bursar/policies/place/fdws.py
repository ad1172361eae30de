"""`fdws`: the work first of which the smallest share is left, times its critical path.

Fairness dynamic workflow scheduling, section 3.3.5 of the thesis on workloads of workflows, without
queues at machines. The idle machine that would end a task first is the fastest.
"""

from __future__ import annotations

from bursar.kernels.placing_keys import FDWS, share_left
from bursar.model.time import Time
from bursar.policies.workload_placer import CompiledRule, WorkloadPlacer
from bursar.state.ranked_works import RankedWork


class FdwsPlacer(WorkloadPlacer):
    @property
    def compiled(self) -> CompiledRule:
        return CompiledRule(FDWS)

    def key(self, work: RankedWork, now: Time) -> float:
        return share_left(work.left, work.tasks, work.path * work.factor)
