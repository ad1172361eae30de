"""The screen of `bursar plan`: choices from cheapest to fastest, and what their marks mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bursar.cli.common import print_line, print_table, say
from bursar.model.fleet import format_fleet
from bursar.model.market import Market
from bursar.model.money import Money, format_money
from bursar.model.strategy import read_strategy
from bursar.model.text import counted
from bursar.model.time import format_duration, seconds
from bursar.plan.bag.plans import Plan, PlanList
from bursar.report.summary import prices_told


def show(found: PlanList, market: Market, *, first: bool = True) -> None:
    """The plan screen; the fleet stands below its choice, so that the table fits 100 columns."""
    print_line(f"{counted(found.tasks, 'task')} left. {prices_told(market, first=first)}.")
    columns = ("#", "choice", "P50", "P90", "upper", "cost-P50", "cost-P90", "cost-upper")
    rows = [_row(number, found) for number in range(1, len(found.plans) + 1)]
    print_table(columns, rows, right="# P50 P90 upper cost-P50 cost-P90 cost-upper")
    for line in _legend(found, [row[1] for row in rows]):
        say(line)
    for caution in found.cautions:
        say(f"Caution: {caution.rstrip('.')}.")


def _legend(found: PlanList, marks: Sequence[str]) -> Iterator[str]:
    """What the columns and marks mean."""
    yield f"upper: not exceeded with {found.confidence:.0%} confidence"
    if any("cushion" in mark for mark in marks):
        yield "cushion: money set aside for the last tasks, within the cost"
    if any("risk +" in mark for mark in marks):
        yield "risk +N: N tasks may not fit in the paid time, as no task is split between machines"
    if any(plan.strategy for plan in found.plans):
        yield (
            "N T D: attempts of a late task on unreliable machines before a reliable one, the time"
            " between\nthem, the time after which one is given up"
        )
    if any("see " in mark for mark in marks):
        yield "see N: plan N is likely neither slower nor more expensive"


def _scope(plan: Plan, found: PlanList) -> str:
    """In which sense a plan is the cheapest or the fastest, where another beats it in another."""

    def figures(one: Plan) -> tuple[float, float]:
        if plan.name == "cheapest":
            return float(one.cost_p50), float(one.cost_upper)
        return one.makespan_s.p50, one.makespan_s.upper

    if plan.name not in ("cheapest", "fastest"):
        return ""
    middle, upper = figures(plan)
    better = [one for one in found.plans if figures(one)[0] < middle]
    if not better:
        return ""
    if all(one.strategy for one in better):
        return "of reliable machines"
    return "by its bound" if all(figures(one)[1] >= upper for one in better) else "by its mean"


def _marks(number: int, found: PlanList) -> Iterator[str]:
    plan = found.plans[number - 1]
    same = (plan.fleet, plan.strategy)
    plans = enumerate(found.plans, 1)
    twin = next(n for n, other in plans if (other.fleet, other.strategy) == same)
    scope = _scope(plan, found)
    if scope:
        yield scope
    if not plan.fits:
        yield "does not fit"
    if twin < number:
        yield f"same fleet as {twin}"
    elif plan.beaten_by is not None:
        yield f"see {plan.beaten_by}"
    if not plan.strategy and Money.parse(plan.cushion):
        yield f"cushion {format_money(Money.parse(plan.cushion), found.currency)}"
    if not plan.strategy and plan.risk > 0:
        yield f"risk {plan.risk:+,}"
    if plan.is_knee:
        yield "<- knee"


def _row(number: int, found: PlanList) -> tuple[str, ...]:
    plan, currency = found.plans[number - 1], found.currency
    span = plan.makespan_s
    amounts = (plan.cost_p50, plan.cost_p90, plan.cost_upper)
    title = ", ".join([plan.name, *_marks(number, found)]).replace(", <-", " <-")
    return (
        str(number),
        f"{title}\n{_machines(plan)}",
        *(format_duration(seconds(value)) for value in (span.p50, span.p90, span.upper)),
        *(format_money(Money.recall(amount), currency) for amount in amounts),
    )


def _machines(plan: Plan) -> str:
    """`50 spot + 2 sure, N=3 T=12 min D=25 min`."""
    fleet = format_fleet(plan.fleet)
    if not plan.strategy:
        return fleet
    strategy = read_strategy(plan.strategy)
    copies = "inf" if strategy.copies is None else strategy.copies
    timeout, deadline = (
        format_duration(time).replace(".0 ", " ") for time in (strategy.timeout, strategy.deadline)
    )
    return f"{fleet}, N={copies} T={timeout} D={deadline}"
