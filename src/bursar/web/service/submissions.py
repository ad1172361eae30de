"""What is submitted over HTTP: a bag as JSON, or a workflow file as it is."""

from __future__ import annotations

from typing import Final

import msgspec

from bursar.formats.commands import parse_command
from bursar.model.errors import InputError
from bursar.model.option_words import HTTP
from bursar.model.work import Bag, Work, make_bag, repeated_bag
from bursar.runs.service_work import work_of

MOST_TASKS: Final = 100_000
"""of one work"""


class BagSubmission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command, and one row of arguments a task."""

    command: str | list[str]
    """a text, which is taken apart as a shell does it; or a list of words"""
    rows: list[list[str]] | None = None
    """of arguments for {1}, {2} ..., or for {name} if the columns have names"""
    columns: list[str] | None = None
    repeat: int | None = None
    """in place of rows: how many tasks"""
    shell: bool = False
    """/bin/sh runs the command, which is one text"""
    user: str | None = None
    """whose it is; only the administrator submits for others"""
    priority: int | None = None
    deadline: str | None = None
    """since its arrival: 2h"""


class NotJsonError(InputError):
    """A body that cannot be read at all."""


class TooLargeError(InputError):
    """More than may be submitted at once."""


_BAG: Final = msgspec.json.Decoder(BagSubmission)


def read_bag(body: bytes) -> BagSubmission:
    """The parts of a bag, of which the types are checked."""
    try:
        return _BAG.decode(body)
    except msgspec.ValidationError as error:
        raise InputError(f"the bag: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotJsonError(f"the body cannot be read as JSON: {error}") from None


def bag_of(submitted: BagSubmission) -> Bag:
    """The tasks that are asked for."""
    if (submitted.rows is None) is (submitted.repeat is None):
        raise InputError("a bag has rows of arguments, or repeat: give one of them")
    columns = submitted.columns or []
    _check_count(submitted.repeat or 0)
    if submitted.shell:
        words: tuple[str, ...] = (
            (submitted.command,) if isinstance(submitted.command, str) else tuple(submitted.command)
        )
    else:
        command = (
            submitted.command if isinstance(submitted.command, str) else tuple(submitted.command)
        )
        words = parse_command(command, columns, HTTP)
    if submitted.repeat is not None:
        return repeated_bag(words, submitted.repeat, shell=submitted.shell)
    rows = submitted.rows or []
    _check_count(len(rows))
    return make_bag(words, rows, columns, shell=submitted.shell)


def bag_work(submitted: BagSubmission, owner: str) -> Work:
    return work_of(bag_of(submitted), owner, submitted.priority, submitted.deadline)


def workflow_work(
    body: bytes, filename: str, owner: str, priority: int | None, deadline: str | None
) -> Work:
    """A workflow in any format that `bursar run` reads; whose it is says the token."""
    from bursar.formats.workflow import parse_workflow  # late: it brings numpy

    work = work_of(parse_workflow(body, filename or "workflow"), owner, priority, deadline)
    _check_count(work.count)
    return work


def _check_count(count: int) -> None:
    if count > MOST_TASKS:
        raise TooLargeError(f"a work has at most {MOST_TASKS:,} tasks here; submit several")
