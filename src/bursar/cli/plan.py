"""`bursar plan`: what will it cost, and how long will it take?"""

from __future__ import annotations

import numpy as np
import rich_click as click
from numpy.typing import NDArray

from bursar.cli.common import json_option, print_json, print_table
from bursar.formats.joblog import read_joblog
from bursar.model.errors import InputError, shown
from bursar.model.fleet import format_fleet
from bursar.model.goal import Goal
from bursar.model.market import Market
from bursar.model.money import Money, format_money
from bursar.model.time import format_duration, parse_duration, seconds
from bursar.plan.plans import CONFIDENCE, Plan, PlanList, known_runtimes, make_plans
from bursar.report.summary import NOT_INCLUDED

_Samples = dict[str, NDArray[np.int64]]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--market", "-m", metavar="FILE", required=True, help="Offers and prices.")
@click.option("--tasks", type=click.IntRange(1), required=True, help="Tasks to do.")
@click.option(
    "--assume",
    metavar="RUNTIMES",
    help="Known run times, e.g. small=1.66m,large=0.97m, or small=90s~20s with a deviation.",
)
@click.option("--joblog", metavar="FILE", help="Learn run times from an earlier run's job log.")
@click.option("--budget", "-b", metavar="MONEY", help="Mark what fits, add the fastest within.")
@click.option("--deadline", metavar="TIME", help="Mark what fits, add the cheapest within.")
@click.option("--choices", type=click.IntRange(0, 50), default=0, help="So many more between.")
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 0.999),
    default=CONFIDENCE,
    help="Of the upper bounds.",
)
@click.option("--seed", type=click.IntRange(0), default=0, help="Of the predictions.")
@json_option
def command(
    market: str,
    tasks: int,
    assume: str | None,
    joblog: str | None,
    budget: str | None,
    deadline: str | None,
    choices: int,
    confidence: float,
    seed: int,
    as_json: bool,
) -> None:
    """Show plans from cheapest to fastest, each with time and cost as P50, P90 and upper bound."""
    known = Market.load(market)
    if (assume is None) == (joblog is None):
        raise InputError("say where run times come from: --assume RUNTIMES or --joblog FILE")
    samples = _assumed(assume, known) if assume is not None else _learned(str(joblog), known)
    goal = Goal(
        None if budget is None else Money.parse(budget),
        None if deadline is None else parse_duration(deadline),
    )
    found = make_plans(
        known, samples, tasks, goal, between=choices, confidence=confidence, seed=seed
    )
    if as_json:
        print_json(found)
    else:
        show(found)


def _assumed(text: str, market: Market) -> _Samples:
    """Read `small=1.66m,large=0.97m~0.2m`."""
    samples: _Samples = {}
    for part in text.split(","):
        name, sign, times = part.strip().partition("=")
        if not sign:
            raise InputError(f"{shown(part.strip())} is no run time; write small=1.66m,large=0.97m")
        offer = market[name.strip()]
        mean, _, deviation = times.partition("~")
        runtime = parse_duration(mean)
        if runtime <= 0:
            raise InputError(f"a run time of nothing on {offer.name}; write for example 1.66m")
        spread = parse_duration(deviation) if deviation else 0
        samples[offer.name] = known_runtimes(runtime, spread)
    return samples


def _learned(path: str, market: Market) -> _Samples:
    """Run times of successes, by the offer that a host's name begins with (`small-3`)."""
    times: dict[str, list[int]] = {}
    for row in read_joblog(path):
        offer = row.host.rpartition("-")[0] or row.host
        if row.exitval == 0 and row.signal == 0 and offer in market:
            times.setdefault(offer, []).append(max(1, seconds(row.runtime)))
    if not times:
        names = ", ".join(offer.name for offer in market.offers)
        raise InputError(f"{path}: no success on any offer of the market ({names})")
    return {name: np.array(values, dtype=np.int64) for name, values in times.items()}


def show(found: PlanList) -> None:
    """The plan screen."""
    click.echo(
        f"{found.tasks:,} tasks left. Prices of {found.date}, {found.currency};"
        f" {NOT_INCLUDED}. Upper: not exceeded with {found.confidence:.0%}."
    )
    columns = (
        "#", "choice", "fleet", "P50", "P90", "upper", "cost-P50", "cost-P90", "cost-upper",
        "cushion", "risk", "",
    )  # fmt: skip
    rows = [_row(number, plan, found.currency) for number, plan in enumerate(found.plans, 1)]
    print_table(columns, rows, right="# P50 P90 upper cost-P50 cost-P90 cost-upper cushion risk")
    for caution in found.cautions:
        click.echo(f"Caution: {caution}.", err=True)


def _row(number: int, plan: Plan, currency: str) -> tuple[str, ...]:
    span = plan.makespan_s
    marks = [] if plan.fits else ["does not fit"]
    if plan.is_knee:
        marks.append("<- knee")
    amounts = (plan.cost_p50, plan.cost_p90, plan.cost_upper, plan.cushion)
    return (
        str(number),
        plan.name,
        format_fleet(plan.fleet),
        *(format_duration(seconds(value)) for value in (span.p50, span.p90, span.upper)),
        *(format_money(Money.parse(amount), currency) for amount in amounts),
        f"{plan.risk:+,}",
        ", ".join(marks),
    )
