"""A workflow on a market: what its tasks take on each offer, and the plans that follow from it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec
import numpy as np

from bursar.beliefs.calibrated import OfferCalibration
from bursar.beliefs.histogram import Histogram
from bursar.beliefs.performance import Performance
from bursar.beliefs.task_times import TaskTimes, workflow_times
from bursar.formats.performance import FILE_NAME, read_performance
from bursar.journal.runs import Home
from bursar.model.errors import InputError
from bursar.model.goal import Goal
from bursar.model.market import Market, Offer
from bursar.model.plan import Assumed, MeasuredOffer
from bursar.model.plan_options import DEVIATION, PlanOptions
from bursar.model.time import seconds
from bursar.model.workflow import Workflow
from bursar.plan.workflow.plans import WorkflowPlanner, offered_plans, reliable_offers
from bursar.policies.advise.workflow import WorkflowAdvisor
from bursar.state.events import PlansOffered
from bursar.state.state import RunState
from bursar.state.work_plans import FIRST_WORK


class KnownWorkflow(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything that plans for a workflow are made of."""

    flow: Workflow
    market: Market
    goal: Goal
    planning: PlanOptions
    offers: tuple[Offer, ...]
    """all that can be rented"""
    measured: Mapping[str, MeasuredOffer]
    """what machines did when they were measured"""
    times: TaskTimes
    """of each task on each of these offers"""

    @classmethod
    def of(cls, flow: Workflow, market: Market, goal: Goal, planning: PlanOptions) -> KnownWorkflow:
        """Run times as machines were measured until now, else as the workflow tells them."""
        offers = tuple(offer for offer in market.offers if offer.limit != 0)
        return cls.assuming(flow, market, goal, planning, _measured(offers, planning.performance))

    @classmethod
    def assuming(
        cls,
        flow: Workflow,
        market: Market,
        goal: Goal,
        planning: PlanOptions,
        measured: Mapping[str, MeasuredOffer],
    ) -> KnownWorkflow:
        """Run times by these measurements; no file is read."""
        offers = tuple(offer for offer in market.offers if offer.limit != 0)
        if not offers:
            raise InputError("every offer of the market has the limit 0: no machine can be rented")
        performances = {name: _performance(one) for name, one in measured.items()}
        deviation = DEVIATION if planning.deviation is None else planning.deviation
        return cls(
            flow=flow,
            market=market,
            goal=goal,
            planning=planning,
            offers=offers,
            measured=measured,
            times=workflow_times(flow.dag, offers, performances, deviation),
        )

    @classmethod
    def recalled(cls, flow: Workflow, state: RunState, work: int) -> KnownWorkflow:
        """As it was known when the plans of the work of this number were offered.

        Journals of earlier versions do not tell that: there it is as known now.
        """
        goal = state.work[work - 1][1].goal(state.goal)
        offered = state.plans_of(work).offered
        if offered is not None and (planning := offered.assumed.planning) is not None:
            measured = offered.assumed.measured
            return cls.assuming(flow, state.market, goal, planning, measured)
        assert state.created is not None  # noqa: S101
        return cls.of(flow, state.market, goal, PlanOptions.of(state.created.settings))

    @cached_property
    def planned_offers(self) -> tuple[Offer, ...]:
        """Those whose machines stay."""
        return reliable_offers(self.market)

    @cached_property
    def planned_times(self) -> TaskTimes:
        columns = [self.offers.index(offer) for offer in self.planned_offers]
        return TaskTimes(self.times.table, self.times.rows[:, columns])

    def offer_plans(self) -> PlansOffered:
        """A short list, cheapest to fastest, with the best for the goal."""
        planning, goal = self.planning, self.goal
        planner = WorkflowPlanner(
            self.flow, self.planned_offers, self.planned_times, seed=planning.seed
        )
        return PlansOffered(
            at=0,
            plans=offered_plans(planner.plans(), goal, planning, self.market),
            assumed=Assumed(
                tasks=self.flow.count,
                date=self.market.date,
                goal=goal,
                confidence=planning.confidence,
                seed=planning.seed,
                planning=planning,
                measured=dict(self.measured),
                cautions=(*self.flow.cautions, *self._cautions()),
            ),
        )

    def advisor(self, work: int = FIRST_WORK, before: int = 0) -> WorkflowAdvisor:
        """What watches a run of it, and replans; `before` is the number before its first task."""
        return WorkflowAdvisor(
            self.flow,
            self.planned_offers,
            self.planned_times,
            self.planning,
            work=work,
            before=before,
        )

    def _cautions(self) -> list[str]:
        cautions = []
        if self.planning.deviation is None and len(self.measured) < len(self.offers):
            cautions.append(
                f"run times are assumed to vary by {DEVIATION:.0%}: give their deviation, or"
                " measure with bursar calibrate"
            )
        if left := [offer.name for offer in self.offers if offer.pool == "unreliable"]:
            cautions.append(f"workflow plans do not use unreliable machines: {', '.join(left)}")
        return cautions


def _performance(measured: MeasuredOffer) -> Performance:
    disk, network = (Histogram(np.array(one)) for one in (measured.disk, measured.network))
    return Performance(measured.speed, disk, network)


def _measured(offers: Sequence[Offer], path: str | None) -> dict[str, MeasuredOffer]:
    """What machines do, where it was measured.

    Measured speeds and those that the market tells are on different scales: the measured ones
    count only if there is one for every offer.
    """
    known, now = _calibrations(path), seconds(time.time())
    has_all = all(o.name in known and known[o.name].speed(now) for o in offers)
    found: dict[str, MeasuredOffer] = {}
    for offer in offers:
        if offer.name in known:
            one = known[offer.name].performance(now, offer.speed)
            found[offer.name] = MeasuredOffer(
                one.speed if has_all else offer.speed,
                tuple(one.disk.values.tolist()),
                tuple(one.network.values.tolist()),
            )
    return found


def _calibrations(path: str | None) -> Mapping[str, OfferCalibration]:
    if path is not None:
        return read_performance(path)
    known = Home.of(os.environ).path / FILE_NAME
    return read_performance(known) if known.exists() else {}
