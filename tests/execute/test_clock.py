from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.execute.clock import RunClock, read_clocks
from bursar.execute.processes import boottime
from bursar.model.time import HOUR, SECOND
from bursar.state.events import Clocks


def test_a_run_goes_on_at_the_time_that_has_passed():
    clock = RunClock(5 * SECOND, (0, Clocks(time.time() - 3600, "", 0)))
    assert HOUR <= clock.now() < HOUR + SECOND


def test_a_wall_clock_that_was_set_back_does_not_take_time_back():
    clock = RunClock(5 * SECOND, (0, Clocks(time.time() + 3600, "", 0)))
    assert 5 * SECOND <= clock.now() < 6 * SECOND


def test_a_run_without_a_beginning_goes_on_where_it_was():
    assert 5 * SECOND <= RunClock(5 * SECOND, None).now() < 6 * SECOND


def test_a_wall_clock_that_jumps_later_does_not_matter(monkeypatch):
    clock = RunClock(0, (0, read_clocks()))
    before = clock.now()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert before <= clock.now() < before + SECOND


@given(st.integers(0, 10**15))
def test_times_convert_there_and_back(at):
    clock = RunClock(7, None)
    assert clock.from_boottime(clock.to_boottime(at)) == at
    assert abs(clock.to_boottime(clock.now()) - boottime()) < SECOND


# --- clocks that disagree -------------------------------------------------------------------------


def test_a_wall_clock_that_was_set_back_forgets_no_time_of_the_same_boot():
    """A machine died at 7.6 s, the last event is of 4.8 s, the clock was set back an hour."""
    then = read_clocks()
    before = Clocks(then.wall + 3600, then.boot, then.uptime - 7_600_000)
    clock = RunClock(4_800_000, (0, before))
    assert 7_600_000 <= clock.now() < 8_600_000
    assert not clock.is_doubtful


def test_where_clocks_disagree_the_dearer_reading_counts():
    then = read_clocks()
    forward = Clocks(then.wall - 3600, then.boot, then.uptime - 7 * SECOND)
    assert HOUR <= RunClock(5 * SECOND, (0, forward)).now() < HOUR + SECOND
    taken_up = Clocks(then.wall, then.boot, then.uptime - 7 * SECOND)
    assert 107 * SECOND <= RunClock(5 * SECOND, (100 * SECOND, taken_up)).now() < 108 * SECOND


def test_the_uptime_of_another_boot_says_nothing():
    then = read_clocks()
    other = Clocks(then.wall - 5, "another", then.uptime - HOUR)
    assert 5 * SECOND <= RunClock(0, (0, other)).now() < 6 * SECOND


@pytest.mark.parametrize("boot", ["another", ""])
def test_a_clock_that_was_set_back_during_a_restart_is_doubtful(boot):
    then = read_clocks()
    clock = RunClock(5 * SECOND, (0, Clocks(then.wall + 3600, boot, 0)))
    assert clock.is_doubtful
    assert 5 * SECOND <= clock.now() < 6 * SECOND
    assert not RunClock(5 * SECOND, (0, Clocks(then.wall - 60, boot, 0))).is_doubtful


def test_boots_are_reported_apart_by_the_kernel(monkeypatch, tmp_path):
    assert len(read_clocks().boot) == 36
    monkeypatch.setattr("bursar.execute.clock.BOOT_ID", tmp_path / "missing")
    assert read_clocks().boot == ""
