"""The contract of a plug-in that tells what tasks are expected to take.

    from bursar.testing import check_run_times

    def test_mine_tells_run_times():
        check_run_times(MyRunTimes)

It sees the events of runs in worlds of every kind. Whatever it tells is a time or nothing; asked
for many tasks at once, it tells what it tells of each; and another one that saw the same events
tells the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bursar.engine.roles import Policy
from bursar.model.time import SECOND, Time
from bursar.policies.place.random import RandomPlacer
from bursar.policies.provision.fixed import Fixed
from bursar.policies.replicate.none import NoReplicas
from bursar.state import events as ev
from bursar.state.run_times import RunTimes
from bursar.state.view import View
from bursar.testing.broken import expect
from bursar.testing.cases import calm_case, hard_cases, play

AGES: tuple[Time, ...] = (0, 1, SECOND, 90 * SECOND, 10**11)


def check_run_times(make: Callable[[], RunTimes], *, worlds: int = 20, seed: int = 0) -> None:
    for case in (calm_case(), *hard_cases(worlds, seed)):
        names = [offer.name for offer in case.market.offers]
        fill = Fixed(
            {offer.name: 3 if offer.limit is None else offer.limit for offer in case.market.offers}
        )
        watched = _WatchedRunTimes(make(), make(), names)
        play(case, Policy(fill, RandomPlacer(), NoReplicas()), observers=[watched])
        watched.compare()


class _WatchedRunTimes:
    """A plug-in next to its twin."""

    def __init__(self, one: RunTimes, twin: RunTimes, offers: Sequence[str]) -> None:
        self._one, self._twin, self._offers = one, twin, offers
        self._seen = 0

    def saw(self, event: ev.AnyEvent, state: View) -> None:
        self._one.saw(event, state)
        self._twin.saw(event, state)
        self._seen += 1
        if self._seen & (self._seen - 1) == 0:  # now and then: it takes its time
            self.compare()

    def compare(self) -> None:
        for offer in self._offers:
            pace = self._one.pace(offer)
            expect(
                pace == self._twin.pace(offer), "pace answers differently when asked the same again"
            )
            for age in AGES:
                self._time("expected", offer, age)
                for source in self._offers:
                    self._time("moved", source, age, offer)
            self._compare_each(offer)
            self._compare_elsewhere(offer)

    def _time(self, question: str, *about: str | Time) -> Time:
        """What it answers, as its twin does; 0: nothing."""
        time, twin = (
            one.expected(*about) if question == "expected" else one.moved(*about)  # type: ignore[arg-type]
            for one in (self._one, self._twin)
        )
        is_time = time is None or (type(time) is int and time >= 0)
        expect(is_time, f"{question} answers {time!r}, which is no time")
        expect(time == twin, f"{question} answers {time}, but {twin} when asked the same again")
        return time or 0

    def _compare_each(self, offer: str) -> None:
        import numpy as np

        ages, tasks = np.array(AGES), np.zeros(len(AGES), np.int64)
        found = self._one.expected_each(offer, ages, tasks)
        each = [self._one.expected(offer, age) for age in AGES]
        if found is None:
            expect(each[0] is None, f"expected_each knows nothing of {offer}, but expected does")
            return
        expected = [time or age for age, time in zip(AGES, each, strict=True)]
        expect(
            found.tolist() == expected, f"expected_each answers {found}, but expected {expected}"
        )

    def _compare_elsewhere(self, source: str) -> None:
        import numpy as np

        places = np.full(len(AGES), self._offers.index(source))
        ages, tasks = np.array(AGES), np.zeros(len(AGES), np.int64)
        times = self._one.elsewhere(self._offers, places, ages, tasks)
        here = [self._time("expected", source, age) for age in AGES]
        expect(times.here.tolist() == here, f"elsewhere answers {times.here}, expected {here}")
        longest = self._one.longest(source, max(AGES))
        most = max(here)
        expect(longest is None or longest >= most, f"longest is {longest}, but expected {most}")
        for offer in self._offers:
            there = [self._time("moved", source, age, offer) for age in AGES]
            found = times.on(offer).tolist()
            expect(found == there, f"elsewhere answers {found} on {offer}, moved {there}")
