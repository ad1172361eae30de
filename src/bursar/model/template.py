"""Placeholders: how a command with braces becomes the command of one task.

| placeholder | stands for |
|---|---|
| `{}` | all arguments of the task |
| `{1}` `{2}` | the first, the second argument |
| `{-1}` `{-2}` | the last argument, the last but one |
| `{name}` | the argument of this column; a column's name comes before every other meaning |
| `{.}` `{1.}` `{name.}` | without its extension: `a/b.c` becomes `a/b` |
| `{/}` `{1/}` `{name/}` | without its directory: `b.c` |
| `{//}` `{1//}` `{name//}` | only the directory: `a`, or `.` where there is none |
| `{/.}` `{1/.}` `{name/.}` | without directory and extension: `b` |
| `{#}` | the number of the task, counted from 1 |
| `{%}` | the number of the place where it runs: no two tasks that run at once have the same |

They mean what they mean to GNU parallel. What only GNU parallel knows, `{= perl =}` and the like of
`{..}`, is refused. Braces with anything else between them are text, and so is `${...}`, which
belongs to the shell.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

_BRACES: Final = re.compile(r"(?<!\$)\{([^{}]*)\}")
_EXTENSION: Final = re.compile(r"\.[^/.]*\Z")
_NUMBER: Final = re.compile(r"-?\d{1,9}", re.ASCII)
_PERL: Final = re.compile(r"\{-?\d*=.*?=\}", re.DOTALL)
_FOREIGN: Final = re.compile(r"-?\d{0,9}[./+#%]+", re.ASCII)
"""what may be a placeholder of GNU parallel, if it is none of ours"""
SLOT: Final = "%"
_NAME: Final = re.compile(r"[^\W\d][\w-]*")


def _without_extension(text: str) -> str:
    return _EXTENSION.sub("", text)


def _without_directory(text: str) -> str:
    return text.rpartition("/")[2]


def _directory(text: str) -> str:
    return posixpath.dirname(text.rstrip("/") or text[:1]) or "."


_FORMS: Final[dict[str, Callable[[str], str]]] = {
    "/.": lambda text: _without_extension(_without_directory(text)),
    "//": _directory,
    ".": _without_extension,
    "/": _without_directory,
    "": str,
}


class Hole(NamedTuple):
    """A placeholder: which arguments it stands for, and in which form."""

    at: int
    """where it begins in its word"""
    places: tuple[int, ...]
    """of the arguments in the row"""
    form: str
    is_number: bool = False
    """it stands for the number of the task"""
    is_slot: bool = False
    """it stands for the place where the task runs, which nobody knows before"""

    def values(self, row: Sequence[str], index: int) -> list[str]:
        if self.is_number:
            return [str(index + 1)]
        if self.is_slot:
            return [f"{{{SLOT}}}"]
        return [_FORMS[self.form](row[place]) for place in self.places]


class Missing(NamedTuple):
    """A placeholder for an argument that the tasks do not have."""

    key: str
    what: str
    is_name: bool
    """it may be text that only looks like a placeholder, where the columns have no names"""
    is_foreign: bool = False
    """GNU parallel may know it; bursar does not"""


@lru_cache(maxsize=256)
def pieces(word: str, columns: tuple[str, ...]) -> tuple[str | Hole, ...]:
    """A word taken apart into text and placeholders."""
    found: list[str | Hole] = []
    end = 0
    for match in _BRACES.finditer(word):
        hole = _resolve(match.group(1), columns, match.start())
        if isinstance(hole, Hole):
            found += [word[end : match.start()], hole]
            end = match.end()
    found.append(word[end:])
    return tuple(piece for piece in found if piece)


def holes(word: str, columns: tuple[str, ...]) -> list[Hole]:
    return [piece for piece in pieces(word, columns) if isinstance(piece, Hole)]


def missing(word: str, columns: tuple[str, ...]) -> list[Missing]:
    """The placeholders of a word that nothing can be put into."""
    foreign = perl_in(word)
    resolved = (_resolve(key, columns) for key in _BRACES.findall(_PERL.sub("", word)))
    return [*foreign, *(hole for hole in resolved if isinstance(hole, Missing))]


def perl_in(text: str) -> list[Missing]:
    """Expressions that only GNU parallel knows; in a whole command they may be several words."""
    return [Missing(perl[1:-1], "", False, is_foreign=True) for perl in _PERL.findall(text)]


def _resolve(key: str, columns: tuple[str, ...], at: int = 0) -> Hole | Missing | None:
    """What stands between braces; None: only text."""
    if key in columns:
        return Hole(at, (columns.index(key),), "")
    if key == "#":
        return Hole(at, (), "", is_number=True)
    if key == SLOT:
        return Hole(at, (), "", is_slot=True)
    form = next(form for form in _FORMS if key.endswith(form))
    base = key.removesuffix(form)
    if not base:
        return Hole(at, tuple(range(len(columns))), form) if columns else Missing(key, base, False)
    if base in columns:
        return Hole(at, (columns.index(base),), form)
    if _NUMBER.fullmatch(base):
        place = int(base) - 1 if int(base) > 0 else int(base) + len(columns)
        if base != "0" * len(base) and 0 <= place < len(columns):
            return Hole(at, (place,), form)
        return Missing(key, base, False)
    if _FOREIGN.fullmatch(key):
        return Missing(key, key, False, is_foreign=True)
    return Missing(key, base, True) if _NAME.fullmatch(base) else None
