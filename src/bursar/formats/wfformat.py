"""WfFormat, the JSON of WfCommons (https://wfcommons.org), versions 1.5 and 1.6: in and out.

| there | here |
|---|---|
| `id` of a task | its name |
| `name` of a task | its kind, where it differs from the `id`; else the program, else the `id` |
| `parents`, `children` | needs: an edge that either end tells |
| `inputFiles`, `outputFiles`, `files` | files with their sizes |
| `runtimeInSeconds`, `command`, `priority`, `readBytes`, `writtenBytes` | the same |

The format permits further properties. `write_wfformat` uses that for what it has no place for
(`kind`, `parts`, `sizeKnown` of a file; `command` and the like of a task that has no run time;
owner, priority and deadline of the whole under `bursar`), and `parse_wfformat` reads it back:
nothing is lost.
Machines, dates, authors and measurements of power are not read.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np

from bursar.model.dag import PARTS, UNKNOWN, Dag
from bursar.model.errors import InputError, one_line, shown
from bursar.model.workflow_builder import WorkflowBuilder, kind_of
from bursar.plan.workflow.shape import shape

VERSIONS: Final = ("1.5", "1.6")
_NO_DATE: Final = "1970-01-01T00:00:00+00:00"


class _Command(msgspec.Struct, frozen=True, omit_defaults=True):
    program: str = ""
    arguments: tuple[str, ...] = ()


class _Measured(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", kw_only=True):
    """What stands in the execution of a task, or with the task itself if it has no run time."""

    command: _Command | None = None
    priority: int = 0
    read_bytes: int | None = None
    written_bytes: int | None = None


class _Task(_Measured, frozen=True, omit_defaults=True, rename="camel", kw_only=True):
    id: str
    name: str
    parents: tuple[str, ...]
    children: tuple[str, ...]
    input_files: tuple[str, ...] = ()
    output_files: tuple[str, ...] = ()
    kind: str | None = None


class _Execution(_Measured, frozen=True, omit_defaults=True, rename="camel", kw_only=True):
    id: str
    runtime_in_seconds: float
    parts: dict[str, float] | None = None


class _WfFile(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    id: str
    size_in_bytes: int
    """0 where it is not known: the format wants a number for every file"""
    size_known: bool = True


class _Specification(msgspec.Struct, frozen=True, omit_defaults=True):
    tasks: tuple[_Task, ...]
    files: tuple[_WfFile, ...] = ()


class _Executed(msgspec.Struct, frozen=True, rename="camel"):
    makespan_in_seconds: float
    executed_at: str
    tasks: tuple[_Execution, ...]


class _Workflow(msgspec.Struct, frozen=True, omit_defaults=True):
    specification: _Specification
    execution: _Executed | None = None


class _Extras(msgspec.Struct, frozen=True, omit_defaults=True):
    owner: str = ""
    priority: int = 0
    deadline: int | None = None


class _Instance(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    name: str
    schema_version: str
    workflow: _Workflow
    bursar: _Extras = _Extras()


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    schema_version: str | None = None


_INSTANCE: Final = msgspec.json.Decoder(_Instance)
_VERSION: Final = msgspec.json.Decoder(_Version)


# --- in ------------------------------------------------------------------------------------------


def parse_wfformat(data: bytes | str, source: str = "workflow") -> Dag:
    """Read an instance; `source` is named in errors."""
    try:
        version = _VERSION.decode(data).schema_version
        if version not in VERSIONS:
            raise InputError(_version_text(version))
        return _read(_INSTANCE.decode(data))
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InputError(f"{source}: not valid WfFormat: {one_line(str(error))}") from None


def _version_text(version: str | None) -> str:
    found = "without a schemaVersion" if version is None else f"version {shown(version)}"
    return f"WfFormat {found}; only {' and '.join(VERSIONS)} are supported: convert the file"


def _read(instance: _Instance) -> Dag:
    extras, specification = instance.bursar, instance.workflow.specification
    executed = instance.workflow.execution
    flow = WorkflowBuilder(
        instance.name,
        owner=extras.owner,
        priority=extras.priority,
        deadline=extras.deadline,
    )
    for file in specification.files:
        if file.size_known:
            flow.file(file.id, file.size_in_bytes)
    ran = {} if executed is None else _executions(executed.tasks)
    also_needs = _reversed(specification.tasks)
    for task in specification.tasks:
        execution = ran.pop(task.id, None)
        measured: _Measured = task if execution is None else execution
        flow.task(
            task.id,
            run=_command(measured.command),
            needs=(*task.parents, *also_needs.get(task.id, ())),
            reads=task.input_files,
            writes=task.output_files,
            runtime=None if execution is None else execution.parts or execution.runtime_in_seconds,
            kind=_kind(task, measured.command),
            priority=measured.priority,
            volume=_volume(measured),
        )
    if ran:
        raise InputError(
            f"the execution has a task {shown(next(iter(ran)))}, which is not specified"
        )
    return flow.build(given_edges_count=True)


def _executions(tasks: tuple[_Execution, ...]) -> dict[str, _Execution]:
    found: dict[str, _Execution] = {}
    for task in tasks:
        if found.setdefault(task.id, task) is not task:
            raise InputError(f"the execution has the task {shown(task.id)} twice; remove one")
    return found


def _reversed(tasks: tuple[_Task, ...]) -> dict[str, list[str]]:
    """Parents that only tell of their children, by child."""
    parents = {task.id: set(task.parents) for task in tasks}
    found: dict[str, list[str]] = {}
    for task in tasks:
        for child in task.children:
            if child not in parents:
                raise InputError(
                    f"task {shown(task.id)} has a child {shown(child)}, which is not a task; add it"
                )
            if task.id not in parents[child]:
                found.setdefault(child, []).append(task.id)
    return found


def _command(command: _Command | None) -> tuple[str, ...] | str:
    """Words; a program that is no single word is a script."""
    if command is None or not command.program.strip():
        return ()
    if not command.arguments and any(letter.isspace() for letter in command.program.strip()):
        return command.program
    return (command.program, *command.arguments)


def _kind(task: _Task, command: _Command | None) -> str:
    if task.kind is not None:
        return task.kind
    if task.name != task.id:
        return kind_of(task.name)
    program = "" if command is None else command.program.rstrip("/").rpartition("/")[2]
    if program and not any(letter.isspace() for letter in program):
        return program
    return kind_of(task.name)


def _volume(measured: _Measured) -> tuple[int | None, int | None] | None:
    read, written = measured.read_bytes, measured.written_bytes
    return None if read is None and written is None else (read, written)


# --- out -----------------------------------------------------------------------------------------


def write_wfformat(
    dag: Dag,
    version: str = "1.6",
    *,
    makespan_s: float | None = None,
    executed_at: str = _NO_DATE,
) -> bytes:
    """The workflow as an instance, such that reading it gives an equal workflow.

    Run times go with an execution, which must have a makespan and a date: by default the length of
    the critical path, below which no execution is, and 1970.
    """
    if version not in VERSIONS:
        raise InputError(_version_text(version))
    timed = np.flatnonzero(~np.isnan(dag.runtimes)).tolist()
    has_time = set(timed)
    execution = None
    if timed:
        least = makespan_s if makespan_s is not None else shape(dag).critical_path_s or 0.0
        execution = _Executed(least, executed_at, tuple(_execution(dag, task) for task in timed))
    specification = _Specification(
        tuple(_specified(dag, task, task in has_time) for task in range(len(dag))),
        tuple(
            _WfFile(name, max(size, 0), size != UNKNOWN)
            for name, size in zip(dag.files.names, dag.files.sizes.tolist(), strict=True)
        ),
    )
    extras = _Extras(dag.owner, dag.priority, dag.deadline)
    instance = _Instance(dag.name, version, _Workflow(specification, execution), extras)
    return msgspec.json.format(msgspec.json.encode(instance), indent=1)


def _specified(dag: Dag, task: int, has_time: bool) -> _Task:
    kind, name = dag.kind(task), dag.names[task]
    return _Task(
        id=name,
        name=kind,
        parents=tuple(dag.names[parent] for parent in dag.parents.of(task)),
        children=tuple(dag.names[child] for child in dag.children.of(task)),
        input_files=tuple(dag.files.names[file] for file in dag.files.read.of(task)),
        output_files=tuple(dag.files.names[file] for file in dag.files.written.of(task)),
        kind=kind,
        **({} if has_time else _measured(dag, task)),
    )


def _execution(dag: Dag, task: int) -> _Execution:
    known = dag.task(task)
    return _Execution(
        id=known.name,
        runtime_in_seconds=known.runtime or 0.0,
        parts=None if known.parts is None else {part: known.parts[part] for part in PARTS},
        **_measured(dag, task),
    )


def _measured(dag: Dag, task: int) -> dict[str, Any]:
    """What `_Measured` holds."""
    found: dict[str, Any] = {"priority": int(dag.priorities[task])}
    if command := dag.command(task):
        found["command"] = _Command(command[0], command[1:])
    if dag.volumes is not None:
        for key, size in zip(("read_bytes", "written_bytes"), dag.volumes[task], strict=True):
            found[key] = None if size == UNKNOWN else int(size)
    return found
