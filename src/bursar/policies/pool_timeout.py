"""After how long an instance on the unreliable pool is given up, where no strategy says so.

Once enough results are known it is four mean turnaround times (ExPERT, section 5.3). On a large
pool the first of them are those of the shortest tasks, so they must be a part of what was sent.
Before that nobody knows whether hosts fell silent or tasks are long. So half of the instances are
given up after a first limit, half of the others after twice as long, and so on: however long tasks
are, some instance is waited for long enough, and no slot waits for ever (after Luby, Sinclair and
Zuckerman, "Optimal speedup of Las Vegas algorithms", 1993).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Final

from bursar.beliefs.reliability import DEADLINE_IN_MEANS
from bursar.model.time import HOUR, Time
from bursar.policies.past_turnarounds import past_turnarounds
from bursar.state.view import View

ENOUGH: Final = 3
"""Results from which the default deadline is computed ..."""
PART: Final = 0.3
"""... and the part of what was sent that they must be."""
FIRST: Final[Time] = HOUR
"""The limit before anything is known."""
RARE: Final = 20
"""One instance given up among so many results says nothing of silent hosts."""
MOST_DOUBLINGS: Final = 16
"""Most doublings of the timeout of one instance, or of one task."""
RECENT: Final = 200
"""Results whose turnaround times are kept."""
LIKELY: Final = 0.5
"""The chance from which an end is waited for."""


class PoolTimeout:
    """What is waited for, and for how long."""

    def __init__(self, given: Time | None = None) -> None:
        self.given = given
        """None: it is learned"""
        self.results = 0
        """of the unreliable pool"""
        self.turnaround: Time = 0
        """the sum over them"""
        self.in_vain = 0
        """instances given up since the last result, where nobody said after how long"""
        self.is_short = False
        """no instance is waited for longer than others"""
        self._recent: deque[Time] = deque(maxlen=RECENT)
        self._sure = 0
        self._sure_time: Time = 0
        """results of reliable machines, and the sum of what they take on unreliable ones"""
        self._times_given_up: Counter[int] = Counter()
        """by task, where nobody said after how long"""
        self._unsure = 0
        """instances sent before the deadline was known"""
        self._are_enough = False
        """whether the results tell it"""
        self._watched: list[deque[tuple[Time, int]]] = [deque() for _ in range(MOST_DOUBLINGS + 1)]
        """by doublings of the first limit, when each instance was sent, in this order"""

    # --- what is known ---------------------------------------------------------------------------

    @property
    def known(self) -> Time | None:
        """The deadline of an instance in the throughput phase; None: not known yet."""
        if self._are_enough:
            return DEADLINE_IN_MEANS * (self.turnaround // self.results)
        return self.given

    @property
    def is_surely_known(self) -> bool:
        """Whether reliable machines showed how long tasks take."""
        return self._sure > 0

    @property
    def shortest(self) -> Time:
        """After this an instance may be given up; nothing is before."""
        if self.known is not None:
            return self.known
        first = DEADLINE_IN_MEANS * self._sure_time // self._sure if self._sure else FIRST
        return max(first, DEADLINE_IN_MEANS * max(self._recent, default=0))

    def longer_with(self, task: int) -> Time:
        """Twice as long each time that it was given up, where that is rare; 0: no longer.

        Where many are given up, hosts fall silent. Where few are, these may just be long tasks.
        """
        times = self._times_given_up.get(task, 0)
        if not times or self._times_given_up.total() * RARE > self.results:
            return 0
        return (self.known or 0) << min(times, MOST_DOUBLINGS)

    def is_likely_over(self, age: Time, later: Time) -> bool:
        """Whether an instance of this age probably returns a result by a later age."""
        longer = [time for time in self._recent if time > age]
        return sum(time <= later for time in longer) > LIKELY * len(longer)

    # --- what happened ---------------------------------------------------------------------------

    def returned(self, turnaround: Time) -> None:
        self.results += 1
        self.turnaround += turnaround
        self.in_vain = 0
        self._recent.append(turnaround)
        self._are_enough |= self._is_part(self.results, self._unsure)

    def returned_surely(self, time: Time) -> None:
        """A reliable machine did in this time what an unreliable one would do in such a time."""
        self._sure += 1
        self._sure_time += time

    def saw_before(self, view: View) -> None:
        """Learn what happened before anybody watched."""
        past = past_turnarounds(view)
        self.results, self.turnaround = len(past.unreliable), sum(past.unreliable)
        self._recent.extend(past.unreliable[-RECENT:])
        self._sure, self._sure_time = len(past.sure), sum(past.sure)
        self._unsure = past.sent  # of no meaning once the deadline is known
        self._are_enough = any(
            self._is_part(place + 1, sent) for place, sent in enumerate(past.sent_before)
        )

    def _is_part(self, results: int, sent: int) -> bool:
        """Whether so many tell how long tasks take; they do from then on."""
        return self.given is None and results >= max(ENOUGH, PART * sent)

    def gave_up(self, task: int) -> None:
        if self.given is None:
            self._times_given_up[task] += 1
            self.in_vain += 1

    # --- instances that are waited for -----------------------------------------------------------

    def watch(self, attempt: int, sent: Time) -> None:
        doublings = 0
        if self.known is None:
            self._unsure += 1
            lowest = self._unsure & -self._unsure
            doublings = min(lowest.bit_length() - 1, MOST_DOUBLINGS)
        self._watched[doublings].append((sent, attempt))

    def forget(self) -> None:
        """What was waited for is gone."""
        for some in self._watched:
            some.clear()

    def overdue(self, view: View, now: Time) -> Iterator[int]:
        """Attempts that were waited for long enough; they are not watched any more."""
        for doublings, some in enumerate(self._watched):
            limit = self._limit(doublings)
            while some and (some[0][1] not in view.attempts or some[0][0] + limit <= now):
                yield some.popleft()[1]

    def next_end(self) -> Time | None:
        """When the first of them is given up."""
        ends = (some[0][0] + self._limit(place) for place, some in enumerate(self._watched) if some)
        return min(ends, default=None)

    def oldest(self, view: View) -> Time | None:
        """When the first of them was sent that is under way."""
        for some in self._watched:
            while some and some[0][1] not in view.attempts:
                some.popleft()
        return min((some[0][0] for some in self._watched if some), default=None)

    def _limit(self, doublings: int) -> Time:
        is_short = self.is_short or self.known is not None
        return self.shortest << (0 if is_short else doublings)
