"""A child program: copies the files that a task reads to where it runs, then becomes its command.

It is started as a script, without anything of bursar or of other packages, since it precedes every
task whose files are copied. Arguments: a file that holds the order, and the command.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Iterator
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
            copy_tree(source, name)
        else:
            copy_file(source, name)
    if order.shows:
        show(order.shows, order.directory)


def copy_tree(source: str, target: str) -> None:
    """A directory with all that is in it; links that lead nowhere, pipes and devices stay."""
    os.makedirs(target, exist_ok=True)  # noqa: PTH103
    for path, name in walk(source):
        there = os.path.join(target, name)  # noqa: PTH118
        if os.path.isdir(path):  # noqa: PTH112
            os.makedirs(there, exist_ok=True)  # noqa: PTH103
        elif os.path.isfile(path):  # noqa: PTH113
            copy_file(path, there)


def copy_file(source: str, target: str) -> None:
    """A device would have no end."""
    if os.path.exists(source) and not os.path.isfile(source):  # noqa: PTH110, PTH113
        raise OSError(errno.EINVAL, "not a file or a directory", source)
    shutil.copy(source, target)


def walk(source: str, within: str = "") -> Iterator[tuple[str, str]]:
    """Everything in a directory: its path, and its name from there; directories before their files.

    Links are followed, but none to a directory in which it lies, or from which it was reached:
    that would never end. With `within`, a real path, none that leads out of it.
    """
    waiting: list[tuple[str, str, tuple[str, ...]]] = [(source, "", (os.path.realpath(source),))]
    while waiting:
        place, below, through = waiting.pop()
        for entry in sorted(os.listdir(place)):  # noqa: PTH208
            path, name = os.path.join(place, entry), os.path.join(below, entry)  # noqa: PTH118
            if not os.path.isdir(path):  # noqa: PTH112
                yield path, name
                continue
            is_link = os.path.islink(path)  # noqa: PTH114
            real = os.path.realpath(path) if is_link else os.path.join(through[-1], entry)  # noqa: PTH118
            if is_link and any(_is_in(one, real) for one in through):
                continue
            yield path, name
            if not is_link:
                waiting.append((path, name, (*through[:-1], real)))
            elif not within or _is_in(real, within):
                waiting.append((path, name, (*through, real)))


def _is_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


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
