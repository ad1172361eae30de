"""What attempts that were cut off left where a workflow's tasks write, moved aside.

The next attempt of a task begins as the first one did. So what an earlier one wrote goes out of the
way first, to `outputs/leftovers/ATTEMPT/`: nothing is removed, since the user's own files may lie
beside it. What is not known to be of an attempt stays where it is:

- what stood there when the run began, with all that is in it (`FilesFound`);
- what was last changed while no attempt of the task ran: somebody else put it there;
- what another task writes, also within a directory;
- what is reached through a link that was not there when the run began.
"""

from __future__ import annotations

import errno
import os
import stat
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple

from bursar.execute.descriptors import DIRECTORY, free_name, opened
from bursar.execute.outputs import LEFTOVERS, Outputs
from bursar.model.time import SECOND, Time
from bursar.model.workflow import Workflow
from bursar.state import events as ev
from bursar.state.state import RunState
from bursar.state.task_status import DONE

SLACK: Final = 1.0
"""seconds by which the clock of a file system may lag behind when an attempt begins"""
DEEPEST: Final = 64
"""levels of directories that are looked at; what lies deeper stays"""


def find_files(flow: Workflow, directory: Path) -> ev.FilesFound:
    """What stands where a workflow's tasks will write."""
    names = [flow.files.names[file] for row in flow.files.written for file in row]
    there = tuple(name for name in names if os.path.lexists(directory / name))
    links = {}
    for parent in {_split(name)[0] for name in names}:
        real = os.path.realpath(directory / parent)
        if real != _plain(directory, parent):
            links[parent] = real
    return ev.FilesFound(0, there, links)


def _split(name: str) -> tuple[str, str]:
    """The directory of an output, and its name there."""
    return os.path.split(name.rstrip("/"))


def _plain(directory: Path, name: str) -> str:
    return os.path.normpath(os.path.join(directory, name))  # noqa: PTH118


class Span(NamedTuple):
    """When an attempt may have written, in seconds since 1970."""

    begin: float
    end: float


class Leftovers:
    """Knows the attempts of a run, and what they may have left in its working directory."""

    def __init__(self, state: RunState, directory: Path, outputs: Outputs) -> None:
        self._state = state
        self._directory = directory
        self._outputs = outputs
        self._attempts: dict[int, list[int]] = {}
        """by task that is not done, those before the one that is being prepared"""
        for attempt in range(1, len(state.log) + 1):
            task = state.log.task[attempt]
            if state.status[task] != DONE:
                self._attempts.setdefault(task, []).append(attempt)
        self._writers: dict[str, int] = {}
        """by path, the task that writes it"""
        self._looked_at = 0
        """works whose paths are among them"""

    def clear(self, task: int, attempt: int, names: Sequence[str]) -> None:
        """Move aside what earlier attempts of a task left at these outputs of it."""
        before = self._attempts.setdefault(task, [])
        found = self._state.files_found
        if found is not None and (spans := [self._span(one) for one in before if one != attempt]):
            for name in names:
                if name not in found:
                    self._clear(_Search(self._protection(task), spans), attempt, name)
        if attempt not in before:
            before.append(attempt)

    def forget(self, task: int) -> None:
        """A task that is done is not prepared again."""
        self._attempts.pop(task, None)

    def _clear(self, search: _Search, attempt: int, name: str) -> None:
        parent, base = _split(name)
        linked = self._state.file_links.get(parent)
        where = linked or _plain(self._directory, parent)
        with _where_it_was(), opened(_parts(where)) as directory:
            search.look(directory, base, os.path.join(where, base))  # noqa: PTH118
            for path in search.theirs:
                relative = _parts(os.path.relpath(path, where))
                with opened(relative[:-1], directory) as holder:
                    self._move(relative[-1], holder, attempt, name, relative)

    def _move(
        self, base: str, holder: int, attempt: int, name: str, relative: Sequence[str]
    ) -> None:
        """To the outputs; on another file system, out of sight beside where it was."""
        parents = [part for part in _parts(_split(name)[0]) if part != ".."]
        target = self._outputs.root.joinpath(LEFTOVERS, str(attempt), *parents, *relative[:-1])
        target.mkdir(parents=True, exist_ok=True)
        with opened([], str(target)) as place:
            try:
                free = free_name(base, place)
                os.rename(base, free, src_dir_fd=holder, dst_dir_fd=place)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                free = free_name(f".{base}.{self._state.run}-{attempt}", holder)
                os.rename(base, free, src_dir_fd=holder, dst_dir_fd=holder)

    def _protection(self, task: int) -> Callable[[str], bool]:
        """Tells whether another task writes a path; a work that arrived is looked at once."""
        for before, work in self._state.work[self._looked_at :]:
            if isinstance(work.tasks, Workflow):
                for index in range(work.count):
                    for name in work.tasks.writes(index):
                        self._writers[_plain(self._directory, name)] = before + 1 + index
        self._looked_at = len(self._state.work)
        return lambda path: self._writers.get(path, task) != task

    def _span(self, attempt: int) -> Span:
        """From its start to its end, or to when it was seen to be gone."""
        log, periods = self._state.log, self._state.periods
        began, ended = log.started[attempt], log.ended[attempt]
        if ended < began:
            ended = self._state.now
        period = bisect_right(periods, began, key=itemgetter(0))
        end = self._wall(ended)
        if period < len(periods) and periods[period][0] <= ended:
            resumed = periods[period][1]
            seen = resumed.cut_off if isinstance(resumed, ev.RunResumed) else 0.0
            end = seen or self._wall(periods[period][0])
        return Span(self._wall(began) - SLACK, end)

    def _wall(self, at: Time) -> float:
        """What the wall clock showed at a time of the run."""
        periods = self._state.periods
        since, event = periods[max(0, bisect_right(periods, at, key=itemgetter(0)) - 1)]
        if event.clocks is not None:
            return event.clocks.wall + (at - since) / SECOND
        began = 0.0 if self._state.created is None else self._state.created.began
        return began + at / SECOND


@contextmanager
def _where_it_was() -> Iterator[None]:
    """Leave alone what is no longer there, or was replaced by a link."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise


class _Search:
    """Goes through what stands at an output, and gathers what attempts wrote."""

    def __init__(self, is_protected: Callable[[str], bool], spans: Sequence[Span]) -> None:
        self._is_protected = is_protected
        self._spans = spans
        self.theirs: list[str] = []
        """paths; of a directory all of which they wrote, only itself"""

    def look(self, directory: int, name: str, path: str, level: int = 0) -> bool:
        """Whether attempts wrote all of it."""
        try:
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return True
        if self._is_protected(path) or level > DEEPEST:
            return False
        inside: list[str] = []
        if stat.S_ISDIR(status.st_mode):
            below = len(self.theirs)
            inner = os.open(name, DIRECTORY, dir_fd=directory)
            try:
                inside = os.listdir(inner)  # noqa: PTH208 (of a descriptor)
                whole = [
                    self.look(inner, one, os.path.join(path, one), level + 1)  # noqa: PTH118
                    for one in inside
                ]
            finally:
                os.close(inner)
            if not all(whole):
                return False
            del self.theirs[below:]
        if inside or any(span.begin <= status.st_ctime <= span.end for span in self._spans):
            self.theirs.append(path)
            return True
        return False


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]
