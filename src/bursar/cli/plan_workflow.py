"""`bursar plan FLOW`: plans for a workflow, cheapest to fastest, and who goes where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from bursar.cli.common import print_json, print_line, print_table, say
from bursar.cli.compare_workflow import Compared, compare
from bursar.model.errors import InputError
from bursar.model.fleet import format_fleet
from bursar.model.flow import Flow
from bursar.model.money import Money, format_money
from bursar.model.text import counted
from bursar.model.time import SECOND, format_duration, seconds
from bursar.plan.workflow.plans import FlowPlan
from bursar.rent.local import slots_caution
from bursar.report.summary import EXIT_CODES, prices_told
from bursar.runs.workflow_target import FlowTarget

SHARES: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""quantiles of the makespan that `--json` tells"""
MOST_KINDS: Final = 24
"""kinds of tasks that the screen lists"""


class FlowChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A plan as `--json` tells it. Amounts are exact decimals, as text."""

    name: str
    fleet: dict[str, int]
    """the most machines of each offer"""
    tasks: dict[str, int]
    """how many are meant for each offer"""
    makespan_s: dict[str, float]
    """quantiles, and what is not exceeded with the confidence: `P50`, `upper`"""
    cost: dict[str, str]
    chance_within_budget: float | None
    chance_by_deadline: float | None
    fits: bool
    is_knee: bool


class FlowChoices(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the plan screen of a workflow shows."""

    workflow: str
    tasks: int
    currency: str
    date: str
    confidence: float
    plans: list[FlowChoice]
    chosen: int | None
    """number, from 1, of the plan that a run would follow; None: none fits"""
    offers: dict[str, str]
    """of that plan, the offer of each task by name"""
    cautions: list[str]
    compared: list[Compared]
    """with `--compare`, what other planners would do"""


def plan_flow(target: FlowTarget, *, compared: bool, as_json: bool) -> int:
    """Show the plans, what a run would take, and perhaps what other planners would do."""
    flow, market, plans = target.flow, target.market, target.plans
    try:
        best, why = target.best(), ""
    except InputError as error:
        best, why = None, str(error)
    choices = [_choice(plan, target) for plan in plans]
    others = compare(target, best or target.knee) if compared else []
    crowded = slots_caution((plan.fleet for plan in plans), market)
    cautions = [*target.cautions, *([] if crowded is None else [crowded])]
    if as_json:
        print_json(
            FlowChoices(
                workflow=flow.name,
                tasks=flow.count,
                currency=market.currency,
                date=market.date,
                confidence=target.wish.confidence,
                plans=choices,
                chosen=None if best is None else plans.index(best) + 1,
                offers={} if best is None else _by_name(flow, best),
                cautions=cautions,
                compared=others,
            )
        )
        return _exit_code(target, best)
    print_line(f"{flow.name}: {counted(flow.count, 'task')}. {prices_told(market)}.")
    _show(target, choices, best)
    for caution in cautions:
        say(f"Caution: {caution}.")
    if best is None:
        say(f"{why[0].upper()}{why[1:]}.")
    else:
        _show_kinds(flow, best, plans.index(best) + 1)
    if others:
        _show_compared(others, market.currency)
    return _exit_code(target, best)


def _exit_code(target: FlowTarget, best: FlowPlan | None) -> int:
    """Whether the goal can be met, for scripts."""
    if best is not None:
        return EXIT_CODES["done"]
    return EXIT_CODES["deadline" if target.goal.budget is None else "budget"]


def _choice(plan: FlowPlan, target: FlowTarget) -> FlowChoice:
    goal, confidence = target.goal, target.wish.confidence
    spans = {f"P{round(100 * share)}": plan.makespan(share) / SECOND for share in SHARES}
    return FlowChoice(
        name=plan.name,
        fleet=plan.fleet,
        tasks=plan.assigned.counts(),
        makespan_s={**spans, "upper": plan.makespan(confidence) / SECOND},
        cost={
            "mean": str(plan.mean_cost),
            "P50": str(plan.cost(0.5)),
            "P90": str(plan.cost(0.9)),
            "upper": str(plan.cost(confidence)),
        },
        chance_within_budget=None if goal.budget is None else plan.chance_within(goal.budget),
        chance_by_deadline=None if goal.deadline is None else plan.chance_by(goal.deadline),
        fits=plan.keeps(goal, target.wish),
        is_knee=plan is target.knee,
    )


def _by_name(flow: Flow, plan: FlowPlan) -> dict[str, str]:
    names, of_task = plan.assigned.offers, plan.assigned.tasks
    return {task: names[offer] for task, offer in zip(flow.names, of_task, strict=True)}


# --- for people ----------------------------------------------------------------------------------


def _show(target: FlowTarget, choices: Sequence[FlowChoice], best: FlowPlan | None) -> None:
    goal, currency = target.goal, target.market.currency
    columns = ["#", "choice, machines at most", "P50", "P90", "upper"]
    columns += ["cost-P50", "cost-P90", "cost-upper"]
    columns += [] if goal.budget is None else ["in-budget"]
    columns += [] if goal.deadline is None else ["in-time"]
    shares = (0.5, 0.9, target.wish.confidence)
    rows = []
    for number, (plan, choice) in enumerate(zip(target.plans, choices, strict=True), 1):
        title = ", ".join([plan.name, *_marks(plan, choice, best)]).replace(", <-", " <-")
        row = [str(number), f"{title}\n{format_fleet(plan.fleet)}"]
        row += [format_duration(plan.makespan(share)) for share in shares]
        row += [format_money(plan.cost(share), currency) for share in shares]
        for chance in (choice.chance_within_budget, choice.chance_by_deadline):
            row += [] if chance is None else [f"{chance:.0%}"]
        rows.append(row)
    right = "# P50 P90 upper cost-P50 cost-P90 cost-upper in-budget in-time"
    print_table(columns, rows, right=right)
    say(
        f"upper: not exceeded with {target.wish.confidence:.0%} confidence, by simulated executions"
        "; default: what bursar run follows"
    )


def _marks(plan: FlowPlan, choice: FlowChoice, chosen: FlowPlan | None) -> Iterator[str]:
    if not choice.fits:
        yield "does not fit"
    if choice.is_knee:
        yield "knee"
    if plan is chosen:
        yield "<- default"


def _show_kinds(flow: Flow, plan: FlowPlan, number: int) -> None:
    """Which offers the tasks of each kind are meant for."""
    print_line(f"\nplan {number}, by kind of task:")
    counts: dict[int, Counter[str]] = {}
    for kind, offer in zip(flow.kinds, plan.assigned.tasks, strict=True):
        counts.setdefault(kind, Counter())[plan.assigned.offers[offer]] += 1
    rows = [
        (flow.kind_names[kind], f"{found.total():,}", format_fleet(dict(found.most_common())))
        for kind, found in list(counts.items())[:MOST_KINDS]
    ]
    print_table(("kind", "tasks", "offers"), rows, right="tasks")
    if len(counts) > MOST_KINDS:
        print_line(f"... and {counted(len(counts) - MOST_KINDS, 'kind')} more")


def _show_compared(others: Sequence[Compared], currency: str) -> None:
    print_line("\nif every task took its mean time:")
    rows = [
        (
            one.planner,
            one.machines or "-",
            "-" if one.makespan_s is None else format_duration(seconds(one.makespan_s)),
            "-" if one.cost is None else format_money(Money.recall(one.cost), currency),
            one.why,
        )
        for one in others
    ]
    print_table(("planner", "machines", "time", "cost", ""), rows, right="time cost")
    say(
        "HEFT and Hybrid.BMCT have all machines ready from the start; bursar rents them when needed"
    )
