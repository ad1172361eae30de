"""Attempts under way in arrays, kept up to date by what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
import numpy as np

from bursar.policies.columns import Columns, Integers, Truths
from bursar.state.view import Attempt, View

_KEY: Final = 36
"""Bits of an attempt's number in a key that has that of its offer or machine above it."""
_STARTED: Final = 4
_FIRST: Final = 7
LARGEST: Final = 2**63 - 1
SOME: Final = 16
"""Changes that are always followed one by one."""
FEW: Final = 1_000
"""Rows of which all are looked at as fast as some."""

Rows = Integers | slice
"""Numbers of rows; a slice stands for many that follow each other."""


class _Group(msgspec.Struct):
    """The rows of one task."""

    place: int
    """of the task among the tasks that have rows"""
    first: int
    """the least of `orders`"""
    orders: dict[int, int]
    """by attempt, what it has among `keys`"""


class RunningAttempts:
    """Those attempts that are `wanted`, a row each; `look` first.

    What `wanted` reads of an attempt must be noted among the changes of the view.
    """

    def __init__(self, wanted: Callable[[Attempt], bool]) -> None:
        self._wanted = wanted
        self._columns = Columns(8)
        """by offer, then in the order of their numbers, which is that of time"""
        self._keys: dict[int, int] = {}
        """by attempt, that of its row"""
        self._seen: int | None = None
        """the place in what changed from which on it is not known yet; None: nothing is"""
        self._offers: dict[str, int] = {}
        self._counts: Counter[int] = Counter()
        """rows by offer, as its place in the market"""
        self._groups: dict[int, _Group] = {}
        """by task, its rows"""
        self._free: list[int] = []
        """places among the tasks that no task has"""
        self._barred: set[int] = set()
        """tasks that have failed before: they may not be replicated"""
        self._unsettled: set[int] = set()
        """tasks of which another row may come first, while changes are followed"""

    def look(self, view: View) -> None:
        """Follow what changed."""
        recent = view.changes.attempts
        changed = None if self._seen is None else recent.since(self._seen)
        self._seen = recent.end
        if changed is None or len(changed) > SOME + len(view.attempts) // 2:
            self._begin(view)
        else:
            for number in dict.fromkeys(changed):
                self._update(number, view)
        if self._unsettled:
            self._settle_first()

    def _begin(self, view: View) -> None:
        """Look at all: that is faster than to follow many changes."""
        self._offers = {offer.name: place for place, offer in enumerate(view.market.offers)}
        self._keys.clear()
        self._counts.clear()
        self._groups, self._free = {}, []
        self._unsettled = set()
        self._barred = {one.task for one in view.attempts.values() if view.failures[one.task]}
        wanted, row = self._wanted, self._row
        rows = [row(one) for one in view.attempts.values() if wanted(one)]
        rows.sort()
        self._columns.fill(rows)

    def _row(self, attempt: Attempt) -> tuple[int, ...]:
        """A new row; the attempt is counted."""
        machine, number, task = attempt.machine, attempt.id, attempt.task
        offer = self._offers[machine.offer.name]
        self._counts[offer] += 1
        key = self._keys[number] = (offer << _KEY) + number
        order = (machine.id << _KEY) + number
        group = self._groups.get(task)
        if group is None:
            place = self._free.pop() if self._free else len(self._groups)
            group = self._groups[task] = _Group(place, order, {number: order})
        else:
            group.orders[number] = order
            if order < group.first:
                self._unsettled.add(task)
        return key, number, task, machine.id, attempt.started, offer, group.place, group.first

    def _update(self, number: int, view: View) -> None:
        columns, attempt, task = self._columns, view.attempts.get(number), view.log.task[number]
        key = self._keys.get(number)
        if view.failures[task]:
            self._barred.add(task)
        if attempt is None or not self._wanted(attempt):
            if key is not None:
                self._counts[key >> _KEY] -= 1
                columns.drop(self._keys.pop(number))
                self._leave(task, number)
        elif key is not None:
            columns.change(key, _STARTED, attempt.started)  # all else stays as it is
        else:
            columns.put(self._row(attempt))

    def _leave(self, task: int, number: int) -> None:
        group = self._groups[task]
        order = group.orders.pop(number)
        if not group.orders:
            self._free.append(self._groups.pop(task).place)
        elif order == group.first:
            self._unsettled.add(task)

    def _settle_first(self) -> None:
        """Tell the rows of tasks of which another one comes first now."""
        for task in self._unsettled:
            group = self._groups.get(task)
            if group is not None:
                group.first = min(group.orders.values())
                for number in group.orders:
                    self._columns.change(self._keys[number], _FIRST, group.first)
        self._unsettled.clear()

    # --- reading ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def are_few(self) -> bool:
        """Whether it is not worth it to find out which of them need a closer look."""
        return len(self._columns) <= FEW

    @property
    def attempts(self) -> Integers:
        return self._columns[1]

    @property
    def tasks(self) -> Integers:
        return self._columns[2]

    @property
    def machines(self) -> Integers:
        return self._columns[3]

    @property
    def started(self) -> Integers:
        return self._columns[_STARTED]

    @property
    def offers(self) -> Integers:
        """Places in the market."""
        return self._columns[5]

    @property
    def run_on(self) -> Sequence[int]:
        """Offers on whose machines some of them run, as places in the market."""
        return [place for place, count in self._counts.items() if count]

    @property
    def first(self) -> Integers:
        """For each row, the least key (`keys`) that a row of the same task has."""
        return self._columns[_FIRST]

    def rows_on(self, offers: Iterable[int]) -> Integers:
        """The rows of machines of some offers."""
        parts = [np.arange(rows.start, rows.stop) for rows in map(self.rows_of, offers)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def rows_of(self, offer: int) -> slice:
        """The rows of an offer's machines."""
        begin = sum(count for place, count in self._counts.items() if place < offer)
        return slice(begin, begin + self._counts[offer])

    def keys(self, rows: Rows = slice(None)) -> Integers:
        """By these rows are in the order of their machines' numbers, then of their own."""
        found: Integers = (self.machines[rows] << _KEY) + self.attempts[rows]
        return found

    @property
    def is_single(self) -> bool:
        """Whether no task has two of them."""
        return len(self._groups) == len(self._columns)

    def least_by_task(self, values: Integers, rows: Rows = slice(None)) -> Integers:
        """For each row, or each of some, the least value that one of them of the same task has."""
        if self.is_single:
            return values
        groups = self._columns[6][rows]
        least = np.full(len(self._groups) + len(self._free), LARGEST)
        np.minimum.at(least, groups, values)
        found: Integers = least[groups]
        return found

    def one_of_each(self, rows: Integers) -> Integers:
        """One row of each task that has some of these."""
        if self.is_single:
            return rows
        last = np.full(len(self._groups) + len(self._free), -1)
        last[self._columns[6][rows]] = rows
        found: Integers = last[last >= 0]
        return found

    def with_rivals(self, rows: Integers) -> Integers:
        """These rows, and all others of the same tasks."""
        groups = self._columns[6]
        is_wanted = np.zeros(len(self._groups) + len(self._free), np.bool_)
        is_wanted[groups[rows]] = True
        return np.flatnonzero(is_wanted[groups])

    def may_replicate(self, view: View) -> Truths | None:
        """Whether the task of each row may get another attempt; None: all may.

        One that has failed gets no more attempts than its retries: replicas are none beside them.
        """
        if not self._barred:
            return None
        self._barred &= self._groups.keys()
        barred = [task for task in self._barred if not view.may_replicate(task)]
        return ~np.isin(self.tasks, barred) if barred else None
