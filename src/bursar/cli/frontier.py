"""`bursar frontier`: spot or grid machines beside reliable ones, and which mixture is worth it."""

from __future__ import annotations

from typing import Any, Final

import rich_click as click

from bursar.cli.common import home, print_json, print_line, print_table, say, write_text
from bursar.cli.numbers import Number, Whole
from bursar.cli.options import (
    FAILURES,
    GOAL,
    MACHINES,
    OUTPUT,
    POLICIES,
    WORK,
    json_option,
    option,
    settings,
)
from bursar.model.money import Money, format_money
from bursar.model.option_words import COMMAND_LINE
from bursar.model.text import counted
from bursar.model.time import SECOND, format_duration, parse_duration, seconds
from bursar.plan.pools.frontier import check_preference
from bursar.plan.pools.refine import Grid
from bursar.report.summary import NOT_INCLUDED
from bursar.runs.frontier import (
    StrategyChoice,
    StrategyFrontier,
    StrategyRequest,
    find_strategies,
)
from bursar.runs.frontier_input import Options, money_of, what_is_known

LAST_SEED: Final = (1 << 64) - 1


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
    "preference",
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
@option(OUTPUT, "--html", metavar="FILE", help="Draw the frontier into this file, too.")
@json_option
def command(
    preference: str | None,
    budget: str | None,
    deadline: str | None,
    grid: Grid,
    repetitions: int,
    seed: int,
    html: str | None,
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
    check_preference(
        preference,
        has_budget=budget is not None,
        has_deadline=deadline is not None,
        asked=COMMAND_LINE,
    )
    known = what_is_known(options, home())
    wanted = StrategyRequest(
        prefer=preference,
        budget=None if budget is None else float(money_of(budget, known.market)) / options.tasks,
        deadline=None if deadline is None else parse_duration(deadline) / SECOND,
    )
    found = find_strategies(known, wanted, grid, repetitions, seed)
    if html is not None:
        from bursar.report.pictures import document

        write_text(html, document("bursar frontier", found._repr_html_()))
    if as_json:
        print_json(found)
    else:
        _show(found)
    for caution in found.history.cautions if found.history is not None else ():
        say(f"note: {caution}")
    if found.preferred is None:
        say("no strategy is expected to stay within that; allow more money or time")


# --- what is shown -------------------------------------------------------------------------------


def _show(found: StrategyFrontier) -> None:
    print_line(
        f"{counted(found.tasks, 'task')}, {counted(found.unreliable, 'unreliable machine')}:"
        f" {found.reliability:.1%} of attempts return a result,"
        f" after {format_duration(seconds(found.mean_turnaround_s))} on average."
    )
    columns = ("#", "N", "T", "D", "reliable", "makespan", "P90", "cost", "cost-P90", "")
    rows = [
        _row(f"{place + 1} {found.frontier[place].name}".strip(), found.frontier[place], found)
        for place in found.shown()
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


def _row(title: str, one: StrategyChoice, found: StrategyFrontier) -> tuple[str, ...]:
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
