"""`bursar run`: a bag of commands, within a budget."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from bursar.cli.ask import ask_for_strategy
from bursar.cli.common import (
    WordsCommand,
    home,
    is_workflow,
    print_json,
    print_line,
    say,
    typed_command,
    words_settings,
)
from bursar.cli.defaults import wants_page, with_defaults
from bursar.cli.options import (
    FAILURES,
    MACHINES,
    OUTPUT,
    WORK,
    argument_options,
    attempt_options,
    best_effort_option,
    deviation_option,
    files_option,
    fleet_option,
    goal_options,
    market_option,
    option,
    performance_option,
    policy_options,
    quiet_option,
    run_name_options,
    runtime_option,
    seed_option,
    site_options,
)
from bursar.cli.progress import progress
from bursar.cli.streams import ReaderGoneError
from bursar.execute.outputs import LEFTOVERS
from bursar.execute.staging import SHARED
from bursar.formats.job import Job
from bursar.journal.runs import Home
from bursar.kernels.compiling import on_compilation
from bursar.model.errors import EmptyListError, InputError, shown
from bursar.model.fleet import format_fleet
from bursar.model.money import format_money
from bursar.model.option_words import COMMAND_LINE
from bursar.model.past_runtimes import PastRuntimes
from bursar.model.text import counted
from bursar.model.work import Bag
from bursar.model.workflow import Workflow
from bursar.report.summary import (
    EXIT_CODES,
    NOT_INCLUDED,
    Spending,
    Summary,
    Tasks,
    budget_shown,
    summarise,
    tell,
)
from bursar.runs.forecaster import ForecastsBeside
from bursar.runs.request import Request
from bursar.runs.session import Session, with_plan
from bursar.runs.verdict import (
    fleet_before,
    fleet_in_words,
    needs_only_runtimes,
    plan_in_words,
    plan_verdict,
    verdict,
)

if TYPE_CHECKING:
    from bursar.journal.runs import RunDir
    from bursar.runs.choosing import Chooser, Chosen

NO_TASKS: Final = Summary("", "done", "no arguments", Tasks(0, 0, 0), Spending(None, "0.00", ""), 0)
"""What `--json` prints where the list of arguments was empty."""
PLAN_OPTIONS: Final = ("budget", "deadline", "sabotage", "quiet", "json")
"""What may be said of a plan that is chosen."""


@click.command(cls=WordsCommand, context_settings=words_settings)
@click.argument("words", nargs=-1, metavar="COMMAND|JOB.toml|FLOW.yaml|PLAN [::: ARGUMENTS]")
@option(
    WORK,
    "--choose",
    metavar="CHOICE",
    help="Run this choice of a PLAN or workflow: cheapest, knee, fastest, or its number.",
)
@option(
    WORK,
    "--dry-run",
    is_flag=True,
    help="Run nothing; print the commands, the fleet, and whether budget and deadline will do.",
)
@argument_options
@runtime_option
@option(
    WORK,
    "--history",
    metavar="JOBLOG",
    help="Job log of an earlier run, in the place of --runtime and --deviation.",
)
@files_option
@deviation_option
@seed_option
@goal_options
@best_effort_option
@market_option
@fleet_option
@site_options
@option(
    MACHINES,
    "--jobs",
    "-j",
    metavar="N",
    help="Tasks that run at once on this computer: 4, 50%, +1 (default: one per processor).",
)
@performance_option
@policy_options
@attempt_options
@option(
    FAILURES,
    "--sabotage",
    metavar="TIME",
    help="Emulate losses: take unreliable machines away after this time on average.",
)
@run_name_options
@option(
    OUTPUT,
    "--page/--no-page",
    default=None,
    help="Print the link of a live page of this run, or not (default: as in the configuration).",
)
@quiet_option
@option(OUTPUT, "--json", is_flag=True, default=None, help="Print one JSON object at the end.")
def command(
    words: tuple[str, ...], choose: str | None, dry_run: bool, page: bool | None, **options: Any
) -> int:
    """Run commands or a workflow on rented machines, within a budget.

    \b
    bursar run --market market.toml --budget 2.50 './simulate.sh {}' ::: 1 2 3
    bursar run -m market.toml -b 2.50 --params grid.csv 'fit --alpha {alpha}'
    bursar run job.toml --budget 5
    bursar run flow.yaml --market market.toml --budget 5
    bursar run amber-finch --choose knee

    Arguments follow ':::' (files of arguments: '::::') as in GNU parallel, or come from standard
    input. Commands run without a shell unless --shell is given. Each task has its own output
    directory.
    """  # noqa: D301 (click wants the character)
    page = wants_page(page)
    if choose is not None and not is_workflow(words):
        return _run_plan(words, choose, options, dry_run=dry_run, page=page)
    history = options.pop("history")
    job = with_defaults(Job.from_command_line(words, options))
    past = None if history is None else _past_runtimes(job, history)
    quiet = bool(job.quiet)
    if quiet:
        on_compilation(None)
    try:
        if dry_run:
            _tell_plan(job, choose, past)
            return _print_commands(job)
        request = with_plan(request_of(job, past), choose)
    except EmptyListError as nothing:
        say(str(nothing), quiet=quiet)
        if job.json:
            print_json(NO_TASKS)
        return EXIT_CODES["done"]
    with Session.begin(home(), request) as session:
        say(_greeting(session, request), quiet=quiet)
        for caution in () if request.flow is None else request.flow.cautions:
            say(f"Caution: {caution}.", quiet=quiet)
        with page_beside(session, wanted=page):
            return drive(session, quiet=quiet, as_json=bool(job.json))


def _past_runtimes(job: Job, path: str) -> PastRuntimes:
    """What the tasks of an earlier run took."""
    from bursar.rent.local import local_market
    from bursar.runs.known_runtimes import history_of_joblog

    if job.runtime is not None or job.deviation is not None:
        raise InputError("run times are given twice: use one of --runtime and --history")
    return history_of_joblog(path, job.load_market() or local_market(job.jobs))


def _run_plan(
    words: tuple[str, ...],
    choice: str,
    options: Mapping[str, Any],
    *,
    dry_run: bool,
    page: bool,
) -> int:
    """Go on with a planned run, with the plan that was chosen."""
    from bursar.runs.choosing import Chooser

    if len(words) != 1:
        raise InputError("--choose needs the name of a plan: bursar run PLAN --choose knee")
    _check_plan_options(options)
    found = home().find(words[0])
    budget, deadline, life = (options.get(name) for name in ("budget", "deadline", "sabotage"))
    chooser = Chooser(choice, budget, deadline, life, COMMAND_LINE)
    if dry_run:
        return _show_choice(found, chooser, quiet=bool(options.get("quiet")))
    with Session.take_up(found, chooser=chooser) as session:
        os.chdir(session.directory)
        quiet, chosen = bool(options.get("quiet")), session.chosen
        assert chosen is not None  # noqa: S101
        what = f"{chosen.plan.name}, {format_fleet(chosen.plan.fleet)}"
        say(f"run {found.name}: {what}, {_cap_text(session, chosen)}", quiet=quiet)
        if (will := plan_verdict(chosen.plan, chosen.goal, chosen.spent)) is not None:
            say(will, quiet=quiet)
        for note in chosen.notes:
            say(f"note: {note}", quiet=quiet)
        with page_beside(session, wanted=page):
            return drive(session, quiet=quiet, as_json=bool(options.get("json")))


def _show_choice(run: RunDir, chooser: Chooser, *, quiet: bool) -> int:
    """What a choice of a plan would rent, and whether its budget and deadline will do."""
    from bursar.journal.replay import load_state
    from bursar.state.work_plans import FIRST_WORK

    state = load_state(run.journal)
    offered = state.plans_of(FIRST_WORK).offered
    if offered is None:
        raise InputError(f"run {run.name} has no plans yet; make them with bursar plan {run.name}")
    currency = state.market.currency
    chosen = chooser.choose_from(offered, currency, state.ledger.committed)
    left = counted(state.total - state.settled, "task")
    say(f"{left}, {chosen.plan.name}, {budget_shown(state.market, chosen.goal)}", quiet=quiet)
    say(plan_in_words(chosen.plan, currency), quiet=quiet)
    if (judged := plan_verdict(chosen.plan, chosen.goal, chosen.spent)) is not None:
        say(judged, quiet=quiet)
    return EXIT_CODES["done"]


def _tell_plan(job: Job, choose: str | None, past: PastRuntimes | None) -> None:
    """What would be rented, and whether the goal will do, as far as run times are known."""
    if job.market is None or (job.budget, job.deadline, job.runtime, past) == (None,) * 4:
        return  # nothing would be rented, or there is no goal
    from bursar.runs.choosing import find_plan

    quiet, request = bool(job.quiet), with_plan(request_of(job, past), choose)
    request.check()
    currency = request.market.currency
    tasks = request.bag.count if request.bag is not None else 0
    tasks = tasks if request.flow is None else request.flow.count
    say(f"{counted(tasks, 'task')}, {_cap_and_verdict(request)}", quiet=quiet)
    if request.plan is not None and request.offered is not None:
        plan = find_plan(request.offered.plans, request.plan.name)
        say(f"plan '{plan.name}', {plan_in_words(plan, currency)}", quiet=quiet)
        if (judged := plan_verdict(plan, request.goal)) is not None:
            say(judged, quiet=quiet)
    elif (known := fleet_before(request)) is not None:
        say(fleet_in_words(known, currency), quiet=quiet)
    else:
        say(f"fleet: up to {format_fleet(request.full_fleet())}", quiet=quiet)
        if request.bag is not None and not request.market.is_free:
            say(_how_to_judge(request, tasks), quiet=quiet)


def _how_to_judge(request: Request, tasks: int) -> str:
    """What tells whether a goal will do that was not judged."""
    if needs_only_runtimes(request):
        return "to see whether that will do, add --runtime TIME or --history JOBLOG"
    return (
        f"to see whether that will do, try bursar simulate --tasks {tasks} --runtime TIME with the"
        " same market, budget and deadline"
    )


def _print_commands(job: Job) -> int:
    """Each command as it would be typed, in the order of the tasks.

    Programs get them character by character; a terminal gets no control codes.
    """
    work = job.work()
    tasks = job.bag() if work is None else work.tasks
    show = print_line if sys.stdout.isatty() else click.echo
    for index in range(tasks.count):
        show(tasks.typed(index) or f"# {tasks.describe(index)}: no command")
    return EXIT_CODES["done"]


def _cap_text(session: Session, chosen: Chosen) -> str:
    """What may be committed, and what it is made of."""
    market, goal, plan = session.state.market, session.state.goal, chosen.plan
    budget = goal.total_budget
    if market.is_free or budget is None:
        return budget_shown(market, goal)
    total, spent = format_money(budget, market.currency), chosen.spent
    if budget != spent + plan.bound + plan.reserve:
        included = ", the sample included" if spent else ""
        return f"budget {total}{included} ({NOT_INCLUDED})"
    return f"cap {total} = {plan.cap_text(spent, market.currency)} ({NOT_INCLUDED})"


def _check_plan_options(options: Mapping[str, Any]) -> None:
    """Refuse what was said when the plan was made, and would have no effect now."""
    for name, value in options.items():
        if value not in (None, (), False) and name not in PLAN_OPTIONS:
            raise InputError(
                f"--{name.replace('_', '-')} cannot be changed when a plan is chosen: leave"
                " it out, or make another plan"
            )


def request_of(job: Job, past: PastRuntimes | None = None) -> Request:
    """What a job asks for, checked as far as that is possible before anything is made.

    `past` are run times of such tasks.
    """
    from bursar.rent.local import local_market
    from bursar.runs.sites import files_mode, site_market

    market, site = job.load_market(), job.site()
    if job.jobs is not None and (market is not None or (site is not None and site.scheduler)):
        raise InputError("-j is for this computer; with a market or a cluster, use --fleet")
    if site is not None:
        market = site_market(site, market, COMMAND_LINE)
    market = market or local_market(job.jobs)
    work = job.work()
    bag = job.bag() if work is None else None
    for command in _programs(bag, None if work is None else work.workflow):
        _check_command(command, is_elsewhere=site is not None)
    request = Request(
        market=market,
        goal=job.goal() if work is None else work.goal(job.goal()),
        limits=job.limits(),
        bag=bag,
        work=work,
        planning=job.planning(),
        files=files_mode(job.files, site, SHARED, COMMAND_LINE),
        fleet=job.load_fleet(market),
        policies=job.policies(),
        faithful=bool(job.faithful),
        prefer=job.prefer,
        strategy=job.strategy,
        sabotage=job.sabotage,
        runtime=job.runtime,
        best_effort=bool(job.best_effort),
        deviation=job.spread() if work is None else None,
        seed=job.seed,
        name=job.name,
        output=job.output,
        site=site,
        typed=typed_command(),
        asked=COMMAND_LINE,
    )
    return request if past is None else request.knowing(past)


def _programs(bag: Bag | None, flow: Workflow | None) -> Iterable[tuple[str, ...]]:
    """A command for each program that must be there; a task without any is reported later."""
    if bag is not None:
        return (bag.command(0) if bag.shell else bag.words(0),)
    if flow is None:
        return ()
    made = {Path(flow.files.names[file]) for row in flow.files.written for file in row}
    programs = {command[0]: command for command in flow.commands if command}
    return [programs[name] for name in programs if "/" not in name or Path(name) not in made]


def _check_command(command: tuple[str, ...], *, is_elsewhere: bool) -> None:
    """Tell before money is spent that a command does not exist; other computers may have others."""
    from shutil import which

    program = command[0]
    if which(program) is None and ("/" in program or not is_elsewhere):
        there = os.path.exists(program)  # noqa: PTH110 -- Path.exists fails for a name too long
        where = "cannot be executed" if there else "does not exist"
        raise InputError(
            f"the command {shown(program)} {where}; check its path and that it is executable"
        )


def _greeting(session: Session, request: Request) -> str:
    tasks = counted(session.state.total, "task")
    return (
        f"run {session.state.run}: {tasks}, {_cap_and_verdict(request)}\n"
        "Ctrl-C stops after the running tasks, twice stops now; nothing is lost"
    )


def _cap_and_verdict(request: Request) -> str:
    """What may be spent, and whether it will do, where run times are known."""
    cap, known = budget_shown(request.market, request.goal), fleet_before(request)
    return cap if known is None else f"{cap}, {verdict(known, request.market.currency)}"


@contextmanager
def page_beside(session: Session, *, wanted: bool) -> Iterator[None]:
    """A live page of the run while it goes on, if that is wanted; says where it is."""
    if not wanted:
        yield
        return
    from bursar.web.listening import require_web

    require_web()
    from bursar.web.page.serve import PageServer

    with PageServer(Home(session.run_dir.path.parent), session.run_dir.name) as page:
        say(f"page: {page.link} (token to stop the run there: {page.token})")
        yield


def drive(session: Session, *, quiet: bool, as_json: bool) -> int:
    """Execute a session, show how it goes, and tell how it ended; the cap was shown before."""
    with progress(session.state, quiet=quiet) as live:
        session.by_hand.ask = lambda advice: live.while_hidden(lambda: ask_for_strategy(advice))
        with ForecastsBeside(session) as forecasts:
            ended = session.execute([live.forecast])
    if forecasts.fault:
        say(f"no forecasts were made: {forecasts.fault}", quiet=quiet)
    if not quiet:
        for line in tell(session.state, first=False):
            say(line)
        if (left := session.outputs / LEFTOVERS).is_dir():
            say(f"files moved out of the way of tasks, to check or remove: {left}")
    if as_json:
        with suppress(ReaderGoneError):  # how it ended is not how its reader did
            print_json(summarise(session.state))
    return EXIT_CODES[ended.status]
