from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from bursar.execute.clock import RunClock
from bursar.execute.processes import boottime
from bursar.model.time import HOUR, SECOND


def test_a_run_goes_on_at_the_time_that_has_passed():
    clock = RunClock(5 * SECOND, time.time() - 3600)
    assert HOUR <= clock.now() < HOUR + SECOND


def test_a_wall_clock_that_was_set_back_does_not_take_time_back():
    clock = RunClock(5 * SECOND, time.time() + 3600)
    assert 5 * SECOND <= clock.now() < 6 * SECOND


def test_a_run_without_a_beginning_goes_on_where_it_was():
    assert 5 * SECOND <= RunClock(5 * SECOND, None).now() < 6 * SECOND


def test_a_wall_clock_that_jumps_later_does_not_matter(monkeypatch):
    clock = RunClock(0, time.time())
    before = clock.now()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert before <= clock.now() < before + SECOND


@given(st.integers(0, 10**15))
def test_times_convert_there_and_back(at):
    clock = RunClock(7, None)
    assert clock.from_boottime(clock.to_boottime(at)) == at
    assert abs(clock.to_boottime(clock.now()) - boottime()) < SECOND
