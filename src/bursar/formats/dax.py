"""DAX, the XML of Pegasus (versions 2 and 3), in.

| there | here |
|---|---|
| `id` of a `job` | the task's name |
| `name` of a `job` | its kind, and the first word of its command |
| `argument` | further words; without this element there is no command |
| `stdin`, `stdout`, `stderr` | redirections of the command, and files read and written |
| `runtime` of a `job`, or its `profile` with key `runtime` | seconds |
| `uses` with `link`, `file` or `name`, `size` | files read and written |
| `child` and `parent` | needs |

Files as generators write them are taken: where edges are given they count, also if several jobs
write a file of one name, and a size or run time that cannot be is a caution. Entities and document
types are refused: a few lines of them can stand for gigabytes.
"""

from __future__ import annotations

import math
import re
import shlex
from typing import Any, Final
from xml.parsers import expat

import msgspec

from bursar.model.dag import Dag
from bursar.model.errors import InputError, one_line, shown
from bursar.model.text import counted
from bursar.model.workflow_builder import WorkflowBuilder
from bursar.model.workflow_checks import LARGEST_SIZE

_LONGEST_NUMBER: Final = 400
_JOBS: Final = ("job", "dag", "dax")
_STREAMS: Final = {"stdin": "<", "stdout": ">", "stderr": "2>"}
_NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?", re.ASCII)
_THOUSANDS: Final = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+\.\d*", re.ASCII)
_DECIMAL_COMMA: Final = re.compile(r"[-+]?\d*,\d+", re.ASCII)
_EITHER: Final = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}", re.ASCII)
"""1,234: by its comma more than a thousand or little more than one"""


class _Job(msgspec.Struct):
    id: str
    name: str
    runtime: float | None = None
    words: list[str] | None = None
    needs: list[str] = []
    reads: dict[str, int | None] = {}
    writes: dict[str, int | None] = {}
    streams: dict[str, str] = {}
    """the sign of a redirection, and its file"""

    @property
    def run(self) -> str | list[str]:
        """Words, or a text for the shell where it has to redirect."""
        if self.words is None:
            return []
        words = [self.name, *self.words]
        if not self.streams:
            return words
        parts = (f"{sign} {shlex.quote(file)}" for sign, file in self.streams.items())
        return " ".join((shlex.join(words), *parts))


def parse_dax(data: bytes | str, source: str = "workflow") -> Dag:
    """Read a DAX; `source` is named in errors."""
    reader = _Reader()
    try:
        reader.parser.Parse(data, True)
        return reader.build()
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    except expat.ExpatError as error:
        raise InputError(f"{source}: not valid XML: {one_line(str(error))}") from None
    except (ValueError, LookupError) as error:  # an encoding that is not known
        raise InputError(f"{source}: not valid XML: {one_line(str(error))}") from None


class _Reader:
    """Builds jobs while the parser goes through the elements."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.EntityDeclHandler = self._refuse
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.name: str | None = None
        self.jobs: dict[str, _Job] = {}
        self.job: _Job | None = None
        self.child = ""
        self.needs: list[tuple[str, str, int]] = []
        self.argument: list[str] | None = None
        self.profile: list[str] | None = None
        self.odd: dict[tuple[str, str], list[int]] = {}
        """what was set right, and in which lines"""

    def build(self) -> Dag:
        for child, parent, line in self.needs:
            if child not in self.jobs:
                raise InputError(f"line {line}: child {shown(child)} is not a job; add it")
            self.jobs[child].needs.append(parent)
        flow = WorkflowBuilder(self.name or "dax")
        for job in self.jobs.values():
            flow.task(
                job.id,
                kind=job.name,
                run=job.run,
                needs=job.needs,
                reads=job.reads,
                writes=job.writes,
                runtime=job.runtime,
            )
        for (noun, what), lines in self.odd.items():
            flow.caution(f"{counted(len(lines), noun)} {what}; the first is in line {lines[0]}")
        return flow.build(given_edges_count=True)

    # --- what the parser calls -------------------------------------------------------------------

    def _refuse(self, *_: Any) -> None:
        raise self._error("document types and entities are not supported; remove the declaration")

    def _start(self, tag: str, given: dict[str, str]) -> None:
        kind = tag.rpartition(":")[2]
        if self.name is None:
            if kind != "adag":
                raise self._error(f"the outermost element is {shown(kind)}; a DAX has 'adag'")
            self.name = one_line(given.get("name", "")) or "dax"
        elif kind in _JOBS:
            self._start_job(given)
        elif kind == "child":
            self.child = self._attribute(given, "ref")
        elif kind == "parent":
            line = self.parser.CurrentLineNumber
            self.needs.append((self.child, self._attribute(given, "ref"), line))
        elif self.job is not None:
            self._within_job(self.job, kind, given)

    def _within_job(self, job: _Job, kind: str, given: dict[str, str]) -> None:
        if kind == "uses":
            self._uses(job, given)
        elif kind == "argument":
            self.argument = []
        elif kind in ("file", "filename") and self.argument is not None:
            self.argument.append(given.get("file") or self._attribute(given, "name"))
        elif kind in _STREAMS:
            file = given.get("file") or self._attribute(given, "name")
            job.streams[_STREAMS[kind]] = file
            (job.reads if kind == "stdin" else job.writes).setdefault(file, None)
        elif kind == "profile" and given.get("key") == "runtime":
            self.profile = []

    def _start_job(self, given: dict[str, str]) -> None:
        key = self._attribute(given, "id")
        if key in self.jobs:
            raise self._error(f"two jobs have the id {shown(key)}; change one")
        self.job = _Job(id=key, name=given.get("name") or key)
        self.jobs[key] = self.job
        if "runtime" in given:
            self.job.runtime = self._seconds(given["runtime"])

    def _uses(self, job: _Job, given: dict[str, str]) -> None:
        file = given.get("file") or self._attribute(given, "name")
        link = given.get("link", "").lower()
        size = self._size(given["size"]) if given.get("size") else None
        if link not in ("input", "output", "inout"):
            return  # a program or a library, which no job makes
        if link != "output":
            job.reads[file] = _larger(size, job.reads.get(file))
        if link != "input":
            job.writes[file] = _larger(size, job.writes.get(file))

    def _end(self, tag: str) -> None:
        kind = tag.rpartition(":")[2]
        if kind in _JOBS:
            self.job = None
        elif kind == "argument" and self.argument is not None and self.job is not None:
            self.job.words = "".join(self.argument).split()
            self.argument = None
        elif kind == "profile" and self.profile is not None and self.job is not None:
            self.job.runtime = self._seconds("".join(self.profile))
            self.profile = None

    def _text(self, text: str) -> None:
        if self.profile is not None:
            self.profile.append(text)
        elif self.argument is not None:
            self.argument.append(text)

    # --- single values ---------------------------------------------------------------------------

    def _error(self, message: str) -> InputError:
        return InputError(f"line {self.parser.CurrentLineNumber}: {message}")

    def _attribute(self, given: dict[str, str], key: str) -> str:
        if not given.get(key):
            raise self._error(f"an element has no {key}; add it")
        return given[key]

    def _seconds(self, text: str) -> float:
        """A number of seconds, also with a comma for its point, or with commas at thousands."""
        number = text.strip()
        if _EITHER.fullmatch(number):
            raise self._error(f"runtime {shown(number)} can be read in two ways; write a point")
        if _THOUSANDS.fullmatch(number):
            number = number.replace(",", "")
        elif _DECIMAL_COMMA.fullmatch(number):
            number = number.replace(",", ".")
        try:
            value = float(number if number.isascii() and "_" not in number else "")
        except ValueError:
            raise self._error(f"runtime {shown(text)} is not a number of seconds") from None
        if value < 0:
            self._note("run time", "below 0, taken as 0")
            return 0.0
        return value

    def _size(self, text: str) -> int | None:
        """Whole bytes; None: a size that cannot be, and so is not known."""
        number = text.strip()
        if len(number) > _LONGEST_NUMBER or not _NUMBER.fullmatch(number):
            raise self._error(f"size {shown(text)} is not a number of bytes")
        value = int(number) if number.isdecimal() else float(number)
        if 0 <= value <= LARGEST_SIZE:
            return math.ceil(value)
        self._note("size", f"{'below 0' if value < 0 else 'beyond 4 EiB'}, taken as not known")
        return None

    def _note(self, noun: str, what: str) -> None:
        """Something odd stands in this line, and was set right."""
        self.odd.setdefault((noun, what), []).append(self.parser.CurrentLineNumber)


def _larger(one: int | None, other: int | None) -> int | None:
    """The largest of several sizes given for one file."""
    return one if other is None else other if one is None else max(one, other)
