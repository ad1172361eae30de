"""`fwp`: the work first that is delayed most, by its critical path.

Fair workflow prioritization, section 3.3.7 of the thesis on workloads of workflows. Works are meant
to have the mean slowdown of the last ones; since that is subtracted from all alike, how many those
are (`history`, K) changes no decision. Estimates are corrected by what the last tasks took
(`tasks`, M).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from random import Random
from typing import ClassVar

from bursar.kernels.placing_keys import FWP, most_delayed
from bursar.model.time import Time
from bursar.policies.workload_placer import CompiledRule, Corrected, WorkloadPlacer
from bursar.state.ranked_works import RankedWork
from bursar.state.view import View


class FwpPlacer(WorkloadPlacer):
    key_changes: ClassVar[bool] = True

    def __init__(self, history: int = 300, tasks: int = 1000) -> None:
        super().__init__()
        self._slowdowns: deque[float] = deque(maxlen=history)
        """those of the works that ended last"""
        self._tasks = tasks
        self._corrected = Corrected(tasks)
        self._scale = 1.0
        self._begun: dict[int, float] = {}
        """by task that was started: what it was then expected to take, at speed 1"""

    @property
    def target(self) -> float:
        """The slowdown that all works are meant to have (3.4)."""
        return sum(self._slowdowns) / len(self._slowdowns) if self._slowdowns else 1.0

    @property
    def compiled(self) -> CompiledRule:
        return CompiledRule(FWP, remembered=self._tasks)

    def key(self, work: RankedWork, now: Time) -> float:
        path, path_left = work.path * work.factor, work.path_left * work.factor
        return most_delayed(now - work.arrived, self._scale, path_left, path)

    def follow(
        self, view: View, now: Time, rng: Random, done: Iterable[tuple[RankedWork, int]]
    ) -> None:
        ended: dict[RankedWork, Time] = {}
        for work, task in done:
            self.learn(work, task, view)
            ended[work] = view.log.ended[view.winners[task]]
        self._scale = self._corrected.scale(view)
        self._slowdowns += [
            (end - work.arrived) * self._scale / work.path
            for work, end in ended.items()
            if not work.left and work.path
        ]

    def learn(self, work: RankedWork, task: int, view: View) -> None:
        """A task was done."""
        attempt = view.winners[task]
        speed = view.market[view.offer_of(view.log.machine[attempt])].speed
        estimate = self._begun.pop(task, work.estimate_of(task))
        self._corrected.add(view.log.runtime[attempt], round(estimate / speed))

    def starting(self, work: RankedWork, task: int) -> None:
        self._begun[task] = work.estimate_of(task)
