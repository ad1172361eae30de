"""Options of the verbs that simulate a workload, and what they ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
import rich_click as click
from click import get_current_context
from click.core import ParameterSource

from bursar.cli.numbers import Whole
from bursar.cli.options import GOAL, MACHINES, POLICIES, WORK, option, together
from bursar.formats.market import read_market
from bursar.model.bandwidth import read_bandwidth
from bursar.model.budget_text import budget_in
from bursar.model.errors import InputError
from bursar.model.fleet import parse_fleet
from bursar.model.goal import Goal
from bursar.model.market import Market
from bursar.model.reading import read_duration
from bursar.model.time import SECOND

if TYPE_CHECKING:
    from bursar.model.workload import Workload
    from bursar.runs.scaling_study import ScalingSetting
    from bursar.runs.workload_study import StudySetting

MOST_MACHINES: Final = 1_000_000

workload_options: Final = together(
    option(
        WORK,
        "--utilization",
        metavar="SHARE",
        help="Scale a workload's arrivals: 0.9, 0.5,0.9 or 0.5..0.98 (default: as in the file).",
    ),
    option(
        WORK,
        "--bandwidth",
        metavar="RATE",
        help="How fast machines read and write the files of a workload's tasks, e.g. 280MB/s"
        " (default: as in the file, else files take no time).",
    ),
    option(
        GOAL,
        "--user",
        "users",
        metavar="NAME=MONEY",
        multiple=True,
        help="Budget of an owner of works in a workload, e.g. ann=5/h; can be repeated.",
    ),
    option(
        MACHINES,
        "--machines",
        metavar="N",
        type=Whole(1, MOST_MACHINES),
        help="Number of machines of speed 1 for a workload (default: 100).",
    ),
    option(
        MACHINES,
        "--speeds",
        metavar="NxSPEED,...",
        help="Machines of different speeds for a workload, e.g. 50x1.5,50x0.5.",
    ),
    option(
        POLICIES,
        "--place",
        metavar="NAME,...",
        help="Placers for a workload, e.g. backfill,owm,fwp (default: backfill).",
    ),
    option(
        POLICIES,
        "--provision",
        metavar="NAME,...",
        help="Autoscalers for a workload, e.g. react,plan,pfa (default: machines always up).",
    ),
    option(
        POLICIES,
        "--interval",
        metavar="TIME",
        help="Time between two decisions of an autoscaler (default: its own, 30s or 1m).",
    ),
    option(
        POLICIES,
        "--estimates",
        metavar="ERROR",
        help="What is known of run times in a workload: all of them (none, the default: no"
        " error), with errors (static:2, random-1:2, random-2:2), learned, or unknown.",
    ),
)
"""What is tried with a workload."""
NAMES: Final = (
    *("utilization", "bandwidth", "machines", "speeds", "place", "estimates"),
    *("provision", "interval", "users"),
)
FOR_SCALING: Final = ("interval", "users", "market", "fleet", "budget")
"""options that only make sense with autoscalers"""


def workload_of(path: str, options: Mapping[str, Any]) -> Workload:
    """The workload in a file, with the bandwidth that the options ask for."""
    from bursar.formats.workload import read_workload

    workload = read_workload(path)
    bandwidth = _read(options, "bandwidth", read_bandwidth, workload.bandwidth)
    return msgspec.structs.replace(workload, bandwidth=bandwidth)


def setting_of(options: Mapping[str, Any], *, alone: bool = False) -> StudySetting:
    """What the options ask for; a mistake is named with its option."""
    from bursar.runs.workload_input import read_placers, read_speeds, read_utilizations
    from bursar.runs.workload_study import StudySetting
    from bursar.simulate.estimate_errors import EstimateError, parse_error

    if options["machines"] is not None and options["speeds"] is not None:
        raise InputError("--machines and --speeds both say which machines there are; give one")
    speeds = (1.0,) * (options["machines"] or 100)
    return StudySetting(
        placers=_read(options, "place", read_placers, ("backfill",)),
        utilizations=_read(options, "utilization", read_utilizations, (None,)),
        speeds=_read(options, "speeds", read_speeds, speeds),
        error=_read(options, "estimates", parse_error, EstimateError()),
        alone=alone,
        seed=options["seed"],
    )


def is_scaled(options: Mapping[str, Any]) -> bool:
    """Whether autoscalers are asked for; without them, what is only for them is refused."""
    if options["provision"] is not None:
        return True
    for name in FOR_SCALING:
        if options.get(name):
            raise InputError(
                f"--{'user' if name == 'users' else name} is for autoscalers; add for example"
                " --provision react"
            )
    return False


def scaling_of(options: Mapping[str, Any]) -> ScalingSetting:
    """What the options ask for where machines come and go; a mistake is named with its option."""
    from bursar.runs.scaling_input import (
        market_of_machines,
        read_autoscalers,
        read_names,
    )
    from bursar.runs.scaling_study import ScalingSetting
    from bursar.simulate.estimate_errors import EstimateError, parse_error

    if options["speeds"] is not None or options["utilization"] is not None:
        raise InputError(
            "--speeds and --utilization are for machines that are always up; with --provision the"
            " market tells the machines, and the workload file when works arrive"
        )
    if options["market"] is not None and options["machines"] is not None:
        raise InputError("--market and --machines both say which machines there are; give one")
    market = market_of_machines(options["machines"] or 100)
    if options["market"] is not None:
        market = read_market(options["market"])
    fleet, interval = options["fleet"], options["interval"]
    return ScalingSetting(
        market=market,
        provisioners=_read(options, "provision", read_autoscalers, ()),
        placers=_read(options, "place", read_names, ()),
        goal=_goal_of(options, market),
        fleet=None if fleet is None else parse_fleet(fleet, market),
        interval=None if interval is None else read_duration(interval, least=SECOND),
        error=_read(options, "estimates", parse_error, EstimateError()),
        seed=options["seed"],
    )


def _goal_of(options: Mapping[str, Any], market: Market) -> Goal:
    """The budgets of users, or one for all works."""
    from bursar.runs.scaling_input import read_users

    users, budget = options["users"], options["budget"]
    if users and budget is not None:
        raise InputError("--user and --budget both limit money; give one of them")
    if not users:
        return Goal() if budget is None else Goal.within(budget_in(market.currency, budget))
    try:
        return read_users(users, market)
    except InputError as error:
        raise InputError(f"--user: {error}") from None


def _read(options: Mapping[str, Any], name: str, reader: Callable[[str], Any], default: Any) -> Any:
    if options[name] is None:
        return default
    try:
        return reader(options[name])
    except InputError as error:
        raise InputError(f"--{name}: {error}") from None


def refuse_others(allowed: tuple[str, ...]) -> None:
    """One line for an option that was given and is not for workloads."""
    context = get_current_context()
    for one in context.command.params:
        given = context.get_parameter_source(str(one.name)) is ParameterSource.COMMANDLINE
        if given and isinstance(one, click.Option) and one.name not in (*NAMES, *allowed):
            raise InputError(f"{one.opts[0]} is not for workloads; leave it out")


def refuse_workload_options(options: Mapping[str, Any]) -> None:
    """One line for an option that was given and is only for workloads."""
    for name in NAMES:
        if options[name] not in (None, ()):
            raise InputError(f"--{name} is for workloads; give the file of one, or leave it out")
