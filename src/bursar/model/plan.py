"""A plan as it is shown, journaled and chosen: the same value for bags, two pools and workflows.

A plan is offered with what it assumes. A later choice, or an advisor of the run that follows it,
reads what was assumed then: nothing of it is looked up again.
"""

from __future__ import annotations

import msgspec

from bursar.model.assigned import Assigned
from bursar.model.goal import Goal
from bursar.model.money import ZERO, Money, format_money
from bursar.model.plan_options import CONFIDENCE, PlanOptions


class MakespanSpan(msgspec.Struct, frozen=True):
    """A makespan in seconds: a plain estimate, and what is predicted of the real one."""

    estimate: float
    """of a divisible bag; of a workflow, the mean of simulated executions"""
    p50: float
    p90: float
    upper: float
    """not exceeded with the user's confidence"""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A fleet and how it is used, with predicted time and cost and their bounds."""

    name: str
    names: tuple[str, ...] = ()
    """of a bag: all that it is, such as cheapest, knee, budget; empty: nothing in particular"""
    fleet: dict[str, int]
    """of a workflow: the most machines of each offer"""
    strategy: str = ""
    """of a plan with machines that may vanish: N=3,T=...us,D=...us,Mr=0.1"""
    assigned: Assigned | None = None
    """of a workflow: the offer of each task"""
    tasks: dict[str, int] = {}
    """of a workflow: how many tasks are meant for each offer"""
    units: dict[str, int] = {}
    """of a bag: billing units that each machine of an offer is charged for"""
    cost: Money
    """of a divisible bag; of a workflow, the mean of simulated executions"""
    makespan_s: MakespanSpan
    distribution_s: dict[str, float] = {}
    """of a workflow: more quantiles of the makespan, `p1` to `p99`"""
    cost_p50: Money
    cost_p90: Money
    cost_upper: Money
    cushion: Money = ZERO
    """money within the cost that is set aside for the last tasks"""
    risk: int = 0
    """tasks that may not fit in the paid time, as no task is split between machines"""
    chance_within_budget: float | None = None
    chance_by_deadline: float | None = None
    """of a workflow with such a goal"""
    fits: bool = True
    """the goal is kept with the confidence; true where there is none"""
    is_knee: bool = False
    """the most time saved for the money"""
    is_default: bool = False
    """what a run follows that chooses none"""
    reserve: Money = ZERO
    """for the last tasks, beyond the bound: a bound does not always hold"""
    cap: Money | None = None
    """what a run of it may commit, with the sample and the reserve; None: there is no run of it"""
    beaten_by: int | None = None
    """number, from 1, of a plan that is likely neither slower nor more expensive; None: none"""

    @property
    def bound(self) -> Money:
        """What it costs at most, with the confidence."""
        return max(self.cost_upper, self.cost)

    def cap_text(self, sample: Money, currency: str) -> str:
        """`$0.40 of the sample + $1.20 bound + $0.10 reserve`."""
        spent, bound, reserve = (
            format_money(amount, currency) for amount in (sample, self.bound, self.reserve)
        )
        parts = f"{bound} bound + {reserve} reserve"
        return f"{spent} of the sample + {parts}" if sample else parts


class MeasuredOffer(msgspec.Struct, frozen=True):
    """What machines of an offer did when they were measured, as a plan for a workflow used it."""

    speed: float
    disk: tuple[float, ...]
    """seconds for a byte: equally likely values, ascending"""
    network: tuple[float, ...]


class Assumed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a list of plans was made of, beside the market and the events of its run."""

    tasks: int
    """left to do"""
    date: str
    """of the market's prices"""
    goal: Goal = Goal()
    """budget and deadline that the plans were made for, of the whole run"""
    confidence: float = CONFIDENCE
    """of the upper bounds"""
    between: int = 0
    """further choices that were asked for"""
    faithful: bool = False
    """bounds are as published"""
    seed: int = 0
    sampled: dict[str, int] = {}
    """of a bag: by offer, results from which run times are known"""
    spent: Money = ZERO
    """committed before, by the sample"""
    planning: PlanOptions | None = msgspec.field(default=None, name="wish")
    """of a workflow: how its goal is meant, and what is known of its run times"""
    measured: dict[str, MeasuredOffer] = {}
    """of a workflow: offers whose machines were measured"""
    cautions: tuple[str, ...] = ()
    """why the bounds may not hold"""
