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
from bursar.cli.numbers import Number, Whole
from bursar.cli.progress import progress
from bursar.cli.workflow_options import flow_options
from bursar.execute.outputs import LEFTOVERS
from bursar.execute.staging import SHARED
from bursar.formats.job import Job
from bursar.kernels.compiling import on_compilation
from bursar.model.errors import EmptyListError, InputError, shown
from bursar.model.fleet import format_fleet
from bursar.model.flow import Flow
from bursar.model.money import format_money
from bursar.model.numbers import LAST_SEED
from bursar.model.text import counted
from bursar.model.work import LARGEST_BAG, Bag
from bursar.report.summary import (
    EXIT_CODES,
    NOT_INCLUDED,
    Account,
    Summary,
    Tasks,
    budget_told,
    summarise,
    tell,
)
from bursar.runs.request import Request
from bursar.runs.session import Session, with_plan

if TYPE_CHECKING:
    from bursar.runs.choosing import Cap

NO_TASKS: Final = Summary("", "done", "no arguments", Tasks(0, 0, 0), Account(None, "0.00", ""), 0)
"""What `--json` prints where the list of arguments was empty."""
PLAN_OPTIONS: Final = ("budget", "deadline", "sabotage", "quiet", "json")
"""What may be said of a plan that is chosen."""


@click.command(cls=WordsCommand, context_settings=words_settings)
@click.argument("words", nargs=-1, metavar="COMMAND|JOB.toml|FLOW.yaml|PLAN [::: ARGUMENTS]")
@click.option("--choose", metavar="CHOICE", help="A plan: cheapest, fastest, knee, or its #.")
@click.option("--market", "-m", metavar="FILE", help="Offers and prices (default: this computer).")
@click.option("--budget", "-b", metavar="MONEY", help="The most that may ever be committed.")
@click.option(
    "--deadline", metavar="TIME", help="Finish by then, at the least cost: 90s, 1.5m, 1h."
)
@click.option("--fleet", metavar="FLEET", help="Machines to rent, e.g. small=10,large=3.")
@click.option("--params", metavar="FILE", help="A task per row of this CSV or JSON lines file.")
@click.option("--arg-file", "-a", metavar="FILE", multiple=True, help="A task per line of it.")
@click.option("--colsep", "-C", metavar="REGEX", help="Lines have columns: {1}, {2}.")
@click.option("--null", "-0", is_flag=True, default=None, help="NULs end arguments, not newlines.")
@click.option("--repeat", type=Whole(1, LARGEST_BAG), metavar="N", help="Run everything N times.")
@click.option("--jobs", "-j", metavar="N", help="Tasks at once on this computer: 4, 50%, +1.")
@click.option("--dry-run", is_flag=True, help="Print the commands, and run nothing.")
@click.option("--shell/--no-shell", default=None, help="Let /bin/sh run the command.")
@click.option("--files", metavar="HOW", help="Workflows: shared, or copied to each task.")
@click.option(
    "--confidence",
    type=Number(0.5, 1),
    help="Workflows: how surely the plan meets the goal, e.g. 0.9.",
)
@flow_options
@click.option(
    "--retries", type=Whole(), metavar="N", help="Further attempts of a task that failed."
)
@click.option("--timeout", metavar="TIME", help="Longest run time of one attempt.")
@click.option("--provisioner", metavar="NAME", help="How many machines, when.")
@click.option("--placer", metavar="NAME", help="Which task goes to which machine.")
@click.option("--replicator", metavar="NAME", help="Which running task gets another attempt.")
@click.option("--faithful", is_flag=True, default=None, help="As published, for comparison.")
@click.option(
    "--prefer", metavar="EXPR", help="Strategy for unreliable machines to prefer; or ask."
)
@click.option(
    "--strategy", metavar="STRATEGY", help="Strategy to follow: N=3,T=30m,D=1h,Mr=0.1, or TRR ..."
)
@click.option("--sabotage", metavar="TIME", help="Mean life of unreliable machines, emulated.")
@click.option("--seed", type=Whole(0, LAST_SEED), metavar="N", help="Seed of the random choices.")
@click.option("--name", metavar="NAME", help="Name of the run (default: a random one).")
@click.option("--output", "-o", metavar="DIR", help="Where results go.")
@click.option("--quiet", "-q", is_flag=True, default=None, help="No progress, no report.")
@click.option("--json", is_flag=True, default=None, help="One object on stdout at the end.")
def command(words: tuple[str, ...], choose: str | None, dry_run: bool, **options: Any) -> int:
    """Run a bag of commands, or a workflow, on the market's machines, within the budget.

    \b
    bursar run --market market.toml --budget 2.50 './simulate.sh {}' ::: 1 2 3
    bursar run --market market.toml --budget 2.50 --params grid.csv 'fit --alpha {alpha}'
    bursar run job.toml --budget 5
    bursar run flow.yaml --market market.toml --budget 5
    bursar run amber-finch --choose knee

    Arguments follow ':::' (or '::::' for files of them) as with GNU parallel, or come from standard
    input. No shell is involved unless you ask for it. Each task's output goes to its own directory.
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
            return _print_commands(job)
        request = make_request(job, choose)
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
    from bursar.runs.choosing import choose_plan

    if len(words) != 1:
        raise InputError("--choose goes with the name of a plan: bursar run PLAN --choose knee")
    _check_plan_options(options)
    found = home().find(words[0])
    wanted = (options.get(name) for name in ("budget", "deadline", "sabotage"))
    chosen, goal, cap = choose_plan(found, choice, *wanted)
    with Session.take_up(found, goal, plan=chosen) as session:
        os.chdir(session.directory)
        quiet = bool(options.get("quiet"))
        told = f"{chosen.name}, {format_fleet(chosen.fleet)}, {_cap_told(session, cap)}"
        say(f"run {found.name}: {told}", quiet=quiet)
        return drive(session, quiet=quiet, as_json=bool(options.get("json")))


def _print_commands(job: Job) -> int:
    """Each command as it would be typed, in the order of the tasks.

    Programs get them character by character; a terminal gets no control codes.
    """
    work = job.flow() or job.bag()
    show = print_line if sys.stdout.isatty() else click.echo
    for index in range(work.count):
        show(work.typed(index) or f"# {work.describe(index)}: no command")
    return EXIT_CODES["done"]


def _cap_told(session: Session, cap: Cap) -> str:
    """What may be committed, and what it is made of."""
    market, budget = session.state.market, session.state.goal.budget
    if market.is_free or budget is None:
        return budget_told(market, budget)
    total = format_money(budget, market.currency)
    if budget != cap.total:
        return f"budget {total}, the sample included ({NOT_INCLUDED})"
    return f"cap {total} = {cap.told(market.currency)} ({NOT_INCLUDED})"


def _check_plan_options(options: Mapping[str, Any]) -> None:
    """Refuse what was said when the plan was made, and would have no effect now."""
    for name, value in options.items():
        if value not in (None, (), False) and name not in PLAN_OPTIONS:
            raise InputError(
                f"--{name.replace('_', '-')} belongs to bursar plan: a plan that is chosen keeps"
                f" what it was made with; leave it out, or make another plan"
            )


def make_request(job: Job, choose: str | None = None) -> Request:
    """What a job asks for, checked as far as that is possible before anything is made."""
    from bursar.rent.local import local_market

    market = job.load_market()
    if market is not None and job.jobs is not None:
        raise InputError("-j is for this computer: with a market say how many by --fleet")
    market = market or local_market(job.jobs)
    flow = job.flow()
    bag = job.bag() if flow is None else None
    for command in _programs(bag, flow):
        _check_command(command)
    request = Request(
        market=market,
        goal=job.goal() if flow is None else flow.goal(job.goal()),
        limits=job.limits(),
        bag=bag,
        flow=flow,
        wish=job.wish(),
        files=job.files or SHARED,
        fleet=job.load_fleet(market),
        policies=job.policies(),
        faithful=bool(job.faithful),
        prefer=job.prefer,
        strategy=job.strategy,
        sabotage=job.sabotage,
        seed=job.seed,
        name=job.name,
        output=job.output,
    )
    return with_plan(request, choose)


def _programs(bag: Bag | None, flow: Flow | None) -> Iterable[tuple[str, ...]]:
    """A command for each program that must be there; a task without any is told later."""
    if bag is not None:
        return (bag.command(0) if bag.shell else bag.words(0),)
    if flow is None:
        return ()
    made = {Path(flow.files.names[file]) for row in flow.files.written for file in row}
    programs = {command[0]: command for command in flow.commands if command}
    return [programs[name] for name in programs if "/" not in name or Path(name) not in made]


def _check_command(command: tuple[str, ...]) -> None:
    """Tell before money is spent that a command does not exist."""
    from shutil import which

    program = command[0]
    if which(program) is None:
        there = os.path.exists(program)  # noqa: PTH110 -- Path.exists fails for a name too long
        where = "cannot be executed" if there else "does not exist"
        raise InputError(
            f"the command {shown(program)} {where}; check its path and that it is executable"
        )


def _greeting(session: Session, request: Request) -> str:
    cap = budget_told(request.market, request.goal.budget)
    return (
        f"run {session.state.run}: {counted(session.state.total, 'task')}, {cap}\n"
        "Ctrl-C stops gently, twice stops now; nothing is lost"
    )


def drive(session: Session, *, quiet: bool, as_json: bool) -> int:
    """Execute a session, show how it goes, and tell how it ended; the cap was shown before."""
    with progress(session.state, quiet=quiet) as live:
        session.ask = lambda advice: live.while_hidden(lambda: ask_for_strategy(advice))
        ended = session.execute([live.forecast])
    if not quiet:
        for line in tell(session.state, first=False):
            say(line)
        if (left := session.outputs / LEFTOVERS).is_dir():
            say(f"moved out of the way of tasks, for you to look at or remove: {left}")
    if as_json:
        print_json(summarise(session.state))
    return EXIT_CODES[ended.status]
