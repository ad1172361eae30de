"""Progress: what a run has shown of run times so far (BaTS thesis, sections 2.2.1 and 2.2.3).

An observer: it learns from the events of a run, live or replayed from its journal, and policies
read it. Run times are kept by offer; only successes count. Those of attempts under way are
estimated from the longer ones that were seen, so that the mean is not biased to short tasks: from
those of the sample alone where it is to be as published, else from all.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import accumulate
from math import sqrt
from typing import Final

import msgspec
import numpy as np

from bursar.beliefs.ascending import AscendingTimes, Integers
from bursar.beliefs.past import SUCCESS, column, offers_of, past_successes
from bursar.beliefs.sampling import sample_size
from bursar.beliefs.survival import Survival
from bursar.model.time import Time
from bursar.state import events as ev
from bursar.state.run_times import RunTimes
from bursar.state.view import View

MOST_KEPT: Final = 512
"""Run times kept one by one for each offer, spread over all that came; sums count them all."""


class Seen:
    """Run times on one offer."""

    def __init__(self) -> None:
        self.count = 0
        self.total: Time = 0
        self.squares = 0
        self.ordered: list[Time] = []
        """one in so many of those that came, at most `MOST_KEPT`, ascending"""
        self._kept: list[Time] = []
        """the same as they came"""
        self._each = 1
        self._sums: list[Time] = []
        """of `ordered` from each place to the end; empty where it must be made again"""
        self._arrays: AscendingTimes | None = None
        """`ordered`; None where it must be made again"""
        self.begun: set[int] = set()
        """live attempts that belong to the sample: the first of their offer to be started"""
        self.sampled: list[Time] = []
        """run times of the sample's attempts that succeeded, ascending"""

    def add(self, runtime: Time) -> None:
        self.count += 1
        self.total += runtime
        self.squares += runtime * runtime
        if self.count % self._each:
            return
        self._kept.append(runtime)
        insort(self.ordered, runtime)
        self._sums = []
        if self._arrays is not None:
            self._arrays = self._arrays.with_one(runtime)
        if len(self._kept) > MOST_KEPT:
            self._each *= 2
            self._kept = self._kept[1::2]
            self.ordered, self._arrays = sorted(self._kept), None

    def add_past(self, runtimes: Sequence[Time]) -> None:
        """The first that are known, in the order in which they came: as `add` of each."""
        self.count, self.total = len(runtimes), sum(runtimes)
        self.squares = sum(runtime * runtime for runtime in runtimes)
        while self.count // self._each > MOST_KEPT:
            self._each *= 2
        self._kept = list(runtimes[self._each - 1 :: self._each])
        self.ordered = sorted(self._kept)

    def expected(self, elapsed: Time) -> Time:
        """The run time of an attempt that has run for so long: the mean of those seen that took
        longer, or as long as it has run where none did.
        """
        longer = bisect_right(self.ordered, elapsed)
        if longer == len(self.ordered):
            return elapsed
        if not self._sums:
            self._sums = list(accumulate(reversed(self.ordered)))
            self._sums.reverse()
        return self._sums[longer] // (len(self.ordered) - longer)

    def expected_each(self, elapsed: Integers) -> Integers:
        """`expected` of each."""
        if self._arrays is None:
            self._arrays = AscendingTimes.of(self.ordered)
        longer, sums = self._arrays.above(elapsed)
        return np.where(longer > 0, sums // np.maximum(longer, 1), elapsed)

    def expected_by_sample(self, elapsed: Time) -> Time:
        """tau_e as published (section 2.2.1): the mean of the sample's run times that are longer.

        Where none is longer the thesis has no figure; then it is as long as it has run.
        """
        longer = self.sampled[bisect_right(self.sampled, elapsed) :]
        return sum(longer) // len(longer) if longer else elapsed

    def survival(self, ages: Sequence[Time]) -> Survival:
        """Survival of the tasks that ended here, and of running attempts with these ages."""
        found = Survival(self.ordered, ages, self.count / len(self.ordered), self.deviation)
        if not ages:
            found.mean = self.total / self.count  # of all, not of those kept
        return found

    @property
    def deviation(self) -> float:
        """The standard deviation; the mean where fewer than two tasks were done."""
        mean = self.total / max(1, self.count)
        if self.count < 2:
            return mean
        return sqrt(max(0.0, (self.squares - self.count * mean * mean) / (self.count - 1)))


class MachineRecord(msgspec.Struct):
    """What one machine did: tasks, and the time they took."""

    tasks: int = 0
    time: Time = 0


class Progress(RunTimes):
    """Run times by offer, and what each machine did.

    `sample` tasks tell enough of an offer; by default as many as equation 2.1 says for the bag.
    """

    def __init__(self, sample: int | None = None) -> None:
        self._sample = sample
        self._sizes: dict[int, int] = {}
        """of the sample, by the size of the bag; only that of the last bag is kept"""
        self.seen: dict[str, Seen] = {}
        self.machines: dict[int, MachineRecord] = {}
        """those not down"""

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        if type(event) is ev.AttemptEnded:
            self._ended(event, state)
        elif type(event) is ev.AttemptStarted:
            seen = self.of(state.machines[event.machine].offer.name)
            if len(seen.sampled) + len(seen.begun) < self.sample_of(state.total):
                seen.begun.add(event.attempt)
        elif isinstance(event, ev.MachineRented):
            self.machines[event.machine] = MachineRecord()
        elif isinstance(event, ev.MachineDown):
            self.machines.pop(event.machine, None)
            for seen in self.seen.values():
                seen.begun &= state.attempts.keys()

    def saw_before(self, view: View) -> None:
        """Learn what happened before anybody watched."""
        self.machines = {number: MachineRecord() for number in view.machines}
        for past in past_successes(view):
            runtimes = np.maximum(past.runtimes, 1)
            self.of(past.offer).add_past(runtimes.tolist())
            machines, places = np.unique(past.machines, return_inverse=True)
            times = np.zeros(len(machines), dtype=np.int64)
            np.add.at(times, places, runtimes)
            for machine, *record in zip(
                machines.tolist(), np.bincount(places).tolist(), times.tolist(), strict=True
            ):
                if machine in self.machines:
                    self.machines[machine] = MachineRecord(*record)
        self._find_sample(view)

    def _find_sample(self, view: View) -> None:
        """The first attempts on each offer; one that fails leaves its place to a later one."""
        log, size = view.log, self.sample_of(view.total)
        outcomes, runtimes = column(log.outcome), column(log.runtime)
        starts, ends = column(log.started), column(log.ended)
        offers = offers_of(column(log.machine)[1:], view)
        for name in np.unique(offers).tolist():
            seen, taken, failed = self.of(name), 0, list[Time]()
            for attempt in (np.flatnonzero(offers == name) + 1).tolist():
                while failed and failed[0] <= starts[attempt]:
                    heappop(failed)
                    taken -= 1
                if taken == size:
                    if not failed:
                        break
                    continue
                taken += 1
                if attempt in view.attempts:
                    seen.begun.add(attempt)
                elif outcomes[attempt] == SUCCESS:
                    insort(seen.sampled, max(1, int(runtimes[attempt])))
                else:
                    heappush(failed, int(ends[attempt]))

    def _ended(self, event: ev.AttemptEnded, state: View) -> None:
        machine = state.machines[state.log.machine[event.attempt]]
        seen = self.of(machine.offer.name)
        if event.outcome == "success":
            runtime = max(1, event.runtime)
            seen.add(runtime)
            if event.attempt in seen.begun:
                insort(seen.sampled, runtime)
            record = self.machines.setdefault(machine.id, MachineRecord())
            record.tasks += 1
            record.time += runtime
        seen.begun.discard(event.attempt)

    def of(self, offer: str) -> Seen:
        seen = self.seen.get(offer)
        if seen is None:
            seen = self.seen[offer] = Seen()
        return seen

    def sample_of(self, bag: int) -> int:
        """Tasks of the sample, for a bag of so many."""
        if self._sample is not None:
            return self._sample
        if bag not in self._sizes:
            self._sizes = {bag: sample_size(bag)}
        return self._sizes[bag]

    def is_sampled(self, offer: str, bag: int) -> bool:
        """The sample of this offer has ended, for a bag of so many tasks."""
        return len(self.of(offer).sampled) >= self.sample_of(bag)

    def learn_sample(self, offer: str, runtimes: Iterable[Time]) -> None:
        """Begin with what a sampling phase of its own has shown (section 3.2.2)."""
        seen = self.of(offer)
        for runtime in runtimes:
            seen.add(runtime)
            insort(seen.sampled, runtime)

    def mean(self, offer: str, elapsed: Iterable[Time] = ()) -> Time | None:
        """T_i: the mean run time on an offer, attempts that have run for so long included by what
        the sample says of them. None: no task was done there.
        """
        seen = self.of(offer)
        if not seen.count:
            return None
        running = [seen.expected_by_sample(time) for time in elapsed]
        return max(1, (seen.total + sum(running)) // (seen.count + len(running)))

    def expected(self, offer: str, elapsed: Time = 0, task: int = 0) -> Time | None:
        """What a task takes in all that has run for so long; None: no task was done there."""
        seen = self.of(offer)
        if not seen.count:
            return None
        return seen.expected(elapsed) if elapsed else seen.total // seen.count

    def expected_each(self, offer: str, elapsed: Integers, tasks: Integers) -> Integers | None:
        """`expected` of each that has run for so long."""
        seen = self.of(offer)
        if not seen.count:
            return None
        return np.where(elapsed > 0, seen.expected_each(elapsed), seen.total // seen.count)

    def spread(self, offer: str) -> float:
        """The standard deviation over the mean; one where fewer than two tasks were done."""
        seen = self.of(offer)
        if seen.count < 2:
            return 1.0
        return seen.deviation * seen.count / seen.total
