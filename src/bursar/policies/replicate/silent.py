"""`silent`: as `at-risk`, and what unreliable machines never return is given up.

A host of a grid, or somebody's desktop, may fall silent: nobody reports that, and its slot is paid
for in vain. So an attempt there that takes far longer than any other is given up, and its task goes
back to the bag: after four times the mean (ExPERT, section 5.3), and never before twice the longest
time so far, as some tasks are just long. Each time that a task is given up, the next attempt has
twice as long; where silence is common, each second time. Close to the deadline the longest time so
far is enough there.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator
from heapq import heappop, heappush
from random import Random
from typing import Final

from bursar.beliefs.past import past_given_up, past_successes
from bursar.beliefs.reliability import DEADLINE_IN_MEANS
from bursar.beliefs.unified import UnifiedRuntimes
from bursar.model.market import Offer
from bursar.model.time import FOREVER, Time
from bursar.policies.pool_timeout import ENOUGH, FIRST, MOST_DOUBLINGS
from bursar.policies.provision.hedged import Hedged
from bursar.policies.replicate.at_risk import AtRisk
from bursar.state import events as ev
from bursar.state.actions import Cancel, Start, Wake
from bursar.state.view import View

IN_LONGEST: Final = 2
"""Times the longest attempt that returned a result."""
BY_CHANCE: Final = 2
"""Times in a row that silent hosts may get the same task, where silence is common."""


class Silent(AtRisk):
    always = True

    def __init__(self, provisioner: Hedged, knowledge: UnifiedRuntimes | None = None) -> None:
        super().__init__(provisioner, knowledge)
        self._hedged = provisioner
        self._results, self._total, self._longest = 0, 0, 0
        """of all machines, as times of the slowest unreliable one"""
        self._slowest: float | None = None
        """its speed, once somebody asked"""
        self._watched: deque[tuple[Time, int]] = deque()
        """attempts on unreliable machines, by the times at which they began"""
        self._waited_for: list[tuple[Time, int]] = []
        """heap of when those end that have longer than others"""
        self._given_up: Counter[int] = Counter()
        """by task"""
        self._woken: Time = -1

    def learns_from(self) -> Collection[type]:
        return ev.AttemptStarted, ev.AttemptEnded

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        if type(event) is ev.AttemptStarted:
            if state.machines[event.machine].offer.pool == "unreliable":
                self._watched.append((event.at, event.attempt))
            return
        super().saw(event, state)
        if type(event) is ev.AttemptEnded and event.outcome == "success":
            machine = state.machines[state.log.machine[event.attempt]]
            self._returned(event.runtime, machine.offer, state)

    def saw_before(self, view: View) -> None:
        super().saw_before(view)
        for past in past_successes(view):
            for runtime in past.runtimes.tolist():
                self._returned(runtime, view.market[past.offer], view)
        live = [one for one in view.attempts.values() if one.machine.offer.pool == "unreliable"]
        self._watched.extend(sorted((one.started, one.id) for one in live))
        self._given_up.update(past_given_up(view))

    def _returned(self, runtime: Time, offer: Offer, view: View) -> None:
        if self._slowest is None:
            unreliable = [one.speed for one in view.market.offers if one.pool == "unreliable"]
            self._slowest = min(unreliable, default=1.0)
        time = round(runtime * max(1.0, offer.speed / self._slowest))
        self._results += 1
        self._total += time
        self._longest = max(self._longest, time)

    def replicate(self, view: View, now: Time, rng: Random) -> Iterable[Start | Cancel | Wake]:
        limit = self._limit(view, now)
        actions: list[Start | Cancel | Wake] = list(self._overdue(view, now, limit))
        first = self._waited_for[0][0] if self._waited_for else FOREVER
        if self._watched:
            first = min(first, self._watched[0][0] + limit)
        if first < FOREVER and not now < self._woken <= first:
            self._woken = first
            actions.append(Wake(first))
        if view.idle and not view.ready:
            actions.extend(super().replicate(view, now, rng))
        return actions

    def _limit(self, view: View, now: Time) -> Time:
        """After which an attempt is given up whose task never was."""
        if self._results < ENOUGH:
            return FIRST
        mean = self._total // self._results
        if not self._hedged.is_silent:
            return max(DEADLINE_IN_MEANS * mean, IN_LONGEST * self._longest)
        if self._hedged.is_late(view, now):
            return self._longest
        return max(DEADLINE_IN_MEANS * mean, self._longest)

    def _overdue(self, view: View, now: Time, limit: Time) -> Iterator[Cancel]:
        while self._watched and self._watched[0][0] + limit <= now:
            began, number = self._watched.popleft()
            if number not in view.attempts:
                continue
            times = self._given_up[view.attempts[number].task]
            doublings = times // BY_CHANCE if self._hedged.is_silent else times
            if doublings:
                end = began + (limit << min(doublings, MOST_DOUBLINGS))
                heappush(self._waited_for, (end, number))
            else:
                yield from self._give_up(number, view)
        while self._waited_for and self._waited_for[0][0] <= now:
            yield from self._give_up(heappop(self._waited_for)[1], view)

    def _give_up(self, number: int, view: View) -> Iterator[Cancel]:
        attempt = view.attempts.get(number)
        if attempt is not None and not attempt.cancelling:
            self._given_up[attempt.task] += 1
            yield Cancel(number, reason="no result for far too long", give_up=True)
