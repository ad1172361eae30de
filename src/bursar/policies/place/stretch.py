"""`stretch`: the work first whose slowdown, to a power, is largest by what it still costs.

The key is s^p / (c w): s is what `fwp` takes for the slowdown of a work, c its critical path and w
the work that has not been started. A work that suffers goes first, but a small one suffers at less
cost to others. With p = 4 both the mean and the deviation of slowdowns are low.

It follows estimates only as far as they are worth it. Of the last works (`history`) it is seen
whether the second half of each took more or less than that of the one that ended before, and
whether this was expected. Where the answer is nearly always right, the key above counts. Where it
is mostly right, slowdowns are not known: who waits long would count as one that suffers, though it
may be long, and works would be served in the order of arrival. There the key is that of `fdws`, in
which only the critical path is estimated. Where the answer is right hardly more often than wrong,
works are served in the order of arrival, as by `backfill`, until it is. The fewer works count, the
sooner it is seen that estimates have turned bad; with very few, chance decides.
"""

from __future__ import annotations

from collections import deque

from bursar.kernels.placing_keys import (
    RIGHT,
    ROUGH,
    STRETCH,
    by_arrival,
    share_left,
    stretched,
    trust,
    verdict,
)
from bursar.model.time import Time
from bursar.policies.place.fwp import FwpPlacer
from bursar.policies.workload_placer import CompiledRule
from bursar.state.ranked_works import RankedWork
from bursar.state.view import View


class StretchPlacer(FwpPlacer):
    def __init__(self, power: int = 4, tasks: int = 1000, history: int = 50) -> None:
        super().__init__(history, tasks)
        self._power = power
        self._trust = Trust(history)

    @property
    def compiled(self) -> CompiledRule:
        history = self._trust.history
        return CompiledRule(STRETCH, self._power, remembered=self._tasks, history=history)

    def key(self, work: RankedWork, now: Time) -> float:
        trusted = self._trust.level
        if trusted == ROUGH:
            return share_left(work.left, work.tasks, work.path * work.factor)
        if trusted != RIGHT:
            return by_arrival()
        return stretched(
            now - work.arrived,
            self._scale,
            work.path_left * work.factor,
            work.path * work.factor,
            work.work_left * work.factor,
            self._power,
        )

    def learn(self, work: RankedWork, task: int, view: View) -> None:
        super().learn(work, task, view)
        attempt = view.winners[task]
        speed = view.market[view.offer_of(view.log.machine[attempt])].speed
        self._trust.learn(work, task, round(view.log.runtime[attempt] * speed))

    def starting(self, work: RankedWork, task: int) -> None:
        super().starting(work, task)
        self._trust.starting(work, task)


class Trust:
    """How far estimates are worth following, by the works that ended last."""

    def __init__(self, history: int) -> None:
        self.history = history
        self._verdicts: deque[int] = deque(maxlen=history)
        self._agreed = self._compared = 0
        """the sum of the verdicts, and how many are not 0"""
        self._last: tuple[Time, float] | None = None
        """of the work that ended last: what its second half took, and was expected to take"""
        self._halves: dict[int, _Halves] = {}
        """by place: works of which tasks were started, and not all are done"""

    @property
    def level(self) -> int:
        return trust(self._agreed, self._compared, max(1, self.history // 10))

    def starting(self, work: RankedWork, task: int) -> None:
        """A task of a work is about to be started."""
        halves = self._halves.setdefault(work.place, _Halves())
        unstarted, half = work.left - work.running, (work.tasks + 1) // 2
        if unstarted == half:
            halves.expected = work.work_left * work.factor
        if unstarted <= half:
            halves.second.add(task)

    def learn(self, work: RankedWork, task: int, took: Time) -> None:
        """A task of a work was done."""
        halves = self._halves.get(work.place)
        if halves is None:  # it began before the run was resumed
            return
        halves.done += 1
        halves.took += took if task in halves.second else 0
        if halves.done == work.tasks:
            del self._halves[work.place]
            self._judge(halves.took, halves.expected)

    def _judge(self, took: Time, expected: float) -> None:
        if self._last is not None:
            if len(self._verdicts) == self.history:
                self._agreed -= self._verdicts[0]
                self._compared -= abs(self._verdicts[0])
            found = verdict(took, expected, *self._last)
            self._verdicts.append(found)
            self._agreed += found
            self._compared += abs(found)
        self._last = (took, expected)


class _Halves:
    """The second half of the tasks of a work, in the order in which they were started."""

    def __init__(self) -> None:
        self.second: set[int] = set()
        self.expected = 0.0
        """what they were expected to take, when the first of them was started"""
        self.took: Time = 0
        """what those took that are done"""
        self.done = 0
        """tasks of the work"""
