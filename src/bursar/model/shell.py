"""Putting arguments into a command for /bin/sh so that nothing in them is ever read as code.

An argument of harmless letters is put in as it is. Any other is set as a variable before the
command, and the variable stands where the placeholder stood: between double quotes, whatever
quotes the placeholder is in. So `{}`, `"{}"` and `'{}'` all give exactly the argument, also where
quoting it in place would fail: in here-documents, comments and nested substitutions.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Final

from bursar.model.template import Hole, pieces

_VARIABLE: Final = "BURSAR_ARG_"
JOB_SLOT: Final = "BURSAR_JOB_SLOT"
"""the variable that tells a task the number of the place where it runs"""


def script(text: str, columns: tuple[str, ...], row: Sequence[str], index: int) -> str:
    """The command of one task, safe to be given to `/bin/sh -c`."""
    settings: list[str] = []
    numbers = count(1)

    def put(value: str, quotes: str) -> str:
        if value and shlex.quote(value) == value:
            return value
        name = f"{_VARIABLE}{next(numbers)}"
        settings.append(f"{name}={shlex.quote(value)}; ")
        return _expansion(name, quotes)

    parts = []
    for piece in pieces(text, columns):
        if isinstance(piece, str):
            parts.append(piece)
        else:
            quotes = quoting(text)[piece.at]
            if piece.is_slot:
                parts.append(_expansion(JOB_SLOT, quotes))
                continue
            parts.append(" ".join(put(value, quotes) for value in piece.values(row, index)))
    return "".join((*settings, *parts))


def exec_script(
    template: Sequence[str], columns: tuple[str, ...], row: Sequence[str], index: int
) -> str:
    """A command of plain words as a script, for what only its environment tells: `{%}`."""
    words = ["exec"]
    for word in template:
        parts = pieces(word, columns)
        alone = parts[0] if len(parts) == 1 else None
        if isinstance(alone, Hole) and not alone.is_slot:
            words += map(shlex.quote, alone.values(row, index))
        else:
            words.append("".join(_quoted(part, row, index) for part in parts) or "''")
    return " ".join(words)


def _quoted(part: str | Hole, row: Sequence[str], index: int) -> str:
    if isinstance(part, str):
        return shlex.quote(part)
    if part.is_slot:
        return _expansion(JOB_SLOT, " ")
    return shlex.quote(" ".join(part.values(row, index)))


def legible(text: str, columns: tuple[str, ...], row: Sequence[str], index: int) -> str:
    """The same command as a person would write it: to be read, not to be run."""

    def put(hole: Hole) -> str:
        is_quoted = quoting(text)[hole.at] != " " or hole.is_slot
        values = hole.values(row, index)
        return " ".join(value if is_quoted else shlex.quote(value) for value in values)

    return "".join(
        put(piece) if isinstance(piece, Hole) else piece for piece in pieces(text, columns)
    )


def _expansion(name: str, quotes: str) -> str:
    """A variable's value as it is, as one word, where these quotes are open."""
    if quotes == "'":
        return f"'\"${{{name}}}\"'"
    return f"${{{name}}}" if quotes == '"' else f'"${{{name}}}"'


@lru_cache(maxsize=64)
def quoting(text: str) -> str:
    """For every letter of a shell command the quotes it stands in: `'`, `"`, or a space for none.

    A backslash outside quotes, and what it escapes, are marked by a backslash. Arithmetic counts as
    double quotes: nothing is split in `$((...))`, and quotes would harm.
    """
    found: list[str] = []
    closers: list[str] = []
    """what ends the innermost quotes, substitution or brackets"""
    while len(found) < len(text):
        at = len(found)
        inner = closers[-1] if closers else ""
        taken = _step(text, at, inner, closers)
        plain = "\\" if text[at] == "\\" else " "
        found += [{"'": "'", '"': '"', "))": '"'}.get(inner, plain)] * taken
    return "".join(found[: len(text)])


def _step(text: str, at: int, inner: str, closers: list[str]) -> int:
    """Read on at `at`, opening and closing what begins and ends there: how many letters it took."""
    letter = text[at]
    if inner and text.startswith(inner, at):
        closers.pop()
        return len(inner)
    if inner == "'":
        return 1
    if letter == "\\":
        return 2
    if text.startswith("$((", at):
        closers.append("))")
        return 3
    if text.startswith("$(", at):
        closers.append(")")
        return 2
    if letter in '"`' or (letter in "'(" and inner not in ('"', "))")):
        closers.append(")" if letter == "(" else letter)
        return 1
    starts_word = at == 0 or text[at - 1] in " \t\n;"
    if letter == "#" and starts_word and inner not in ('"', "))"):
        return (text + "\n").index("\n", at) - at
    return 1
