"""Colours of the terminal: as the environment says, else as the user always wants.

`NO_COLOR` and `FORCE_COLOR` count for more than the key `color` of the configuration file. Nothing
is written into the environment: the tasks of a run would see it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from bursar.cli.config import config_file, config_table
from bursar.model.errors import InputError, shown

if TYPE_CHECKING:
    from rich.console import Console

AUTO, ALWAYS, NEVER = "auto", "always", "never"
WAYS: Final = (AUTO, ALWAYS, NEVER)
"""`auto`: where somebody can see them"""


def wanted_color(environment: Mapping[str, str] = os.environ) -> str:
    """One of WAYS."""
    if environment.get("NO_COLOR"):
        return NEVER
    if environment.get("FORCE_COLOR"):
        return ALWAYS
    given = config_table(environment).get("color", AUTO)
    if given not in WAYS:
        known = ", ".join(f'"{way}"' for way in WAYS)
        raise InputError(f"{config_file(environment)}: color is one of {known}, not {shown(given)}")
    return str(given)


def color_help() -> None:
    """Let pages of help have the colours that are wanted."""
    import rich_click as click

    way = wanted_color()
    if way == NEVER:
        click.rich_click.COLOR_SYSTEM = None
    elif way == ALWAYS:
        click.rich_click.FORCE_TERMINAL = True


def console(*, err: bool = False, width: int | None = None) -> Console:
    """Where rich text is printed."""
    from rich.console import Console

    way = wanted_color()
    return Console(
        stderr=err,
        width=width,
        highlight=False,
        no_color=way == NEVER or None,
        force_terminal=way == ALWAYS or None,
    )
