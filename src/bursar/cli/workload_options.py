"""Options of the verbs that simulate a workload, and what they ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import rich_click as click
from click import get_current_context
from click.core import ParameterSource

from bursar.cli.numbers import Whole
from bursar.cli.options import MACHINES, POLICIES, WORK, option, together
from bursar.model.errors import InputError

if TYPE_CHECKING:
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
        "--estimates",
        metavar="ERROR",
        help="Error of known run times in a workload: none (default), static:2, random-1:2 or"
        " random-2:2.",
    ),
)
"""What is tried with a workload."""
NAMES: Final = ("utilization", "machines", "speeds", "place", "estimates")


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
        if options[name] is not None:
            raise InputError(f"--{name} is for workloads; give the file of one, or leave it out")
