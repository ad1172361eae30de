"""Commands: what is typed after the options of `bursar run`, as GNU parallel reads it.

    bursar run './simulate.sh {}' ::: 1 2 3
    bursar run convert {} {.}.png ::: *.jpg
    bursar run './sweep.sh {1} {2}' ::: a b ::: x y        # ax ay bx by
    bursar run './pair.sh {1} {2}' ::: a b :::+ x y        # ax by
    bursar run ./simulate.sh :::: seeds.txt
    seq 9 | bursar run ./simulate.sh
    bursar run --colsep , './sim.sh {1} {2}' :::: pairs.csv
    bursar run './train.py --rate {rate}' --params sweep.csv

| written | means |
|---|---|
| `::: a b c` | a source: the arguments themselves |
| `:::: file` | a source: the lines of the file; `-` is standard input; more files, more sources |
| `:::+` `::::+` | a source whose arguments go along with those of the source before it |

Without any source, arguments are read from standard input if it is a file or a pipe. A list that is
there and empty is no mistake (`EmptyListError`).

Several sources give every combination, the last varying fastest. Linked sources are as long as the
shortest of them, as in GNU parallel (its `--link`, which starts the shorter again, is not meant).
The placeholders are described in `bursar.model.template`.

A command of a single word with spaces is taken apart as a shell does it, but no shell runs it: a
redirection or a pipe in it is refused. Several words are the argument list as it is. With `shell`
the words are joined by spaces and given to /bin/sh.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Final

import msgspec

from bursar.formats.files import read_text, source_name
from bursar.formats.params import Params
from bursar.model.errors import EmptyListError, InputError, shown
from bursar.model.option_words import COMMAND_LINE, OptionWords
from bursar.model.shell import quoting
from bursar.model.text import counted
from bursar.model.work import LARGEST_BAG, Bag, make_bag, repeated_bag

_SEPARATOR: Final = re.compile(r"(:{3,4})(\+?)")
_OPERATORS: Final = frozenset("|&;<>")

Command = str | tuple[str, ...]
"""One text, to be taken apart, or an argument list as it is."""


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where arguments come from: the values, or a file with one a line."""

    values: tuple[str, ...] = ()
    file: str | None = None
    linked: bool = False
    """goes along with the source before it instead of being combined with it"""

    def read(self, *, null: bool = False) -> tuple[str, ...]:
        """The arguments; in a file each ends with a newline, or with a NUL."""
        if self.file is None:
            return self.values
        text = read_text(self.file, "argument file")
        if not text:
            return ()
        if null:
            return tuple(text.removesuffix("\0").split("\0"))
        return tuple(line.removesuffix("\r") for line in text.removesuffix("\n").split("\n"))

    @property
    def empty_text(self) -> str:
        if self.file is None:
            return "no argument after ':::'; give at least one"
        return f"{source_name(self.file)}: no arguments; write one on each line"


def split_words(words: Sequence[str]) -> tuple[Command, tuple[Source, ...]]:
    """The command and the sources of its arguments, from the words of a command line."""
    first = next((at for at, word in enumerate(words) if _SEPARATOR.fullmatch(word)), len(words))
    command: Command = words[0] if first == 1 else tuple(words[:first])
    sources: list[Source] = []
    at = first
    while at < len(words):
        end = at + 1
        while end < len(words) and not _SEPARATOR.fullmatch(words[end]):
            end += 1
        sources += _sources(words[at], words[at + 1 : end], is_first=at == first)
        at = end
    return command, tuple(sources)


def _sources(separator: str, given: Sequence[str], *, is_first: bool) -> list[Source]:
    linked = separator.endswith("+")
    if linked and is_first:
        raise InputError(
            f"'{separator}' goes along with the arguments before it, and there are none; "
            f"write '{separator[:-1]}'"
        )
    if separator.startswith("::::"):
        if not given:
            raise InputError(f"no file after '{separator}'; name one, or - for standard input")
        return [Source(file=file, linked=linked) for file in given]
    return [Source(values=tuple(given), linked=linked)]


def combine(
    sources: Sequence[Source], *, null: bool = False, colsep: str | None = None
) -> list[tuple[str, ...]]:
    """The rows of arguments: linked sources side by side, the others in every combination.

    With `colsep`, a regular expression, every argument is a row of columns.
    """
    groups: list[list[list[tuple[str, ...]]]] = []
    for source in sources:
        given = source.read(null=null)
        if not given and len(sources) > 1:
            raise InputError(source.empty_text)
        rows = [_columns(argument, colsep) for argument in given]
        if source.linked and groups:
            groups[-1].append(rows)
        else:
            groups.append([rows])
    linked = [[sum(row, ()) for row in zip(*group, strict=False)] for group in groups]
    count = prod(len(rows) for rows in linked)
    if not count:
        raise EmptyListError("the list of arguments is empty: nothing to do")
    if count > LARGEST_BAG:
        raise InputError(
            f"the arguments give {count:,} tasks; a bag has at most {LARGEST_BAG:,}: use fewer"
        )
    rows = [sum(row, ()) for row in product(*linked)]
    if colsep is not None:
        _check_width(rows)
    return rows


def _columns(argument: str, colsep: str | None) -> tuple[str, ...]:
    """The columns of an argument, without the spaces around them, as GNU parallel has them."""
    if colsep is None:
        return (argument,)
    return tuple((part or "").strip() for part in re.split(colsep, argument))


def _check_width(rows: Sequence[tuple[str, ...]]) -> None:
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise InputError(
                f"argument {number} has {counted(len(row), 'column')}, the first {len(rows[0])};"
                " all need the same number: correct the argument, or what --colsep says"
            )


def parse_command(
    command: Command, columns: Sequence[str] = (), asked: OptionWords = COMMAND_LINE
) -> tuple[str, ...]:
    """The words of a command that no shell runs."""
    if not isinstance(command, str):
        return tuple(command)
    if not any(letter.isspace() for letter in command):
        return (command,)
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        mistake = str(error).lower()
        raise InputError(f"the command {shown(command)}: {mistake}; fix the quotes") from None
    for letter, quotes in zip(command, quoting(command), strict=True):
        if letter in _OPERATORS and quotes == " ":
            raise InputError(
                f"the command {shown(command)}: '{letter}' needs a shell; add"
                f" {asked.flag('shell')}, or put it between quotes if it is text"
            )
    for column in columns:
        hole = f"{{{column}}}"
        if hole in command and not any(hole in word for word in words):
            raise InputError(f"the command {shown(command)}: put quotes around {hole}")
    return words


def command_bag(
    command: Command,
    sources: Sequence[Source] = (),
    *,
    params: Params | None = None,
    repeat: int | None = None,
    shell: bool = False,
    null: bool = False,
    colsep: str | None = None,
) -> Bag:
    """The bag that a command, its arguments and their repetition give.

    Without arguments, `repeat` identical tasks; with them, all of them `repeat` times over.
    """
    if sources and params is not None:
        raise InputError("arguments (':::') and parameters (--params) do not go together; drop one")
    if repeat is not None and repeat < 1:
        raise InputError("to repeat less than once gives no task; use at least 1")
    columns = params.columns if params is not None else ()
    whole = (command,) if isinstance(command, str) else tuple(command)
    words = whole if shell else parse_command(command, columns)
    if not sources and params is None:
        if repeat is None:
            raise InputError(
                "the command has no arguments: give them after ':::', in a file after '::::', on "
                "standard input, with --params FILE, or run it as it is with --repeat N"
            )
        return repeated_bag(words, repeat, shell=shell)
    given = combine(sources, null=null, colsep=colsep) if params is None else params.rows
    rows = list(given)
    times = 1 if repeat is None else repeat
    if len(rows) * times > LARGEST_BAG:
        raise InputError(f"too many repetitions: a bag has at most {LARGEST_BAG:,} tasks")
    try:
        return make_bag(words, rows * times, columns, shell=shell)
    except InputError as error:
        raise InputError(
            f"{params.source}: {error}" if params is not None else str(error)
        ) from None
