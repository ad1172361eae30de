"""Attempts under way in arrays, kept up to date by what changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from bursar.policies.columns import Columns, Integers, Truths
from bursar.state.view import Attempt, View

_KEY: Final = 36
"""Bits of an attempt's number in a key that has its machine's number above it."""
LARGEST: Final = 2**63 - 1


class RunningAttempts:
    """Those attempts that are `wanted`, a row each; `look` first.

    What `wanted` reads of an attempt must be noted among the changes of the view.
    """

    def __init__(self, wanted: Callable[[Attempt], bool]) -> None:
        self._wanted = wanted
        self._columns = Columns(6)
        self._seen: int | None = None
        """the place in what changed from which on it is not known yet; None: nothing is"""
        self._offers: dict[str, int] = {}
        self._groups: dict[int, list[int]] = {}
        """by task, its place among the tasks, and how many rows it has"""
        self._free: list[int] = []
        """places among the tasks that no task has"""
        self._barred: set[int] = set()
        """tasks that have failed before: they may not be replicated"""

    def look(self, view: View) -> None:
        """Follow what changed."""
        recent = view.changes.attempts
        changed = None if self._seen is None else recent.since(self._seen)
        self._seen = recent.end
        if changed is None:
            self._begin(view)
        else:
            for number in changed:
                self._update(number, view)

    def _begin(self, view: View) -> None:
        self._offers = {offer.name: place for place, offer in enumerate(view.market.offers)}
        self._columns.clear()
        self._groups, self._free = {}, []
        self._barred = set()
        for number in view.attempts:
            self._update(number, view)

    def _update(self, number: int, view: View) -> None:
        columns, attempt = self._columns, view.attempts.get(number)
        if number in columns:
            self._leave(view.log.task[number])
        task = view.log.task[number]
        if view.failures[task]:
            self._barred.add(task)
        if attempt is None or not self._wanted(attempt):
            columns.drop(number)
            return
        machine = attempt.machine
        group = self._join(task)
        offer = self._offers[machine.offer.name]
        columns.put(number, (number, task, machine.id, attempt.started, offer, group))

    def _join(self, task: int) -> int:
        group = self._groups.get(task)
        if group is None:
            place = self._free.pop() if self._free else len(self._groups)
            group = self._groups[task] = [place, 0]
        group[1] += 1
        return group[0]

    def _leave(self, task: int) -> None:
        group = self._groups[task]
        group[1] -= 1
        if not group[1]:
            self._free.append(self._groups.pop(task)[0])

    # --- reading ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def attempts(self) -> Integers:
        return self._columns[0]

    @property
    def tasks(self) -> Integers:
        return self._columns[1]

    @property
    def machines(self) -> Integers:
        return self._columns[2]

    @property
    def started(self) -> Integers:
        return self._columns[3]

    @property
    def offers(self) -> Integers:
        """Places in the market."""
        return self._columns[4]

    def row_of(self, attempt: int) -> int | None:
        return self._columns.row_of.get(attempt)

    @property
    def keys(self) -> Integers:
        """By these rows are in the order of their machines' numbers, then of their own."""
        return (self.machines << _KEY) + self.attempts

    @property
    def is_single(self) -> bool:
        """Whether no task has two of them."""
        return len(self._groups) == len(self._columns)

    def least_by_task(self, values: Integers) -> Integers:
        """For each row, the least value that a row of the same task has."""
        if self.is_single:
            return values
        groups = self._columns[5]
        least = np.full(len(self._groups) + len(self._free), LARGEST)
        np.minimum.at(least, groups, values)
        found: Integers = least[groups]
        return found

    def may_replicate(self, view: View) -> Truths | None:
        """Whether the task of each row may get another attempt; None: all may.

        One that has failed gets no more attempts than its retries: replicas are none beside them.
        """
        self._barred &= self._groups.keys()
        barred = [task for task in self._barred if not view.may_replicate(task)]
        return ~np.isin(self.tasks, barred) if barred else None
