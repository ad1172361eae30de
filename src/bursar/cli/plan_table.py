"""The screen of `bursar plan`: choices from cheapest to fastest, and what their marks mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from bursar.cli.common import print_line, print_table, say, write_text
from bursar.cli.frontier_table import show_frontier, strategy_text, tasks_to_do
from bursar.model.fleet import format_fleet
from bursar.model.market import Market
from bursar.model.money import format_money
from bursar.model.plan import Plan
from bursar.model.text import counted
from bursar.model.time import format_duration, seconds
from bursar.model.workflow import Workflow
from bursar.report.plans import PlanList
from bursar.report.summary import prices_text
from bursar.runs.verdict import plan_chances, share_in_words
from bursar.state.events import PlansOffered

P90: Final = 0.9
MOST_KINDS: Final = 24
"""kinds of tasks that the screen lists"""


def show(
    offered: PlansOffered,
    market: Market,
    flow: Workflow | None = None,
    *,
    first: bool = True,
    wide: bool = False,
) -> None:
    """The plan screen; the fleet stands below its choice, so that the table fits 100 columns."""
    if is_frontier(offered):
        show_frontier(offered, market, first=first, wide=wide)
        for line in chance_lines(offered):
            say(line)
        return
    tasks, plans = tasks_to_do(offered.assumed), offered.plans
    title = tasks if flow is None else f"{flow.name}: {tasks}"
    print_line(f"{title}. {prices_text(market, first=first)}.")
    columns = ["#", "choice" if flow is None else "choice, machines at most"]
    bounds = ["P90", "upper"] if _has_upper(offered) else ["P90"]
    columns += ["P50", *bounds, "cost-P50", *(f"cost-{bound}" for bound in bounds)]
    columns += [] if plans[0].chance_within_budget is None else ["in-budget"]
    columns += [] if plans[0].chance_by_deadline is None else ["in-time"]
    rows = [_row(number, offered, market.currency) for number in range(1, len(plans) + 1)]
    print_table(columns, rows, right=" ".join(["#", *columns[2:]]))
    for line in _legend(offered, [row[1] for row in rows]):
        say(line)
    for caution in offered.assumed.cautions:
        say(f"Caution: {caution.rstrip('.')}.")


def draw_plans(target: str, plans: PlanList) -> None:
    """The plans on the plane of time and money, in a file."""
    from bursar.report.pictures import document, plans_html  # late: it brings much of the page

    write_text(target, document("bursar plan", plans_html(plans)))


def chance_lines(offered: PlansOffered) -> Iterator[str]:
    """Whether the goal will do with each plan; a deadline only where no time has passed yet."""
    assumed = offered.assumed
    goal = assumed.goal.until(None) if assumed.sampled and assumed.spent else assumed.goal
    chances = [plan_chances(plan, goal, assumed.spent) for plan in offered.plans]
    for name in chances[0]:
        shares = _by_ranges([share_in_words(one[name]) for one in chances])
        yield f"chance that the {name} will do, by plan: {shares}"


def _by_ranges(shares: Sequence[str]) -> str:
    """`over 99 % for each`, or `1 to 3: over 99 %, 4: 94 %`."""
    if len(set(shares)) == 1:
        return f"{shares[0]} for each"
    parts, first = [], 1
    for share, alike in groupby(shares):
        last = first + len(list(alike)) - 1
        parts.append(f"{first}: {share}" if first == last else f"{first} to {last}: {share}")
        first = last + 1
    return ", ".join(parts)


def is_frontier(offered: PlansOffered) -> bool:
    """Whether it is a list for a bag in which no plan beats another, and some have names."""
    return any(plan.names for plan in offered.plans)


def _has_upper(offered: PlansOffered) -> bool:
    """Whether the bounds are other figures than the P90; as published, they always are."""
    assumed = offered.assumed
    return assumed.planning is None or assumed.confidence != P90


def bound_text(offered: PlansOffered) -> str:
    """The column with the bounds of costs."""
    if is_frontier(offered):
        return f"cost-P{offered.assumed.confidence * 100:g}"
    return "cost-upper" if _has_upper(offered) else "cost-P90"


def show_kinds(offered: PlansOffered, flow: Workflow) -> None:
    """Which offers the tasks of each kind are meant for, in the plan that a run follows."""
    for number, plan in enumerate(offered.plans, 1):
        if not plan.is_default or plan.assigned is None:
            continue
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


def caps_text(offered: PlansOffered, market: Market) -> str | None:
    """What a run of each choice may commit, and what that is made of; None: the budget."""
    assumed, currency = offered.assumed, market.currency
    caps = [plan.cap for plan in offered.plans if plan.cap is not None]
    if market.is_free or not caps or all(cap == assumed.goal.budget for cap in caps):
        return None
    sample = f"{format_money(assumed.spent, currency)} of the sample + " if assumed.spent else ""
    budget = assumed.goal.budget
    most = "" if budget is None else f", within {format_money(budget, currency)}"
    figures = (f"{n} {format_money(cap, currency)}" for n, cap in enumerate(caps, 1))
    return (
        f"cap of each, which is {sample}{bound_text(offered)} + a reserve for the last tasks{most}:"
        f" {', '.join(figures)}"
    )


def _legend(offered: PlansOffered, marks: Sequence[str]) -> Iterator[str]:
    """What the columns and marks mean."""
    share = f"{offered.assumed.confidence:.0%}"
    upper = f"{'upper' if _has_upper(offered) else 'P90'}: not exceeded with {share} confidence"
    is_workflow = offered.assumed.planning is not None
    executed = ", by simulated executions; default: what bursar run follows"
    yield f"{upper}{executed}" if is_workflow else upper
    if any("cushion" in mark for mark in marks):
        yield "cushion: money set aside for the last tasks, within the cost"
    if any("risk +" in mark for mark in marks):
        yield "risk +N: N tasks may not fit in the paid time, as no task is split between machines"
    if any(plan.strategy for plan in offered.plans):
        yield (
            "N T D: attempts of a late task on unreliable machines before a reliable one, the time"
            " between\nthem, the time after which one is given up"
        )
    if any("see " in mark for mark in marks):
        yield "see N: plan N is likely neither slower nor more expensive"


def _scope(plan: Plan, plans: Sequence[Plan]) -> str:
    """In which sense a plan is the cheapest or the fastest, where another beats it in another."""

    def figures(one: Plan) -> tuple[float, float]:
        if plan.name == "cheapest":
            return float(one.cost_p50), float(one.cost_upper)
        return one.makespan_s.p50, one.makespan_s.upper

    if plan.name not in ("cheapest", "fastest"):
        return ""
    middle, upper = figures(plan)
    better = [one for one in plans if figures(one)[0] < middle]
    if not better:
        return ""
    if all(one.strategy for one in better):
        return "of reliable machines"
    return "by its bound" if all(figures(one)[1] >= upper for one in better) else "by its mean"


def _marks(number: int, plans: Sequence[Plan], currency: str) -> Iterator[str]:
    plan = plans[number - 1]
    same = (plan.fleet, plan.strategy, plan.assigned)
    twin = next(
        n for n, one in enumerate(plans, 1) if (one.fleet, one.strategy, one.assigned) == same
    )
    scope = _scope(plan, plans)
    if scope:
        yield scope
    if not plan.fits:
        yield "does not fit"
    if twin < number:
        yield f"same fleet as {twin}"
    elif plan.beaten_by is not None:
        yield f"see {plan.beaten_by}"
    if not plan.strategy and plan.cushion:
        yield f"cushion {format_money(plan.cushion, currency)}"
    if not plan.strategy and plan.risk > 0:
        yield f"risk {plan.risk:+,}"
    if plan.is_knee:
        yield "<- knee" if plan.assigned is None else "knee"
    if plan.is_default:
        yield "<- default"


def _row(number: int, offered: PlansOffered, currency: str) -> tuple[str, ...]:
    plans = offered.plans
    plan = plans[number - 1]
    span = plan.makespan_s
    shown = 3 if _has_upper(offered) else 2
    times = (span.p50, span.p90, span.upper)[:shown]
    amounts = (plan.cost_p50, plan.cost_p90, plan.cost_upper)[:shown]
    chances = (plan.chance_within_budget, plan.chance_by_deadline)
    title = ", ".join([plan.name, *_marks(number, plans, currency)]).replace(", <-", " <-")
    return (
        str(number),
        f"{title}\n{_machines(plan)}",
        *(format_duration(seconds(value)) for value in times),
        *(format_money(amount, currency) for amount in amounts),
        *(f"{chance:.0%}" for chance in chances if chance is not None),
    )


def _machines(plan: Plan) -> str:
    """`50 spot + 2 sure, N=3 T=12 min D=25 min`."""
    fleet = format_fleet(plan.fleet)
    return f"{fleet}, {strategy_text(plan)}" if plan.strategy else fleet
