"""Failed tasks in groups: those together that failed alike.

Two tasks failed alike if they ended with the same exit code and the same text, but for numbers and
for words of their own commands.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Final

import msgspec

from bursar.model.text import cut
from bursar.model.work import Bag
from bursar.state.facts import RunFacts

MOST_SHOWN: Final = 10
"""Groups of which something is shown."""

_Key = tuple[int | None, str]


class FailedAlike(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tasks that failed alike, and all that is shown of them."""

    count: int
    first: int
    """the task with the lowest number"""
    command: str
    """of the first, cut to what a line shows; empty: it has none"""
    exit_code: int | None = None
    why: tuple[str, ...] = ()
    """what the first printed, line by line"""
    has_output: bool = False
    """what the first printed was kept, as for all commands"""


class FailureGroups:
    """The groups of a run that goes on: a failed task is looked at once.

    Tasks whose text is in the journal alone are in no group.
    """

    def __init__(self) -> None:
        self._groups: dict[_Key, list[int]] = {}
        self._seen = 0
        """failed tasks that were looked at ..."""
        self._last = 0
        """... and the attempt that failed last of them"""
        self._shown: tuple[FailedAlike, ...] = ()

    def look(self, state: RunFacts) -> tuple[FailedAlike, ...]:
        """The groups of the most tasks, as of now."""
        failed = state.failed_tasks
        last = failed[next(reversed(failed))].attempt if failed else 0
        if (len(failed), last) == (self._seen, self._last):
            return self._shown
        new = list(takewhile(lambda task: failed[task].attempt != self._last, reversed(failed)))
        if len(failed) != self._seen + len(new):  # some were tried again
            self._groups, new = {}, list(reversed(failed))
        for task in reversed(new):
            self._add(state, task)
        self._seen, self._last = len(failed), last
        self._shown = tuple(_shown(state, tasks) for tasks in self.tasks()[:MOST_SHOWN])
        return self._shown

    def tasks(self) -> list[list[int]]:
        """The tasks of each group in order; the group of the most tasks comes first."""
        groups = [sorted(tasks) for tasks in self._groups.values()]
        return sorted(groups, key=lambda tasks: (-len(tasks), tasks[0]))

    def _add(self, state: RunFacts, task: int) -> None:
        failure = state.failed_tasks[task]
        why = failure.why
        if why is None:
            return
        for word in sorted(_own_words(state, task), key=len, reverse=True):
            if word in why:
                why = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "{}", why)
        key = (failure.exit_code, re.sub(r"\d+", "0", why))
        self._groups.setdefault(key, []).append(task)


def failures_alike(state: RunFacts) -> list[list[int]]:
    """The failed tasks of each group; the group of the most tasks comes first."""
    groups = FailureGroups()
    groups.look(state)
    return groups.tasks()


def _own_words(state: RunFacts, task: int) -> set[str]:
    """Words that are a task's own."""
    work, index = state.locate(task)
    rows = work.rows if isinstance(work, Bag) else None
    return {*state.command(task)[1:], *(rows[index] if rows else ())} - {""}


def _shown(state: RunFacts, tasks: list[int]) -> FailedAlike:
    first = tasks[0]
    failure = state.failed_tasks[first]
    return FailedAlike(
        len(tasks),
        first,
        cut(state.describe(first)),
        failure.exit_code,
        tuple(map(cut, (failure.why or "").splitlines())),
        bool(state.command(first)),
    )
