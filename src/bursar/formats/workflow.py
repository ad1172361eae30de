"""Workflow files: our own in YAML, TOML or JSON, and `read_workflow`, which knows all formats.

    name: variants
    owner: ann
    deadline: 2h
    defaults: {runtime: 30s}
    tasks:
      split:
        run: ./split genome.fa
        files: {in: genome.fa, out: {a.fa: 40 MB, b.fa: 40 MB}}
      align-a:
        run: [./align, a.fa]
        files: {in: a.fa, out: a.bam}
        runtime: {cpu: 50s, io: 10s}
      merge:
        run: ./merge *.bam > all.bam
        needs: [align-a]

| key of a task | holds |
|---|---|
| `run` | a text for /bin/sh, or a list of words; without it the task can only be simulated |
| `needs` | a task, or a list of them |
| `files` | `in` and `out`: a file, a list of files, or a table of files with their sizes |
| `runtime` | at speed 1: a duration, or a table with `cpu`, `io` and `network` |
| `priority` | a whole number; larger is more urgent |
| `kind` | the type of the task; by default its name without a number at the end |

`defaults` has `run`, `runtime`, `priority` and `kind` for the tasks that do not say otherwise.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import msgspec

from bursar.formats.bharathi import parse_bharathi, parse_bharathi_lines
from bursar.formats.files import read_bytes, source_name
from bursar.formats.nextflow import parse_nextflow
from bursar.formats.plain_yaml import read_yaml
from bursar.formats.recognise import is_trace
from bursar.formats.wfformat import parse_wfformat
from bursar.model.dag import Dag
from bursar.model.errors import InputError, instead_of, one_line, shown
from bursar.model.option_words import PYTHON, OptionWords
from bursar.model.reading import read_duration, read_toml, read_words
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.model.workflow_checks import LARGEST_SIZE

MOST_UNPACKED: Final = 2**30
"""bytes that a compressed file may hold"""
_KEYS: Final = ("name", "owner", "priority", "deadline", "defaults", "tasks")
_TASK_KEYS: Final = ("run", "needs", "files", "runtime", "priority", "kind")
_DEFAULT_KEYS: Final = ("run", "runtime", "priority", "kind")
_UNITS: Final[Mapping[str, int]] = {
    "": 1,
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)},
}
_SIZE: Final = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)\s*([a-z]*)", re.ASCII)
_TOML_LINE: Final = re.compile(r"^\s*(?:\[|[\w.\"'-]+\s*=)")


# --- any format ----------------------------------------------------------------------------------


def read_workflow(path: str | Path, number: int | None = None, asked: OptionWords = PYTHON) -> Dag:
    """The workflow in a file, whichever format it is in; `-` is standard input.

    Of a file with several workflows, one a line, `number` (from 1) chooses.
    """
    source = source_name(path)
    data = unpacked(path, source)
    if len(lines := _compact_lines(data)) > 1:
        if number is None:
            choose = f"choose one with {asked.option('number')}"
            raise InputError(f"{source}: holds {len(lines):,} workflows; {choose}")
        if not 1 <= number <= len(lines):
            raise InputError(f"{source}: has no workflow {number:,}; use 1 to {len(lines):,}")
        return parse_bharathi(lines[number - 1], f"{source}, workflow {number:,}")
    if number not in (None, 1):
        raise InputError(f"{source}: has no workflow {number:,}; it holds one")
    return parse_workflow(data, source)


def read_workflows(path: str | Path) -> Iterator[Dag]:
    """All workflows in a file."""
    source = source_name(path)
    data = unpacked(path, source)
    if len(_compact_lines(data)) > 1:
        yield from parse_bharathi_lines(data, source)
    else:
        yield parse_workflow(data, source)


def parse_workflow(data: bytes, source: str = "workflow") -> Dag:
    """One workflow; its format is found out by what it holds."""
    begin = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if begin == b"<" or data[:2] in (b"\xfe\xff", b"\xff\xfe"):
        from bursar.formats.dax import parse_dax

        return parse_dax(data, source)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{source}, line {line}: not UTF-8 text; convert it") from None
    if begin == b"{":
        return _parse_json(text, source)
    if is_trace(text.partition("\n")[0]):
        return parse_nextflow(text, source)
    return workflow_from_table(_table(text, source), source)


class _Marks(msgspec.Struct, frozen=True, rename="camel"):
    """The keys that distinguish JSON formats."""

    schema_version: msgspec.Raw = msgspec.Raw()
    workflow: msgspec.Raw = msgspec.Raw()
    parents: msgspec.Raw = msgspec.Raw()


def _parse_json(text: str, source: str) -> Dag:
    try:
        marks = msgspec.json.decode(text, type=_Marks)
        if bytes(marks.schema_version) or bytes(marks.workflow):
            return parse_wfformat(text, source)
        if bytes(marks.parents):
            return parse_bharathi(text, source)
        return workflow_from_table(json.loads(text, object_pairs_hook=_without_twins), source)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InputError(f"{source}: not valid JSON: {one_line(str(error))}") from None


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A task that is written twice must not get lost."""
    table = dict(pairs)
    if len(table) < len(pairs):
        name = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"{shown(name)} appears a second time; rename or remove it")
    return table


def _table(text: str, source: str) -> Any:
    """TOML or YAML: by the name of the file, or by its first line that says something."""
    suffix = Path(source).suffix.lower()
    if suffix == ".toml":
        return read_toml(text, source)
    if suffix not in (".yaml", ".yml"):
        lines = (line for line in text.splitlines() if line.strip() and line.strip()[0] != "#")
        if _TOML_LINE.match(next(lines, "")):
            return read_toml(text, source)
    return read_yaml(text, source)


def _compact_lines(data: bytes) -> list[bytes]:
    """The lines, if each of them can be a workflow."""
    first, _, rest = data.partition(b"\n")
    if not (first.startswith(b"{") and first.rstrip().endswith(b"}") and rest.strip()):
        return []
    return [line for line in data.splitlines() if line.strip()]


def unpacked(path: str | Path, source: str, what: str = "workflow") -> bytes:
    """All that is in a file, which may be compressed."""
    data = read_bytes(path, what)
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        with gzip.open(BytesIO(data)) as packed:
            content = packed.read(MOST_UNPACKED + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{source}: cannot be unpacked: {one_line(str(error))}") from None
    if len(content) > MOST_UNPACKED:
        raise InputError(f"{source}: holds more than {MOST_UNPACKED // 2**30} GiB; split it")
    return content


# --- our own -------------------------------------------------------------------------------------


def workflow_from_table(table: Any, source: str = "workflow") -> Dag:
    """Check and build a workflow from a parsed file."""
    try:
        _check_keys(table, _KEYS, "the file")
        tasks, defaults = table.get("tasks"), table.get("defaults") or {}
        if isinstance(tasks, list) and tasks:
            raise InputError("'tasks' is a list; write it as a table, NAME: {run: COMMAND}, ...")
        if not isinstance(tasks, dict) or not tasks:
            raise InputError("no tasks; add 'tasks' with a name and a table for each")
        _check_keys(defaults, _DEFAULT_KEYS, "defaults")
        flow = WorkflowBuilder(
            _read(table, "name", read_words, _named_after(source)),
            owner=_read(table, "owner", read_words, ""),
            priority=table.get("priority") or 0,
            deadline=_read(table, "deadline", read_duration, None),
        )
        for name, task in tasks.items():
            _add(flow, name, task, defaults)
        return flow.build()
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def _named_after(source: str) -> str:
    return Path(source).stem if Path(source).suffix else "workflow"


def _add(flow: WorkflowBuilder, name: str, task: Any, defaults: Mapping[str, Any]) -> None:
    where = f"task {shown(name)}"
    if not isinstance(task, dict | None):
        raise InputError(f"{where}: must be a table with {', '.join(_TASK_KEYS)}")
    _check_keys(task or {}, _TASK_KEYS, where)
    given = {**defaults, **(task or {})}
    try:
        files = given.get("files") or {}
        _check_keys(files, ("in", "out"), "files")
        fields = {
            "run": _read(given, "run", _read_run, ()),
            "needs": _read(given, "needs", _read_names, ()),
            "reads": _read(files, "in", _read_files, {}),
            "writes": _read(files, "out", _read_files, {}),
            "runtime": _read(given, "runtime", _read_runtime, None),
        }
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    flow.task(name, **fields, priority=given.get("priority") or 0, kind=given.get("kind"))


def _check_keys(table: Any, known: tuple[str, ...], where: str) -> None:
    if table is None:
        raise InputError(f"{where}: is empty; it must be a table with {', '.join(known)}")
    if not isinstance(table, dict):
        raise InputError(f"{where}: must be a table with {', '.join(known)}")
    for key in table:
        if key not in known:
            raise InputError(
                f"{where}: unknown key {shown(key)}; {instead_of(str(key)[:100], known)}"
            )


def _read(table: Mapping[str, Any], key: str, reader: Callable[[Any], Any], default: Any) -> Any:
    """The value of `key`, checked; a mistake is reported with the key before it."""
    if table.get(key) is None:
        return default
    try:
        return reader(table[key])
    except InputError as error:
        raise InputError(f"{key}: {error}") from None


def _read_run(value: Any) -> str | list[str]:
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return value
    raise InputError("must be a command, or a list of its words, each a text (put it in quotes)")


def _read_names(value: Any) -> list[str]:
    names = value if isinstance(value, list) else [value]
    if not all(isinstance(name, str) for name in names):
        raise InputError("must be a name, or a list of names, each a text (put it in quotes)")
    return names


def _read_files(value: Any) -> dict[str, int | None]:
    if isinstance(value, dict):
        return {name: None if size is None else read_size(size) for name, size in value.items()}
    return dict.fromkeys(_read_names(value))


def read_size(value: Any) -> int:
    text = value if isinstance(value, str) else ""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_SIZE:
        return value
    found = _SIZE.fullmatch(text.strip().lower())
    if found and found[2] in _UNITS:
        size = Decimal(found[1]) * _UNITS[found[2]]
        if size <= LARGEST_SIZE:
            return round(size)
    raise InputError(f"{shown(value)} is not a size; write bytes, or for example '40 MB'")


def _read_runtime(value: Any) -> str | dict[str, str]:
    if not isinstance(value, dict):
        read_duration(value)
        return str(value)
    for part in value.values():
        read_duration(part)
    return value
