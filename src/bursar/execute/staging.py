"""The files of a workflow's tasks: shared in one directory, or copied to each attempt.

Shared, tasks run where bursar was called and find their files there; what a cut-off attempt left is
moved aside before the next one begins (`leftovers.py`). Copied, every attempt has a directory of
its own, so that attempts of one task never meet:

    outputs/.attempts/17/files/    attempt 17 runs here, with copies of the files that it reads
    outputs/4/files/               what task 4 wrote, once it is done
    outputs/files/                 the files of all tasks that are done, by name
    outputs/files-2/               the same for the second work of a run that takes several
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from tempfile import mkstemp
from typing import Final, NamedTuple, Protocol

import msgspec

from bursar.execute import stage
from bursar.execute.descriptors import opened, remove
from bursar.execute.leftovers import Leftovers
from bursar.execute.outputs import Outputs
from bursar.model.errors import InputError, shown
from bursar.model.nested_files import around, made_by, nested
from bursar.model.option_words import OptionWords
from bursar.model.work import Bag
from bursar.model.workflow import Workflow
from bursar.state.state import RunState

SHARED: Final = "shared"
COPIED: Final = "copied"
MODES: Final = (SHARED, COPIED)
FILES: Final = "files"
IN_THE_WAY: Final = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG)
"""what tasks do to each other, and to themselves"""
CHANGED: Final = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG)
"""what becomes of a directory that a task wrote"""
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class TaskFiles(NamedTuple):
    """What a task reads, by the names that it uses, and where that is; and what it writes."""

    work: int
    """number of its work: other works may have other files of the same names"""
    reads: Mapping[str, str]
    writes: tuple[str, ...]


class Staging(Protocol):
    """Gives tasks what they read, and looks after what they write."""

    def prepare(self, task: int, attempt: int) -> tuple[str, ...]:
        """The command to start, when what its files need has been done."""
        ...

    def lacking(self, task: int, attempt: int) -> list[str]:
        """Files that an attempt which has ended well should have written, and did not."""
        ...

    def publish(self, task: int) -> None:
        """The task is done, and its output is in place: others may read its files."""
        ...


def staging_of(state: RunState, mode: str, directory: Path, outputs: Outputs) -> Staging:
    if mode == COPIED:
        return CopiedFiles(state, directory, outputs)
    return SharedFiles(state, directory, outputs)


def check_files(
    flow: Workflow, mode: str, directory: Path, asked: OptionWords | None = None
) -> None:
    """Refuse a workflow of which a file is missing that no task writes, or cannot be copied.

    URLs are fetched by the tasks that read them, and are no files. Without `asked`, those who get
    the message cannot choose the mode: that of a service or a run is chosen when it begins.
    """
    if mode not in MODES:
        raise InputError(f"files {shown(mode)}; they are {SHARED} or {COPIED}")
    written = {file for row in flow.files.written for file in row}
    urls = {file for file, name in enumerate(flow.files.names) if _is_url(name)}
    if urls & written:
        index = next(n for n, row in enumerate(flow.files.written) if urls.intersection(row))
        name = next(filter(_is_url, flow.writes(index)))
        raise InputError(
            f"task {shown(flow.names[index])} writes {shown(name)}, which is not a file; leave it"
            " out of what it writes, or let it write a file"
        )
    given = made_by(flow.files.names, written) | urls
    for index, row in enumerate(flow.files.read):
        names = [flow.files.names[file] for file in row if file not in given]
        for name in _missing(directory, names):
            raise InputError(
                f"task {shown(flow.names[index])} reads {shown(name)}, which no task writes"
                f" and which is not in {directory}; put it there"
            )
    if mode == COPIED:
        for file, name in enumerate(flow.files.names):
            path = PurePosixPath(name)
            if file in urls:
                continue
            if path.is_absolute() or ".." in path.parts:
                instead = "" if asked is None else f", or use {asked.given('files', SHARED)}"
                raise InputError(
                    f"the file {shown(name)} lies outside of the workflow's directory, so that it"
                    f" cannot be copied to tasks; name it from there{instead}"
                )


def check_outputs(flow: Workflow, directory: Path, home: Path) -> None:
    """Refuse to write over the directory of the workflow, or that of all runs.

    What a name alone tells was refused when it was read (`workflow_checks.py`); links and where the
    runs are kept are known here.
    """
    kept = {Path(os.path.realpath(place)) for place in (directory, home)}
    containing = {parent for place in kept for parent in (place, *place.parents)}
    runs = Path(os.path.realpath(home))
    for index, row in enumerate(flow.files.written):
        for name in (flow.files.names[file] for file in row):
            path = Path(os.path.realpath(directory / name))
            if path in containing or path.is_relative_to(runs):
                raise InputError(
                    f"task {shown(flow.names[index])} writes {shown(name)}, which holds the runs"
                    " or the directory that it runs in; let it write below that"
                )


class SharedFiles:
    """All in one directory, where every task runs."""

    def __init__(self, state: RunState, directory: Path, outputs: Outputs) -> None:
        self._state = state
        self._directory = directory
        self._leftovers = Leftovers(state, directory, outputs)

    def prepare(self, task: int, attempt: int) -> tuple[str, ...]:
        writes = _writes(self._state, task)
        self._leftovers.clear(task, attempt, writes)
        for name in writes:
            (self._directory / name).parent.mkdir(parents=True, exist_ok=True)
        return self._state.command(task)

    def lacking(self, task: int, attempt: int) -> list[str]:
        return _missing(self._directory, _writes(self._state, task))

    def publish(self, task: int) -> None:
        """They are where they should be."""
        self._leftovers.forget(task)


class CopiedFiles:
    """A directory for each attempt, with copies of what it reads."""

    def __init__(self, state: RunState, directory: Path, outputs: Outputs) -> None:
        self._state = state
        self._directory = directory
        self._outputs = outputs
        self._written: tuple[int, frozenset[str]] = (0, frozenset())
        """the number of a work, and the files that its tasks write"""
        self._within: Mapping[str, Sequence[str]] = {}
        """what is written within a directory that is read, by its name"""

    def prepare(self, task: int, attempt: int) -> tuple[str, ...]:
        """The tasks of a bag name no files: they run where bursar was called."""
        files = self.files_of(task)
        command = self._state.command(task)
        if files is None:
            return command
        return staged_command(self._outputs.attempts, attempt, files, command)

    def files_of(self, task: int) -> TaskFiles | None:
        """None for the tasks of a bag."""
        if not isinstance(self._state.locate(task)[0], Workflow):
            return None
        reads = dict(self._sources(task))
        return TaskFiles(self._state.work_of(task), reads, tuple(_writes(self._state, task)))

    def lacking(self, task: int, attempt: int) -> list[str]:
        return _missing(self._outputs.of(attempt) / FILES, _writes(self._state, task))

    def publish(self, task: int) -> None:
        """Link what was written, and remove the copies of what was read."""
        place = self._outputs.root / str(task) / FILES
        reads, writes = _reads(self._state, task), _writes(self._state, task)
        store = self._store(task)
        try:
            if writes:
                store.mkdir(parents=True, exist_ok=True)
            for name in writes:
                _provide(place / name, store / name, place)
        except OSError as error:
            raise InputError(
                f"{store}: cannot keep what task {task} wrote: {error}; fix that, then"
                " continue with bursar resume"
            ) from None
        remove_copies(self._outputs.root, str(task), reads, writes)

    def _store(self, task: int) -> Path:
        """Where the files of the task's work are; those of other works may have the same names."""
        number = self._state.work_of(task)
        return self._outputs.root / (FILES if number == 1 else f"{FILES}-{number}")

    def _sources(self, task: int) -> Iterator[tuple[str, str]]:
        """What a task reads, and where that is: some task of its work writes it, or it is given."""
        number = self._state.work_of(task)
        if self._written[0] != number:
            tasks = self._state.work[number - 1][1].tasks
            self._written, self._within = (number, _written(tasks)), _written_within(tasks)
        written, store = self._written[1], self._store(task)
        for name in _reads(self._state, task):
            within = self._within.get(name, ())
            if name in written or any(above in written for above in around(name)):
                yield name, str(store / name)
            elif not within or (self._directory / name).exists():
                yield name, str(self._directory / name)
            for inner in within:
                if (store / inner).exists():
                    yield inner, str(store / inner)


def staged_command(
    attempts: Path, attempt: int, files: TaskFiles, command: Sequence[str], shows: str = ""
) -> tuple[str, ...]:
    """What copies the files of an attempt into its directory, and then becomes its command.

    `shows`: a directory whose files it finds there, too.
    """
    order = stage.StageOrder(
        directory=str(attempts / str(attempt) / FILES),
        copies=[(source, name) for name, source in files.reads.items()],
        parents=sorted({str(Path(name).parent) for name in files.writes}),
        shows=shows,
    )
    file = attempts / f"{attempt}.order"
    file.write_bytes(msgspec.json.encode(order))
    return (sys.executable, "-I", "-S", stage.__file__, str(file), *command)


def remove_copies(root: Path, name: str, reads: Iterable[str], writes: Iterable[str]) -> None:
    """Remove the copies of what was read from a directory with files.

    One that cannot be removed is in nobody's way; what a link leads to is not a copy.
    """
    written = [Path(one) for one in writes]
    holding = {path for one in written for path in (one, *one.parents)}
    for path in map(Path, reads):
        if path not in holding:
            parts = (name, FILES, *path.parts)
            # a directory may be too deep for removing it by recursion
            with suppress(OSError, RecursionError), opened(parts[:-1], str(root)) as directory:
                remove(parts[-1], directory)


def publish_all(state: RunState, staging: Staging) -> None:
    """Do again what a crash may have cut off: the files of tasks that were done since the run was
    begun or taken up the last time before this one.
    """
    periods = [begun for begun, _ in state.periods]
    since = periods[-2] if len(periods) > 1 else 0
    for task, attempt in enumerate(state.winners):
        if attempt and state.log.ended[attempt] >= since:
            staging.publish(task)


def _is_url(name: str) -> bool:
    """Whether what a task reads is no file, but data that it fetches itself."""
    return _URL.match(name) is not None


def _reads(state: RunState, task: int) -> Sequence[str]:
    """Files; what has a URL is fetched by the task itself."""
    work, index = state.locate(task)
    if not isinstance(work, Workflow):
        return ()
    return [name for name in work.reads(index) if not _is_url(name)]


def _writes(state: RunState, task: int) -> Sequence[str]:
    work, index = state.locate(task)
    return work.writes(index) if isinstance(work, Workflow) else ()


def _written(tasks: Bag | Workflow) -> frozenset[str]:
    """All files that tasks write."""
    if not isinstance(tasks, Workflow):
        return frozenset()
    return frozenset(tasks.files.names[file] for row in tasks.files.written for file in row)


def _written_within(tasks: Bag | Workflow) -> Mapping[str, Sequence[str]]:
    """By the name of a directory, the files within it that tasks write."""
    found = defaultdict[str, list[str]](list)
    if isinstance(tasks, Workflow):
        names, written = tasks.files.names, {file for row in tasks.files.written for file in row}
        for outer, inner in nested(names):
            if inner in written:
                found[names[outer]].append(names[inner])
    return dict(found)


def _missing(directory: Path, names: Sequence[str]) -> list[str]:
    """Those that are not there, for whatever reason."""
    return [name for name in names if not os.path.exists(directory / name)]  # noqa: PTH110


def _provide(source: Path, target: Path, place: Path) -> None:
    """Let a file, or the files of a directory, be found elsewhere, too, those that lack there.

    Each appears as a whole. What is gone by now, since somebody tidied up, is left out, and so is
    what stands where another task has put something else. A link to a directory that leads out of
    `place` stays one: nobody knows how much lies there.
    """
    within = os.path.realpath(place)
    if not source.is_dir():
        _put(source, target, within)
        return
    with _left_out(CHANGED):
        _put(source, target, within)
        for path, name in stage.walk(str(source), within):
            _put(Path(path), target / name, within)


def _put(source: Path, target: Path, within: str) -> None:
    with _left_out(IN_THE_WAY):
        target.parent.mkdir(parents=True, exist_ok=True)
        if not source.is_dir():
            _link(str(source), str(target))
        elif (real := Path(os.path.realpath(source))).is_relative_to(within):
            target.mkdir(exist_ok=True)
        elif not os.path.lexists(target):
            target.symlink_to(real)


@contextmanager
def _left_out(numbers: Collection[int]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in numbers:
            raise


def _link(source: str, target: str) -> None:
    if os.path.lexists(target) or not os.path.isfile(source):  # noqa: PTH113
        return  # a device has no end
    if not os.path.islink(source):  # noqa: PTH114 (what it leads to may be somebody else's)
        with suppress(OSError):  # not every file system has links, nor for files of others
            os.link(source, target)
            return
    descriptor, part = mkstemp(prefix=".bursar-", dir=os.path.dirname(target))  # noqa: PTH120
    os.close(descriptor)
    try:
        shutil.copy(source, part)
        os.replace(part, target)  # noqa: PTH105
    except BaseException:
        os.unlink(part)  # noqa: PTH108
        raise
