"""`cpp`: first come, first served by work, the task of the highest upward rank.

Critical path prioritization, section 3.3.3 of the thesis on workloads of workflows.
"""

from __future__ import annotations

from bursar.kernels.placing_keys import CPP, by_arrival
from bursar.model.time import Time
from bursar.policies.workload_placer import CompiledRule, WorkloadPlacer
from bursar.state.ranked_works import RankedWork


class CppPlacer(WorkloadPlacer):
    @property
    def compiled(self) -> CompiledRule:
        return CompiledRule(CPP)

    def key(self, work: RankedWork, now: Time) -> float:
        return by_arrival()
