"""Run times that are given or learned, as plug-ins of the view."""

from __future__ import annotations

from collections import defaultdict

from tests.simulate.plain_placing import PlainTask, PlainWork
from tests.simulate.whole_fleet import run_engine

from bursar.beliefs.estimates import GivenRunTimes
from bursar.beliefs.learned import LearnedRunTimes
from bursar.policies.place.cpp import CppPlacer
from bursar.state import events as ev
from bursar.testing import check_run_times


def test_they_keep_the_contract_of_run_times():
    check_run_times(LearnedRunTimes)
    speeds = defaultdict(lambda: 2.0)
    check_run_times(lambda: GivenRunTimes(range(5, 100), speeds))


def test_a_given_time_is_by_the_speed_of_the_offer():
    times = GivenRunTimes([60, 90], {"slow": 0.5, "fast": 1.5})
    assert times.at_speed_one(2) == 90
    assert times.expected("slow", 0, 2) == 180
    assert times.expected("fast", 0, 2) == 60
    assert times.expected("fast", 70, 2) == 70
    assert times.expected("fast", 0, 3) is None


class Watch(CppPlacer):
    """Remembers what was expected of the first task of each work when it arrived."""

    def __init__(self):
        super().__init__()
        self.reported = {}

    def follow(self, view, now, rng, done):
        for place in range(len(view.work)):
            first = view.work.before(place) + 1
            time = view.runtimes.at_speed_one(first)
            if time is not None:
                self.reported.setdefault(place, (time, view.runtimes.correction(place)))


def test_tasks_of_a_kind_tell_about_each_other_and_about_their_work():
    one = [PlainTask(40, 0, (), 0), PlainTask(8, 0, (0,), 1)]
    alike = [PlainTask(20, 0, (), 0), PlainTask(4, 0, (0,), 1)]
    works = [PlainWork(0, one), PlainWork(100, alike), PlainWork(200, alike)]
    placer = Watch()
    run_engine(works, [1.0, 1.0], placer, learns=True)
    assert placer.reported[0] == (1_000_000, 1.0)
    assert placer.reported[1][0] == 40
    assert placer.reported[2][0] == 30
    assert placer.reported[2][1] < 1.0  # works that were expected to take about as much took less


def test_nothing_is_kept_of_works_that_are_done():
    runtimes = LearnedRunTimes()
    assert runtimes.at_speed_one(1) is None
    assert runtimes.correction(0) == 1.0
    assert runtimes.expected("any") is None
    runtimes.saw(ev.ArrivalsEnded(0), None)
