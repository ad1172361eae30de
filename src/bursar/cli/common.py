"""What several verbs share."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, pairwise, takewhile
from pathlib import Path
from typing import Any, Final, TypeVar

import rich_click as click
from click.shell_completion import CompletionItem

from bursar.cli.colors import console
from bursar.cli.gnu_options import HINTS
from bursar.cli.options import settings
from bursar.journal.runs import Home
from bursar.model.codec import encode
from bursar.model.errors import InputError, shown
from bursar.model.text import printable

WIDTH: Final = 100
"""columns of a table that no terminal shows"""
LONGEST_TYPED: Final = 4_000
"""letters of a command line that a run keeps"""
T = TypeVar("T")
V = TypeVar("V")

_CONTROLS: Final = re.compile("[\x7f-\x9f]")
"""control codes that JSON leaves as they are; it may only have them within text"""


def home() -> Home:
    return Home.of(os.environ)


def complete_run(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    return [CompletionItem(run.name) for run in home().list() if run.name.startswith(incomplete)]


def run_argument(*, required: bool = False) -> Callable[..., Any]:
    """The name of a run, or enough of it; without it, the most recent one."""
    return click.argument("run", required=required, shell_complete=complete_run)


class WordsCommand(click.RichCommand):
    """A verb of options and then words: options after a command belong to the command.

    After a job file, a workflow or the name of a run, options still belong to bursar.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if hint := HINTS.get(error.option_name):
                raise click.UsageError(f"no option {error.option_name}: {hint}", ctx) from None
            raise
        words = list(ctx.params.get("words") or ())
        has_options = len(words) > 1 and words[1].startswith("-")
        if has_options and ("--choose" in words[1:] or _is_file_or_run(words)):
            ctx.params.clear()
            options = given[: len(given) - len(words)]
            return super().parse_args(ctx, [*options, *words[1:], words[0]])
        misplaced = ", ".join(self._misplaced(words))
        if misplaced:
            note = f"note: the command {shown(words[0])} gets {misplaced}"
            quiet = bool(ctx.params.get("quiet"))
            say(f"{note}; options of bursar come before it", quiet=quiet)
        behind = dict.fromkeys(self._behind_separator(words))
        if behind:
            note = f"note: {', '.join(behind)} after ':::' is an argument of tasks"
            quiet = bool(ctx.params.get("quiet"))
            say(f"{note}; options of bursar come before the command", quiet=quiet)
        return rest

    def _behind_separator(self, words: Sequence[str]) -> Iterator[str]:
        """Arguments of tasks that look like options of bursar."""
        arguments = dropwhile(lambda word: not word.startswith(":::"), words)
        short = {name for name in self._names() if len(name) == 2 and not name[1].isdigit()}
        long = {name for name in self._names() if name.startswith("--")}
        return (word for word in arguments if word in short or word.partition("=")[0] in long)

    def _names(self) -> set[str]:
        return {name for param in self.params for name in param.opts if name.startswith("-")}

    def _misplaced(self, words: Sequence[str]) -> Iterator[str]:
        """Words after the command that look like options of bursar, with a value of no task."""
        ours = {name for name in self._names() if name.startswith("--")}
        behind = list(takewhile(lambda word: not word.startswith(":::"), words[1:]))
        for word, following in pairwise([*behind, ""]):
            name, _, value = word.partition("=")
            if name in ours and "{" not in (value or following):
                yield name


def _is_file_or_run(words: Sequence[str]) -> bool:
    from bursar.formats.recognise import named_kind  # late: most verbs do without

    with_arguments = any(word.startswith(":::") for word in words)
    if named_kind(words[0], with_arguments=with_arguments) is not None:
        return True
    return any(run.name == words[0] for run in home().list())


def is_workflow(words: Sequence[str]) -> bool:
    """Whether the words are a workflow file; one that is the name of a run, too, is refused."""
    from bursar.formats.recognise import named_kind  # late: most verbs do without

    if len(words) != 1 or named_kind(words[0]) != "workflow":
        return False
    if any(run.name == words[0] for run in home().list()):
        raise InputError(
            f"{shown(words[0])} is a workflow file here and the name of a run, too; write"
            f" ./{words[0]} for the file, or rename it"
        )
    return True


def typed_command() -> str:
    """This command line as it was typed, for reports; empty: there is none, or it is very long."""
    if Path(sys.argv[0]).name not in ("bursar", "__main__.py"):
        return ""
    typed = shlex.join(["bursar", *sys.argv[1:]])
    return typed if len(typed) <= LONGEST_TYPED else ""


words_settings = {**settings, "allow_interspersed_args": False}


# --- everything that is printed ------------------------------------------------------------------


def print_json(value: Any) -> None:
    """For programs; a terminal that is given it sees no control codes either."""
    text = encode(value).decode()
    click.echo(_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def say(line: str, *, quiet: bool = False, end: bool = True) -> None:
    """Tell people, on stderr; data goes to stdout. Without an `end`, the answer follows."""
    if not quiet:
        click.echo(printable(line), err=True, nl=end)


def print_line(line: str) -> None:
    """A line that was asked for, on stdout."""
    click.echo(printable(line))


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], right: str = "", *, err: bool = False
) -> None:
    """A table on stdout, or on stderr; `right` names the columns that are figures.

    It is as wide as the terminal, or fits 100 columns: text that has no room goes on below.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        side: Any = "right" if column in right.split() else "left"
        table.add_column(column, justify=side, overflow="fold")  # a name that is cut is of no use
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    width = None if (sys.stderr if err else sys.stdout).isatty() else WIDTH
    printer = console(width=width, err=err)
    with printer.capture() as captured:
        printer.print(table)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()), err=err)


def write_text(target: str, text: str) -> None:
    """A file that was asked for; where it cannot be written, that is said in one line."""
    try:
        Path(target).write_text(text, "utf-8")
    except OSError as error:
        raise InputError(f"{target}: cannot write there: {error.strerror}") from None


def read_as(option: str, reader: Callable[[V], T], value: V) -> T:
    """The value of an option; a message about a mistake in it names the option."""
    try:
        return reader(value)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


def refuse_given(options: Mapping[str, object], why: str) -> None:
    """Refuse options that would have no effect, and say why."""
    for name, value in options.items():
        if value is not None:
            raise InputError(f"{why}: leave out --{name.replace('_', '-')}")


def refuse_for_sample(
    runtime: str | None, reliability: float | None, given: Mapping[str, object]
) -> None:
    """Refuse what a sample measures, and what would have no effect."""
    if runtime is not None:
        raise InputError("--runtime is for --tasks N without a command; a sample measures it")
    refuse_given(given, "tasks and their run times are those of the command")
    if reliability is not None:
        raise InputError("--reliability needs --assume or --joblog; a sample measures it")
