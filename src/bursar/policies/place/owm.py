"""`owm`: of the most urgent tasks of all works, the one of the lowest upward rank.

Online workflow management, section 3.3.4 of the thesis on workloads of workflows. The text has the
highest rank first (`order=highest`), with which long works starve all others under load; only the
lowest first comes near the published results. Where all idle machines are equally fast, a task is
postponed that would end sooner on the busy machine that is expected to be idle first.

The text does not say when a machine is expected to be idle whose task should have ended and has
not. With `overdue=never`, the default, nothing is expected of such a machine, and no task waits for
it. With `overdue=now` it is expected to be idle now, so that estimates which are too short let
tasks wait for machines that are busy for long.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import ClassVar, Literal

from bursar.kernels.placing_keys import OWM, OWM_HIGHEST, highest_rank, lowest_rank
from bursar.model.time import Time
from bursar.policies.fastest_idle import ExpectedEnds
from bursar.policies.workload_placer import CompiledRule, WorkloadPlacer
from bursar.state.ranked_works import RankedWork
from bursar.state.view import Machine, View


class OwmPlacer(WorkloadPlacer):
    waits_for_machines: ClassVar[bool] = True

    def __init__(
        self,
        order: Literal["lowest", "highest"] = "lowest",
        overdue: Literal["never", "now"] = "never",
    ) -> None:
        super().__init__()
        self._order = order
        self._forgets = overdue == "never"
        self._ends = ExpectedEnds(forgets_overdue=self._forgets)
        self._may_wait = False
        """whether machines differ in speed"""

    @property
    def compiled(self) -> CompiledRule:
        rule = OWM if self._order == "lowest" else OWM_HIGHEST
        return CompiledRule(rule, forgets_overdue=self._forgets)

    def key(self, work: RankedWork, now: Time) -> float:
        rank = work.rank_of(work.highest)
        return lowest_rank(rank) if self._order == "lowest" else highest_rank(rank)

    def follow(
        self, view: View, now: Time, rng: Random, done: Iterable[tuple[RankedWork, int]]
    ) -> None:
        self._may_wait = len({view.market[name].speed for name in view.fleet}) > 1
        if self._may_wait:
            self._ends.look(view)

    def may_start(
        self, work: RankedWork, task: int, machine: Machine, view: View, now: Time
    ) -> bool:
        if not self._may_wait:
            return True
        time = work.estimate_of(task)
        here = now + round(time / machine.offer.speed)
        if self._idle.are_equal(view):
            first = self._ends.first(view, now)
            if first is not None and first[0] + round(time / first[1].offer.speed) < here:
                return False
        self._ends.place(task, here, machine)
        return True
