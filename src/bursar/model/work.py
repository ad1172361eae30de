"""Work: tasks, and bags of them.

A bag of a million tasks is a template and rows of arguments, or only a count: a task's command is
made when it is needed.
"""

from __future__ import annotations

import os.path
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from bursar.model.errors import InputError

_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_][\w.-]*|\d*(?:/?\.|//?)?|#)\}")


class Bag(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
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
    """the template is one word, given to /bin/sh with the arguments quoted"""
    label: str = ""
    """what the tasks are, where there is no command to show"""

    def command(self, index: int) -> tuple[str, ...]:
        """The argument list of the task at `index` (from 0)."""
        row = self.rows[index] if self.rows else ()
        if self.shell:
            quoted = tuple(shlex.quote(value) for value in row)
            return ("/bin/sh", "-c", self._fill(self.template[0], quoted, index))
        return tuple(self._fill(word, row, index) for word in self.template)

    def describe(self, index: int) -> str:
        """One line for people."""
        if not self.template:
            return self.label or "task"
        command = self.command(index)
        return command[2] if self.shell else shlex.join(command)

    def _fill(self, word: str, row: Sequence[str], index: int) -> str:
        if "{" not in word:
            return word
        values = dict(zip(self.columns, row, strict=True))

        def value_of(match: re.Match[str]) -> str:
            return _value(match.group(1), values, row, index, match.group(0))

        return _PLACEHOLDER.sub(value_of, word)


def _value(
    key: str, values: Mapping[str, str], row: Sequence[str], index: int, literal: str
) -> str:
    """What a placeholder stands for; text that only looks like one stays as it is."""
    if key == "#":
        return str(index + 1)
    if key in values:
        return values[key]
    digits = re.match(r"\d*", key)
    number = digits.group() if digits else ""
    form = key[len(number) :]
    if form and form not in _FORMS:
        return literal
    if number:
        if not 1 <= int(number) <= len(row):
            return literal
        text = row[int(number) - 1]
    else:
        text = " ".join(row)
    return _FORMS[form](text) if form else text


_FORMS: Final = {
    ".": lambda text: os.path.splitext(text)[0],
    "/": os.path.basename,
    "//": lambda text: os.path.dirname(text) or ".",
    "/.": lambda text: os.path.splitext(os.path.basename(text))[0],
}


def placeholders(template: Sequence[str]) -> list[str]:
    """The keys of all placeholders in a template, in order."""
    return [match.group(1) for word in template for match in _PLACEHOLDER.finditer(word)]


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
        raise InputError("the bag is empty: give arguments after ':::', or --params FILE")
    named = bool(columns)
    width = len(rows[0])
    names = tuple(columns) or tuple(str(number) for number in range(1, width + 1))
    words = (" ".join(template),) if shell else tuple(template)
    keys = placeholders(words)
    for key in keys:
        if named and key[:1].isalpha() and key not in names:
            raise InputError(f"no column '{key}' for {{{key}}}; the columns are {', '.join(names)}")
        if key.isdecimal() and not 1 <= int(key) <= width:
            raise InputError(f"{{{key}}}: each task has {width} argument(s)")
    if not keys and width:
        extra = tuple(f"{{{number}}}" for number in range(1, width + 1))
        words = (" ".join((*words, *extra)),) if shell else (*words, *extra)
    return Bag(
        count=len(rows),
        template=words,
        columns=names,
        rows=tuple(tuple(row) for row in rows),
        shell=shell,
    )
