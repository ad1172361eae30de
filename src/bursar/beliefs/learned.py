"""Run times that nobody knows, learned while works of the same kinds of tasks come and go.

A task is expected to take what those of its kind took that have ended, in the mean at speed 1; one
of a kind that was not seen, what all took. That is settled when its work arrives. A work as a whole
is corrected: first by what works took that were expected to take about the same, then by its own
tasks as they end. As a plug-in of the view it serves any policy; in the compiled loop
(`bursar.kernels.placing`) the same functions learn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from bursar.model.learning import correction, first_correction, kind_mean, size_class
from bursar.model.time import Time
from bursar.state import events as ev
from bursar.state.run_times import RunTimes
from bursar.state.task_status import DONE
from bursar.state.view import View


class LearnedRunTimes(RunTimes):
    """Works are known until all of their tasks are done."""

    def __init__(self) -> None:
        self._now: Time = 0
        self._speeds: dict[str, float] = {}
        """by offer"""
        self._all = _Sum()
        self._kinds: defaultdict[str, _Sum] = defaultdict(_Sum)
        self._classes: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        """by size class of works: what those that ended took, and were expected to take"""
        self._fresh: list[_LearnedWork] = []
        """works that have arrived in this instant, of which nothing is expected yet"""
        self._works: dict[int, _LearnedWork] = {}
        """by place: those that are not done"""
        self._place_of: dict[int, int] = {}
        """by task of these works"""

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        if event.at > self._now:
            self._settle()
            self._now = event.at
        if isinstance(event, ev.RunCreated):
            self._speeds = {offer.name: offer.speed for offer in event.market.offers}
        elif isinstance(event, ev.WorkArrived):
            self._arrive(len(state.work) - 1, state)
        elif isinstance(event, ev.AttemptEnded):
            task = state.log.task[event.attempt]
            if state.status[task] == DONE and state.winners[task] == event.attempt:
                speed = self._speeds[state.offer_of(state.log.machine[event.attempt])]
                self._learn(task, round(state.log.runtime[event.attempt] * speed))

    def _arrive(self, place: int, state: View) -> None:
        before, work = state.work[place]
        workflow = work.workflow
        kinds = [""] * work.count
        if workflow is not None:
            kinds = [workflow.kind_names[kind] for kind in workflow.kinds]
        found = self._works[place] = _LearnedWork(before + 1, kinds)
        self._fresh.append(found)
        self._place_of.update(dict.fromkeys(found.tasks, place))

    def _settle(self) -> None:
        """Expect something of what has arrived, once all that ended at that time is known."""
        for work in self._fresh:
            estimates = []
            for kind in work.kinds:
                seen = self._kinds[kind]
                estimates.append(kind_mean(seen.took, seen.count, self._all.took, self._all.count))
            work.expect(estimates)
            work.first = work.factor = first_correction(*self._classes[size_class(work.total)])
        self._fresh = []

    def _learn(self, task: int, took: Time) -> None:
        if task not in self._place_of:
            return
        self._settle_if_begun(task)
        place = self._place_of.pop(task)
        work = self._works[place]
        self._all.add(took)
        self._kinds[work.kinds[task - work.tasks.start]].add(took)
        work.learn(task, took)
        if not work.left:
            ended = self._classes[size_class(work.total)]
            ended[0] += work.took
            ended[1] += work.total
            del self._works[place]

    def _settle_if_begun(self, task: int) -> None:
        """A task that took no time may end in the instant in which its work arrived."""
        if not self._works[self._place_of[task]].estimates:
            self._settle()

    def at_speed_one(self, task: int) -> Time | None:
        place = self._place_of.get(task)
        if place is None:
            return None
        self._settle()
        work = self._works[place]
        return work.estimates[task - work.tasks.start]

    def correction(self, work: int) -> float:
        self._settle()
        return self._works[work].factor if work in self._works else 1.0

    def expected(self, offer: str, elapsed: Time = 0, task: int = 0) -> Time | None:
        time = self.at_speed_one(task)
        if time is None:
            if not self._all.count:
                return None
            corrected = float(self._all.took // self._all.count)
        else:
            corrected = time * self._works[self._place_of[task]].factor
        return max(elapsed, round(corrected / self._speeds[offer]))


class _Sum:
    __slots__ = ("count", "took")

    def __init__(self) -> None:
        self.count = self.took = 0

    def add(self, took: Time) -> None:
        self.count += 1
        self.took += took


class _LearnedWork:
    """A work that has tasks which are not done."""

    def __init__(self, first_task: int, kinds: list[str]) -> None:
        self.tasks = range(first_task, first_task + len(kinds))
        self.kinds = kinds
        self.left = len(kinds)
        self.estimates: list[Time] = []
        """by task, once they are settled"""
        self.total = self.took = self.expected = 0
        """the estimates of all, what was done took, and what it was expected to take"""
        self.first = self.factor = 1.0

    def expect(self, estimates: Iterable[Time]) -> None:
        self.estimates = list(estimates)
        self.total = sum(self.estimates)

    def learn(self, task: int, took: Time) -> None:
        self.left -= 1
        self.took += took
        self.expected += self.estimates[task - self.tasks.start]
        tasks = len(self.tasks)
        self.factor = correction(self.first, self.took, self.expected, self.total, tasks)
