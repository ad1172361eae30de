"""`bursar simulate`: what if?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, Final

import msgspec
import rich_click as click

from bursar.cli.common import (
    home,
    print_json,
    print_table,
    refuse_given,
    say,
    typed_command,
)
from bursar.cli.numbers import Number, Whole
from bursar.cli.options import (
    FAILURES,
    MACHINES,
    OUTPUT,
    WORK,
    attempt_options,
    best_effort_option,
    fleet_option,
    goal_options,
    json_option,
    number_option,
    option,
    performance_option,
    policy_options,
    settings,
)
from bursar.cli.sweep_table import draw, note_of, table_of, write_page
from bursar.cli.workload_options import (
    is_scaled,
    refuse_others,
    refuse_workload_options,
    scaling_of,
    setting_of,
    workload_of,
    workload_options,
)
from bursar.formats.job import Job
from bursar.formats.market import read_market
from bursar.formats.recognise import is_workload
from bursar.formats.spot_trace import read_spot_trace
from bursar.model.budget_text import budget_in
from bursar.model.errors import InputError
from bursar.model.fleet import format_fleet, parse_fleet
from bursar.model.goal import Goal, Limits
from bursar.model.market import Market
from bursar.model.money import Money, format_money
from bursar.model.numbers import LAST_SEED
from bursar.model.option_words import COMMAND_LINE
from bursar.model.reading import read_duration
from bursar.model.text import counted
from bursar.model.time import format_duration, parse_duration, seconds
from bursar.model.work import LARGEST_BAG, Work
from bursar.policies.registry import CHOSEN_BY_NAME
from bursar.report.summary import FREE, NOT_INCLUDED
from bursar.runs.faults import Faults
from bursar.runs.request import Request
from bursar.runs.study import (
    RunQuantiles,
    Study,
    Subject,
    bag_subject,
    earlier_subject,
    study,
    workflow_subject,
)
from bursar.runs.sweep import Sweep, SweepCase, cases_of, sweep

TWICE: Final = "run times are those of the history"
REPORTED_AFTER: Final = 10.0
"""seconds after which somebody wants to know how it goes"""
FOR_AUTOSCALERS: Final = (
    *("market", "fleet", "budget", "plot"),
    *("failing", "mean_life", "spot_traces", "notice"),
)
"""options of other work that a workload with autoscalers has, too"""
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
@option(
    WORK,
    "--history",
    metavar="JOBLOG",
    help="Draw run times of a bag from the job log of an earlier run, in the place of --runtime.",
)
@option(
    WORK,
    "--known",
    is_flag=True,
    help="Let the policy know --runtime and --deviation, or --history (default: it learns them).",
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
@best_effort_option
@option(
    MACHINES,
    "--market",
    "-m",
    metavar="FILE",
    help="Market file with offers and prices; a workload needs none.",
)
@fleet_option
@performance_option
@workload_options
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
    help="Mean time after which an unreliable machine is lost, or any machine in a market without"
    " unreliable ones (default: never).",
)
@option(
    FAILURES,
    "--lost-together",
    is_flag=True,
    help="With --mean-life: unreliable machines of one type in one zone are lost at the same time.",
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
@option(
    OUTPUT,
    "--plot",
    metavar="FILE.svg",
    help="Draw the share of runs that finish, for several budgets, deadlines or provisioners.",
)
@option(
    OUTPUT,
    "--html",
    metavar="FILE",
    help="Write the comparison, with plots, into one page that opens in any browser.",
)
@option(
    OUTPUT,
    "--keep",
    metavar="NAME",
    help="Keep the first run under this name, to look at it like at a real one.",
)
@option(
    OUTPUT,
    "--forecasts",
    metavar="N",
    type=Whole(0, 100),
    default=0,
    help="Let the kept run have so many forecasts on the way; each takes a second or so"
    " (default: 0).",
)
@json_option
def command(
    flow: str | None,
    market: str | None,
    tasks: int | None,
    runtime: str | None,
    runs: int,
    seed: int,
    as_json: bool,
    plot: str | None,
    html: str | None,
    **options: Any,
) -> None:
    """Run a bag, a workflow or a workload on simulated machines.

    Bags and workflows run with the engine and the policies of a real run.

    Run times of a bag are normally distributed around the mean and divided by an offer's speed.
    FLOW is a workflow file, as for bursar show. Its run times vary as measured, or by --deviation;
    where machines cost money, it follows a plan. The same seed gives the same runs. With spot
    traces, each run starts at another point of the trace. A workload file has workflows that
    arrive over time; its runs are compiled, one for each placer and utilization. With --provision,
    its machines come and go as autoscalers decide.

    Several budgets, deadlines or provisioners (--budget 1,1.2,1.5 --deadline 1h,2h --provisioner
    frontier,bats) are compared: a row for each case, with the share of runs that finish.
    """
    if flow is not None and is_workload(flow):
        allowed = FOR_AUTOSCALERS if options["provision"] else ()
        refuse_others(("seed", "as_json", *allowed))
        refuse_given({"html": html}, "bursar compare writes the page of a workload")
        wanted = {**options, "seed": seed, "market": market}
        _simulate_workload(flow, wanted, plot, as_json=as_json)
        return
    refuse_workload_options(options)
    if market is None:
        raise InputError("the market is missing: add --market FILE")
    offers, faults = read_market(market), _faults(options)
    cases = _cases(offers, options)

    def subject_of(case: SweepCase) -> Subject:
        chosen = {**options, "provisioner": case.provisioner}
        request = _request(offers, case.goal, chosen)
        if flow is None:
            _refuse_flow(options)
            if options["history"] is not None:
                refuse_given({"runtime": runtime, "deviation": options["deviation"]}, TWICE)
                return _earlier_bag(request, tasks, options["history"], known=options["known"])
            spread = options["deviation"] or "0s"
            return _bag(request, tasks, runtime, spread, known=options["known"])
        _refuse_bag(tasks, runtime or options["history"], known=options["known"])
        return _workflow(request, flow, {**options, "seed": seed})

    seeds = range(seed, seed + runs)
    _check_pages(plot, html, len(cases))
    if len(cases) > 1:
        refuse_given({"keep": options["keep"]}, "several cases are compared, and none is kept")
        _sweep(sweep(subject_of, cases, faults, seeds, _watched), plot, html, as_json=as_json)
        return
    subject = subject_of(cases[0])
    found = study(subject, faults, seeds, _watched)
    if options["keep"] is not None:
        _keep(options, subject, faults, seed)
    if as_json:
        print_json(found)
    else:
        _show(found, subject.request)


def _check_pages(plot: str | None, html: str | None, cases: int) -> None:
    """A single case has nothing to be compared with."""
    if cases == 1 and (plot is not None or html is not None):
        raise InputError(
            f"{'--html' if plot is None else '--plot'} compares: give several budgets or deadlines,"
            " e.g. 1,1.2,1.5, or provisioners"
        )


def _keep(options: Mapping[str, Any], subject: Subject, faults: Faults, seed: int) -> None:
    from bursar.runs.kept_simulation import keep_simulation

    name, forecasts = options["keep"], options["forecasts"]
    run = keep_simulation(home(), name, subject, faults, seed, forecasts)
    say(f"kept the run of seed {seed} as {run.name}. Look at it: bursar report {run.name}")


def _simulate_workload(
    path: str, options: Mapping[str, Any], plot: str | None, *, as_json: bool
) -> None:
    if is_scaled(options):
        from bursar.cli.scaling_table import simulate_scaled

        workload = workload_of(path, options)
        setting = msgspec.structs.replace(scaling_of(options), faults=_faults(options))
        simulate_scaled(workload, setting, plot, ranked=False, as_json=as_json)
        return
    from bursar.cli.workload_table import show, values, watched  # late: they bring numpy
    from bursar.runs.workload_study import study_workload

    found = study_workload(workload_of(path, options), setting_of(options), watched)
    if as_json:
        print_json(values(found))
    else:
        show(found)


def _cases(market: Market, options: Mapping[str, Any]) -> list[SweepCase]:
    """Every budget with every deadline and provisioner; a comma separates them."""
    budgets = [budget_in(market.currency, one) for one in _listed(options["budget"])]
    deadlines = [parse_duration(one) for one in _listed(options["deadline"])]
    provisioners = _listed(options["provisioner"])
    return cases_of(budgets or [None], deadlines or [None], provisioners or [None])


def _listed(text: str | None) -> list[str]:
    return [] if text is None else [part.strip() for part in text.split(",")]


def _sweep(found: Sweep, plot: str | None, html: str | None, *, as_json: bool) -> None:
    if plot is not None:
        draw(found, plot)
    if html is not None:
        write_page(found, html)
    if as_json:
        print_json(found)
        return
    columns, rows = table_of(found)
    print_table(columns, rows, right=" ".join(columns))
    for why in dict.fromkeys(row.why for row in found.rows if row.why):
        say(f"not finished: {why}")
    say(note_of(found))


def _request(market: Market, goal: Goal, options: Mapping[str, Any]) -> Request:
    """What is asked for, but for the work."""
    timeout, fleet = options["timeout"], options["fleet"]
    return Request(
        market=market,
        goal=goal,
        limits=Limits(
            options["retries"] or 0,
            None if timeout is None else read_duration(timeout, least=1),
        ),
        fleet=None if fleet is None else parse_fleet(fleet, market),
        policies={role: options[role] for role in CHOSEN_BY_NAME if options[role] is not None},
        faithful=bool(options["faithful"]),
        best_effort=bool(options["best_effort"]),
        prefer=options["prefer"],
        strategy=options["strategy"],
        typed=typed_command(),
        asked=COMMAND_LINE,
    )


def _faults(options: Mapping[str, Any]) -> Faults:
    life = options["mean_life"]
    return Faults(
        failing=options["failing"],
        reliability=options["reliability"],
        mean_life=None if life is None else read_duration(life, least=1),
        notice=parse_duration(options["notice"]),
        traces=tuple(read_spot_trace(path) for path in options["spot_traces"]),
        together=options["lost_together"],
    )


def _workflow(request: Request, flow: str, options: Mapping[str, Any]) -> Subject:
    """The workflow of a file, with what is wanted of its plan."""
    from bursar.formats.workflow import read_workflow  # late: it brings numpy

    names = ("deviation", "performance", "budget_as", "confidence", "seed")
    planning = Job.from_command_line((), {name: options[name] for name in names}).planning()
    request = msgspec.structs.replace(request, planning=planning)
    work = Work.of_dag(read_workflow(flow, options["number"], COMMAND_LINE))
    return workflow_subject(request, work, options["choose"], options["slower"])


def _watched(seeds: Sequence[int]) -> Iterator[int]:
    """The seeds; while their runs take long, people see how long they will."""
    began = reported = monotonic()
    for number, seed in enumerate(seeds):
        if monotonic() - reported > REPORTED_AFTER:
            reported = monotonic()
            left = format_duration(seconds((reported - began) / number * (len(seeds) - number)))
            say(f"{number:,} of {counted(len(seeds), 'run')} simulated, about {left} to go")
        yield seed


def _bag(
    request: Request, tasks: int | None, runtime: str | None, deviation: str, *, known: bool
) -> Subject:
    if tasks is None:
        raise InputError(
            "nothing to simulate: give a workflow file, or --tasks N with --runtime TIME"
        )
    if runtime is None:
        raise InputError("the run time is missing: add --runtime TIME")
    mean, spread = parse_duration(runtime), parse_duration(deviation)
    if mean <= 0:
        raise InputError("--runtime must be above 0")
    if known:
        request = msgspec.structs.replace(request, runtime=mean, deviation=spread)
    return bag_subject(request, tasks, mean, spread)


def _earlier_bag(request: Request, tasks: int | None, path: str, *, known: bool) -> Subject:
    """A bag whose tasks take as long as earlier ones did."""
    from bursar.runs.known_runtimes import history_of_joblog

    if tasks is None:
        raise InputError("the number of tasks is missing: add --tasks N")
    past = history_of_joblog(path, request.market)
    return earlier_subject(request.knowing(past) if known else request, tasks, past)


def _refuse_bag(tasks: int | None, runtime: str | None, *, known: bool) -> None:
    if tasks is not None or runtime is not None:
        raise InputError("a workflow has its own tasks: leave out --tasks and --runtime")
    if known:
        raise InputError("--known is for bags: the run times of a workflow are known")


def _refuse_flow(options: Mapping[str, Any]) -> None:
    if options["slower"] != 1 or options["choose"] is not None or options["number"] is not None:
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
    for status in sorted({one.status for one in study.runs if one.status not in (None, "done")}):
        whys = list(dict.fromkeys(one.why_text for one in study.runs if one.status == status))
        others = "" if len(whys) == 1 else f" (so the first of them, and {len(whys) - 1} differ)"
        say(f"{status}: {whys[0]}{others}")
    note = FREE if request.market.is_free else NOT_INCLUDED
    say(f"Fleet: up to {format_fleet(study.fleet)}. Simulated, {note}.")
    for caution in () if request.flow is None else request.flow.cautions:
        say(f"Caution: {caution}.")
