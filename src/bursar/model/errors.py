"""Mistakes that a user can correct: one line that says what, where and how."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class BursarError(Exception):
    """Anything bursar tells its user in one line instead of a traceback.

    `exit_code` is what the command line ends with: 0 done, 1 internal, 2 usage (the default).
    """

    exit_code = 2


class InputError(BursarError):
    """A file, an option or a value that cannot be used as it is."""


class EmptyListError(InputError):
    """A list of arguments that is there and empty: no mistake, and no task."""

    exit_code = 0


class JournalError(BursarError):
    """A run's journal that cannot be read or written."""

    exit_code = 1


class DiskError(BursarError):
    """A disk or a directory that does not take what must be written."""

    exit_code = 1


class PolicyError(BursarError):
    """An entry of a policy that raised, or answered with what is no action."""

    exit_code = 1


class InvariantError(AssertionError):
    """The state contradicts itself: a bug in bursar, with the story that led there."""


def one_line(text: str) -> str:
    r"""The text with everything that cannot be printed written as an escape, such as `\n`."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def shown(value: object, width: int = 60) -> str:
    """The value as an error message quotes it: on one line, and not the whole of a long one."""
    if isinstance(value, int) and value.bit_length() > 4 * width:
        return "a number of very many digits"  # which Python refuses to print
    text = one_line(str(value) if not isinstance(value, dict | list) else "a table or list")
    return f"'{text}'" if len(text) <= width else f"'{text[:width]}...'"


def instead_of(unknown: str, known: Iterable[str]) -> str:
    """The end of a message about a name that is not known: the closest, or all there are."""
    names = list(known)
    close = get_close_matches(unknown, names, n=1)
    return f"did you mean '{close[0]}'?" if close else f"known: {', '.join(names)}"
