"""`bursar optimum`: the best schedule of a small workload, to see how far a policy is from it."""

from __future__ import annotations

from typing import Any

import rich_click as click

from bursar.cli.common import print_json, print_table, say
from bursar.cli.numbers import Number, Whole
from bursar.cli.options import GOAL, MACHINES, OUTPUT, POLICIES, WORK, json_option, option, settings
from bursar.formats.market import read_market
from bursar.formats.recognise import is_workload
from bursar.model.budget_text import budget_in
from bursar.model.errors import InputError, shown
from bursar.model.reading import read_duration
from bursar.model.text import counted
from bursar.model.time import SECOND, format_duration, seconds


@click.command(context_settings=settings)
@click.argument("workload", metavar="WORKLOAD")
@option(
    WORK,
    "--slot",
    metavar="TIME",
    default="5s",
    help="Length of a slot, to which all times are rounded up (default: 5s).",
)
@option(
    WORK,
    "--intervals",
    metavar="N",
    type=Whole(1, 10_000),
    help="Number of billing intervals (default: what a simple schedule takes, and some more).",
)
@option(
    GOAL,
    "--budget",
    "-b",
    metavar="MONEY",
    required=True,
    help="Money for each billing interval, e.g. 30/15s.",
)
@option(
    GOAL,
    "--aim",
    type=click.Choice(["lateness", "response"]),
    default="lateness",
    help="Minimise lateness beyond each work's earliest end, or response (default: lateness).",
)
@option(MACHINES, "--market", "-m", metavar="FILE", required=True, help="Market file with offers.")
@option(
    POLICIES,
    "--beside",
    metavar="NAME,...",
    help="Autoscalers to compare with it (default: react,pfa,plf,scf).",
)
@option(
    OUTPUT,
    "--time-limit",
    metavar="TIME",
    default="2m",
    help="Time that the search may take (default: 2m).",
)
@option(
    OUTPUT,
    "--within",
    metavar="SHARE",
    type=Number(0, 1),
    default=0.0,
    help="End once it is sure to be as near the best, e.g. 0.03 (default: 0).",
)
@json_option
def command(workload: str, as_json: bool, **options: Any) -> None:
    """Find the best schedule of a small workload within a budget for each interval.

    WORKLOAD is a workload file with some hundred tasks. All is known from the begin, machines boot
    at once and are paid by the interval (workload thesis, 5.6). The search tells a bound that no
    schedule can be better than, and how far what it found may be from it. Needs bursar[optimum].
    """
    from bursar.formats.workload import read_workload
    from bursar.runs.optimum_study import BESIDE, OptimumSetting, study_optimum
    from bursar.runs.scaling_input import read_autoscalers

    if not is_workload(workload):
        raise InputError(f"{shown(workload)} is not a workload file; bursar generate makes one")
    market = read_market(options["market"])
    beside = options["beside"]
    setting = OptimumSetting(
        market=market,
        budget=budget_in(market.currency, options["budget"]),
        slot=read_duration(options["slot"], least=SECOND),
        aim=options["aim"],
        seconds=read_duration(options["time_limit"], least=SECOND) / SECOND,
        within=options["within"],
        intervals=options["intervals"],
        beside=BESIDE if beside is None else read_autoscalers(beside),
    )
    found = study_optimum(read_workload(workload), setting)
    if as_json:
        print_json(found)
        return
    rows = [
        ("best found", str(found.cost), f"{found.response_s:,.1f}", "1.00"),
        *(
            (
                one.name,
                "-" if one.cost is None else str(one.cost),
                f"{one.response_s:,.1f}",
                f"{one.by_optimum:.2f}",
            )
            for one in found.policies
        ),
    ]
    columns = ("schedule", found.aim, "response-s", "by-best")
    print_table(columns, rows, right=" ".join(columns[1:]))
    quality = "the best" if found.is_optimal else f"at most {100 * found.gap:.1f} % from the best"
    say(
        f"{counted(found.works, 'work')}, {counted(found.tasks, 'task')},"
        f" {counted(found.slots, 'slot')}; {found.aim}: {found.cost}, no schedule is below"
        f" {found.bound}: {quality}. Searched for {format_duration(seconds(found.seconds))}. Every"
        " constraint was checked."
    )
