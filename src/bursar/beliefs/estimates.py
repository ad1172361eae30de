"""Run times that are given for every task, right or wrong, as a plug-in of the view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bursar.model.time import Time
from bursar.state.run_times import RunTimes


class GivenRunTimes(RunTimes):
    """What each task takes at speed 1; on an offer it takes that by its speed."""

    def __init__(self, estimates: Sequence[Time], speeds: Mapping[str, float]) -> None:
        self._estimates = estimates
        """of task 1 and the following"""
        self._speeds = speeds
        """by offer"""

    def at_speed_one(self, task: int) -> Time | None:
        return int(self._estimates[task - 1]) if 0 < task <= len(self._estimates) else None

    def expected(self, offer: str, elapsed: Time = 0, task: int = 0) -> Time | None:
        time = self.at_speed_one(task)
        return None if time is None else max(elapsed, round(time / self._speeds[offer]))


class GivenByOffer(RunTimes):
    """What each task takes on each offer, where no speed tells it."""

    def __init__(self, estimates: Mapping[str, Sequence[Time]]) -> None:
        self._estimates = estimates
        """by offer, of task 1 and the following"""

    def at_speed_one(self, task: int) -> Time | None:
        """The mean over all offers: what ranks and paths are made of."""
        every = [times[task - 1] for times in self._estimates.values() if task <= len(times)]
        return sum(every) // len(every) if every else None

    def expected(self, offer: str, elapsed: Time = 0, task: int = 0) -> Time | None:
        times = self._estimates[offer]
        return max(elapsed, times[task - 1]) if 0 < task <= len(times) else None
