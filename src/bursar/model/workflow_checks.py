"""Checking what people give a task: each function takes anything and gives one kind, or tells why
not. The messages do not say which task it is; who called knows, and says it before them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from posixpath import normpath
from typing import Final

from bursar.model.dag import PARTS, UNKNOWN
from bursar.model.errors import InputError, shown
from bursar.model.nested_files import plain_name
from bursar.model.reading import read_whole, read_words
from bursar.model.time import LONGEST, SECOND, Time, parse_duration

Duration = float | str
"""seconds at speed 1, or a text such as `90s`"""
FilesGiven = str | Iterable[str] | Mapping[str, int | None]
"""names, perhaps with sizes in bytes"""

RUNS: Final = ".bursar"
"""the directory of all runs, unless the user chose another"""
LARGEST_SIZE: Final = 2**62
"""the most bytes of a file"""
_PRIORITY: Final = 2**31 - 1
_MOST_SECONDS: Final = LONGEST / SECOND
_UNTOLD: Final = float("nan")


def reason(name: object) -> str:
    if not isinstance(name, str):
        return f"is {shown(name)}, which is not text"
    return f"{shown(name)} cannot be printed; rename it" if name else "is empty; write one"


def checked_words(value: str, what: str) -> str:
    try:
        return read_words(value)
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


def checked_kind(kind: str) -> str:
    if not isinstance(kind, str) or not kind.isprintable():
        raise InputError(f"kind: {shown(kind)} must be text that can be printed")
    return kind


def checked_command(run: str | Sequence[str]) -> tuple[str, ...]:
    """The words of a command that a process can be given."""
    words = ("/bin/sh", "-c", run) if isinstance(run, str) else tuple(run)
    if not all(isinstance(word, str) for word in words):
        raise InputError("run: must be a text, or a list of texts")
    joined = "".join(words)
    if not words[0].strip() or (isinstance(run, str) and not run.strip()):
        raise InputError("run: there is no command; write one, or leave it out to simulate only")
    if "\0" in joined or not _is_unicode(joined):
        raise InputError(
            "run: contains a NUL or invalid Unicode, which commands cannot take; remove it"
        )
    return words


def _is_unicode(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode("utf-8"))
    except UnicodeEncodeError:
        return False


def checked_profile(
    value: Duration | Mapping[str, Duration] | None,
) -> tuple[float, tuple[float, ...] | None]:
    """The run time, and its parts where they are given."""
    if type(value) is float and 0 <= value <= _MOST_SECONDS:  # first what millions of them are
        return value, None
    if value is None:
        return _UNTOLD, None
    if not isinstance(value, Mapping):
        return _seconds(value), None
    parts = _parts(value)
    return sum(parts), parts


def _seconds(value: Duration) -> float:
    if isinstance(value, str):
        return parse_duration(value) / SECOND
    if isinstance(value, bool) or not isinstance(value, float | int):
        raise InputError("runtime: must be a number of seconds, or a text such as '90s'")
    if not 0 <= value <= _MOST_SECONDS:
        raise InputError(f"runtime: {shown(value)} is not a time from 0 s to a hundred years")
    return float(value)


def _parts(value: Mapping[str, Duration]) -> tuple[float, ...]:
    for key in value:
        if key not in PARTS:
            raise InputError(f"runtime: unknown part {shown(key)}; known: {', '.join(PARTS)}")
    return tuple(_seconds(value.get(part, 0.0)) for part in PARTS)


def checked_files(given: FilesGiven) -> dict[str, int]:
    """The files with their sizes, checked; each by its plain name."""
    return _by_plain_names(_checked_names(given))


def _checked_names(given: FilesGiven) -> dict[str, int]:
    if isinstance(given, Mapping):
        found = {name: checked_size(size) for name, size in given.items()}
    else:
        found = dict.fromkeys((given,) if isinstance(given, str) else given, UNKNOWN)
    for name in found:
        if not isinstance(name, str) or not name or not name.isprintable():
            raise InputError(f"the name of a file {reason(name)}")
    return found


def _by_plain_names(found: dict[str, int]) -> dict[str, int]:
    """The larger size counts where a file has two."""
    if all(plain_name(name) == name for name in found):
        return found
    plain = dict.fromkeys(map(plain_name, found), UNKNOWN)
    for name, size in found.items():
        plain[plain_name(name)] = max(size, plain[plain_name(name)])
    return plain


def checked_outputs(given: FilesGiven) -> dict[str, int]:
    """The same of files that a task writes, which must leave room for everything else."""
    found = _checked_names(given)
    for name in found:
        if name[-1] not in "./" and RUNS not in name:
            continue  # what nearly all of them are
        parts = normpath(name).split("/")
        if all(part in ("", ".", "..") for part in parts):
            raise InputError(
                f"it would write {shown(name)}, the directory it runs in or one around it;"
                " name what it writes there"
            )
        if RUNS in parts:
            raise InputError(f"it would write {shown(name)}, where the runs are; choose another")
    return _by_plain_names(found)


def _size(value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_SIZE:
        raise InputError(f"{shown(value)} is not a number of bytes; use a whole number, 0 or more")
    return value


def checked_deadline(value: Time | str) -> Time:
    time = parse_duration(value) if isinstance(value, str) else value
    if isinstance(time, bool) or not isinstance(time, int) or not 0 < time <= LONGEST:
        raise InputError(f"deadline: {shown(value)} is not a time; write for example '2h'")
    return time


def checked_size(size: int | None) -> int:
    return UNKNOWN if size is None else _size(size)


def checked_priority(value: int) -> int:
    try:
        return read_whole(value, -_PRIORITY, _PRIORITY)
    except InputError as error:
        raise InputError(f"priority: {error}") from None
