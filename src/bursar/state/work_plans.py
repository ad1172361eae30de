"""What was offered, chosen and changed for one work: its plans, its strategy, its assignment."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec
from msgspec.structs import replace

from bursar.model.assigned import Assigned
from bursar.model.money import ZERO, Money
from bursar.model.strategy import Strategy
from bursar.state import events as ev

FIRST_WORK: Final = 1
"""The number of the work that arrived first, which most runs have alone."""


class FollowedPlan(msgspec.Struct, frozen=True):
    """The plan that a work follows now; nothing in it can be written."""

    fleet: Mapping[str, int]
    """by offer; of a workflow, the most machines"""
    assigned: Assigned | None = None
    """of a workflow: the offer of each task"""
    strategy: Strategy | None = None
    """of a fleet with unreliable machines"""


class WorkPlans(msgspec.Struct, frozen=True):
    """Only events for this work change it; what another work has never shows here."""

    offered: ev.PlansOffered | None = None
    """the last list of plans; a run of several works drops that of one which is done"""
    chosen: ev.PlanChosen | None = None
    committed_before: Money = ZERO
    """what the run had committed when the plan was chosen, such as for a sample"""
    strategy: ev.StrategyChosen | None = None
    """the last"""
    assignment: ev.AssignmentChanged | None = None
    """the last, if that of the plan was changed"""

    @property
    def strategy_to_follow(self) -> Strategy | None:
        """That of the plan counts before one that an advisor chose; None: neither has one."""
        if self.chosen is not None and self.chosen.strategy is not None:
            return self.chosen.strategy
        return None if self.strategy is None else self.strategy.strategy

    @property
    def last_strategy(self) -> Strategy | None:
        """The last that came with a plan or that an advisor chose; None: there is none."""
        planned = None if self.chosen is None else self.chosen.strategy
        if self.strategy is None or self.chosen is None or planned is None:
            return planned if self.strategy is None else self.strategy.strategy
        return self.strategy.strategy if self.strategy.at >= self.chosen.at else planned

    @property
    def followed(self) -> FollowedPlan | None:
        """The plan as it was chosen or last changed; None: the work follows none."""
        last: ev.PlanChosen | ev.AssignmentChanged | None = self.chosen
        if self.assignment is not None and (last is None or self.assignment.at >= last.at):
            last = self.assignment
        if last is None:
            return None
        fleet = MappingProxyType(dict(last.fleet))
        return FollowedPlan(fleet, last.assigned, self.strategy_to_follow)

    def after(self, event: ev.PlanEvent, committed: Money) -> WorkPlans:
        """The same once an event for this work has happened."""
        match event:
            case ev.PlansOffered():
                return replace(self, offered=event)
            case ev.PlanChosen():
                return replace(self, chosen=event, committed_before=committed)
            case ev.StrategyChosen():
                return replace(self, strategy=event)
            case ev.AssignmentChanged():
                return replace(self, assignment=event)


NO_PLANS: Final = WorkPlans()
