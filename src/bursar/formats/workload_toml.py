"""Workload files in TOML: what to draw, or which workflow files arrive when.

    count = 3000
    seed = 1
    kinds = {montage = 1, ligo = 1, sipht = 2}   # with shares, or a list of names
    classes = "30-38:75,40-198:20,200-600:5"     # sizes and their shares
    totals = "hyper-gamma"                       # or "generated", or a mean such as "1h"
    owners = ["ann", "bob"]                      # in turn; works have no owner if not given
    priorities = "0-9"                           # each equally likely; 0 if not given
    bandwidth = "280 MB/s"                       # of files; they take no time if not given

    [arrivals]
    utilization = 0.9        # of `machines`; or rate = "97/h"; or file and column; or batch = true
    machines = 100

or, instead of `kinds` and `count`, works one by one:

    [[works]]
    file = "variants.yaml"   # a path from the directory of the workload file
    at = "2m"
    owner = "ann"
    priority = 2
    deadline = "3h"
    number = 7               # of a file with several workflows
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from bursar.formats.params import read_params
from bursar.formats.workflow import read_workflow
from bursar.model.bandwidth import read_bandwidth
from bursar.model.errors import InputError, instead_of, shown
from bursar.model.numbers import LAST_SEED, parse_number, parse_whole
from bursar.model.reading import read_duration, read_flag, read_toml, read_whole, read_words
from bursar.model.time import SECOND, parse_duration
from bursar.model.work import Work
from bursar.model.workload import Arrival, Workload
from bursar.simulate.workloads.generate import generate
from bursar.simulate.workloads.kinds import KINDS
from bursar.simulate.workloads.spec import (
    CLASSES,
    HYPER_GAMMA,
    MOST_WORKS,
    Arrivals,
    Batch,
    Poisson,
    SizeClass,
    Totals,
    Traced,
    WorkloadSpec,
)

Read = TypeVar("Read")

MOST_MACHINES: Final = 1_000_000
_DRAWN_KEYS: Final = (
    *("name", "kinds", "count", "seed", "classes", "totals", "arrivals"),
    *("owners", "priorities", "bandwidth"),
)
_ARRIVAL_KEYS: Final = ("utilization", "machines", "rate", "file", "column", "batch")
_WORK_KEYS: Final = ("file", "at", "owner", "priority", "deadline", "number")
_CLASS: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?:([\d.]{1,20})%?")
_PRIORITIES: Final = re.compile(r"(\d{1,6})-(\d{1,6})")
_RATE: Final = re.compile(r"([\d.]{1,20})\s*/\s*(\w{1,20})")


def parse_workload_toml(data: bytes, source: str, directory: Path) -> Workload:
    """The workload that is described; files are looked for in this directory."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{source}: not UTF-8 text; convert it") from None
    table = read_toml(text, source)
    try:
        if "works" in table:
            return _composed(table, directory)
        return generate(_spec(table, directory))
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


# --- drawn ---------------------------------------------------------------------------------------


def _spec(table: Mapping[str, Any], directory: Path) -> WorkloadSpec:
    _check_keys(table, _DRAWN_KEYS)
    if "kinds" not in table:
        raise InputError("no works; add kinds and count, or [[works]] with file and at")
    if "count" not in table:
        raise InputError("no count; add the number of workflows, for example count = 3000")
    usual: Arrivals = Poisson(utilization=0.9)
    return WorkloadSpec(
        kinds=_read(table, "kinds", read_kinds, ()),
        count=_read(table, "count", lambda value: read_whole(value, 1, MOST_WORKS), 1),
        seed=_read(table, "seed", lambda value: read_whole(value, 0, LAST_SEED), 0),
        classes=_read(table, "classes", read_classes, CLASSES),
        totals=_read(table, "totals", read_totals, HYPER_GAMMA),
        arrivals=_read(
            table,
            "arrivals",
            lambda value: _read_arrivals(value, directory),
            usual,
        ),
        owners=_read(table, "owners", _read_owners, ()),
        priorities=_read(table, "priorities", _read_priorities, None),
        bandwidth=_read(table, "bandwidth", read_bandwidth, None),
        name=_read(table, "name", read_words, "workload"),
    )


def _read_owners(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise InputError('must be a list of names, for example ["ann", "bob"]')
    return tuple(map(read_words, value))


def _read_priorities(value: Any) -> tuple[int, int]:
    match = _PRIORITIES.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[1]) > int(match[2]):
        raise InputError('must be the lowest and the highest, for example "0-9"')
    return int(match[1]), int(match[2])


def read_kinds(value: Any) -> tuple[tuple[str, float], ...]:
    """A table of shares, a list of names, or names with commas between them."""
    if isinstance(value, str):
        value = [name.strip() for name in value.split(",") if name.strip()]
    shares = value if isinstance(value, Mapping) else None
    if shares is None and isinstance(value, list):
        shares = dict.fromkeys(map(read_words, value), 1)
    if not shares:
        raise InputError(f"must be names of kinds, or a table with shares; {instead_of('', KINDS)}")
    for name in shares:
        if name not in KINDS:
            raise InputError(f"no kind of workflows {shown(name)}; {instead_of(name, KINDS)}")
    return tuple((name, _number(share)) for name, share in shares.items())


def read_classes(value: Any) -> tuple[SizeClass, ...]:
    """`30-38:75,40-198:20`: sizes from and to, and the share of workflows that have them."""
    if not isinstance(value, str) or not value.strip():
        raise InputError('must be sizes with shares, for example "30-38:75,40-198:25"')
    found = []
    for part in value.split(","):
        match = _CLASS.fullmatch(part.strip())
        if match is None:
            raise InputError(f"{shown(part)} is not a class of sizes; write for example 30-38:75")
        least, most, share = match.groups()
        found.append(SizeClass(parse_number(share), parse_whole(least), parse_whole(most or least)))
    return tuple(found)


def read_totals(value: Any) -> Totals:
    if value == "hyper-gamma":
        return HYPER_GAMMA
    if value == "generated":
        return "generated"
    try:
        return read_duration(value, least=1) / SECOND
    except InputError:
        message = 'must be "hyper-gamma", "generated" or the mean of all workflows, such as "1h"'
        raise InputError(message) from None


def _read_arrivals(value: Any, directory: Path) -> Arrivals:
    if not isinstance(value, Mapping):
        raise InputError("must be a table, for example {utilization = 0.9, machines = 100}")
    _check_keys(value, _ARRIVAL_KEYS)
    given = [key for key in ("utilization", "rate", "file", "batch") if key in value]
    if len(given) != 1:
        raise InputError("must have exactly one of utilization, rate, file and batch")
    if "machines" in value and given != ["utilization"]:
        raise InputError("machines is for a utilization; remove it")
    if "column" in value and given != ["file"]:
        raise InputError("column is for a file with recorded arrivals; remove it")
    if given == ["batch"]:
        if not _read(value, "batch", read_flag, False):
            raise InputError("batch must be true, or left out")
        return Batch()
    if given == ["rate"]:
        return Poisson(rate=_read(value, "rate", read_rate, 0.0))
    if given == ["utilization"]:
        machines = _read(value, "machines", lambda one: read_whole(one, 1, MOST_MACHINES), 100)
        return Poisson(utilization=_read(value, "utilization", _number, 0.0), speed=machines)
    return Traced(_column(value, directory))


def read_rate(value: Any) -> float:
    """Arrivals a second, from a text such as `97/h`."""
    match = _RATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise InputError('must be arrivals for a time, for example "97/h"')
    return parse_number(match[1]) * SECOND / max(1, parse_duration(match[2]))


def _column(table: Mapping[str, Any], directory: Path) -> tuple[float, ...]:
    """Recorded arrivals in seconds."""
    params = read_params(str(directory / _read(table, "file", read_words, "")))
    column = _read(table, "column", read_words, params.columns[0])
    if column not in params.columns:
        message = instead_of(column, params.columns)
        raise InputError(f"{params.source}: no column {shown(column)}; {message}")
    place = params.columns.index(column)
    rows = enumerate(params.rows, 1)
    return tuple(_recorded(row[place], params.source, number) for number, row in rows)


def _recorded(text: str, source: str, number: int) -> float:
    try:
        return parse_number(text, 0)
    except InputError:
        message = f"{shown(text)} is not an arrival in seconds, 0 or more"
        raise InputError(f"{source}, row {number}: {message}") from None


# --- composed ------------------------------------------------------------------------------------


def _composed(table: Mapping[str, Any], directory: Path) -> Workload:
    _check_keys(table, ("name", "bandwidth", "works"))
    works = table["works"]
    if not isinstance(works, list) or not works:
        raise InputError("works must be tables: write [[works]] with file and at for each")
    arrivals = []
    for number, entry in enumerate(works, 1):
        try:
            arrivals.append(_work(entry, directory))
        except InputError as error:
            raise InputError(f"work {number}: {error}") from None
    arrivals.sort(key=lambda one: one.at)
    return Workload(
        tuple(arrivals),
        _read(table, "name", read_words, "workload"),
        _read(table, "bandwidth", read_bandwidth, None),
    )


def _work(entry: Any, directory: Path) -> Arrival:
    if not isinstance(entry, Mapping):
        raise InputError("must be a table with file and at")
    _check_keys(entry, _WORK_KEYS)
    if "file" not in entry:
        raise InputError('has no file; add file = "flow.yaml"')
    number = _read(entry, "number", lambda value: read_whole(value, 1), None)
    work = Work.of_dag(read_workflow(directory / _read(entry, "file", read_words, ""), number))
    return Arrival(
        _read(entry, "at", read_duration, 0),
        msgspec.structs.replace(
            work,
            owner=_read(entry, "owner", read_words, work.owner),
            priority=_read(entry, "priority", read_whole, work.priority),
            deadline=_read(entry, "deadline", lambda value: read_duration(value, 1), work.deadline),
        ),
    )


# --- single values -------------------------------------------------------------------------------


def _check_keys(table: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            raise InputError(f"unknown key {shown(key)}; {instead_of(key, known)}")


def _read(table: Mapping[str, Any], key: str, reader: Callable[[Any], Read], default: Read) -> Read:
    if key not in table:
        return default
    try:
        return reader(table[key])
    except InputError as error:
        raise InputError(f"{key}: {error}") from None


def _number(value: Any) -> float:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if not is_number or not 0 < float(value) < 1e9:
        raise InputError(f"{shown(value)} is not a number above 0")
    return float(value)
