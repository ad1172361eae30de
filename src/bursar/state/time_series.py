"""A number over time, of the run and of each account, in limited memory.

It is noted at multiples of `STEP`, each time with what it has added up to since the run began, so
that the mean over any time takes two looks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from bursar.model.time import SECOND, Time

STEP: Final[Time] = 5 * SECOND
"""Between two times at which a number is noted, if it changed."""
KEPT: Final = 4_096
"""Notes of the latest times that are all kept. When there are twice as many, every second of the
older ones goes."""


class TimeSeries:
    """A whole number that changes at times that never decrease."""

    __slots__ = ("due", "moment", "notes", "sums", "times", "value")

    def __init__(self) -> None:
        self.value = 0
        """now"""
        self.moment = 0
        """every change times when it was: the value times now, less this, is what it added up to"""
        self.due: Time = 0
        """the first multiple of `STEP` that is not noted; if it is past, nothing changed since"""
        self.times = array("q")
        """those that are noted, ascending; no other multiple of `STEP` between two neighbours,
        unless nothing changed there or it was long ago"""
        self.notes = array("q")
        """the value at each, after all that happened then"""
        self.sums = array("d")
        """what it had added up to at each: the value times microseconds"""

    def change(self, by: int, at: Time) -> None:
        if at > self.due:
            self._note(at)
        self.value += by
        self.moment += by * at

    def _note(self, at: Time) -> None:
        """The first and the last of the times that are due: between them nothing changed."""
        last = (at - 1) // STEP * STEP
        for time in (self.due, last) if self.due < last else (last,):
            self.times.append(time)
            self.notes.append(self.value)
            self.sums.append(self.value * time - self.moment)
        self.due = last + STEP
        if len(self.times) > 2 * KEPT:
            for column in (self.times, self.notes, self.sums):
                del column[1:KEPT:2]

    # --- reading ---------------------------------------------------------------------------------

    def at(self, moment: Time) -> int:
        """What it was, after all that happened then; exact at the multiples of `STEP` that are
        kept, else what it was at the one before.
        """
        if moment >= self.due:
            return self.value
        place = bisect_right(self.times, moment) - 1
        return 0 if place < 0 else self.notes[place]

    def mean(self, begin: Time, end: Time) -> float:
        """Over a time that is not empty; exact if both are multiples of `STEP` that are kept."""
        return (self.sum_until(end) - self.sum_until(begin)) / (end - begin)

    def sum_until(self, moment: Time) -> float:
        """What it had added up to; between two notes as if it had been the same all the time."""
        if moment >= self.due:
            return self.value * moment - self.moment
        place = bisect_right(self.times, moment) - 1
        if place < 0:
            return 0.0
        begin, sum_then = self.times[place], self.sums[place]
        if place + 1 < len(self.times):
            end, sum_later = self.times[place + 1], self.sums[place + 1]
        else:
            end, sum_later = self.due, self.value * self.due - self.moment
        return sum_then + (sum_later - sum_then) * (moment - begin) / (end - begin)


class AccountSeries:
    """A number over time by account; the account "" is the whole run."""

    __slots__ = ("series", "whole")

    def __init__(self) -> None:
        self.whole = TimeSeries()
        self.series: dict[str, TimeSeries] = {"": self.whole}

    def change(self, by: int, at: Time, account: str = "") -> None:
        """That of an account, and of the run."""
        self.whole.change(by, at)
        if account:
            self.series.setdefault(account, TimeSeries()).change(by, at)

    def _of(self, account: str) -> TimeSeries:
        return self.series.get(account, _ZERO)

    @property
    def accounts(self) -> Sequence[str]:
        """Those that had any, and "", the whole run."""
        return tuple(self.series)

    def now(self, account: str = "") -> int:
        return self._of(account).value

    def at(self, moment: Time, account: str = "") -> int:
        return self._of(account).at(moment)

    def mean(self, begin: Time, end: Time, account: str = "") -> float:
        return self._of(account).mean(begin, end)

    def means(self, every: Time, count: int, now: Time, account: str = "") -> Sequence[float]:
        """Those of the last intervals of a length that have ended, oldest first.

        An interval begins at a multiple of its length. There are fewer while the run is young.
        """
        series, last = self._of(account), now // every
        return [
            series.mean(number * every, (number + 1) * every)
            for number in range(max(0, last - count), last)
        ]


_ZERO: Final = TimeSeries()
"""That of an account which had none; never changed."""
