"""What a word of the command line names: a job file, a workflow file, or a command.

A file that is there is known by what it holds, whatever its name ends in and also if it is
compressed. A program stays a command: what may be executed and begins as programs begin (`#!`,
ELF). Of a file that is not there, or whose format is not known, the name decides.
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path
from shutil import which
from typing import Final, Literal

from bursar.formats.files import read_text
from bursar.model.errors import InputError, shown
from bursar.model.reading import read_toml

Kind = Literal["job", "workflow"]

WORKFLOW_SUFFIXES: Final = (".yaml", ".yml", ".json", ".dax", ".xml")
_HEAD: Final = 2**16
"""bytes at the beginning of a file by which its format is known"""
_PROGRAMS: Final = (b"#!", b"\x7fELF")
_GZIP: Final = b"\x1f\x8b"
_UTF16: Final = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_BEFORE_ADAG: Final = r"(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>|\s)*"
_DAX: Final = re.compile(rf"{_BEFORE_ADAG}<(?:[\w.-]+:)?adag[\s>/]", re.DOTALL)
_JSON_KEYS: Final = re.compile(r'"(?:schemaVersion|workflow|parents|tasks)"\s*:|\btasks\s*:')
_YAML_TASKS: Final = re.compile(r"""^(?:tasks|"tasks"|'tasks')\s*:""", re.MULTILINE)
_TOML_TASKS: Final = re.compile(r"^\s*(?:\[\s*tasks\s*[.\]]|tasks\s*[.=])", re.MULTILINE)
_TOML_WORKLOAD: Final = re.compile(r"^\s*(?:kinds\s*=|\[kinds\]|\[\[works\]\])", re.MULTILINE)
_TOML_JOB: Final = re.compile(r"^(?:command|workflow)\s*=\s*[\"'\[]", re.MULTILINE)


def named_kind(word: str, *, with_arguments: bool = False) -> Kind | None:
    """What a single word names; None: a command.

    A word that is the name of a program and of a file here could be either: with arguments after it
    it is the program, else it is refused.
    """
    if not word or "\0" in word:
        return None
    path = Path(word)
    if not _is_file(path):
        return _by_name(word)
    kind = None if _is_program(path) else _by_content(path) or _by_name(word)
    if kind is not None and "/" not in word and which(word) is not None:
        if with_arguments:
            return None
        noun = "job file" if kind == "job" else "workflow file"
        raise InputError(
            f"{shown(word)} is a {noun} here and a program, too; write ./{word} for the file, or"
            " the path of the program"
        )
    return kind


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long
        return False


def _is_program(path: Path) -> bool:
    return os.access(path, os.X_OK) and _head(path).startswith(_PROGRAMS)


def _by_name(word: str) -> Kind | None:
    """A word with spaces is a command, whatever its last part may be."""
    if any(letter.isspace() for letter in word):
        return None
    if word.endswith(".toml"):
        return "job"
    return "workflow" if word.removesuffix(".gz").endswith(WORKFLOW_SUFFIXES) else None


def _by_content(path: Path) -> Kind | None:
    head = _head(path)
    text = head.decode(_UTF16.get(head[:2], "utf-8"), "replace").lstrip("\ufeff \t\r\n")
    if text.startswith("<"):
        return "workflow" if _DAX.match(text) else None
    if text.startswith("{"):
        return "workflow" if _JSON_KEYS.search(text) else None
    if is_trace(text.partition("\n")[0]):
        return "workflow"
    if path.suffix == ".toml" or _TOML_JOB.search(text) or _TOML_TASKS.search(text):
        return _toml_kind(path)
    return "workflow" if _YAML_TASKS.search(text) else None


def is_workload(word: str) -> bool:
    """Whether a word names a workload file: lines of works, or what to draw or compose."""
    if not word or "\0" in word or not _is_file(path := Path(word)):
        return False
    text = _head(path).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if text.startswith("{"):
        return is_line_of_works(text.partition("\n")[0])
    return bool(_TOML_WORKLOAD.search(text)) and _by_content(path) is None


def is_line_of_works(line: str) -> bool:
    """Whether a line of JSON is a work with its arrival."""
    return '"at"' in line and '"workflow"' in line


def is_trace(first_line: str) -> bool:
    """Whether a file that begins so is a trace of Nextflow."""
    columns = set(first_line.strip().split("\t"))
    return bool({"name", "process"} & columns) and bool({"task_id", "hash"} & columns)


def _toml_kind(path: Path) -> Kind | None:
    """A script may have lines that look like those of a job file."""
    try:
        table = read_toml(read_text(path, "file"), str(path))
    except InputError:
        return None  # its name decides, and the reader tells what is wrong
    if "tasks" in table:
        return "workflow"
    return "job" if "command" in table or "workflow" in table else None


def _head(path: Path) -> bytes:
    """The beginning of a file, unpacked; empty: it cannot be read, which its reader will tell."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if not head.startswith(_GZIP):
            return head
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, _HEAD)
    except (OSError, zlib.error):
        return b""
