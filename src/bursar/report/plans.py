"""A list of plans for programs: what `bursar plan --json` prints, of bags and workflows alike."""

from __future__ import annotations

import msgspec

from bursar.model.market import Market
from bursar.model.plan import Plan
from bursar.model.workflow import Workflow
from bursar.state.events import PlansOffered


class PlanList(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the plan screen shows. Amounts are exact decimals, as text."""

    run: str | None
    """the run that keeps the plans, for `bursar run RUN --choose`; None: they are not kept"""
    workflow: str | None
    """its name; None: the plans are for a bag"""
    tasks: int
    """left to do"""
    currency: str
    date: str
    confidence: float
    plans: list[Plan]
    chosen: int | None
    """number, from 1, of the plan that a run of a workflow follows; None: none fits, or a bag"""
    offers: dict[str, str]
    """of that plan, the offer of each task by name"""
    cautions: list[str]
    """why the bounds may not hold"""

    def _repr_html_(self) -> str:
        """In a notebook: the plans drawn, and as a table."""
        from bursar.report.pictures import plans_html  # late: it brings much of the page

        return plans_html(self)

    def svg(self) -> str:
        """The plans on the plane of time and money, as a picture."""
        from bursar.report.pictures import plans_svg  # late: it brings much of the page

        return plans_svg(self)


def plan_list(
    offered: PlansOffered, market: Market, flow: Workflow | None = None, run: str | None = None
) -> PlanList:
    assumed = offered.assumed
    default = next((n for n, plan in enumerate(offered.plans, 1) if plan.is_default), None)
    return PlanList(
        run=run,
        workflow=None if flow is None else flow.name,
        tasks=assumed.tasks,
        currency=market.currency,
        date=assumed.date,
        confidence=assumed.confidence,
        plans=[msgspec.structs.replace(plan, assigned=None) for plan in offered.plans],
        chosen=default,
        offers={} if default is None else _by_name(flow, offered.plans[default - 1]),
        cautions=list(assumed.cautions),
    )


def _by_name(flow: Workflow | None, plan: Plan) -> dict[str, str]:
    if flow is None or plan.assigned is None:
        return {}
    names, of_task = plan.assigned.offers, plan.assigned.tasks
    return {task: names[offer] for task, offer in zip(flow.names, of_task, strict=True)}
