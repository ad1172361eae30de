"""A workflow and its market: what the tasks take, which plans there are, and which is taken."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec

from bursar.beliefs.calibrated import OfferCalibration
from bursar.beliefs.performance import Performance
from bursar.beliefs.task_times import TaskTimes, workflow_times
from bursar.formats.performance import FILE_NAME, read_performance
from bursar.journal.runs import Home
from bursar.model.errors import InputError
from bursar.model.errors import shown as quoted
from bursar.model.flow import Flow
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.time import seconds
from bursar.model.wish import DEVIATION, Wish
from bursar.plan.dominance import knee
from bursar.plan.workflow.plans import FlowPlan, FlowPlanner, pick, reliable_offers, shown
from bursar.policies.advise.workflow import FlowAdvisor
from bursar.state.events import PlanChosen


class FlowTarget(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything that plans for a workflow are made of."""

    flow: Flow
    market: Market
    goal: Goal
    wish: Wish
    offers: tuple[Offer, ...]
    """all that can be rented"""
    times: TaskTimes
    """of each task on each of these offers"""
    cautions: tuple[str, ...]

    @classmethod
    def of(cls, flow: Flow, market: Market, goal: Goal, wish: Wish) -> FlowTarget:
        """Run times as machines were measured, else as the workflow tells them."""
        offers = tuple(offer for offer in market.offers if offer.limit != 0)
        if not offers:
            raise InputError("every offer of the market has the limit 0: no machine can be rented")
        performances = _performances(offers, wish.performance)
        deviation = DEVIATION if wish.deviation is None else wish.deviation
        is_guess = wish.deviation is None and len(performances) < len(offers)
        return cls(
            flow=flow,
            market=market,
            goal=flow.goal(goal),
            wish=wish,
            offers=offers,
            times=workflow_times(flow.dag(), offers, performances, deviation),
            cautions=(*flow.cautions, *_cautions(offers, is_guess=is_guess)),
        )

    @cached_property
    def planned_offers(self) -> tuple[Offer, ...]:
        """Those whose machines stay."""
        return reliable_offers(self.market)

    @cached_property
    def planned_times(self) -> TaskTimes:
        columns = [self.offers.index(offer) for offer in self.planned_offers]
        return TaskTimes(self.times.table, self.times.rows[:, columns])

    @cached_property
    def _all_plans(self) -> Sequence[FlowPlan]:
        planner = FlowPlanner(
            self.flow, self.planned_offers, self.planned_times, seed=self.wish.seed
        )
        return planner.plans()

    @cached_property
    def plans(self) -> Sequence[FlowPlan]:
        """A short list, cheapest to fastest, with the best for the goal."""
        try:
            best = self.best()
        except InputError:
            best = None
        return shown(self._all_plans, best)

    @cached_property
    def knee(self) -> FlowPlan:
        return self.plans[knee([plan.point for plan in self.plans])]

    def best(self) -> FlowPlan:
        """What a run follows, unless somebody chooses."""
        return pick(self._all_plans, self.goal, self.wish, self.market.currency)

    def chosen(self, choice: str | None = None) -> PlanChosen:
        plans = self.plans  # which names them
        plan = self.best() if choice is None else self._named(choice, plans)
        return plan.chosen(self.wish.confidence)

    def advisor(self, before: int = 0) -> FlowAdvisor:
        """What watches a run of it, and replans; `before` is the number before its first task."""
        return FlowAdvisor(
            self.flow,
            self.planned_offers,
            self.planned_times,
            self.wish,
            self.market.currency,
            before=before,
        )

    def _named(self, choice: str, plans: Sequence[FlowPlan]) -> FlowPlan:
        if choice == "knee":
            return self.knee
        for number, plan in enumerate(plans, 1):
            if choice in (plan.name, str(number)):
                return plan
        names = ", ".join(plan.name for plan in plans)
        raise InputError(f"no choice {quoted(choice)}; write {names}, knee or a number")


def _performances(offers: Sequence[Offer], path: str | None) -> dict[str, Performance]:
    """What machines do, where it was measured.

    Measured speeds and those that the market tells are on different scales: the measured ones
    count only if there is one for every offer.
    """
    measured, now = _measured(path), seconds(time.time())
    has_all = all(o.name in measured and measured[o.name].speed(now) for o in offers)
    found: dict[str, Performance] = {}
    for offer in offers:
        if offer.name in measured:
            one = measured[offer.name].performance(now, offer.speed)
            found[offer.name] = one if has_all else msgspec.structs.replace(one, speed=offer.speed)
    return found


def _measured(path: str | None) -> Mapping[str, OfferCalibration]:
    if path is not None:
        return read_performance(path)
    known = Home.of(os.environ).path / FILE_NAME
    return read_performance(known) if known.exists() else {}


def _cautions(offers: Sequence[Offer], *, is_guess: bool) -> list[str]:
    cautions = []
    if is_guess:
        cautions.append(
            f"run times are assumed to vary by {DEVIATION:.0%}: give --deviation, or measure with"
            " bursar calibrate"
        )
    if left := [offer.name for offer in offers if offer.pool == "unreliable"]:
        cautions.append(f"workflow plans do not use unreliable machines: {', '.join(left)}")
    return cautions
