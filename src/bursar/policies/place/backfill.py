"""`backfill`: first come, first served by work, any of its tasks that is ready.

Section 2.3.6 (BF) and 3.3.2 (GBF) of the thesis on workloads of workflows. It needs no run times.
No machine idles while a task is ready. The random choice depends on the seed, the work and how many
of its tasks were started, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import ClassVar

from bursar.kernels.placing_keys import BACKFILL, by_arrival
from bursar.model.time import Time
from bursar.policies.workload_placer import CompiledRule, WorkloadPlacer
from bursar.state.ranked_works import RankedWork
from bursar.state.view import View


class BackfillPlacer(WorkloadPlacer):
    needs_ranks: ClassVar[bool] = False

    def __init__(self, seed: int | None = None) -> None:
        super().__init__()
        self._seed = seed
        """None: it is drawn when the first task is placed"""

    @property
    def compiled(self) -> CompiledRule:
        return CompiledRule(BACKFILL)

    def seed_by(self, rng: Random) -> int:
        if self._seed is None:
            self._seed = rng.getrandbits(62)
        return self._seed

    def key(self, work: RankedWork, now: Time) -> float:
        return by_arrival()

    def task_of(self, work: RankedWork) -> int:
        return work.pick(self._seed or 0)

    def follow(
        self, view: View, now: Time, rng: Random, done: Iterable[tuple[RankedWork, int]]
    ) -> None:
        self.seed_by(rng)
