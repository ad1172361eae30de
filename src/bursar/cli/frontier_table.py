"""The screen of a list of plans for a bag: a frontier, a line for each plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from bursar.beliefs.cautions import rarest_seen
from bursar.cli.common import WIDTH, print_line, print_table, say
from bursar.model.fleet import format_fleet
from bursar.model.market import Market
from bursar.model.money import Money, format_money
from bursar.model.plan import Assumed, Plan
from bursar.model.strategy import read_strategy
from bursar.model.text import counted
from bursar.model.time import HOUR, MINUTE, SECOND, Time, format_duration, seconds
from bursar.report.summary import FREE, NOT_INCLUDED
from bursar.state.events import PlansOffered

UNITS: Final = {SECOND: "second", MINUTE: "minute", HOUR: "hour"}
MANY: Final = 1000
"""Tasks of which none is missing; so many stand for run times that somebody knows."""
WIDEST_FLEET: Final = 26
"""A fleet of more letters goes on below."""


def tasks_to_do(assumed: Assumed) -> str:
    """What the plans are for: the bag, or what a sample has left of it."""
    after_sample = assumed.sampled and assumed.spent
    return f"{counted(assumed.tasks, 'task')}{' left' if after_sample else ''}"


def show_frontier(
    offered: PlansOffered, market: Market, *, first: bool = True, wide: bool = False
) -> None:
    """The plans with their time and cost; `wide` with what is set aside and may not fit."""
    plans, assumed = offered.plans, offered.assumed
    title = f"{tasks_to_do(assumed)}. {terms_text(market, first=first)}."
    print_line(title if len(title) <= WIDTH else title.replace("; ", ";\n"))
    bound = f"P{assumed.confidence * 100:g}"
    columns = ["#", "choice", "fleet", "time-P50", bound, "cost-P50", f"cost-{bound}"]
    columns += ["cushion", "risk"] if wide else []
    marks = [_mark(plan, offered) for plan in plans]
    columns += [""] if any(marks) else []
    rows = [
        (*_row(number, plan, market.currency, wide=wide), *([mark] if any(marks) else []))
        for number, (plan, mark) in enumerate(zip(plans, marks, strict=True), 1)
    ]
    print_table(columns, rows, right=" ".join(["#", *columns[3:]]))
    for line in _legend(plans, wide=wide):
        say(line)
    timed = min(assumed.sampled.values(), default=MANY)
    if timed < MANY:
        say(
            f"{bound}: for tasks like the {timed} timed on an offer; a kind rarer than one in"
            f" {rarest_seen(timed)} may be missing"
        )
    for caution in assumed.cautions:
        say(f"Caution: {caution.rstrip('.')}.")


def terms_text(market: Market, *, first: bool = True) -> str:
    """`Prices of 2026-07-01, USD, billed by the second, at least 60 s; ... are not included`."""
    if market.is_free:
        return f"{FREE[0].upper()}{FREE[1:]}"
    prices = "Undated prices" if market.date == "undated" else f"Prices of {market.date}"
    shown_text = f"{prices}, {market.currency}, {billing_text(market)}"
    return f"{shown_text}; {NOT_INCLUDED}" if first else shown_text


def billing_text(market: Market) -> str:
    """`billed by the second, at least 60 s`; of several ways the finest and the coarsest."""
    units = sorted({offer.billing for offer in market.offers})
    shown_text = " to ".join(_unit(unit) for unit in dict.fromkeys((units[0], units[-1])))
    least = sorted({offer.minimum for offer in market.offers})
    if least[-1] <= units[0]:
        return f"billed {shown_text}"
    stays = " to ".join(_stay(stay) for stay in dict.fromkeys((least[0], least[-1])))
    return f"billed {shown_text}, at least {stays}"


def _unit(unit: Time) -> str:
    return f"by the {UNITS[unit]}" if unit in UNITS else f"by {_plain(unit)}"


def _stay(stay: Time) -> str:
    return f"{stay // SECOND} s" if stay < 2 * MINUTE else _plain(stay)


def _plain(time: Time) -> str:
    """`5 s`, not `5.0 s`."""
    return format_duration(time).replace(".0 ", " ")


def _mark(plan: Plan, offered: PlansOffered) -> str:
    goal, assumed = offered.assumed.goal, offered.assumed
    over = goal.budget is not None and plan.cost_upper > goal.budget - assumed.spent
    late = goal.deadline is not None and seconds(plan.makespan_s.upper) > goal.deadline
    shown_text = [name for name, holds in (("over the budget", over), ("too late", late)) if holds]
    return ", ".join(shown_text)


def _row(number: int, plan: Plan, currency: str, *, wide: bool) -> tuple[str, ...]:
    span = plan.makespan_s
    figures = [
        *(format_duration(seconds(value)) for value in (span.p50, span.upper)),
        *(format_money(amount, currency) for amount in (plan.cost_p50, plan.cost_upper)),
    ]
    if wide:
        figures += [format_money(_cushion(plan), currency), f"{plan.risk:+,}" if plan.risk else "-"]
    return str(number), ", ".join(plan.names), fleet_text(plan), *figures


def _cushion(plan: Plan) -> Money:
    """Between what is likely and what is promised."""
    return plan.cost_upper - plan.cost_p50


def fleet_text(plan: Plan) -> str:
    """`50 spot + 2 sure`, on lines that leave room for the figures; with its strategy."""
    lines = [""]
    for part in format_fleet(plan.fleet).split(" + "):
        joined = f"{lines[-1]} + {part}" if lines[-1] else part
        if lines[-1] and len(joined) > WIDEST_FLEET:
            lines[-1] += " +"
            lines.append(part)
        else:
            lines[-1] = joined
    if plan.strategy:
        lines.append(strategy_text(plan))
    return "\n".join(lines)


def strategy_text(plan: Plan) -> str:
    """`N=3 T=12 min D=25 min`."""
    strategy = read_strategy(plan.strategy)
    copies = "inf" if strategy.copies is None else strategy.copies
    timeout, deadline = _plain(strategy.timeout), _plain(strategy.deadline)
    return f"N={copies} T={timeout} D={deadline}"


def _legend(plans: Sequence[Plan], *, wide: bool) -> Iterator[str]:
    """What the columns and marks mean."""
    if any(plan.is_knee for plan in plans):
        yield "knee: the most time saved for the money"
    if wide:
        yield "cushion: what is promised beyond what is likely, for the last tasks"
        yield "risk +N: N tasks may not fit in the paid time, as no task is split between machines"
    if any(plan.strategy for plan in plans):
        yield (
            "N T D: attempts of a late task on unreliable machines before a reliable one, the time"
            " between\nthem, the time after which one is given up"
        )
