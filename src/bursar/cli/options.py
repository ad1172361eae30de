"""Options of the verbs, in groups; light, since every help page needs them.

A group is a panel of `--help`. An option that several verbs have in the same sense stands here, one
of a single verb stands in its file. The panels come in the order in which a verb names its options.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import rich_click as click

from bursar.cli.numbers import Number, Whole
from bursar.model.numbers import LAST_SEED
from bursar.model.plan_options import CONFIDENCE
from bursar.model.work import LARGEST_BAG

WORK: Final = "Work"
"""what is run"""
GOAL: Final = "Goal"
"""money, time and confidence"""
MACHINES: Final = "Machines"
"""what may be rented, and what is known of it"""
POLICIES: Final = "Policies"
"""how it is decided"""
FAILURES: Final = "Failures"
"""what may go wrong, and what is done then"""
SERVICE: Final = "Service"
"""where a service is reached, and by whom"""
OUTPUT: Final = "Output"
"""what is written, and where"""
GROUPS: Final = (WORK, GOAL, MACHINES, POLICIES, FAILURES, SERVICE, OUTPUT)

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]

settings: Final = {"help_option_names": ["-h", "--help"]}


def option(group: str, *names: str, **attributes: Any) -> Decorator[Any]:
    """An option in a group of the help page."""
    return click.option(*names, panel=group, **attributes)


def together(*options: Decorator[Any]) -> Decorator[Any]:
    """Several options as one decorator, in this order."""

    def decorate(command: Any) -> Any:
        for one in reversed(options):
            command = one(command)
        return command

    return decorate


# --- work ----------------------------------------------------------------------------------------

argument_options: Final = together(
    option(
        WORK, "--params", metavar="FILE", help="Run one task per row of a CSV or JSON lines file."
    ),
    option(
        WORK,
        "--arg-file",
        "-a",
        metavar="FILE",
        multiple=True,
        help="Run one task per line of this file; can be repeated.",
    ),
    option(
        WORK,
        "--colsep",
        "-C",
        metavar="REGEX",
        help="Split each argument into columns {1}, {2} at this regular expression.",
    ),
    option(
        WORK,
        "--null",
        "-0",
        is_flag=True,
        default=None,
        help="Arguments in files end with a NUL, not with a newline.",
    ),
    option(
        WORK,
        "--repeat",
        type=Whole(1, LARGEST_BAG),
        metavar="N",
        help="Run every task N times (default: 1).",
    ),
    option(
        WORK,
        "--shell/--no-shell",
        default=None,
        help="Run the command with /bin/sh (default: without a shell).",
    ),
)
"""How a command gets its arguments."""

files_option: Final = option(
    WORK,
    "--files",
    metavar="HOW",
    help="Files of a workflow: shared by all tasks (default), or copied for each attempt.",
)
runtime_option: Final = option(
    WORK,
    "--runtime",
    metavar="TIME",
    help="Known run time of a bag's tasks at speed 1; with --deviation 40s or 30%.",
)

deviation_option: Final = option(
    WORK,
    "--deviation",
    metavar="SHARE|TIME",
    help="Standard deviation of run times, e.g. 30% of their mean; of a bag's, 40s, too.",
)

number_option: Final = option(
    WORK,
    "--number",
    metavar="N",
    type=Whole(1),
    help="Read the Nth workflow of a file that has one per line.",
)

seed_option: Final = option(
    WORK,
    "--seed",
    type=Whole(0, LAST_SEED),
    metavar="N",
    help="Seed of the random choices (default: a random one).",
)

# --- goal ----------------------------------------------------------------------------------------

budget_as_option: Final = option(
    GOAL,
    "--budget-as",
    metavar="HOW",
    help="Workflow plans keep the budget as a percentile (default), with the given"
    " confidence, or as an expectation, on average.",
)

goal_options: Final = together(
    option(
        GOAL,
        "--budget",
        "-b",
        metavar="MONEY",
        help="Never commit more money than this, e.g. 2.50, or 5/h for each hour.",
    ),
    option(
        GOAL,
        "--deadline",
        metavar="TIME",
        help="Finish within this time at the lowest cost, else stop: 90s, 1.5m, 1h.",
    ),
    option(
        GOAL,
        "--confidence",
        metavar="SHARE",
        type=Number(0.5, 1),
        help=f"Probability with which a workflow's plan meets its goal (default: {CONFIDENCE}).",
    ),
    budget_as_option,
)
"""What a run may cost, and by when it is done."""

best_effort_option: Final = option(
    GOAL,
    "--best-effort",
    is_flag=True,
    default=None,
    help="Do as many tasks of a bag as the budget buys (default: stop early if it is too small).",
)

# --- machines ------------------------------------------------------------------------------------

market_option: Final = option(
    MACHINES,
    "--market",
    "-m",
    metavar="FILE",
    help="Market file with offers and prices (default: this computer).",
)

fleet_option: Final = option(
    MACHINES,
    "--fleet",
    metavar="FLEET",
    help="Rent at most these machines, e.g. small=10,large=3 (default: up to the market's limits).",
)

site_options: Final = together(
    option(
        MACHINES,
        "--on",
        metavar="WHERE",
        help="Where machines are: local (default), dask, ssh, slurm or ec2 (see docs/machines.md).",
    ),
    option(
        MACHINES,
        "--scheduler",
        metavar="ADDRESS",
        help="Use the workers of this Dask cluster, e.g. tls://head:8786 (default: start one).",
    ),
    option(
        MACHINES,
        "--trust-cluster",
        is_flag=True,
        default=None,
        help="Use a Dask cluster without TLS: those who control its network can run code here.",
    ),
    option(
        MACHINES,
        "--listen",
        metavar="ADDRESS",
        help="Address of this computer that machines can reach (default: found out).",
    ),
    option(
        MACHINES,
        "--shared",
        is_flag=True,
        default=None,
        help="Machines see this directory under the same name (default: send them its files).",
    ),
)
"""Machines that are not on this computer."""

performance_option: Final = option(
    MACHINES,
    "--performance",
    metavar="FILE",
    help="Measured performance of machines for workflow plans, as written by bursar calibrate.",
)

# --- policies ------------------------------------------------------------------------------------

faithful_option: Final = option(
    POLICIES,
    "--faithful",
    is_flag=True,
    default=None,
    help="Use the algorithms exactly as published, for comparison.",
)

policy_options: Final = together(
    option(
        POLICIES,
        "--provisioner",
        metavar="NAME",
        help="Policy that decides how many machines to rent, e.g. bats.",
    ),
    option(
        POLICIES,
        "--placer",
        metavar="NAME",
        help="Policy that assigns ready tasks to idle machines, e.g. fifo.",
    ),
    option(
        POLICIES,
        "--replicator",
        metavar="NAME",
        help="Policy that starts further attempts of running tasks, e.g. stochastic.",
    ),
    option(
        POLICIES,
        "--advisor",
        "--advise",
        "advisor",
        metavar="NAME",
        help="Policy that proposes better plans while a run goes on: replan, tail or none.",
    ),
    option(
        POLICIES,
        "--strategy",
        metavar="STRATEGY",
        help="Strategy for unreliable machines: N=3,T=30m,D=1h,Mr=0.1, or a name such as TRR.",
    ),
    option(
        POLICIES,
        "--prefer",
        metavar="EXPR",
        help="Choose the strategy for unreliable machines: cheapest, fastest, makespan*cost"
        " or alike, or ask.",
    ),
    faithful_option,
)
"""Which entries decide, and how."""

# --- failures ------------------------------------------------------------------------------------

attempt_options: Final = together(
    option(
        FAILURES,
        "--retries",
        type=Whole(),
        metavar="N",
        help="Retry a failed task up to N times (default: 0).",
    ),
    option(
        FAILURES,
        "--timeout",
        metavar="TIME",
        help="Stop an attempt after this time; it counts as failed (default: no limit).",
    ),
)
"""When an attempt has failed, and what then."""

# --- output --------------------------------------------------------------------------------------

run_name_options: Final = together(
    option(OUTPUT, "--name", metavar="NAME", help="Name of the run (default: a random one)."),
    option(
        OUTPUT,
        "--output",
        "-o",
        metavar="DIR",
        help="Directory for the results (default: .bursar/NAME/outputs).",
    ),
)
"""What a run is called, and where its results go."""

quiet_option: Final = option(
    OUTPUT, "--quiet", "-q", is_flag=True, default=None, help="Print no progress and no report."
)

json_option: Final = option(
    OUTPUT, "--json", "as_json", is_flag=True, help="Print JSON on standard output."
)
