"""A child program: copies the files that a task reads to where it runs, then becomes its command.

It is started as a script, without anything of bursar or of other packages, since it precedes every
task whose files are copied. Arguments: a file that holds the order, and the command.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import NamedTuple

CANNOT_RUN = 126
NOT_FOUND = 127
"""exit codes of what could not be started, as shells have them"""


class StageOrder(NamedTuple):
    directory: str
    """where the command will run"""
    copies: list[tuple[str, str]]
    """files from anywhere, and their names from there"""
    parents: list[str]
    """directories of files that it will write, from there"""
    shows: str = ""
    """a directory whose files it finds there, too, by links; those above come first"""


def prepare(order: StageOrder) -> None:
    """Make the directory, and fill it."""
    os.makedirs(order.directory, exist_ok=True)  # noqa: PTH103
    os.chdir(order.directory)
    for parent in order.parents:
        os.makedirs(parent, exist_ok=True)  # noqa: PTH103
    for source, name in order.copies:
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)  # noqa: PTH103, PTH120
        if os.path.isdir(source):  # noqa: PTH112
            shutil.copytree(source, name, dirs_exist_ok=True)
        else:
            shutil.copy(source, name)
    if order.shows:
        show(order.shows, order.directory)


def show(source: str, target: str) -> None:
    """Link what a directory has to another that lacks it; the runs of bursar are left out."""
    for name in os.listdir(source):  # noqa: PTH208
        there, here = os.path.join(source, name), os.path.join(target, name)  # noqa: PTH118
        if name == ".bursar":
            continue
        if not os.path.lexists(here):
            os.symlink(there, here)  # noqa: PTH211
        elif os.path.isdir(there) and os.path.isdir(here) and not os.path.islink(here):  # noqa: PTH112, PTH114
            show(there, here)


def main() -> int:
    """Never returns if all goes well."""
    with open(sys.argv[1], "rb") as file:  # noqa: PTH123
        order = StageOrder(*json.load(file))
    os.unlink(sys.argv[1])  # noqa: PTH108
    command = sys.argv[2:]
    try:
        prepare(order)
    except OSError as error:
        print(f"cannot copy the files of the task: {error}", file=sys.stderr)
        return CANNOT_RUN
    try:
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        print(f"cannot start '{command[0]}': {error.strerror}", file=sys.stderr)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_RUN


if __name__ == "__main__":
    sys.exit(main())
