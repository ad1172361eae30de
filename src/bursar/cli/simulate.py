"""`bursar simulate`: what if?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Final

import msgspec
import rich_click as click

from bursar.cli.common import print_json, print_table, say
from bursar.cli.numbers import Number, Whole
from bursar.cli.options import (
    FAILURES,
    MACHINES,
    WORK,
    attempt_options,
    fleet_option,
    goal_options,
    json_option,
    number_option,
    option,
    performance_option,
    policy_options,
    settings,
)
from bursar.formats.job import Job
from bursar.formats.market import read_market
from bursar.formats.spot_trace import read_spot_trace
from bursar.model.amount import money_in
from bursar.model.errors import InputError
from bursar.model.fleet import format_fleet, parse_fleet
from bursar.model.flow import Flow
from bursar.model.goal import Goal, Limits
from bursar.model.money import Money, format_money
from bursar.model.numbers import LAST_SEED
from bursar.model.reading import read_duration
from bursar.model.text import counted
from bursar.model.time import format_duration, parse_duration, seconds
from bursar.model.work import LARGEST_BAG
from bursar.report.summary import FREE, NOT_INCLUDED
from bursar.runs.faults import Faults
from bursar.runs.request import Request
from bursar.runs.study import RunQuantiles, Study, Subject, bag_subject, study, workflow_subject

PATIENCE: Final = 10.0
"""seconds after which somebody wants to know how it goes"""
MOST_RUNS = 1_000_000
"""Simulated runs of one study."""


@click.command(context_settings=settings)
@click.argument("flow", required=False, metavar="[FLOW]")
@option(
    WORK,
    "--tasks",
    metavar="N",
    type=Whole(1, LARGEST_BAG),
    help="Number of tasks in a bag.",
)
@option(
    WORK, "--runtime", metavar="TIME", help="Mean run time of a bag's tasks at speed 1, e.g. 2m."
)
@option(
    WORK,
    "--deviation",
    metavar="TIME|SHARE",
    help="Standard deviation of run times: 20s for a bag, 30% of the mean for a workflow.",
)
@number_option
@option(
    WORK,
    "--choose",
    metavar="CHOICE",
    help="Plan of a workflow to follow: cheapest, knee, fastest (default: the best for the goal).",
)
@option(
    WORK,
    "--runs",
    metavar="N",
    type=Whole(1, MOST_RUNS),
    default=20,
    help="Number of simulated runs (default: 20).",
)
@option(
    WORK,
    "--seed",
    metavar="N",
    type=Whole(0, LAST_SEED),
    default=0,
    help="Seed of the first run; each further run has the next one (default: 0).",
)
@goal_options
@option(
    MACHINES,
    "--market",
    "-m",
    metavar="FILE",
    required=True,
    help="Market file with offers and prices.",
)
@fleet_option
@performance_option
@policy_options
@attempt_options
@option(
    FAILURES,
    "--failing",
    metavar="SHARE",
    type=Number(0, 0.99),
    default=0.0,
    help="Share of attempts that fail (default: 0).",
)
@option(
    FAILURES,
    "--reliability",
    metavar="SHARE",
    type=Number(0.01, 1),
    default=1.0,
    help="Share of attempts on unreliable machines that return a result (default: 1).",
)
@option(
    FAILURES,
    "--mean-life",
    metavar="TIME",
    help="Mean time after which a machine is lost (default: never).",
)
@option(
    FAILURES,
    "--spot-trace",
    "spot_traces",
    metavar="FILE",
    multiple=True,
    help="Trace of when unreliable machines are available; can be repeated.",
)
@option(
    FAILURES,
    "--notice",
    metavar="TIME",
    default="0s",
    help="Warning time before a machine is lost (default: 0s).",
)
@option(
    FAILURES,
    "--slower",
    metavar="FACTOR",
    type=Number(0.01, 100),
    default=1.0,
    help="Let a workflow's tasks run this many times longer than planned (default: 1).",
)
@json_option
def command(
    flow: str | None,
    number: int | None,
    market: str,
    tasks: int | None,
    runtime: str | None,
    choose: str | None,
    slower: float,
    budget: str | None,
    deadline: str | None,
    fleet: str | None,
    failing: float,
    retries: int | None,
    timeout: str | None,
    runs: int,
    seed: int,
    faithful: bool | None,
    prefer: str | None,
    strategy: str | None,
    as_json: bool,
    mean_life: str | None,
    reliability: float,
    spot_traces: tuple[str, ...],
    notice: str,
    performance: str | None,
    deviation: str | None,
    budget_as: str | None,
    confidence: float | None,
    **entries: str | None,
) -> None:
    """Run a bag or a workflow on simulated machines, with the engine and policies of a real run.

    Run times of a bag are normally distributed around the mean and divided by an offer's speed.
    FLOW is a workflow file, as for bursar show. Its run times vary as measured, or by --deviation;
    where machines cost money, it follows a plan. The same seed gives the same runs. With spot
    traces, each run starts at another point of the trace.
    """
    known = read_market(market)
    request = Request(
        market=known,
        goal=Goal(
            None if budget is None else money_in(known.currency, budget),
            None if deadline is None else parse_duration(deadline),
        ),
        limits=Limits(retries or 0, None if timeout is None else read_duration(timeout, least=1)),
        fleet=None if fleet is None else parse_fleet(fleet, known),
        policies={role: name for role, name in entries.items() if name is not None},
        faithful=bool(faithful),
        prefer=prefer,
        strategy=strategy,
    )
    faults = Faults(
        failing=failing,
        reliability=reliability,
        mean_life=None if mean_life is None else read_duration(mean_life, least=1),
        notice=parse_duration(notice),
        traces=tuple(read_spot_trace(path) for path in spot_traces),
    )
    if flow is None:
        _refuse_flow(slower, choose, number)
        subject = _bag(request, tasks, runtime, deviation or "0s")
    else:
        from bursar.formats.workflow import read_workflow  # late: it brings numpy

        _refuse_bag(tasks, runtime)
        asked = {
            "deviation": deviation,
            "performance": performance,
            "budget_as": budget_as,
            "confidence": confidence,
            "seed": seed,
        }
        wish = Job.from_command_line((), asked).wish()
        request = msgspec.structs.replace(request, wish=wish)
        subject = workflow_subject(request, Flow.of(read_workflow(flow, number)), choose, slower)
    found = study(subject, faults, range(seed, seed + runs), _watched)
    if as_json:
        print_json(found)
    else:
        _show(found, subject.request)


def _watched(seeds: Sequence[int]) -> Iterator[int]:
    """The seeds; while their runs take long, people see how long they will."""
    began = told = monotonic()
    for number, seed in enumerate(seeds):
        if monotonic() - told > PATIENCE:
            told = monotonic()
            left = format_duration(seconds((told - began) / number * (len(seeds) - number)))
            say(f"{number:,} of {counted(len(seeds), 'run')} simulated, about {left} to go")
        yield seed


def _bag(request: Request, tasks: int | None, runtime: str | None, deviation: str) -> Subject:
    if tasks is None:
        raise InputError(
            "nothing to simulate: give a workflow file, or --tasks N with --runtime TIME"
        )
    if runtime is None:
        raise InputError("the run time is missing: add --runtime TIME")
    mean, spread = parse_duration(runtime), parse_duration(deviation)
    if mean <= 0:
        raise InputError("--runtime must be above 0")
    return bag_subject(request, tasks, mean, spread)


def _refuse_bag(tasks: int | None, runtime: str | None) -> None:
    if tasks is not None or runtime is not None:
        raise InputError("a workflow has its own tasks: leave out --tasks and --runtime")


def _refuse_flow(slower: float, choose: str | None, number: int | None) -> None:
    if slower != 1 or choose is not None or number is not None:
        raise InputError("--slower, --choose and --number are for workflows: give the file of one")


def _show(study: Study, request: Request) -> None:
    """One line for each way the runs ended."""
    rows = []
    currency = request.market.currency
    for status in sorted({one.status for one in study.runs if one.status}):
        ended = [one for one in study.runs if one.status == status]
        time = RunQuantiles.of(one.makespan_s for one in ended)
        costs = sorted(Money.recall(one.money.committed) for one in ended)
        middle, high = len(ended) // 2, min(len(ended) - 1, int(0.9 * len(ended)))
        rows.append(
            (
                status,
                str(len(ended)),
                f"{sum(one.tasks.done for one in ended) / len(ended):,.1f}",
                format_duration(seconds(time.p50)),
                format_duration(seconds(time.p90)),
                format_money(costs[middle], currency),
                format_money(costs[high], currency),
            )
        )
    columns = ("ended", "runs", "done", "time-P50", "time-P90", "cost-P50", "cost-P90")
    print_table(columns, rows, right=" ".join(columns[1:]))
    note = FREE if request.market.is_free else NOT_INCLUDED
    say(f"Fleet: up to {format_fleet(study.fleet)}. Simulated, {note}.")
    for caution in () if request.flow is None else request.flow.cautions:
        say(f"Caution: {caution}.")
