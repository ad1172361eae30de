"""`bursar run`: a bag of commands, within a budget."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
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
    words_settings,
)
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
from bursar.execute.outputs import LEFTOVERS
from bursar.execute.staging import COPIED, SHARED
from bursar.formats.job import Job
from bursar.kernels.compiling import on_compilation
from bursar.model.errors import EmptyListError, InputError, shown
from bursar.model.fleet import format_fleet
from bursar.model.money import format_money
from bursar.model.option_words import COMMAND_LINE
from bursar.model.text import counted
from bursar.model.work import Bag
from bursar.model.workflow import Workflow
from bursar.report.summary import (
    EXIT_CODES,
    NOT_INCLUDED,
    Spending,
    Summary,
    Tasks,
    budget_told,
    summarise,
    tell,
)
from bursar.runs.request import Request
from bursar.runs.session import Session, with_plan
from bursar.runs.verdict import fleet_before, fleet_told, verdict

if TYPE_CHECKING:
    from bursar.runs.choosing import Chosen

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
    help="Print the commands and run nothing; with --runtime, tell whether the budget will do.",
)
@argument_options
@runtime_option
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
@quiet_option
@option(OUTPUT, "--json", is_flag=True, default=None, help="Print one JSON object at the end.")
def command(words: tuple[str, ...], choose: str | None, dry_run: bool, **options: Any) -> int:
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
    if choose is not None and dry_run:
        raise InputError("--dry-run prints the commands of a bag or workflow; leave out --choose")
    if choose is not None and not is_workflow(words):
        return _run_plan(words, choose, options)
    job = Job.from_command_line(words, options)
    quiet = bool(job.quiet)
    if quiet:
        on_compilation(None)
    try:
        if dry_run:
            _tell_plan(job)
            return _print_commands(job)
        request = with_plan(request_of(job), choose)
    except EmptyListError as nothing:
        say(str(nothing), quiet=quiet)
        if job.json:
            print_json(NO_TASKS)
        return EXIT_CODES["done"]
    with Session.begin(home(), request) as session:
        say(_greeting(session, request), quiet=quiet)
        for caution in () if request.flow is None else request.flow.cautions:
            say(f"Caution: {caution}.", quiet=quiet)
        return drive(session, quiet=quiet, as_json=bool(job.json))


def _run_plan(words: tuple[str, ...], choice: str, options: Mapping[str, Any]) -> int:
    """Go on with a planned run, with the plan that was chosen."""
    from bursar.runs.choosing import Chooser

    if len(words) != 1:
        raise InputError("--choose needs the name of a plan: bursar run PLAN --choose knee")
    _check_plan_options(options)
    found = home().find(words[0])
    budget, deadline, life = (options.get(name) for name in ("budget", "deadline", "sabotage"))
    chooser = Chooser(choice, budget, deadline, life, COMMAND_LINE)
    with Session.take_up(found, chooser=chooser) as session:
        os.chdir(session.directory)
        quiet, chosen = bool(options.get("quiet")), session.chosen
        assert chosen is not None  # noqa: S101
        told = f"{chosen.plan.name}, {format_fleet(chosen.plan.fleet)}"
        say(f"run {found.name}: {told}, {_cap_told(session, chosen)}", quiet=quiet)
        for note in chosen.notes:
            say(f"note: {note}", quiet=quiet)
        return drive(session, quiet=quiet, as_json=bool(options.get("json")))


def _tell_plan(job: Job) -> None:
    """Whether the budget will do, and with which fleet, where run times are known."""
    if job.runtime is None:
        return
    request = request_of(job)
    request.check()
    tasks = 0 if request.bag is None else request.bag.count
    say(f"{counted(tasks, 'task')}, {_cap_and_verdict(request)}", quiet=bool(job.quiet))
    if (known := fleet_before(request)) is not None:
        say(fleet_told(known, request.market.currency), quiet=bool(job.quiet))


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


def _cap_told(session: Session, chosen: Chosen) -> str:
    """What may be committed, and what it is made of."""
    market, goal, plan = session.state.market, session.state.goal, chosen.plan
    budget = goal.total_budget
    if market.is_free or budget is None:
        return budget_told(market, goal)
    total, spent = format_money(budget, market.currency), chosen.spent
    if budget != spent + plan.bound + plan.reserve:
        included = ", the sample included" if spent else ""
        return f"budget {total}{included} ({NOT_INCLUDED})"
    return f"cap {total} = {plan.cap_told(spent, market.currency)} ({NOT_INCLUDED})"


def _check_plan_options(options: Mapping[str, Any]) -> None:
    """Refuse what was said when the plan was made, and would have no effect now."""
    for name, value in options.items():
        if value not in (None, (), False) and name not in PLAN_OPTIONS:
            raise InputError(
                f"--{name.replace('_', '-')} cannot be changed when a plan is chosen: leave"
                " it out, or make another plan"
            )


def request_of(job: Job) -> Request:
    """What a job asks for, checked as far as that is possible before anything is made."""
    from bursar.rent.local import local_market

    market, site = job.load_market(), job.site()
    if job.jobs is not None and (market is not None or (site is not None and site.scheduler)):
        raise InputError("-j is for this computer; with a market or a cluster, use --fleet")
    if site is not None:
        from bursar.runs.sites import site_market

        market = site_market(site, market, COMMAND_LINE)
    market = market or local_market(job.jobs)
    work = job.work()
    bag = job.bag() if work is None else None
    if work is not None and site is not None and not site.shared:
        raise InputError(
            "the files of a workflow are not sent to machines elsewhere: run it in a directory"
            " that they share, with --shared"
        )
    if work is not None and site is not None and job.files == COPIED:
        raise InputError("--files copied is for tasks on this computer; elsewhere they share files")
    for command in _programs(bag, None if work is None else work.workflow):
        _check_command(command, is_elsewhere=site is not None)
    return Request(
        market=market,
        goal=job.goal() if work is None else work.goal(job.goal()),
        limits=job.limits(),
        bag=bag,
        work=work,
        wish=job.wish(),
        files=job.files or SHARED,
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
        asked=COMMAND_LINE,
    )


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
    cap, known = budget_told(request.market, request.goal), fleet_before(request)
    return cap if known is None else f"{cap}, {verdict(known, request.market.currency)}"


def drive(session: Session, *, quiet: bool, as_json: bool) -> int:
    """Execute a session, show how it goes, and tell how it ended; the cap was shown before."""
    with progress(session.state, quiet=quiet) as live:
        session.by_hand.ask = lambda advice: live.while_hidden(lambda: ask_for_strategy(advice))
        ended = session.execute([live.forecast])
    if not quiet:
        for line in tell(session.state, first=False):
            say(line)
        if (left := session.outputs / LEFTOVERS).is_dir():
            say(f"files moved out of the way of tasks, to check or remove: {left}")
    if as_json:
        print_json(summarise(session.state))
    return EXIT_CODES[ended.status]
