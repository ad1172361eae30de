"""The keys of a job file, and how the value of each is read and checked.

The same readers take what the command line says; see `bursar.formats.job`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from bursar.formats.commands import Command, Source
from bursar.formats.market import market_of
from bursar.formats.params import Params, inline_params, text_of
from bursar.model.budget_text import WrittenBudget, read_budget
from bursar.model.deviation import read_any_deviation
from bursar.model.errors import InputError, instead_of, shown
from bursar.model.market import Market
from bursar.model.numbers import LAST_SEED
from bursar.model.reading import (
    read_duration,
    read_flag,
    read_whole,
    read_words,
)
from bursar.model.site import PLACES
from bursar.model.time import Time
from bursar.model.work import LARGEST_BAG
from bursar.policies import registry
from bursar.rent.local import usable_cpus

MOST_JOBS: Final = 1_000
"""tasks at once on this computer"""
_JOBS: Final = re.compile(r"(?P<sign>[-+]?)(?P<number>\d{1,20})(?P<percent>%?)", re.ASCII)
_RUN_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def read_fields(
    table: Mapping[str, Any], directory: Path, label: Callable[[str], str]
) -> dict[str, Any]:
    """The fields of a job, checked; a mistake is reported after the label of its key."""
    fields: dict[str, Any] = {}
    for key, value in table.items():
        try:
            found = READERS[key](value, directory)
        except InputError as error:
            raise InputError(f"{label(key)}: {error}") from None
        if isinstance(found, WrittenBudget):
            amount = found.amount
            fields |= {"budget": amount.money, "currency": amount.currency, "every": found.every}
            continue
        field = "sources" if key in ("args", "arg_file") else key
        fields[field] = (*fields.get(field, ()), *found) if field == "sources" else found
    return fields


def _simple(reader: Callable[[Any], Any]) -> Callable[[Any, Path], Any]:
    return lambda value, _: reader(value)


def _read_command(value: Any, _: Path) -> Command:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError("must be text, or a list of texts")
    if not words or not words[0].strip():
        raise InputError("is empty; write for example './simulate.sh {}'")
    parts = value.split() if isinstance(value, str) else words
    for word in (":::", "::::", ":::+", "::::+"):
        if word in parts:
            raise InputError(f"'{word}' is for the command line; write args = [...] or arg_file")
    return value if isinstance(value, str) else tuple(words)


def _read_args(value: Any, _: Path) -> tuple[Source, ...]:
    if not isinstance(value, list) or not value:
        raise InputError('must be a list of arguments, for example ["1", "2"]')
    lists = value if any(isinstance(item, list) for item in value) else [value]
    sources = []
    for items in lists:
        if not isinstance(items, list) or not items:
            raise InputError("must be a list of arguments, or a list of such lists, none empty")
        sources.append(Source(values=tuple(text_of(item) for item in items)))
    return tuple(sources)


def _read_path(value: Any, directory: Path) -> str:
    path = read_words(value)
    return path if path == "-" else str(directory / path)


def _read_arg_file(value: Any, directory: Path) -> tuple[Source, ...]:
    files = value if isinstance(value, list | tuple) else [value]
    if not files:
        raise InputError("must be a file, or a list of files")
    return tuple(Source(file=_read_path(file, directory)) for file in files)


def _read_params(value: Any, directory: Path) -> str | Params:
    if isinstance(value, list):
        return inline_params(value, "params")
    return _read_path(value, directory)


def _read_market(value: Any, directory: Path) -> str | Market:
    if isinstance(value, dict):
        return market_of(value, "the table")
    return _read_path(value, directory)


def _read_fleet(value: Any, _: Path) -> str:
    if not isinstance(value, dict):
        return read_words(value)
    return ",".join(f"{name}={read_whole(count)}" for name, count in value.items())


def _read_name(value: Any, _: Path) -> str:
    name = read_words(value)
    if not _RUN_NAME.fullmatch(name):
        raise InputError(
            f"{shown(name)} may contain only letters, digits and . _ -, must begin with a"
            " letter or digit, and has at most 64 characters"
        )
    return name


def _entry(role: str) -> Callable[[Any, Path], str]:
    def read(value: Any, _: Path) -> str:
        text = read_words(value)
        name, known = registry.plain_name(text), registry.names(role)
        if name not in known:
            raise InputError(f"no {role} {shown(name)}; {instead_of(name, known)}")
        if name != text:
            registry.find(role, text)  # which refuses wrong parameters
        return text

    return read


def _choice(*known: str) -> Callable[[Any, Path], str]:
    def read(value: Any, _: Path) -> str:
        word = read_words(value)
        if word not in known:
            raise InputError(f"{shown(word)} is not known; {instead_of(word, known)}")
        return word

    return read


def read_confidence(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.5 <= value < 1:
        raise InputError("must be a number from 0.5 to below 1")
    return float(value)


def read_colsep(value: Any) -> str:
    """A regular expression."""
    if not isinstance(value, str) or not value:
        raise InputError("must be what separates columns, a regular expression such as ','")
    try:
        re.compile(value)
    except (re.error, RecursionError) as error:
        raise InputError(f"{shown(value)} is not a regular expression: {error}") from None
    return value


def read_jobs(value: Any) -> int:
    """`4`, or by the processors here: `50%`, `+1`, `-1`; `0` is as many as possible."""
    is_number = type(value) is int and 0 <= value < 10**20
    text = str(value).strip() if is_number or isinstance(value, str) else ""
    found = _JOBS.fullmatch(text)
    if found is None:
        raise InputError(f"{shown(value)} must be tasks at once: 4, 50%, +1 or -1")
    number, processors = int(found["number"]), usable_cpus()
    if found["sign"]:
        number = processors + (number if found["sign"] == "+" else -number)
    elif found["percent"]:
        number = number * processors // 100
    elif number == 0:
        return MOST_JOBS
    if number > MOST_JOBS:
        raise InputError(f"{shown(value)} are too many at once; use at most {MOST_JOBS:,}")
    return max(1, number)


def _read_time(value: Any) -> Time:
    return read_duration(value, least=1)


READERS: Final[Mapping[str, Callable[[Any, Path], Any]]] = {
    "command": _read_command,
    "workflow": _read_path,
    "files": _choice("shared", "copied"),
    "confidence": _simple(read_confidence),
    "budget_as": _choice("percentile", "expectation"),
    "deviation": _simple(read_any_deviation),
    "performance": _read_path,
    "args": _read_args,
    "arg_file": _read_arg_file,
    "params": _read_params,
    "colsep": _simple(read_colsep),
    "null": _simple(read_flag),
    "runtime": _simple(_read_time),
    "repeat": _simple(lambda value: read_whole(value, 1, LARGEST_BAG)),
    "jobs": _simple(read_jobs),
    "shell": _simple(read_flag),
    "market": _read_market,
    "on": _choice(*PLACES),
    "scheduler": _simple(read_words),
    "trust_cluster": _simple(read_flag),
    "listen": _simple(read_words),
    "shared": _simple(read_flag),
    "budget": _simple(read_budget),
    "best_effort": _simple(read_flag),
    "deadline": _simple(_read_time),
    "fleet": _read_fleet,
    "retries": _simple(read_whole),
    "timeout": _simple(_read_time),
    "provisioner": _entry("provisioner"),
    "placer": _entry("placer"),
    "replicator": _entry("replicator"),
    "advisor": _entry("advisor"),
    "faithful": _simple(read_flag),
    "prefer": _simple(read_words),
    "strategy": _simple(read_words),
    "sabotage": _simple(_read_time),
    "seed": _simple(lambda value: read_whole(value, 0, LAST_SEED)),
    "name": _read_name,
    "output": _read_path,
    "quiet": _simple(read_flag),
    "json": _simple(read_flag),
}
"""Every key of a job file, and what checks it; the directory is the one of the job file."""

KEYS: Final = tuple(READERS)
