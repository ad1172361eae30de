"""One frame for all placers of workloads of workflows; what differs is a key.

While a machine is idle and tasks wait: the work with the least key, of its tasks the one with the
highest upward rank, on the fastest idle machine. Of equals the work that arrived first, then the
smallest number of a task, then of a machine. All events of an instant have been applied before.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush
from random import Random
from typing import ClassVar

import msgspec

from bursar.model.market import Market
from bursar.model.time import Time
from bursar.policies.fastest_idle import FastestIdle
from bursar.policies.place_by_account import AccountPlacer
from bursar.state.actions import Start
from bursar.state.ranked_works import RankedWork, RankedWorks
from bursar.state.view import Machine, View


class CompiledRule(msgspec.Struct, frozen=True):
    """What the compiled event loop (`bursar.kernels.placing`) needs to decide as a placer does."""

    rule: int
    """a constant of `bursar.kernels.placing_keys`"""
    power: int = 1
    remembered: int = 0
    """tasks that ended last, by which estimates are corrected"""
    history: int = 0
    """works that ended last, by which estimates are judged"""
    reading: int = 0
    """of tokens"""
    depth: int = 0
    """of generations"""
    share: int = 0
    """of the level of parallelism that is reserved, in millionths"""
    lazy: bool = False
    forgets_overdue: bool = False
    """whether no machine is waited for whose task should have ended"""


class WorkloadPlacer(AccountPlacer):
    """An entry writes `key`, and what else differs from the above."""

    needs_ranks: ClassVar[bool] = True
    """whether run times are expected at all"""
    key_changes: ClassVar[bool] = False
    """whether keys change with time alone: then all works with waiting tasks are looked at"""
    waits_for_machines: ClassVar[bool] = False
    """whether a task may wait for a busy machine though another one is idle"""

    def __init__(self) -> None:
        self._works = RankedWorks(ranked=self.needs_ranks)
        self._idle = FastestIdle()
        self._waiting: dict[int, RankedWork] = {}
        """by place: works with tasks that wait for a machine"""
        self._queue: list[tuple[float, int]] = []
        """heap of (key, place); what is not as it was is dropped when met"""
        self._keys: dict[int, float] = {}
        """by place: the key with which a work stands in the queue"""

    def serve(self, account: str) -> None:
        self._works.account = account
        self._idle.serve(account)

    @property
    @abstractmethod
    def compiled(self) -> CompiledRule:
        """The same for the compiled loop."""

    def seed_by(self, rng: Random) -> int:
        """What its random choices depend on, drawn when it is first asked; 0: it makes none."""
        return 0

    @abstractmethod
    def key(self, work: RankedWork, now: Time) -> float:
        """The work with the least one is served first."""

    def task_of(self, work: RankedWork) -> int:
        """Which of its waiting tasks is started next."""
        return work.highest

    def may_start(
        self, work: RankedWork, task: int, machine: Machine, view: View, now: Time
    ) -> bool:
        """Whether a task is started now; else its work is passed over until the next event."""
        return True

    def starting(self, work: RankedWork, task: int) -> None:
        """A task is about to be started; it still counts as waiting."""
        return

    def follow(
        self, view: View, now: Time, rng: Random, done: Iterable[tuple[RankedWork, int]]
    ) -> None:
        """Learn from what was done since the last time, in order."""
        return

    def place(self, view: View, now: Time, rng: Random) -> Iterable[Start]:
        changed, done = self._works.look(view)
        self.follow(view, now, rng, done)
        for work in changed:
            self._refresh(work, now)
        self._idle.look(view)
        starts: list[Start] = []
        passed: list[RankedWork] = []
        while self._waiting and (machine := self._idle.first(view)) is not None:
            work = self._next(now)
            task = self.task_of(work)
            if not self.may_start(work, task, machine, view, now):
                passed.append(self._waiting.pop(work.place))
                continue
            starts.append(Start(task, machine.id))
            self.starting(work, task)
            self._works.start(work, task)
            self._idle.use()
            self._refresh(work, now)
        for work in passed:
            self._keys.pop(work.place, None)
            self._refresh(work, now)
        return starts

    def _next(self, now: Time) -> RankedWork:
        """The work that is served next; there is one."""
        if self.key_changes:
            return min(self._waiting.values(), key=lambda one: (self.key(one, now), one.place))
        while True:
            key, place = self._queue[0]
            work = self._waiting.get(place)
            if work is not None and self._keys.get(place) == key:
                return work
            heappop(self._queue)

    def _refresh(self, work: RankedWork, now: Time) -> None:
        """Put a work to where it belongs, after something of it has changed."""
        if not work.waiting:
            self._waiting.pop(work.place, None)
            self._keys.pop(work.place, None)
            return
        self._waiting[work.place] = work
        if self.key_changes:
            return
        key = self.key(work, now)
        if self._keys.get(work.place) != key:
            self._keys[work.place] = key
            heappush(self._queue, (key, work.place))
            self._drop_old()

    def _drop_old(self) -> None:
        """Keep the queue from growing by what has changed."""
        if len(self._queue) > 64 + 4 * len(self._keys):
            self._queue = [(key, place) for place, key in self._keys.items()]
            heapify(self._queue)


class Corrected:
    """What the tasks that ended last took, by what was expected of them (3.6)."""

    def __init__(self, remembered: int) -> None:
        self._last: deque[tuple[Time, Time]] = deque(maxlen=remembered)
        self._took = self._expected = 0

    def add(self, took: Time, expected: Time) -> None:
        if len(self._last) == self._last.maxlen:
            first = self._last[0]
            self._took -= first[0]
            self._expected -= first[1]
        self._last.append((took, expected))
        self._took += took
        self._expected += expected

    def scale(self, view: View) -> float:
        """What times on the clock are multiplied by to compare them with estimates at speed 1.

        The mean speed of the machines over the correction coefficient, which is 1 at first.
        """
        mean = mean_speed(view.fleet, view.market)
        if self._took > 0 and self._expected > 0:
            return mean * (self._expected / self._took)
        return mean


def mean_speed(fleet: Mapping[str, int], market: Market) -> float:
    """The mean speed of a fleet; 1 if it has no machine."""
    counts = {name: count for name, count in fleet.items() if count}
    machines = sum(counts.values())
    speed = sum(market[name].speed * count for name, count in counts.items())
    return speed / machines if machines else 1.0
