"""`bursar plan`: what will it cost, and how long will it take?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import rich_click as click

from bursar.cli.common import (
    WordsCommand,
    home,
    is_workflow,
    print_json,
    refuse_for_sample,
    refuse_given,
    say,
    words_settings,
)
from bursar.cli.defaults import with_defaults
from bursar.cli.numbers import Number, Whole
from bursar.cli.options import (
    FAILURES,
    GOAL,
    MACHINES,
    OUTPUT,
    POLICIES,
    WORK,
    argument_options,
    attempt_options,
    budget_as_option,
    deviation_option,
    files_option,
    json_option,
    option,
    performance_option,
    run_name_options,
    runtime_option,
    seed_option,
    site_options,
)
from bursar.cli.plan_sample import run_sample
from bursar.cli.plan_table import caps_text, draw_plans, show, show_kinds
from bursar.cli.plan_workflow import plan_workflow
from bursar.formats.job import Job
from bursar.journal.runs import RunDir
from bursar.model.errors import InputError
from bursar.model.market import Market
from bursar.model.option_words import COMMAND_LINE
from bursar.model.plan import Assumed
from bursar.model.plan_options import CONFIDENCE
from bursar.model.work import LARGEST_BAG
from bursar.model.workflow import Workflow
from bursar.report.plans import plan_list
from bursar.report.summary import EXIT_CODES, tell
from bursar.runs.known_runtimes import (
    check_reliability,
    plans_by_assumed,
    plans_by_joblog,
    plans_by_runtime,
)
from bursar.runs.planning import (
    SAMPLE_UNITS,
    Asked,
    open_planned,
)
from bursar.state.events import PlansOffered
from bursar.state.state import RunState
from bursar.state.work_plans import FIRST_WORK

MOST_WORKERS: Final = 10_000
"""Machines of each offer that a sample may have."""
MOST_CHOICES: Final = 1_000


@click.command(cls=WordsCommand, context_settings=words_settings)
@click.argument("words", nargs=-1, metavar="[COMMAND|JOB.toml|FLOW.yaml|PLAN [::: ARGUMENTS]]")
@argument_options
@option(
    WORK,
    "--tasks",
    metavar="N",
    type=Whole(1, LARGEST_BAG),
    help="Number of tasks, if there is no command to sample.",
)
@option(
    WORK,
    "--assume",
    metavar="RUNTIMES",
    help="Known run time per offer: small=1.66m,large=0.97m; small=90s~20s has a deviation of 20s.",
)
@runtime_option
@option(
    WORK,
    "--joblog",
    metavar="FILE",
    help="Take run times from the job log of an earlier run.",
)
@files_option
@deviation_option
@option(
    WORK,
    "--sample-workers",
    metavar="N",
    type=Whole(1, MOST_WORKERS),
    default=1,
    help="Machines of each offer that run the sample (default: 1).",
)
@option(
    WORK,
    "--sample-budget",
    metavar="MONEY",
    help=f"Most that the sample may cost (default: {SAMPLE_UNITS} billing units per machine).",
)
@option(
    WORK, "--yes", "-y", is_flag=True, help="Run the sample without asking, even if it is costly."
)
@seed_option
@option(
    GOAL,
    "--budget",
    "-b",
    metavar="MONEY",
    help="Mark the plans that cost no more than this, sample included.",
)
@option(
    GOAL,
    "--deadline",
    metavar="TIME",
    help="Mark the plans that finish in time, and add the cheapest of them: 90s, 1h.",
)
@option(
    GOAL,
    "--confidence",
    type=Number(0.5, 0.999),
    help=f"Probability with which an upper bound holds (default: {CONFIDENCE}).",
)
@budget_as_option
@option(
    MACHINES,
    "--market",
    "-m",
    metavar="FILE",
    help="Market file with offers and prices.",
)
@site_options
@performance_option
@option(
    POLICIES, "--compare", is_flag=True, help="Show what other planners would do with a workflow."
)
@option(
    POLICIES,
    "--faithful",
    is_flag=True,
    help="Show the six choices of BaTS and their bounds exactly as published, for comparison.",
)
@attempt_options
@option(
    FAILURES,
    "--reliability",
    type=Number(0.01, 1),
    metavar="SHARE",
    help="Share of attempts on unreliable machines that return a result, with --assume.",
)
@option(
    OUTPUT,
    "--choices",
    metavar="N",
    type=Whole(0, MOST_CHOICES),
    help="Show N more plans of the frontier (default: 0).",
)
@option(
    OUTPUT,
    "--wide",
    is_flag=True,
    help="Show what is set aside for the last tasks and may not fit.",
)
@option(OUTPUT, "--html", metavar="FILE", help="Draw the plans into this file, too.")
@run_name_options
@option(OUTPUT, "--quiet", "-q", is_flag=True, default=None, help="Print no progress.")
@json_option
def command(
    words: tuple[str, ...],
    sample_workers: int,
    sample_budget: str | None,
    yes: bool,
    tasks: int | None,
    assume: str | None,
    runtime: str | None,
    joblog: str | None,
    reliability: float | None,
    budget: str | None,
    deadline: str | None,
    choices: int | None,
    confidence: float | None,
    faithful: bool,
    compare: bool,
    wide: bool,
    html: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Show plans from cheapest to fastest, none beaten by another, with P50 and P90 of each.

    \b
    bursar plan --market ec2.toml './simulate.sh {}' ::: 1 2 3
    bursar plan --market ec2.toml --tasks 500 --runtime 3m --deviation 40s --budget 1.10
    bursar plan --market ec2.toml --tasks 4841 --assume small=1.66m,large=0.97m
    bursar plan --market ec2.toml --tasks 4841 --joblog old.log
    bursar plan --market ec2.toml --budget 35 flow.yaml

    A command is sampled first: a few of its tasks run on every offer, and their results are kept.
    Run the plan later with bursar run PLAN --choose CHOICE. With the name of a PLAN, its choices
    are shown again. A workflow is not sampled: its plans are made from known run times.
    """  # noqa: D301 (click wants the character)
    look = Look(as_json=as_json, wide=wide, html=html)
    deviation = None if runtime is None else options.pop("deviation")
    goals = {"budget": budget, "deadline": deadline, "confidence": confidence}
    job = _job(words, {**options, **goals})
    if job.every is not None:
        raise InputError(
            "--budget: plans are for the money of a whole run; give an amount without an interval"
        )
    asked = Asked(job.goal(), choices or 0, confidence or CONFIDENCE, faithful, COMMAND_LINE)
    given = {"tasks": tasks, "assume": assume, "joblog": joblog}
    if is_workflow(words) or job.workflow is not None:
        refuse_given({**given, "runtime": runtime}, "a workflow has its own tasks and run times")
        return plan_workflow(job, compared=compare, as_json=as_json, html=html)
    if not words:
        refuse_given({"name": options["name"]}, "nothing is run, so that nothing is kept")
        known = KnownTimes(assume, runtime, deviation, joblog, reliability)
        return _plan_known(job, tasks, known, asked, look)
    refuse_for_sample(runtime, reliability, given)
    known_run = _known_run(words)
    if known_run is not None:
        _refuse_requests(options)
        is_as_before = not (budget or deadline or choices or confidence or faithful)
        return _plan(known_run, job, None if is_as_before else asked, look)
    run, ended = run_sample(job, sample_workers, sample_budget, yes=yes)
    if ended.status not in ("planned", "budget", "done"):
        return EXIT_CODES[ended.status]
    try:
        return _plan(run, job, asked, look, first=bool(job.quiet))
    except InputError as error:  # the sample was paid for
        raise InputError(
            f"{error}; the sample is kept: continue with bursar plan {run.name}"
        ) from error


def _job(words: tuple[str, ...], options: Mapping[str, Any]) -> Job:
    """What is asked for; a plan that is shown again has what it was made with."""
    job = Job.from_command_line(words, options)
    return job if _known_run(words) is not None else with_defaults(job)


class Look(msgspec.Struct, frozen=True):
    """How plans are shown."""

    as_json: bool
    wide: bool
    html: str | None
    """a file into which they are drawn"""


class KnownTimes(msgspec.Struct, frozen=True):
    """What somebody tells of run times, in place of a sample; one of the first three."""

    assume: str | None
    runtime: str | None
    deviation: str | None
    joblog: str | None
    reliability: float | None


def _plan_known(
    job: Job,
    tasks: int | None,
    known: KnownTimes,
    asked: Asked,
    look: Look,
) -> int:
    """Show plans for tasks of which nothing is run."""
    given = (known.assume, known.runtime, known.joblog)
    found = _known_market(job.load_market(), given, known.reliability)
    job.check_currency(found)
    if tasks is None:
        raise InputError("nothing to plan: give a command with arguments, or --tasks N")
    if known.assume is not None:
        offered = plans_by_assumed(found, tasks, known.assume, known.reliability, asked)
    elif known.runtime is not None:
        offered = plans_by_runtime(
            found, tasks, known.runtime, known.deviation, known.reliability, asked
        )
    else:
        offered = plans_by_joblog(found, tasks, str(known.joblog), known.reliability, asked)
    return _tell(offered, found, look)


def _refuse_requests(options: Mapping[str, Any]) -> None:
    """A plan that is shown again has its workflow and what is known of it."""
    for name in ("budget_as", "deviation", "performance"):
        if options.get(name) is not None:
            raise InputError(
                f"--{name.replace('_', '-')} is for making plans: give the file of the workflow"
            )


# --- what is left of a run -----------------------------------------------------------------------


def _plan(
    run: RunDir,
    job: Job,
    asked: Asked | None,
    look: Look,
    *,
    first: bool = True,
) -> int:
    """Show the plans for what a run has left; `first` if this command has shown no cap yet."""
    with open_planned(run) as planned:
        state = planned.state
        job.check_currency(state.market)
        flow = next((flow for _, flow in state.workflows()), None)
        if state.total and state.settled == state.total:
            return _nothing_left(state, asked or Asked(), as_json=look.as_json, first=first)
        if not state.done and flow is None:
            return _no_result(state, first=first)
        offered = planned.offer(asked)
    kept = None if planned.why_read_only else run.name
    _tell(offered, state.market, look, flow, kept, first=first)
    if not look.as_json and (caps := caps_text(offered, state.market)) is not None:
        say(caps)
    if kept is None:
        say(f"not saved: {planned.why_read_only}")
    else:
        say(f"saved as plan {run.name}. Run it: bursar run {run.name} --choose knee")
    return 0


def _no_result(state: RunState, *, first: bool) -> int:
    for line in (
        "nothing to plan from: no task of the sample succeeded",
        *tell(state, first=first),
    ):
        say(line)
    if not state.failed:
        say("give another sample more money with --sample-budget")
    return EXIT_CODES["failed" if state.failed else "budget"]


def _known_run(words: tuple[str, ...]) -> RunDir | None:
    """The run of a plan made before."""
    return next((run for run in home().list() if words == (run.name,)), None)


def _nothing_left(state: RunState, asked: Asked, *, as_json: bool, first: bool) -> int:
    """A small bag may be done by its sample: then there was no fleet to choose."""
    created = state.created
    is_sampled = created is not None and created.policies["provisioner"] == "sample"
    is_lost = is_sampled and state.plans_of(FIRST_WORK).chosen is None
    lost = ", by its sample: there was no fleet to choose" if is_lost else ""
    if as_json:
        cautions = (f"all tasks were run{lost}",) if lost else ()
        assumed = Assumed(
            tasks=0, date=state.market.date, confidence=asked.confidence, cautions=cautions
        )
        print_json(plan_list(PlansOffered(0, (), assumed), state.market))
    say(f"nothing is left to plan: all tasks were run{lost}")
    for line in tell(state, first=first):
        say(line)
    return EXIT_CODES["failed" if state.failed else "done"]


def _tell(
    offered: PlansOffered,
    market: Market,
    look: Look,
    flow: Workflow | None = None,
    run: str | None = None,
    *,
    first: bool = True,
) -> int:
    if look.html is not None:
        draw_plans(look.html, plan_list(offered, market, flow, run))
    if look.as_json:
        print_json(plan_list(offered, market, flow, run))
    else:
        show(offered, market, flow, first=first, wide=look.wide)
        if flow is not None:
            show_kinds(offered, flow)
    return 0


def _known_market(
    known: Market | None, given: Sequence[str | None], reliability: float | None
) -> Market:
    """A market, for which run times are assumed or were learned before."""
    if known is None:
        raise InputError("no market: add --market FILE")
    count = sum(one is not None for one in given)
    if count > 1:
        raise InputError("run times are given twice: use one of --assume, --runtime and --joblog")
    if not count:
        raise InputError(
            "run times are missing: give a command to sample, --runtime TIME, --assume RUNTIMES or"
            " --joblog FILE"
        )
    check_reliability(known, reliability, COMMAND_LINE)
    return known
