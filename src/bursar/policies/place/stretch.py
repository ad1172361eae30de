"""`stretch`: the work first whose slowdown, to a power, is largest by what it still costs.

The key is s^p / (c w): s is what `fwp` takes for the slowdown of a work, c its critical path and w
the work that has not been started. A work that suffers goes first, but a small one suffers at less
cost to others. With p = 4 both the mean and the deviation of slowdowns are low.
"""

from __future__ import annotations

from bursar.kernels.placing_keys import STRETCH, stretched
from bursar.model.time import Time
from bursar.policies.place.fwp import FwpPlacer
from bursar.policies.ranked_works import RankedWork
from bursar.policies.workload_placer import CompiledRule


class StretchPlacer(FwpPlacer):
    def __init__(self, power: int = 4, tasks: int = 1000) -> None:
        super().__init__(tasks=tasks)
        self._power = power

    @property
    def compiled(self) -> CompiledRule:
        return CompiledRule(STRETCH, power=self._power, remembered=self._tasks)

    def key(self, work: RankedWork, now: Time) -> float:
        return stretched(
            now - work.arrived,
            self._scale,
            work.path_left,
            work.path,
            work.work_left,
            self._power,
        )
