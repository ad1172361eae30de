"""Work: bags of tasks, and work as it arrives.

A bag of a million tasks is a template and rows of arguments, or only a count: a task's command is
made when it is needed.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from bursar.model import shell as sh
from bursar.model.errors import InputError, one_line, shown
from bursar.model.goal import Goal
from bursar.model.template import Hole, holes, missing, perl_in, pieces
from bursar.model.text import counted
from bursar.model.time import Time
from bursar.model.workflow import Workflow

if TYPE_CHECKING:
    from bursar.model.dag import Dag

LARGEST_BAG: Final = 10_000_000
"""the most tasks in one bag; more of them need several bags"""


class Bag(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag=True):
    """Independent tasks: one per row of arguments.

    Invariant: `rows` is empty or has `count` rows of `len(columns)` values each.
    """

    count: int
    template: tuple[str, ...] = ()
    """the command with placeholders, word by word; empty: Python calls or simulated tasks"""
    columns: tuple[str, ...] = ()
    """names of the arguments; `1`, `2`, ... where they have none"""
    rows: tuple[tuple[str, ...], ...] = ()
    shell: bool = False
    """the template is one word, given to /bin/sh; nothing in an argument is read as code"""
    label: str = ""
    """what the tasks are, where there is no command to show"""

    def command(self, index: int) -> tuple[str, ...]:
        """The argument list of the task at `index` (from 0)."""
        row = self.rows[index] if self.rows else ()
        if self.shell:
            return ("/bin/sh", "-c", sh.script(self.template[0], self.columns, row, index))
        if any("{%}" in word and _has_slot(word, self.columns) for word in self.template):
            return ("/bin/sh", "-c", sh.exec_script(self.template, self.columns, row, index))
        return self.words(index)

    def words(self, index: int) -> tuple[str, ...]:
        """The words of its command; `{%}` as it stands, since it is known when the task begins."""
        row = self.rows[index] if self.rows else ()
        words: list[str] = []
        for word in self.template:
            words += _fill(word, self.columns, row, index)
        return tuple(words)

    def describe(self, index: int) -> str:
        """One line for people."""
        return one_line(self.typed(index))

    def typed(self, index: int) -> str:
        """The command as somebody would type it, with every character as it is."""
        if not self.template:
            return self.label or "task"
        if not self.shell:
            return shlex.join(self.words(index))
        row = self.rows[index] if self.rows else ()
        return sh.legible(self.template[0], self.columns, row, index)


class Work(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A bag or a workflow as it arrives: whose it is, and how much it matters."""

    tasks: Bag | Workflow
    owner: str = ""
    """whose account pays, where a run has several"""
    priority: int = 0
    deadline: Time | None = None
    """since its arrival"""

    @classmethod
    def of_dag(cls, dag: Dag) -> Work:
        """A workflow as it was read or built, with the owner, priority and deadline it tells."""
        return cls(Workflow.of(dag), dag.owner, dag.priority, dag.deadline)

    @property
    def count(self) -> int:
        return self.tasks.count

    @property
    def workflow(self) -> Workflow | None:
        """Its tasks, where they are a workflow."""
        return self.tasks if isinstance(self.tasks, Workflow) else None

    def goal(self, asked: Goal) -> Goal:
        """What is wanted: as wished, with its own deadline where that has none."""
        return asked.until(self.deadline) if asked.deadline is None else asked


def _has_slot(word: str, columns: tuple[str, ...]) -> bool:
    return any(hole.is_slot for hole in holes(word, columns))


def _fill(word: str, columns: tuple[str, ...], row: Sequence[str], index: int) -> list[str]:
    """The words that a word of the template becomes.

    A word that is nothing but a placeholder becomes one word for each argument it stands for;
    within a longer word they are joined by a space.
    """
    parts = pieces(word, columns)
    if len(parts) == 1 and isinstance(parts[0], Hole):
        return parts[0].values(row, index)
    return [
        "".join(
            " ".join(part.values(row, index)) if isinstance(part, Hole) else part for part in parts
        )
    ]


def make_bag(
    template: Sequence[str],
    rows: Sequence[Sequence[str]],
    columns: Sequence[str] = (),
    *,
    shell: bool = False,
) -> Bag:
    """A bag of commands; without a placeholder the arguments are appended.

    With named columns every `{name}` must be one of them; without, other braces are left alone.
    """
    if not rows:
        raise InputError("the bag is empty: give arguments for at least one task")
    _check_size(len(rows))
    width = len(rows[0])
    if not width:
        raise InputError("task 1 has no arguments: give some, or repeat the command instead")
    names = tuple(columns) or tuple(str(number) for number in range(1, width + 1))
    for place, name in enumerate(columns):
        if name in columns[:place]:
            raise InputError(f"the column {shown(name)} appears twice; rename one")
    for number, row in enumerate(rows, 1):
        if len(row) != len(names):
            given = counted(len(row), "argument")
            raise InputError(f"task {number} has {given}, but {len(names)} are needed")
        _check_text(row, f"an argument of task {number}")
    words = _check_template(template, names, named=bool(columns), shell=shell)
    if not any(holes(word, names) for word in words):
        words = (words[0] + " {}",) if shell else (*words, "{}")
    return Bag(
        count=len(rows),
        template=words,
        columns=names,
        rows=tuple(tuple(row) for row in rows),
        shell=shell,
    )


def repeated_bag(template: Sequence[str], count: int, *, shell: bool = False) -> Bag:
    """The same command `count` times; only `{#}` tells the tasks apart."""
    if count < 1:
        raise InputError("the bag is empty: repeat the command at least once")
    _check_size(count)
    words = _check_template(template, (), named=False, shell=shell)
    return Bag(count=count, template=words, shell=shell)


def _check_template(
    template: Sequence[str], columns: tuple[str, ...], *, named: bool, shell: bool
) -> tuple[str, ...]:
    """The words of the template, fit to be filled from these columns."""
    words = (" ".join(template),) if shell else tuple(template)
    if not words or not words[0].strip():
        raise InputError("there is no command; write one, for example 'sh -c {}'")
    _check_text(words, "the command")
    for found in (perl_in(" ".join(words)), *(missing(word, columns) for word in words)):
        for hole in found:
            if hole.is_name and named:
                raise InputError(
                    f"no column {shown(hole.what)} for {{{hole.key}}}; "
                    f"the columns are {', '.join(columns)}"
                )
            if hole.is_foreign:
                raise InputError(
                    f"{shown(f'{{{hole.key}}}')}: bursar has no such placeholder; if the"
                    " braces are text, put the command into a script"
                )
            if not hole.is_name:
                raise InputError(
                    f"{{{hole.key}}}: a task has {counted(len(columns), 'argument')}; "
                    "if the braces are text, put the command into a script"
                )
    return words


def _check_size(count: int) -> None:
    if count > LARGEST_BAG:
        raise InputError(f"too many tasks: a bag has at most {LARGEST_BAG:,}")


def _check_text(words: Sequence[str], what: str) -> None:
    """Whether a process can be given these words: no NUL, and nothing but Unicode."""
    joined = "".join(words)
    if "\0" in joined:
        raise InputError(f"{what} contains a NUL character, which commands cannot take; remove it")
    try:
        joined.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            f"{what} is not UTF-8 text: {shown(joined)}; rename or convert it"
        ) from None
