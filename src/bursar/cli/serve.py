"""`bursar serve`: a service that several users submit work to, each within a budget."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from bursar.cli.common import home, say, typed_command
from bursar.cli.numbers import Whole
from bursar.cli.options import (
    FAILURES,
    GOAL,
    OUTPUT,
    POLICIES,
    SERVICE,
    WORK,
    attempt_options,
    fleet_option,
    market_option,
    option,
    settings,
    site_options,
)
from bursar.model.errors import InputError, shown

if TYPE_CHECKING:
    from bursar.runs.request import Request
    from bursar.runs.service import Service
    from bursar.web.listening import Listening

NAME: Final = "service"
"""What a service is called if nobody says otherwise."""
PORT: Final = 8765


@click.command(context_settings=settings)
@option(WORK, "--files", metavar="HOW", help="Files of workflows: copied (default) or shared.")
@option(
    GOAL,
    "--user",
    "users",
    multiple=True,
    metavar="NAME=MONEY/TIME",
    help="A user and the most that may be committed for it in each interval, e.g. ann=5/h;"
    " can be repeated.",
)
@market_option
@fleet_option
@site_options
@option(
    POLICIES,
    "--provision",
    metavar="NAME",
    help="Policy that decides how many machines each user gets (default: fixed, as many as the"
    " waiting tasks, the budget and the limits allow).",
)
@option(
    POLICIES,
    "--place",
    metavar="NAME",
    help="Policy that decides which task runs next (default: priority).",
)
@attempt_options
@option(FAILURES, "--resume", metavar="NAME", help="Continue this service, as it was started.")
@option(SERVICE, "--host", metavar="ADDRESS", help="Address to listen on (default: 127.0.0.1).")
@option(SERVICE, "--port", metavar="N", type=Whole(0, 65535), help=f"Port (default: {PORT}).")
@option(SERVICE, "--tls-cert", metavar="FILE", help="Certificate, to serve HTTPS.")
@option(SERVICE, "--tls-key", metavar="FILE", help="Its private key.")
@option(SERVICE, "--behind-proxy", is_flag=True, help="A proxy in front of it does the TLS.")
@option(
    SERVICE,
    "--hostname",
    "hostnames",
    multiple=True,
    metavar="NAME",
    help="A further name that users reach it by; can be repeated.",
)
@option(OUTPUT, "--name", metavar="NAME", help=f"Name of the service (default: {NAME}).")
@option(OUTPUT, "--quiet", "-q", is_flag=True, help="Print nothing.")
def command(
    resume: str | None,
    host: str | None,
    port: int | None,
    tls_cert: str | None,
    tls_key: str | None,
    behind_proxy: bool,
    hostnames: tuple[str, ...],
    quiet: bool,
    **options: Any,
) -> int:
    """Take bags and workflows from several users over HTTP, each within a budget per interval.

    \b
    bursar serve --market market.toml --user team-a=100/min --user team-b=80/min
    bursar submit flow.yaml --to http://127.0.0.1:8765 --token-file .bursar/service/tokens/team-a

    Killed or stopped, it goes on when the same command is given again: nothing that was accepted
    is lost. The tokens of users are in the directory of the service.
    """  # noqa: D301 (click wants the character)
    from bursar.web.listening import Listening, require_web

    require_web()
    if resume is not None:
        _refuse_more(options)
    request = None if resume is not None else _request(options)
    address = _address(resume or (request and request.name) or NAME)
    listening = Listening(
        host=host or address[0],
        port=address[1] if port is None else port,
        tls_cert=tls_cert,
        tls_key=tls_key,
        behind_proxy=behind_proxy,
        names=hostnames,
    )
    return _serve(resume, request, listening, quiet=quiet)


def _serve(
    resume: str | None, request: Request | None, listening: Listening, *, quiet: bool
) -> int:
    from bursar.report.summary import EXIT_CODES, tell
    from bursar.runs.service import Service
    from bursar.runs.service_open import open_service
    from bursar.web.service.feed import Feed
    from bursar.web.service.running import run_service

    def begin(feed: Feed) -> Service:
        if request is None:
            return Service.resume(resume, listener=feed)
        return open_service(request, feed)

    def greet(service: Service, url: str) -> None:
        os.chdir(service.working_directory)
        for line in _greeting(service, url):
            say(line, quiet=quiet)

    service = run_service(begin, listening, greet)
    if not quiet:
        for line in tell(service.state, first=False):
            say(line)
    ended = service.state.ended
    return EXIT_CODES["failed" if ended is None else ended.status]


def _greeting(service: Service, url: str) -> list[str]:
    from bursar.model.text import counted
    from bursar.report.summary import budget_shown

    state = service.state
    works = f", {counted(len(state.work), 'work')} so far" if state.work else ""
    return [
        f"{service.run} serves at {url}: {budget_shown(state.market, state.goal)}{works}",
        f"tokens: {service.directory / 'tokens'}, a file for each user and one for the admin",
        "Ctrl-C stops after the running tasks, twice stops now; nothing is lost",
    ]


def _address(name: str) -> tuple[str, int]:
    """Where the service of this name listened before, or where services listen."""
    from bursar.web.service.running import noted_address

    noted = noted_address(home().path / name)
    return ("127.0.0.1", PORT) if noted is None else (noted.host, noted.port)


def _refuse_more(options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value not in (None, ()):
            flag = "user" if name == "users" else name.replace("_", "-")
            raise InputError(f"--resume continues a service as it was: leave out --{flag}")


def _request(options: dict[str, Any]) -> Request:
    """What a new service is made of."""
    from bursar.execute.staging import COPIED
    from bursar.formats.job import Job
    from bursar.model.option_words import COMMAND_LINE
    from bursar.rent.local import local_market
    from bursar.runs.request import Request
    from bursar.runs.sites import files_mode, site_market

    users = options.pop("users")
    policies = {"provisioner": options.pop("provision"), "placer": options.pop("place")}
    name = options.pop("name") or NAME
    job = Job.from_command_line((), options)
    market, site = job.load_market(), job.site()
    if site is not None:
        market = site_market(site, market, COMMAND_LINE)
    market = market or local_market(None)
    files = files_mode(job.files, site, COPIED, COMMAND_LINE)
    return Request(
        market=market,
        goal=_goal(users, market.currency),
        limits=job.limits(),
        fleet=job.load_fleet(market),
        policies={
            "placer": "priority",
            "provisioner": "fixed",
            **{role: entry for role, entry in policies.items() if entry is not None},
        },
        files=files,
        takes_workflows=True,
        name=name,
        site=site,
        typed=typed_command(),
        asked=COMMAND_LINE,
    )


def _goal(users: tuple[str, ...], currency: str) -> Any:
    """A budget for each user."""
    from bursar.model.budget_text import budget_in
    from bursar.model.goal import Account, Goal
    from bursar.web.service.auth import ADMIN

    if not users:
        raise InputError("nobody could submit anything: give users, for example --user ann=5/h")
    accounts = []
    for user in users:
        name, sign, budget = user.partition("=")
        if name == ADMIN:
            raise InputError(f"--user {ADMIN}: that is the administrator; choose another name")
        try:
            accounts.append(Account(name, budget_in(currency, budget) if sign else None))
        except InputError as error:
            raise InputError(f"--user {shown(user)}: {error}") from None
    goal = Goal(accounts=tuple(accounts))
    goal.budgets()
    return goal
