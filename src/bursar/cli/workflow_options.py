"""Options of the verbs that plan or simulate workflows; light, since every help page needs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rich_click as click


def flow_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is known of a workflow's run times, and how its goal is meant."""
    for option in (
        click.option(
            "--budget-as",
            metavar="HOW",
            help="Workflows: percentile (kept with the confidence), or expectation.",
        ),
        click.option(
            "--deviation",
            metavar="SHARE",
            help="Workflows: deviation of run times, as a share of their mean, e.g. 30%.",
        ),
        click.option(
            "--performance",
            metavar="FILE",
            help="Workflows: performance of machines, as bursar calibrate measured it.",
        ),
    ):
        command = option(command)
    return command
