"""From a list of plans to the one that a run follows: the same for bags and workflows."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import structs

from bursar.journal.replay import load_digest
from bursar.journal.runs import RunDir
from bursar.model.budget_text import budget_in, format_budget
from bursar.model.errors import InputError, shown
from bursar.model.goal import Budget, Goal
from bursar.model.market import Market
from bursar.model.money import ZERO, Money
from bursar.model.numbers import is_position
from bursar.model.option_words import PYTHON, OptionWords
from bursar.model.plan import Assumed, Plan
from bursar.model.reading import read_duration
from bursar.model.strategy import read_strategy
from bursar.model.time import Time, format_duration, seconds
from bursar.model.workflow import Workflow
from bursar.plan.workflow.plans import why_none_fits
from bursar.runs.planning import PlannedRun, current_plans, plans_of_workflow
from bursar.runs.request import WHOLE_RUN, Request, check_sabotage
from bursar.state.events import PlanChosen, PlansOffered


class Chosen(msgspec.Struct, frozen=True):
    """A plan of a list, and the goal of the run that follows it."""

    plan: Plan
    event: PlanChosen
    goal: Goal
    spent: Money
    """committed before the choice"""
    notes: tuple[str, ...] = ()
    """what to tell of the goal, a line each"""


class Chooser:
    """Chooses among the plans that a run has in its journal.

    A run whose journal has no list for what is left (it went on to an end since, or an earlier
    version made it) is planned again first, as by `bursar plan RUN`.
    """

    def __init__(
        self,
        choice: str,
        budget: str | None = None,
        deadline: str | None = None,
        sabotage: str | None = None,
        asked: OptionWords = PYTHON,
    ) -> None:
        self._asked = asked
        self._choice, self._budget, self._deadline = choice, budget, deadline
        self._life = None if sabotage is None else read_duration(sabotage, least=1)

    def choose(self, run: RunDir, market: Market, offered: PlansOffered | None) -> Chosen:
        """From what was offered last, before the journal is replayed."""
        if self._life is not None:
            check_sabotage(market, self._asked)
        now = load_digest(run.journal)
        current = current_plans(offered, now)
        if current is None and now.status is None:  # its run was killed: the list is still shown
            current = offered
        if current is None:
            current = PlannedRun(run).offer()
        return self.choose_from(current, market.currency, now.committed)

    def choose_from(self, offered: PlansOffered, currency: str, spent: Money = ZERO) -> Chosen:
        plan = find_plan(offered.plans, self._choice)
        goal, notes = self._goal(plan, offered.assumed, currency)
        return Chosen(
            plan=plan,
            event=choice_of(plan, self._life),
            goal=goal,
            spent=spent,
            notes=tuple(notes),
        )

    def _goal(self, plan: Plan, assumed: Assumed, currency: str) -> tuple[Goal, list[str]]:
        """The goal that the plans were made for; what is given now holds in its place.

        Without any budget it is the plan's cap. Of a bag, a deadline marks the plans that keep it,
        and stops no run that does not ask for it.
        """
        notes = []
        planned_until = None if assumed.planning is None else assumed.goal.deadline
        budget, deadline = None if plan.cap is None else Budget(plan.cap), planned_until
        if self._budget is not None:
            budget = budget_in(currency, self._budget)
            if budget.every is not None and assumed.planning is not None:
                raise InputError(WHOLE_RUN)
            planned = assumed.goal.budget
            if planned is not None and Budget(planned) != budget:
                notes.append(f"a budget of {format_budget(Budget(planned), currency)}")
        if self._deadline is not None:
            deadline = read_duration(self._deadline, least=1)
            if planned_until not in (None, deadline):
                notes.append(f"a deadline of {format_duration(planned_until or 0)}")
        if notes:
            planned_for = " and ".join(notes)
            notes = [f"the plans were made for {planned_for}; this one is run as it was offered"]
        return Goal.within(budget, deadline), notes


def find_plan(plans: Sequence[Plan], choice: str) -> Plan:
    """The plan of this name or number; the knee may be called that."""
    if is_position(choice, len(plans)):
        return plans[int(choice) - 1]
    for plan in plans:
        known = {_plain(plan.name), *map(_plain, plan.names)}
        if _plain(choice) in known or (choice == "knee" and plan.is_knee):
            return plan
    each = (name for plan in plans for name in plan.names or (plan.name,))
    names = [f"'{name}'" if " " in name else name for name in each if name != "knee"]
    raise InputError(
        f"no choice {shown(choice)}; write {', '.join(dict.fromkeys(names))}, knee or a number up"
        f" to {len(plans)}"
    )


def _plain(name: str) -> str:
    """Names with spaces may be written with hyphens, which need no quotes in a shell."""
    return name.replace(" ", "-")


def choice_of(plan: Plan, sabotage: Time | None = None) -> PlanChosen:
    """What the journal keeps of a choice."""
    return PlanChosen(
        at=0,
        name=plan.name,
        fleet=plan.fleet,
        makespan_p50=seconds(plan.makespan_s.p50),
        makespan_upper=seconds(plan.makespan_s.upper),
        cost_p50=plan.cost_p50,
        cost_upper=plan.bound,
        strategy=read_strategy(plan.strategy) if plan.strategy else None,
        assigned=plan.assigned,
        sabotage=sabotage,
    )


def default_plan(offered: PlansOffered, currency: str) -> Plan:
    """What a run of a workflow follows that chooses none."""
    for plan in offered.plans:
        if plan.is_default:
            return plan
    assumed = offered.assumed
    assert assumed.planning is not None  # noqa: S101
    raise InputError(why_none_fits(offered.plans, assumed.goal, assumed.planning, currency))


def plan_to_follow(offered: PlansOffered, choice: str | None, currency: str) -> Plan:
    """The plan that was chosen, or the default."""
    if choice is None:
        return default_plan(offered, currency)
    return find_plan(offered.plans, choice)


def planned(request: Request, flow: Workflow, choice: str | None) -> Request:
    """The request of a workflow with its plans, and the one that it follows."""
    offered = plans_of_workflow(flow, request.market, request.goal, request.planning)
    plan = plan_to_follow(offered, choice, request.market.currency)
    return structs.replace(request, offered=offered, plan=choice_of(plan))
