"""Parameters: a table with a named column for each argument and a row for each task.

| file | is |
|---|---|
| `.jsonl` `.ndjson` | one JSON object a line |
| `.json` | a JSON array of objects |
| `.tsv` | a header and rows, separated by tabs |
| anything else | CSV: a header and rows, separated by commas |
| `-` | standard input: JSON if it begins with `{` or `[`, else CSV |

Numbers keep the text they are written with (`1e-05` stays `1e-05`), truth values become `true` and
`false`. Empty lines are passed over.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import PurePath
from typing import Any, NoReturn

import msgspec

from bursar.formats.files import read_text, source_name
from bursar.model.errors import InputError, one_line, shown


class Params(msgspec.Struct, frozen=True):
    """Invariant: every row has a value for every column, and column names are unique."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    source: str
    """where they come from, for messages"""


def read_params(path: str) -> Params:
    """Read a parameter file; `-` is standard input."""
    text = read_text(path, "parameter file")
    source = source_name(path)
    kind = PurePath(path).suffix.lower()
    if path == "-":
        kind = {"{": ".jsonl", "[": ".json"}.get(text.lstrip()[:1], ".csv")
    if kind in (".jsonl", ".ndjson"):
        return _from_objects(_json_lines(text, source), source)
    if kind == ".json":
        return _from_objects(_json_array(text, source), source)
    return _from_table(text, source, "\t" if kind == ".tsv" else ",")


def inline_params(tables: Sequence[Any], source: str) -> Params:
    """Parameters written as an array of tables in a job file."""
    return _from_objects(
        ((f"{source}, row {number}", table) for number, table in enumerate(tables, 1)), source
    )


# --- CSV -----------------------------------------------------------------------------------------


def _from_table(text: str, source: str, separator: str) -> Params:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    columns: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = []
    try:
        for row in reader:
            if not row:
                continue
            where = f"{source}, line {reader.line_num}"
            if not columns:
                columns = _check_columns([name.strip() for name in row], where)
            elif len(row) != len(columns):
                raise InputError(
                    f"{where}: {len(row)} values for the {len(columns)} columns {_list(columns)}"
                )
            else:
                rows.append(tuple(row))
    except csv.Error as error:
        problem = one_line(str(error))
        raise InputError(f"{source}, line {reader.line_num}: not valid CSV: {problem}") from None
    if not columns:
        raise InputError(
            f"{source}: empty; write a line of column names, then a line for each task"
        )
    if not rows:
        raise InputError(f"{source}: no line after the column names; add one for each task")
    return Params(columns, tuple(rows), source)


# --- JSON ----------------------------------------------------------------------------------------


def _json_lines(text: str, source: str) -> Iterable[tuple[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"{source}, line {number}"
            yield where, _parse_json(line, where, is_line=True)


def _json_array(text: str, source: str) -> Iterable[tuple[str, Any]]:
    found = _parse_json(text, source, is_line=False)
    if not isinstance(found, list) or isinstance(found, _Object):
        raise InputError(f"{source}: must be an array of objects: [{{...}}, {{...}}]")
    for number, item in enumerate(found, 1):
        yield f"{source}, row {number}", item


class _Object(list[tuple[str, Any]]):
    """A JSON object as pairs, in which a name may stand twice."""


def _parse_json(text: str, where: str, *, is_line: bool) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise InputError(f"{where}: not valid JSON: {constant}; put it between quotes")

    try:
        return json.loads(
            text,
            object_pairs_hook=_Object,
            parse_int=str,
            parse_float=str,
            parse_constant=refuse,
        )
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if is_line else f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{where}, {place}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise InputError(f"{where}: not valid JSON: nested too deeply") from None


def _from_objects(items: Iterable[tuple[str, Any]], source: str) -> Params:
    """Rows from objects that all have the same names, in whatever order."""
    columns: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    rows: list[tuple[str, ...]] = []
    for where, found in items:
        item = _Object(found.items()) if isinstance(found, dict) else found
        if not isinstance(item, _Object):
            raise InputError(f'{where}: must be an object, for example {{"alpha": 1, "beta": 2}}')
        if not columns:
            columns = _check_columns([name for name, _ in item], where)
            known = frozenset(columns)
        rows.append(_row(item, columns, known, where))
    if not rows:
        raise InputError(f"{source}: empty; write an object for each task")
    return Params(columns, tuple(rows), source)


def _row(
    item: _Object, columns: tuple[str, ...], known: frozenset[str], where: str
) -> tuple[str, ...]:
    values: dict[str, str] = {}
    for name, value in item:
        if name in values:
            raise InputError(f"{where}: column {shown(name)} appears twice; rename one")
        if name not in known:
            raise InputError(
                f"{where}: column {shown(name)} is new; the rows before have {_list(columns)}"
            )
        try:
            values[name] = text_of(value)
        except InputError as error:
            raise InputError(f"{where}, column {shown(name)}: {error}") from None
    for name in columns:
        if name not in values:
            raise InputError(f"{where}: column {shown(name)} is missing; every row must have it")
    return tuple(values[name] for name in columns)


def text_of(value: Any) -> str:
    """The text form of a single value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() <= 64:
        return str(value)
    if isinstance(value, Decimal) and value.is_finite():
        return str(value)
    raise InputError("must be text, a number, true or false; put it between quotes")


# --- columns -------------------------------------------------------------------------------------


def _check_columns(names: Sequence[str], where: str) -> tuple[str, ...]:
    if not names:
        raise InputError(f"{where}: no columns; name at least one")
    seen: set[str] = set()
    for number, name in enumerate(names, 1):
        if not name.strip():
            raise InputError(f"{where}: column {number} has no name; every column needs one")
        if not name.isprintable():
            raise InputError(f"{where}: column name {shown(name)} cannot be printed; rename it")
        if name in seen:
            raise InputError(f"{where}: column {shown(name)} appears twice; rename one")
        seen.add(name)
    return tuple(names)


def _list(columns: Sequence[str]) -> str:
    """Some columns for a message: all of few, the first of many."""
    few = ", ".join(columns[:8])
    return few if len(columns) <= 8 else f"{few}, ..."
