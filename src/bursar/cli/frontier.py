"""`bursar frontier`: spot or grid machines beside reliable ones, and which mixture is worth it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Self

import msgspec
import rich_click as click

from bursar.beliefs.pool import Characterisation
from bursar.cli.common import print_json, print_line, print_table, say
from bursar.cli.frontier_input import Known, Options, money_of, what_is_known
from bursar.cli.numbers import Number, Whole
from bursar.cli.options import (
    FAILURES,
    GOAL,
    MACHINES,
    POLICIES,
    WORK,
    json_option,
    option,
    settings,
)
from bursar.model.money import Money, format_money
from bursar.model.strategy import Kind, Strategy
from bursar.model.text import counted
from bursar.model.time import SECOND, format_duration, parse_duration, seconds
from bursar.plan.dominance import Point
from bursar.plan.pools.estimator import Conditions, Estimates, estimate
from bursar.plan.pools.frontier import check_preference, frontier, knee_of, prefer
from bursar.plan.pools.refine import Grid, Space, search
from bursar.plan.pools.strategies import static_strategies
from bursar.report.summary import NOT_INCLUDED

LAST_SEED: Final = (1 << 64) - 1
MOST_SHOWN: Final = 20
"""Strategies of the frontier that people see; those with a mark are always among them."""
SEE: Final = "see "
"""begins the mark of a strategy that another beats"""


class Wish(msgspec.Struct, frozen=True):
    prefer: str | None
    budget: float | None
    """for one task"""
    deadline: float | None
    """seconds"""


class Spread(msgspec.Struct, frozen=True):
    """Quantiles over the repetitions of an estimate."""

    makespan_s: float
    tail_s: float
    cost_per_task: float


class Choice(msgspec.Struct, frozen=True):
    """A strategy, with means of what was estimated."""

    name: str
    copies: int | None
    timeout_s: float
    deadline_s: float
    reliable: int
    makespan_s: float
    tail_s: float
    cost_per_task: float
    cost: float
    p10: Spread
    p90: Spread
    marks: list[str]

    @property
    def is_beaten(self) -> bool:
        return any(mark.startswith(SEE) for mark in self.marks)


class Learned(msgspec.Struct, frozen=True):
    """What the history told."""

    attempts: int
    results: int
    machines: int
    """the effective size of the unreliable pool"""
    cautions: list[str]

    @classmethod
    def of(cls, pool: Characterisation) -> Self:
        return cls(pool.instances, pool.results, pool.machines, list(pool.cautions))


class Found(msgspec.Struct, frozen=True):
    tasks: int
    unreliable: int
    reliability: float
    mean_turnaround_s: float
    currency: str | None
    """of the market; without one, that of the prices which were given"""
    prices_of: str | None
    """the date of the market's prices"""
    history: Learned | None
    grid: Grid
    repetitions: int
    sampled: int
    faithful: bool
    """costs are as published: attempts without a result are free, and nothing is called back"""
    frontier: list[Choice]
    """from the cheapest to the fastest of all, static strategies among them by their names"""
    usual: list[Choice]
    """the static strategies, also those on the frontier"""
    preferred: int | None
    """its number on the frontier, from 1"""


@click.command(context_settings=settings)
@option(
    WORK,
    "--tasks",
    metavar="N",
    type=Whole(1, 1_000_000),
    required=True,
    help="Number of tasks in the bag.",
)
@option(
    WORK,
    "--history",
    metavar="LOG|RUN",
    help="Learn from a job log, or from an earlier run by its name.",
)
@option(
    WORK,
    "--repetitions",
    metavar="N",
    type=Whole(1, 10_000),
    default=100,
    help="Number of simulations of each strategy (default: 100).",
)
@option(
    WORK,
    "--seed",
    type=Whole(0, LAST_SEED),
    default=0,
    metavar="N",
    help="Seed of the simulations (default: 0).",
)
@option(
    GOAL, "--budget", "-b", metavar="MONEY", help="Prefer the fastest strategy within this budget."
)
@option(GOAL, "--deadline", metavar="TIME", help="Prefer the cheapest strategy within this time.")
@option(
    GOAL,
    "--prefer",
    "wish",
    metavar="EXPR",
    help="Prefer cheapest, fastest, within-budget, within-deadline, or the least of e.g."
    " makespan*cost (default: the knee).",
)
@option(
    MACHINES,
    "--market",
    "-m",
    metavar="FILE",
    help="Market file with prices, limits and speeds.",
)
@option(
    MACHINES,
    "--unreliable",
    metavar="N",
    type=Whole(1, 10_000),
    help="Number of unreliable machines (default: from the market or the history).",
)
@option(
    MACHINES,
    "--reliable",
    metavar="N",
    type=Whole(1),
    help="Most reliable machines (default: a tenth of the unreliable ones).",
)
@option(
    MACHINES,
    "--reliable-offer",
    metavar="NAME",
    help="Offer of the market for reliable machines (default: the cheapest).",
)
@option(
    MACHINES,
    "--reliable-time",
    metavar="TIME",
    help="Run time of a task on a reliable machine (default: the mean turnaround).",
)
@option(
    MACHINES,
    "--turnaround",
    metavar="TIMES",
    help="Time to a result on unreliable machines: mean and deviation, 35m~10m, or a FILE with"
    " one time per line.",
)
@option(
    MACHINES,
    "--unreliable-price",
    metavar="PRICE",
    help="Price of an unreliable machine, e.g. 0.01/h (default: the market's, or free).",
)
@option(
    MACHINES,
    "--reliable-price",
    metavar="PRICE",
    help="Price of a reliable machine: 0.34/h is billed by the hour, 0.34/h/s by the second.",
)
@option(
    POLICIES,
    "--grid",
    metavar="GRID",
    type=click.Choice(["paper", "fine", "adaptive"]),
    default="adaptive",
    help="Strategies to try: paper (as published), fine (more), or adaptive (default: more"
    " where it matters).",
)
@option(
    POLICIES,
    "--faithful",
    is_flag=True,
    help="Count costs as published: attempts without a result are free.",
)
@option(
    FAILURES,
    "--reliability",
    metavar="SHARE",
    type=Number(0, 1),
    help="Share of attempts on unreliable machines that return a result, 0 to 1.",
)
@json_option
def command(
    wish: str | None,
    budget: str | None,
    deadline: str | None,
    grid: Grid,
    repetitions: int,
    seed: int,
    as_json: bool,
    **given: Any,
) -> None:
    """Show how to mix spot or grid machines with reliable ones, from cheapest to fastest.

    \b
    bursar frontier --tasks 150 --unreliable 50 --reliability 0.8 \\
        --turnaround 35m~10m --reliable-price 0.34/h/s
    bursar frontier --tasks 150 --market mixed.toml --history old.log

    A strategy (N, T, D, Mr) says what happens once fewer tasks are left than there are unreliable
    machines. Each task is sent to unreliable machines up to N times, at intervals of T. An attempt
    is given up after D. The last attempt runs on a reliable machine; there are Mr of them for each
    unreliable one.
    """  # noqa: D301 (click wants the character)
    options = Options(**given)
    check_preference(wish, has_budget=budget is not None, has_deadline=deadline is not None)
    known = what_is_known(options)
    wanted = Wish(
        prefer=wish,
        budget=None if budget is None else float(money_of(budget, known.market)) / options.tasks,
        deadline=None if deadline is None else parse_duration(deadline) / SECOND,
    )
    found = _find(known, wanted, grid, repetitions, seed)
    if as_json:
        print_json(found)
    else:
        _show(found)
    for caution in found.history.cautions if found.history is not None else ():
        say(f"note: {caution}")
    if found.preferred is None:
        say("no strategy is expected to stay within that; allow more money or time")


# --- what is found -------------------------------------------------------------------------------


def _find(known: Known, wish: Wish, grid: Grid, repetitions: int, seed: int) -> Found:
    conditions = known.conditions
    space = Space(conditions.mean, known.ratio, conditions.unreliable)

    def points_of(strategies: Sequence[Strategy]) -> list[Point]:
        return estimate(conditions, strategies, repetitions, seed=seed).means()

    searched = search(space, points_of, grid)
    candidates = [searched.strategies[index] for index in searched.frontier]
    usual = static_strategies(conditions.mean, known.ratio, conditions.tasks)
    strategies = [*candidates, *usual]
    estimates = estimate(conditions, strategies, repetitions, seed=seed)
    means = estimates.means()
    front = frontier(means)  # of all, so that nothing below it is cheaper or faster than its ends
    points = [means[index] for index in front]
    best = prefer(points, wish.prefer, budget=wish.budget, deadline=wish.deadline)
    marks = _marks(points, wish, best)

    def choice(index: int) -> Choice:
        told = marks.get(front.index(index), []) if index in front else [_see(means[index], points)]
        return _choice(strategies[index], estimates, index, means[index], conditions, told)

    return Found(
        tasks=conditions.tasks,
        unreliable=conditions.unreliable,
        reliability=conditions.gamma.after,
        mean_turnaround_s=conditions.mean / SECOND,
        currency=None if known.market is None else known.market.currency,
        prices_of=None if known.market is None else known.market.date,
        history=None if known.learned is None else Learned.of(known.learned),
        grid=grid,
        repetitions=repetitions,
        sampled=len(searched.strategies),
        faithful=not conditions.is_real,
        frontier=[choice(index) for index in front],
        usual=[choice(index) for index in range(len(candidates), len(strategies))],
        preferred=None if best is None else best + 1,
    )


def _marks(front: Sequence[Point], wish: Wish, best: int | None) -> dict[int, list[str]]:
    """What is best for simple preferences (section 4.5), by the place on the frontier."""
    named = {"cheapest": 0, "fastest": len(front) - 1, "knee": knee_of(front)}
    within = {
        "within budget": None if wish.budget is None else prefer(front, budget=wish.budget),
        "within deadline": None if wish.deadline is None else prefer(front, deadline=wish.deadline),
    }
    marks: dict[int, list[str]] = {}
    for name, place in (*named.items(), *within.items(), ("preferred", best)):
        if place is not None:
            marks.setdefault(place, []).append(name)
    return marks


def _see(point: Point, front: Sequence[Point]) -> str:
    """Which strategy of the frontier beats one that is not on it, the fastest of those."""
    better = [
        number
        for number, (makespan, cost) in enumerate(front, 1)
        if makespan <= point[0] and cost <= point[1]
    ]
    return f"{SEE}{better[-1]}"


def _choice(
    strategy: Strategy,
    estimates: Estimates,
    index: int,
    mean: Point,
    conditions: Conditions,
    marks: list[str],
) -> Choice:
    is_alone = strategy.copies is None and strategy.kind == Kind.NTDMR
    return Choice(
        name=strategy.name,
        copies=strategy.copies,
        timeout_s=strategy.timeout / SECOND,
        deadline_s=strategy.deadline / SECOND,
        reliable=0 if is_alone else strategy.reliable_machines(conditions.unreliable),
        makespan_s=mean[0],
        tail_s=float(estimates.tails[index].mean()) / SECOND,
        cost_per_task=mean[1],
        cost=mean[1] * conditions.tasks,
        p10=Spread(*estimates.quantiles(index, 0.1)),
        p90=Spread(*estimates.quantiles(index, 0.9)),
        marks=marks,
    )


# --- what is shown -------------------------------------------------------------------------------


def _show(found: Found) -> None:
    print_line(
        f"{counted(found.tasks, 'task')}, {counted(found.unreliable, 'unreliable machine')}:"
        f" {found.reliability:.1%} of attempts return a result,"
        f" after {format_duration(seconds(found.mean_turnaround_s))} on average."
    )
    columns = ("#", "N", "T", "D", "reliable", "makespan", "P90", "cost", "cost-P90", "")
    rows = [
        _row(f"{place + 1} {found.frontier[place].name}".strip(), found.frontier[place], found)
        for place in _shown(found)
    ]
    rows += [_row(one.name, one, found) for one in found.usual if one.is_beaten]
    print_table(columns, rows, right="N T D reliable makespan P90 cost cost-P90")
    tried = found.sampled + len(found.usual)
    for line in (
        f"Means and P90 of {counted(found.repetitions, 'simulation')} of each of {tried}"
        " strategies; no other of them is",
        "both faster and cheaper than those with numbers.",
        "N: attempts of a task on unreliable machines in the tail; T: time between them;",
        "D: time after which an attempt is given up; names: the usual strategies;",
        "see 3: number 3 is neither slower nor more expensive",
    ):
        say(line)
    if found.currency is None:
        say(f"Costs are in the currency of the prices; {NOT_INCLUDED}.")
    else:
        say(f"Costs are in {found.currency}, prices of {found.prices_of}; {NOT_INCLUDED}.")


def _shown(found: Found) -> list[int]:
    """Places on the frontier: the marked, those that others refer to, and some between them."""
    front = found.frontier
    beaten = [one for one in found.usual if one.is_beaten]
    told = {int(mark.removeprefix(SEE)) - 1 for one in beaten for mark in one.marks}
    told |= {place for place, one in enumerate(front) if one.name}
    told |= {place for place, one in enumerate(front) if one.marks}
    spread = min(len(front), MOST_SHOWN)
    told |= {(len(front) - 1) * step // max(1, spread - 1) for step in range(spread)}
    return sorted(told)


def _row(title: str, one: Choice, found: Found) -> tuple[str, ...]:
    return (
        title,
        "inf" if one.copies is None else str(one.copies),
        format_duration(seconds(one.timeout_s)) if one.timeout_s else "0",
        format_duration(seconds(one.deadline_s)),
        str(one.reliable),
        *(format_duration(seconds(time)) for time in (one.makespan_s, one.p90.makespan_s)),
        *(
            format_money(Money.nearest(cost), found.currency)
            for cost in (one.cost, one.p90.cost_per_task * found.tasks)
        ),
        ", ".join(one.marks).replace("preferred", "<- preferred"),
    )
