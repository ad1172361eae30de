"""What is read off a simulated workload whose fleet followed demand (workload thesis, 4.3, 5.2.2).

For each run, and for each account of it: how well supply followed demand, what works felt of it,
and what it cost; all beside the same workload on machines that are always up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.goal import Goal
from bursar.model.market import Market
from bursar.model.money import ZERO
from bursar.model.time import HOUR, SECOND, Time
from bursar.model.workload import Workload
from bursar.report.elasticity import (
    Elasticity,
    WorkMoments,
    charged_hours,
    elastic_slowdowns,
    elasticity,
    moments,
)
from bursar.report.ranking import RankedFigures
from bursar.simulate.scaled import ScaledRun, counted_at, demand_at, eligible_times, supply_at
from bursar.simulate.workload_metrics import OverWorks, critical_paths, work_times
from bursar.simulate.workload_schedule import WorkloadSchedule

Longs = NDArray[np.int64]
ALWAYS_UP: Final = "always-up"
"""how the run is called whose machines are all always up"""


class DemandSupply(msgspec.Struct, frozen=True):
    """Slots that tasks could use and slots that were up, over time."""

    every_s: float
    demand: tuple[int, ...]
    supply: tuple[int, ...]


class ScaledAccount(msgspec.Struct, frozen=True):
    """How an account fared in a run."""

    name: str
    elasticity: Elasticity
    slowdown: OverWorks
    cost: str
    most_of_budget: float | None
    """the largest share of its budget that an interval committed; None: there is no budget"""


class ScaledWorkload(msgspec.Struct, frozen=True):
    """One autoscaler with one placer."""

    provisioner: str
    placer: str
    ended: str
    """how the run did"""
    elasticity: Elasticity
    slowdown: OverWorks
    """response by critical path"""
    elastic: WorkMoments
    """response by that on machines which are always up"""
    proximity: WorkMoments | None
    """response by deadline, of works that have one; None: none has"""
    throughput: float
    """tasks in an hour"""
    hours: float
    """that machines were up, for each slot of the system"""
    charged_hours: float
    """the same in whole billing units, from renting on"""
    saved: float
    """the hours of machines that are always up, by these"""
    charged_saved: float
    cost: str
    decisions: int
    accounts: tuple[ScaledAccount, ...]
    series: DemandSupply

    @property
    def name(self) -> str:
        return self.provisioner if self.is_base else f"{self.provisioner}/{self.placer}"

    @property
    def is_base(self) -> bool:
        return self.provisioner == ALWAYS_UP

    def figures(self) -> RankedFigures:
        one = self.elasticity
        return RankedFigures(
            one.under,
            one.over,
            one.under_time,
            one.over_time,
            one.over_trend,
            one.under_trend,
            self.elastic.mean,
            self.elastic.deviation,
            self.hours,
        )


class FigureReader:
    """What is common to the figures of all runs."""

    def __init__(
        self,
        workload: Workload,
        market: Market,
        goal: Goal,
        size: int,
        step: Time,
        base: WorkloadSchedule,
    ) -> None:
        self._workload, self._market, self._goal = workload, market, goal
        self._size, self._step = size, step
        self._arrays = workload.arrays
        self._base = base
        self._base_times = work_times(self._arrays, base)
        self._base_hours = int(base.end.max()) / HOUR
        unit = max(offer.billing for offer in market.offers)
        self._base_charged = charged_hours([(0, int(base.end.max()))], unit)
        speeds = [offer.speed for offer in market.offers]
        self._paths = critical_paths(self._arrays, sum(speeds) / len(speeds))
        self._owners = np.array([one.work.owner for one in workload.arrivals])

    def of(self, provisioner: str, placer: str, run: ScaledRun) -> ScaledWorkload:
        market, size = self._market, self._size
        moments_at = moments_of(run.schedule, self._step)
        every = np.ones(len(self._arrays), dtype=bool)
        demand = demand_at(moments_at, run.eligible, run.schedule.end, every)
        supply = supply_at(moments_at, run.stays, market)
        busy = counted_at(moments_at, *run.attempts)
        up = [(stay.up, stay.down) for stay in run.stays if stay.up is not None]
        slots = sum(market[s.offer].slots * (s.down - s.up) for s in run.stays if s.up is not None)
        hours = slots / HOUR / size if up else 0.0
        charged = (
            sum(
                charged_hours([(s.rented, s.down)], market[s.offer].billing) * market[s.offer].slots
                for s in run.stays
            )
            / size
        )
        last = max(1, int(run.schedule.end.max()))
        return ScaledWorkload(
            provisioner=provisioner,
            placer=placer,
            ended="" if run.state.ended is None else run.state.ended.status,
            elasticity=_elasticity(demand, supply, size, supply - busy),
            slowdown=self._slowdowns(run.schedule),
            elastic=self._elastic(run.schedule),
            proximity=self._proximity(run.schedule),
            throughput=int((run.schedule.end >= 0).sum()) / (last / HOUR),
            hours=hours,
            charged_hours=charged,
            saved=self._base_hours / hours if hours else float("inf"),
            charged_saved=self._base_charged / charged if charged else float("inf"),
            cost=str(run.state.ledger.committed),
            decisions=len(run.decisions),
            accounts=tuple(self._accounts(run, moments_at)),
            series=DemandSupply(
                self._step / SECOND, tuple(demand.tolist()), tuple(supply.tolist())
            ),
        )

    def of_base(self, placer: str) -> ScaledWorkload:
        """Machines that are always up, and that nobody pays for here."""
        base, size = self._base, self._size
        moments_at = moments_of(base, self._step)
        every = np.ones(len(self._arrays), dtype=bool)
        demand = demand_at(moments_at, eligible_times(self._arrays, base.end), base.end, every)
        busy = counted_at(moments_at, base.start.astype(np.int64), base.end.astype(np.int64))
        supply = np.full(len(moments_at), size)
        return ScaledWorkload(
            provisioner=ALWAYS_UP,
            placer=placer,
            ended="done",
            elasticity=_elasticity(demand, supply, size, supply - busy),
            slowdown=self._slowdowns(base),
            elastic=self._elastic(base),
            proximity=self._proximity(base),
            throughput=len(self._arrays) / self._base_hours,
            hours=self._base_hours,
            charged_hours=self._base_charged,
            saved=1.0,
            charged_saved=1.0,
            cost=str(ZERO),
            decisions=0,
            accounts=(),
            series=DemandSupply(
                self._step / SECOND, tuple(demand.tolist()), tuple(supply.tolist())
            ),
        )

    def _slowdowns(
        self, schedule: WorkloadSchedule, counted: NDArray[np.bool_] | None = None
    ) -> OverWorks:
        with np.errstate(divide="ignore", invalid="ignore"):
            found = work_times(self._arrays, schedule).response / self._paths
        return OverWorks.of(found if counted is None else found[counted])

    def _elastic(self, schedule: WorkloadSchedule) -> WorkMoments:
        times = work_times(self._arrays, schedule).response
        done = ~np.isnan(times) & (self._base_times.response > 0)
        if not done.any():
            return WorkMoments(float("nan"), float("nan"), float("nan"), float("nan"))
        return moments(
            elastic_slowdowns(
                times[done].tolist(), self._base_times.response[done].tolist()
            ).tolist()
        )

    def _proximity(self, schedule: WorkloadSchedule) -> WorkMoments | None:
        times = work_times(self._arrays, schedule).response
        shares = [
            float(time) / (one.work.deadline / SECOND)
            for time, one in zip(times, self._workload.arrivals, strict=True)
            if one.work.deadline and not np.isnan(time)
        ]
        return moments(shares) if shares else None

    def _accounts(self, run: ScaledRun, moments_at: Longs) -> Iterator[ScaledAccount]:
        ledger, market = run.state.ledger, self._market
        for name, budget in self._goal.budgets().items():
            works = self._owners == name if name else np.ones(len(self._owners), dtype=bool)
            tasks = works[self._arrays.work]
            demand = demand_at(moments_at, run.eligible, run.schedule.end, tasks)
            supply = supply_at(moments_at, run.stays, market, name)
            spent = sum((one.amount for one in ledger.charges() if one.account == name), ZERO)
            most = max(
                (ledger.committed_in(name, number) for number in range(_intervals(run, name))),
                default=ZERO,
            )
            share = None
            if budget is not None and budget.amount:
                share = most.nanos / budget.amount.nanos
            yield ScaledAccount(
                name=name,
                elasticity=_elasticity(demand, supply, self._size, None),
                slowdown=self._slowdowns(run.schedule, works),
                cost=str(spent),
                most_of_budget=share,
            )


def _intervals(run: ScaledRun, account: str) -> int:
    budget = run.state.goal.budgets().get(account)
    if budget is None or budget.every is None:
        return 1
    return run.state.now // budget.every + 2


def _elasticity(demand: Longs, supply: Longs, size: int, idle: Longs | None) -> Elasticity:
    """Where demand was beyond the system at every moment, all of them count."""
    if not (demand <= size).any():
        size = int(demand.max())
    return elasticity(demand, supply, size, idle)


def moments_of(schedule: WorkloadSchedule, step: Time) -> Longs:
    """Up to the last end, at least one."""
    found: Longs = np.arange(0, max(1, int(schedule.end.max(initial=0))), step, dtype=np.int64)
    return found
