"""`bursar plan`: what will it cost, and how long will it take?"""

from __future__ import annotations

import sys
from typing import Any, Final

import msgspec
import numpy as np
import rich_click as click
from numpy.typing import NDArray

from bursar.beliefs.sampling import sample_size
from bursar.cli.common import (
    WordsCommand,
    home,
    is_workflow,
    print_json,
    say,
    words_settings,
)
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
    json_option,
    option,
    performance_option,
    run_name_options,
    seed_option,
)
from bursar.cli.plan_joblog import OF_THIS_COMPUTER, learned, of_this_computer
from bursar.cli.plan_table import show
from bursar.cli.progress import progress
from bursar.cli.run import make_request
from bursar.formats.job import Job
from bursar.formats.joblog import read_joblog
from bursar.formats.market import read_market
from bursar.journal.replay import load_state
from bursar.journal.runs import RunDir
from bursar.model.amount import money_in
from bursar.model.errors import InputError, shown
from bursar.model.goal import Goal
from bursar.model.market import Market
from bursar.model.money import ZERO, Money, format_money
from bursar.model.text import counted
from bursar.model.time import format_duration, parse_duration
from bursar.model.work import LARGEST_BAG
from bursar.plan.bag.plans import CONFIDENCE, PlanList, known_runtimes, make_plans
from bursar.plan.pools.plans import (
    PoolKnowledge,
    known_unreliable,
    mixed_candidates,
    pooled_runtimes,
)
from bursar.plan.pools.split import unreliable_offers
from bursar.rent.local import slots_caution
from bursar.report.summary import EXIT_CODES, NOT_INCLUDED, tell
from bursar.runs.choosing import plans_of
from bursar.runs.session import Session
from bursar.state.events import RunEnded
from bursar.state.state import RunState

SAMPLE_UNITS: Final = 4
"""Billing units (or minimum charges) of each sampling machine that the sample may cost."""
MOST_WORKERS: Final = 10_000
"""Machines of each offer that a sample may have."""
LARGE_PART: Final = 4
"""A sample that may cost more than one part in so many of the budget is asked for."""

_Samples = dict[str, NDArray[np.int64]]


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
@option(
    WORK,
    "--joblog",
    metavar="FILE",
    help="Take run times from the job log of an earlier run.",
)
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
    default=CONFIDENCE,
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
@performance_option
@option(
    POLICIES, "--compare", is_flag=True, help="Show what other planners would do with a workflow."
)
@option(
    POLICIES,
    "--faithful",
    is_flag=True,
    help="Use the bounds of BaTS exactly as published, for comparison.",
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
    type=Whole(0, 50),
    default=0,
    help="Show N more plans between those of the list (default: 0).",
)
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
    joblog: str | None,
    reliability: float | None,
    budget: str | None,
    deadline: str | None,
    choices: int,
    confidence: float,
    faithful: bool,
    compare: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Show plans from cheapest to fastest, each with time and cost as P50, P90 and upper bound.

    \b
    bursar plan --market ec2.toml './simulate.sh {}' ::: 1 2 3
    bursar plan --market ec2.toml --tasks 4841 --assume small=1.66m,large=0.97m
    bursar plan --market ec2.toml --tasks 4841 --joblog old.log
    bursar plan --market ec2.toml --budget 35 flow.yaml

    A command is sampled first: a few of its tasks run on every offer, and their results are kept.
    Run the plan later with bursar run PLAN --choose CHOICE. With the name of a PLAN, its choices
    are shown again. A workflow is not sampled: its plans are made from known run times.
    """  # noqa: D301 (click wants the character)
    goals = {"budget": budget, "deadline": deadline, "confidence": confidence}
    job = Job.from_command_line(words, {**options, **goals})
    goal = job.goal()
    if is_workflow(words) or job.workflow is not None:
        return _plan_workflow(job, compared=compare, as_json=as_json)
    if not words:
        market = _known_market(options["market"], assume, joblog, reliability)
        job.check_currency(market)
        is_local = False
        if tasks is None:
            raise InputError("nothing to plan: give a command with arguments, or --tasks N")
        if assume is not None:
            samples = _assumed(assume, market)
            pool = _assumed_pool(market, samples, tasks, reliability)
        else:
            rows = read_joblog(path := str(joblog))
            samples, pool = learned(rows, path, market, reliability)
            if not samples:
                samples = of_this_computer(rows, path, market, reliability)
                pool = _assumed_pool(market, samples, tasks, reliability)
                is_local = True
        mixed = []
        if pool is not None:
            mixed = mixed_candidates(market, samples, pool, tasks, between=choices)
        found = make_plans(
            market,
            samples,
            tasks,
            goal,
            between=choices,
            confidence=confidence,
            faithful=faithful,
            paired=joblog is None or is_local,
            mixed=mixed,
            known_cautions=[OF_THIS_COMPUTER] if is_local else [],
        )
        return _tell(found, market, as_json=as_json)
    if reliability is not None:
        raise InputError("--reliability needs --assume or --joblog; a sample measures it")
    known_run = _known_run(words)
    if known_run is not None:
        job.check_currency(load_state(known_run.journal).market)
        return _plan(known_run, goal, choices, confidence, faithful=faithful, as_json=as_json)
    run, ended = _sample(job, sample_workers, sample_budget, yes=yes)
    if ended.status not in ("planned", "budget", "done"):
        return EXIT_CODES[ended.status]
    try:
        return _plan(
            run,
            goal,
            choices,
            confidence,
            faithful=faithful,
            as_json=as_json,
            first=bool(job.quiet),
        )
    except InputError as error:  # the sample was paid for
        raise InputError(
            f"{error}; the sample is kept: continue with bursar plan {run.name}"
        ) from error


def _plan_workflow(job: Job, *, compared: bool, as_json: bool) -> int:
    from bursar.cli.plan_workflow import plan_flow
    from bursar.runs.workflow_target import FlowTarget

    market, flow = job.load_market(), job.flow()
    if market is None or flow is None:
        raise InputError("no market: add --market FILE")
    target = FlowTarget.of(flow, market, job.goal(), job.wish())
    return plan_flow(target, compared=compared, as_json=as_json)


def _plan(
    run: RunDir,
    goal: Goal,
    between: int,
    confidence: float,
    *,
    faithful: bool,
    as_json: bool,
    first: bool = True,
) -> int:
    """Show the plans for what a sample has left; `first` if this command has shown no cap yet."""
    state = load_state(run.journal)
    if state.total and state.settled == state.total:
        return _nothing_left(state, confidence, as_json=as_json, first=first)
    if not state.done:
        for line in (
            "nothing to plan from: no task of the sample succeeded",
            *tell(state, first=first),
        ):
            say(line)
        if not state.failed:
            say("give another sample more money with --sample-budget")
        return EXIT_CODES["failed" if state.failed else "budget"]
    found = plans_of(run, goal, between=between, confidence=confidence, faithful=faithful)
    crowded = slots_caution((plan.fleet for plan in found.plans), state.market)
    if crowded is not None:
        found = msgspec.structs.replace(found, cautions=[*found.cautions, crowded])
    _tell(found, state.market, as_json=as_json, first=first)
    if not as_json and not state.market.is_free:
        say(_caps_told(found, state))
    say(f"saved as plan {run.name}. Run it: bursar run {run.name} --choose knee")
    return 0


def _caps_told(found: PlanList, state: RunState) -> str:
    """What a run of each choice may commit, and what that is made of."""
    currency = state.market.currency
    caps = (
        f"{number} {format_money(Money.recall(plan.cap), currency)}"
        for number, plan in enumerate(found.plans, 1)
        if plan.cap is not None
    )
    sample = format_money(state.ledger.committed, currency)
    return (
        f"cap of each, which is {sample} of the sample + cost-upper + a reserve for the last tasks:"
        f" {', '.join(caps)}"
    )


def _known_run(words: tuple[str, ...]) -> RunDir | None:
    """The run of a plan made before."""
    return next((run for run in home().list() if words == (run.name,)), None)


def _nothing_left(state: RunState, confidence: float, *, as_json: bool, first: bool) -> int:
    """A small bag may be done by its sample: then there was no fleet to choose."""
    created = state.created
    is_sampled = created is not None and created.policies["provisioner"] == "sample"
    lost = ", by its sample: there was no fleet to choose" if is_sampled and not state.plan else ""
    if as_json:
        market = state.market
        print_json(
            PlanList(
                tasks=0,
                currency=market.currency,
                date=market.date,
                confidence=confidence,
                plans=[],
                cautions=[f"all tasks were run{lost}"] if lost else [],
            )
        )
    say(f"nothing is left to plan: all tasks were run{lost}")
    for line in tell(state, first=first):
        say(line)
    return EXIT_CODES["failed" if state.failed else "done"]


def _sample(job: Job, workers: int, budget: str | None, *, yes: bool) -> tuple[RunDir, RunEnded]:
    """Run a sample of the job's tasks, and tell how it went if it cannot be planned from."""
    request = make_request(job)
    cap = _sample_cap(request.market, workers, budget, job.budget)
    request = msgspec.structs.replace(
        request,
        goal=Goal(budget=None if request.market.is_free else cap),
        policies={"provisioner": "sample", "placer": "sample"},
        sample_workers=workers,
    )
    request.check()
    if budget is None and not yes and not request.market.is_free:
        _confirm(cap, job.budget, request.market.currency)
    quiet = bool(job.quiet)
    with Session.begin(home(), request) as session:
        state = session.state
        most = f"for at most {format_money(cap, request.market.currency)} ({NOT_INCLUDED})"
        say(
            f"sampling {sample_size(state.total)} of {counted(state.total, 'task')} on"
            f" {counted(len(request.market.offers), 'offer')},"
            f" {'free of charge' if request.market.is_free else most}",
            quiet=quiet,
        )
        with progress(state, quiet=quiet) as live:
            ended = session.execute([live.forecast])
        cost = format_money(state.ledger.committed, request.market.currency)
        kept = (
            f"{counted(state.done, 'task')} done and kept in {format_duration(state.now)}, {cost}"
        )
        say(kept, quiet=quiet)
        if ended.status not in ("planned", "budget", "done"):
            for line in tell(state, first=quiet):
                say(line)
        return session.run_dir, ended


def _sample_cap(market: Market, workers: int, asked: str | None, budget: Money | None) -> Money:
    """What the sample may cost: never more than the whole budget."""
    if asked is None:
        usual = sample_cap(market, workers)
        return usual if budget is None else min(usual, budget)
    try:
        cap = money_in(market.currency, asked)
    except InputError as error:
        raise InputError(f"--sample-budget: {error}") from None
    if cap < ZERO:
        raise InputError(f"--sample-budget: {cap} is negative; use 0 or more")
    if budget is not None and cap > budget:
        told = format_money(budget, market.currency)
        raise InputError(f"--sample-budget: more than the budget of {told}; give less")
    return cap


def _confirm(cap: Money, budget: Money | None, currency: str) -> None:
    """Ask before a large part of the budget goes into the sample; refuse if nobody can answer."""
    if budget is None or cap * LARGE_PART <= budget:
        return
    told = (
        f"the sample may cost {format_money(cap, currency)} of the budget of"
        f" {format_money(budget, currency)}"
    )
    if not sys.stdin.isatty():
        raise InputError(f"{told}: confirm with --yes, or set a limit with --sample-budget")
    click.confirm(f"{told[0].upper()}{told[1:]}. Continue?", err=True, abort=True)


def sample_cap(market: Market, workers: int) -> Money:
    """The most a sample may cost unless the user says otherwise: some units of each machine."""
    machines = (
        offer.entry_charge * min(workers, workers if offer.limit is None else offer.limit)
        for offer in market.offers
    )
    return sum(machines, ZERO) * SAMPLE_UNITS


def _tell(found: PlanList, market: Market, *, as_json: bool, first: bool = True) -> int:
    if as_json:
        print_json(found)
    else:
        show(found, market, first=first)
    return 0


def _known_market(
    market: str | None, assume: str | None, joblog: str | None, reliability: float | None
) -> Market:
    """A market, for which run times are assumed or were learned before."""
    if market is None:
        raise InputError("no market: add --market FILE")
    known = read_market(market)
    if (assume is None) == (joblog is None):
        raise InputError(
            "run times are missing: give a command to sample, --assume RUNTIMES or --joblog FILE"
        )
    if reliability is not None and not unreliable_offers(known):
        raise InputError("--reliability: no offer of this market is unreliable; leave it out")
    return known


def _assumed(text: str, market: Market) -> _Samples:
    """Read `small=1.66m,large=0.97m~0.2m`."""
    samples: _Samples = {}
    for part in text.split(","):
        name, sign, times = part.strip().partition("=")
        if not sign:
            raise InputError(
                f"{shown(part.strip())} is not a run time; write small=1.66m,large=0.97m"
            )
        offer = market[name.strip()]
        mean, _, deviation = times.partition("~")
        runtime = parse_duration(mean)
        if runtime <= 0:
            raise InputError(f"a run time of 0 on {offer.name}; write for example 1.66m")
        spread = parse_duration(deviation) if deviation else 0
        samples[offer.name] = known_runtimes(runtime, spread)
    return samples


def _assumed_pool(
    market: Market, samples: _Samples, tasks: int, reliability: float | None
) -> PoolKnowledge | None:
    """What is assumed of unreliable machines; None: nothing.

    Without a word on their reliability there is no plan with them: its bounds would be promises
    about something of which nothing is known.
    """
    offers = known_unreliable(market, samples, tasks)
    if not offers:
        return None
    if reliability is None:
        raise InputError(
            f"{offers[0].name} is unreliable: give the share of its attempts that return a result,"
            " e.g. --reliability 0.9"
        )
    return PoolKnowledge(pooled_runtimes(offers, samples), reliability=reliability)
