"""Plans for a workflow, cheapest to fastest: an offer for each task, and how many machines of each.

Assignments come from `assignment`, where every task has a machine of its own that costs nothing
before and after it. Real machines boot and are paid by the unit, so every assignment is packed onto
fewer and fewer machines, and each such plan is judged by simulated executions of the policy that
would carry it out (`packing`). What no other plan beats is kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bursar.beliefs.task_times import TaskTimes
from bursar.model.assigned import Assigned
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.money import Money, format_money
from bursar.model.plan import MakespanSpan, Plan
from bursar.model.plan_options import PlanOptions
from bursar.model.time import SECOND, Time, format_duration, seconds
from bursar.model.workflow import Workflow
from bursar.plan.dominance import beaten_by, knee
from bursar.plan.reserve import reserve_of
from bursar.plan.workflow.assignment import frontier
from bursar.plan.workflow.makespan import WorkflowTimes
from bursar.plan.workflow.packing import PackedRuns, Packing, whole_runtimes
from bursar.plan.workflow.shape import levels
from bursar.plan.workflow.urgency import urgency

Integers = NDArray[np.int64]

ASSIGNMENTS: Final = 10
"""from cheapest to fastest, that are packed"""
FEWEST_ASSIGNMENTS: Final = 4
STEPS: Final = 12
"""sizes of the fleet that are tried for each, from one machine to as many as are ever needed"""
PLANS: Final = 8
"""that are shown"""
FIRST_LOOK: Final = 3_000_000
"""tasks that are simulated to compare all candidates, and ..."""
SECOND_LOOK: Final = 12_000_000
"""... to judge those that are left; both set how many samples a workflow of some size gets"""
FEWEST: Final = 2
MOST: Final = 400
"""samples of one candidate"""
SHARES: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""quantiles of the makespan that are kept of a plan"""
MOST_SEARCHED: Final = 100_000
"""Tasks up to which each gets the offer that is best for it: a search takes a second for 5,000."""


class WorkflowPlan:
    """An assignment and a fleet, with what simulated executions took and cost."""

    def __init__(
        self,
        offers: Sequence[Offer],
        of_task: Integers,
        fleet: Sequence[int],
        makespans: Integers,
        costs: Integers,
    ) -> None:
        self.of_task = of_task
        """by task, a number of the offers"""
        self.fleet = {
            offer.name: int(count) for offer, count in zip(offers, fleet, strict=True) if count
        }
        self.assigned = Assigned(tuple(o.name for o in offers), tuple(of_task.tolist()))
        self.makespans = np.sort(makespans)
        self.costs = np.sort(costs)
        """in billionths"""

    def makespan(self, share: float) -> Time:
        """What is not exceeded with this probability."""
        return int(self.makespans[_index(len(self.makespans), share)])

    def cost(self, share: float) -> Money:
        return Money(int(self.costs[_index(len(self.costs), share)]))

    @property
    def mean_cost(self) -> Money:
        return Money(round(float(self.costs.mean())))

    def chance_within(self, budget: Money) -> float:
        """P(cost <= budget)."""
        return float(np.searchsorted(self.costs, budget.nanos, side="right")) / len(self.costs)

    def chance_by(self, deadline: Time) -> float:
        """P(makespan <= deadline)."""
        return float(np.searchsorted(self.makespans, deadline, side="right")) / len(self.makespans)

    def keeps(self, goal: Goal, planning: PlanOptions) -> bool:
        """Whether it meets a goal with the confidence; the budget perhaps on average only."""
        budget, deadline = goal.budget, goal.deadline
        if deadline is not None and self.chance_by(deadline) < planning.confidence:
            return False
        if budget is None:
            return True
        if planning.on_average:
            return self.mean_cost <= budget
        return self.chance_within(budget) >= planning.confidence

    @property
    def point(self) -> tuple[float, float]:
        """Mean time and cost."""
        return float(self.makespans.mean()), float(self.costs.mean())


class WorkflowPlanner:
    """Makes plans for one workflow on one market; the same seed, the same plans."""

    def __init__(
        self,
        flow: Workflow,
        offers: Sequence[Offer],
        times: TaskTimes,
        *,
        seed: int = 0,
        effort: float = 1.0,
    ) -> None:
        """With less effort, fewer plans are compared, by fewer executions."""
        self._effort = effort
        dag = flow.dag
        self._levels = levels(dag)
        self.offers = tuple(offers)
        self._workflow = WorkflowTimes.from_table(dag, times.table, times.rows)
        self._packing = Packing(dag, urgency(flow), self.offers)
        self._tasks = flow.count
        self._prices = np.array([o.price.nanos for o in offers], dtype=np.int64)
        self._limits = np.array(
            [flow.count if o.limit is None else min(o.limit, flow.count) for o in offers]
        )
        self._seed = seed

    def plans(self) -> list[WorkflowPlan]:
        """The plans that no other beats, by mean time and cost, from cheapest to fastest."""
        candidates = list(self._candidates())
        few = _samples(FIRST_LOOK * self._effort, len(candidates) * self._tasks)
        looked = [self._judged(*one, few, self._seed) for one in candidates]
        kept = [candidates[n] for n in _unbeaten([plan.point for plan in looked])]
        many = _samples(SECOND_LOOK * self._effort, len(kept) * self._tasks)
        judged = [self._judged(*one, many, self._seed + 1) for one in kept]
        plans = [judged[n] for n in _unbeaten([plan.point for plan in judged])]
        plans.sort(key=lambda plan: plan.mean_cost)
        return plans

    def judge(self, of_task: Integers, fleet: Sequence[int], samples: int = MOST) -> WorkflowPlan:
        """A plan that somebody else made."""
        return self._judged(of_task, tuple(fleet), samples, self._seed + 1)

    def _candidates(self) -> Iterator[tuple[Integers, tuple[int, ...]]]:
        for of_task in self._assignments():
            widest = self._widest(of_task)
            yield from ((of_task, fleet) for fleet in _ladder(widest))
            scarce = [n for n, o in enumerate(self.offers) if o.limit == widest[n] < self._tasks]
            if scarce and len(self.offers) > 1:
                shared = self._shared_out(of_task, scarce)
                yield from ((shared, fleet) for fleet in _ladder(self._widest(shared)))

    def _assignments(self) -> Iterator[Integers]:
        """From cheapest to fastest; of a vast workflow, one offer for all tasks each."""
        if self._tasks > MOST_SEARCHED:
            yield from (np.full(self._tasks, offer) for offer in range(len(self.offers)))
            return
        per_second = self._prices / [offer.billing / SECOND for offer in self.offers]
        points = max(FEWEST_ASSIGNMENTS, round(ASSIGNMENTS * self._effort))
        for found in frontier(self._workflow, per_second / 1e9, points=points):
            yield np.asarray(found.offers, dtype=np.int64)

    def _widest(self, of_task: Integers) -> Integers:
        """By offer, the most machines that are ever needed at once."""
        used = np.bincount(of_task, minlength=len(self.offers)) > 0
        peaks: Integers = self._runs(of_task, self._limits * used, 1, self._seed).peaks[0]
        return peaks

    def _shared_out(self, of_task: Integers, scarce: Sequence[int]) -> Integers:
        """Where an offer has fewer machines than tasks on a level, others take some of them.

        The longest task first, each to the offer that would be done with all of its own first.
        """
        means = self._workflow.table.mean(axis=1)[self._workflow.rows] / self._limits
        shared = of_task.copy()
        for level in range(int(self._levels.max()) + 1):
            on_level = np.flatnonzero((self._levels == level) & np.isin(of_task, scarce))
            if len(on_level) <= self._limits[scarce].min():
                continue
            load = np.zeros(len(self.offers))
            for task in on_level[np.argsort(-means[on_level].max(axis=1), kind="stable")]:
                shared[task] = (load + means[task]).argmin()
                load[shared[task]] += means[task, shared[task]]
        return shared

    def _judged(
        self, of_task: Integers, fleet: Sequence[int], samples: int, seed: int
    ) -> WorkflowPlan:
        runs = self._runs(of_task, np.array(fleet), samples, seed)
        return WorkflowPlan(self.offers, of_task, fleet, runs.makespans, runs.costs)

    def _runs(self, of_task: Integers, fleet: Integers, samples: int, seed: int) -> PackedRuns:
        """With the same luck for every task, whichever its offer."""
        table = self._workflow.table
        luck = np.random.default_rng(seed).integers(0, table.shape[1], (samples, self._tasks))
        drawn = table[self._workflow.rows_of(of_task), luck]
        return self._packing.run(of_task, fleet, whole_runtimes(drawn), threads=os.cpu_count() or 1)


def pick(plans: Sequence[WorkflowPlan], goal: Goal, planning: PlanOptions) -> WorkflowPlan | None:
    """The plan for a goal: with a deadline the cheapest that keeps it, else the fastest within the
    budget; the knee, where there is neither. None: no plan keeps the goal.
    """
    if goal.budget is None and goal.deadline is None:
        return plans[knee([plan.point for plan in plans])]
    fitting = [plan for plan in plans if plan.keeps(goal, planning)]
    if goal.deadline is not None:
        return min(fitting, key=lambda plan: plan.mean_cost, default=None)
    return min(fitting, key=lambda plan: plan.point[0], default=None)


def why_none_fits(plans: Sequence[Plan], goal: Goal, planning: PlanOptions, currency: str) -> str:
    """What to tell of plans, from cheapest to fastest, none of which keeps the goal."""
    surely = f"with {planning.confidence:.0%} confidence"
    asked = []
    if goal.budget is not None:
        how = "on average" if planning.on_average else surely
        asked.append(f"a budget of {format_money(goal.budget, currency)} {how}")
    if goal.deadline is not None:
        asked.append(f"a deadline of {format_duration(goal.deadline)} {surely}")

    def cost(plan: Plan) -> str:
        amount = plan.cost if planning.on_average else plan.cost_upper
        return format_money(amount, currency, up=True)

    def time(plan: Plan) -> str:
        return format_duration(seconds(plan.makespan_s.upper), up=True)

    cheapest, fastest = plans[0], plans[-1]
    return (
        f"no plan stays within {' and '.join(asked)}: the cheapest costs {cost(cheapest)} and takes"
        f" {time(cheapest)}, the fastest takes {time(fastest)} and costs {cost(fastest)}; give more"
    )


def offered_plans(
    found: Sequence[WorkflowPlan], goal: Goal, planning: PlanOptions, market: Market
) -> tuple[Plan, ...]:
    """A short list of many plans, cheapest to fastest, with the best for the goal."""
    best = pick(found, goal, planning)
    listed = shortlist(found, best)
    middle = knee([plan.point for plan in listed])
    names = ["cheapest", *(f"between-{n}" for n in range(2, len(listed))), "fastest"]
    return tuple(
        _plan(name, one, goal, planning, market, is_knee=number == middle, is_default=one is best)
        for number, (name, one) in enumerate(zip(names, listed, strict=False))
    )


def _plan(
    name: str,
    found: WorkflowPlan,
    goal: Goal,
    planning: PlanOptions,
    market: Market,
    *,
    is_knee: bool,
    is_default: bool,
) -> Plan:
    upper = found.cost(planning.confidence)
    reserve = reserve_of(found.fleet, market)
    return Plan(
        name=name,
        fleet=found.fleet,
        assigned=found.assigned,
        tasks=found.assigned.counts(),
        cost=found.mean_cost,
        makespan_s=MakespanSpan(
            found.point[0] / SECOND,
            found.makespan(0.5) / SECOND,
            found.makespan(0.9) / SECOND,
            found.makespan(planning.confidence) / SECOND,
        ),
        distribution_s={
            f"p{round(100 * share)}": found.makespan(share) / SECOND for share in SHARES
        },
        cost_p50=found.cost(0.5),
        cost_p90=found.cost(0.9),
        cost_upper=upper,
        chance_within_budget=None if goal.budget is None else found.chance_within(goal.budget),
        chance_by_deadline=None if goal.deadline is None else found.chance_by(goal.deadline),
        fits=found.keeps(goal, planning),
        is_knee=is_knee,
        is_default=is_default,
        reserve=reserve,
        cap=max(upper, found.mean_cost) + reserve if goal.budget is None else goal.budget,
    )


def reliable_offers(market: Market) -> tuple[Offer, ...]:
    """What a workflow is planned for: machines that stay."""
    offers = [o for o in market.offers if o.pool == "reliable" and o.limit != 0]
    if not offers:
        raise InputError(
            "no reliable offer in the market: a workflow is planned for machines that stay; add one"
        )
    return tuple(offers)


def _ladder(widest: Integers) -> Iterator[tuple[int, ...]]:
    """From as many machines as are ever needed at once to one of each offer that is used."""
    shares = np.geomspace(1.0, 1.0 / max(1, int(widest.max())), STEPS)
    fleets = (tuple(np.ceil(widest * share - 1e-9).astype(int).tolist()) for share in shares)
    yield from dict.fromkeys(fleets)


def _unbeaten(points: Sequence[tuple[float, float]]) -> list[int]:
    return [n for n, beater in enumerate(beaten_by(points)) if beater is None]


def shortlist(plans: Sequence[WorkflowPlan], best: WorkflowPlan | None) -> list[WorkflowPlan]:
    """Some of many plans: both ends, the knee, the best, and more of them evenly by time."""
    times = np.log([plan.point[0] for plan in plans])
    wanted = np.linspace(times[0], times[-1], PLANS - 2)
    chosen = {int(np.abs(times - one).argmin()) for one in wanted}
    chosen.add(knee([plan.point for plan in plans]))
    if best is not None:
        chosen.add(plans.index(best))
    return [plans[n] for n in sorted(chosen)]


def _samples(effort: float, tasks: int) -> int:
    return min(MOST, max(FEWEST, round(effort / max(1, tasks))))


def _index(count: int, share: float) -> int:
    """Where a quantile stands among so many: at least this share is at or before it."""
    return min(count - 1, max(0, -int(-share * count // 1) - 1))
