"""Calibrations in windows, and what tasks take by them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.histogram import Histogram
from bursar.beliefs.performance import (
    DEFAULT_WINDOW,
    LEAST_MEASURED,
    WINDOWS,
    Calibration,
    Performance,
    Profile,
    best_window,
    error_of,
    predicted,
    time_on,
)
from bursar.model.errors import InputError
from bursar.model.time import DAY, HOUR, MINUTE, SECOND

MB = 10**6
MEASURED = st.lists(
    st.tuples(st.integers(0, 1000), st.floats(1, 1e9)), min_size=1, max_size=60
).map(sorted)


def calibrated(days, mean_at, every=MINUTE, seed=0):
    """Normal bandwidths about a mean that may change over time."""
    times = np.arange(0, days * DAY, every)
    rng = np.random.default_rng(seed)
    means = np.array([mean_at(time / DAY) for time in times])
    return Calibration(times, MB * means * rng.normal(1, 0.05, len(times)))


@given(MEASURED, st.integers(1, 300), st.integers(0, 1100))
def test_windows_end_now_and_leave_nothing_out(measured, length, now):
    times, bandwidths = (np.array(row) for row in zip(*measured, strict=True))
    rows = Calibration(times, bandwidths).windows(length, now)
    known = bandwidths[times <= now]
    assert np.array_equal(np.concatenate(rows) if rows else [], known)
    for age, row in enumerate(reversed(rows)):
        inside = (times <= now - age * length) & (times > now - (age + 1) * length)
        assert np.array_equal(row, bandwidths[inside])


@given(MEASURED, st.integers(1, 300), st.integers(0, 1100))
def test_what_is_measured_later_changes_no_prediction(measured, length, now):
    times, bandwidths = (np.array(row) for row in zip(*measured, strict=True))
    if times[0] > now:
        return
    all_known = Calibration(times, bandwidths)
    assert predicted(all_known, now, length) == predicted(all_known.until(now), now, length)
    assert error_of(all_known, now, length) == error_of(all_known.until(now), now, length)


def test_the_coming_window_is_predicted_by_the_last():
    calibration = calibrated(4, lambda day: 100 if day < 3 else 50)
    before, after = (predicted(calibration, day * DAY, DAY) for day in (3, 4))
    assert 1 / before.mean == pytest.approx(100 * MB, rel=0.01)
    assert 1 / after.mean == pytest.approx(50 * MB, rel=0.01)
    assert after == Histogram.from_bandwidths(calibration.bandwidths[-24 * 60 + 1 :])


def test_a_window_in_which_little_was_measured_borrows_from_before():
    calibration = calibrated(2, lambda day: 100)
    late = predicted(calibration, 3 * DAY, HOUR)
    assert late == Histogram.from_bandwidths(calibration.bandwidths[-LEAST_MEASURED:])


def test_steady_bandwidths_want_a_long_window():
    """All windows are alike; the more is measured in one, the less it differs by chance."""
    calibration = calibrated(28, lambda day: 100, every=15 * MINUTE)
    assert best_window(calibration, 28 * DAY) >= 2 * DAY


def test_bandwidths_that_drift_want_a_short_window():
    calibration = calibrated(14, lambda day: 100 * math.exp(-day / 3))
    assert best_window(calibration, 14 * DAY) <= 3 * HOUR


def test_a_daily_rhythm_wants_whole_days():
    calibration = calibrated(14, lambda day: 100 + 60 * (day % 1 < 0.5), every=5 * MINUTE)
    assert best_window(calibration, 14 * DAY, [4 * HOUR, 12 * HOUR, DAY]) == DAY
    errors = [error_of(calibration, 14 * DAY, length) for length in (12 * HOUR, DAY)]
    assert errors[0] > 1
    assert errors[1] < 0.05


def test_one_sudden_change_does_not_spoil_every_length():
    calibration = calibrated(20, lambda day: 100 if day < 10 else 40)
    for length in WINDOWS[:-1]:
        assert error_of(calibration, 20 * DAY, length) < math.inf


def test_with_too_little_measured_the_window_is_the_papers():
    calibration = calibrated(1, lambda day: 100, every=2 * HOUR)
    assert best_window(calibration, DAY) == DEFAULT_WINDOW == DAY
    assert error_of(calibration, DAY, HOUR) is None


def test_a_task_takes_processor_disk_and_network_time():
    rng = np.random.default_rng(0)
    disk = Histogram.from_bandwidths(rng.normal(100, 10, 5000) * MB)
    network = Histogram.from_bandwidths(rng.gamma(129.3, 0.79, 5000) * MB)
    found = time_on(Profile(60 * SECOND, 500 * MB, 300 * MB), Performance(2.0, disk, network))
    assert found.mean == pytest.approx(30 + 500 * MB * disk.mean + 300 * MB * network.mean)
    assert found.least > 30
    simulated = 30 + 500 * MB * disk.sample(rng, 10**5) + 300 * MB * network.sample(rng, 10**5)
    for share in (0.1, 0.5, 0.9):
        assert found.quantile(share) == pytest.approx(np.quantile(simulated, share), rel=0.01)


def test_varying_bandwidth_takes_longer_than_its_mean_does():
    """Section 2.2: the mean time is not the volume by the mean bandwidth."""
    bandwidths = np.array([10.0, 190.0]) * MB
    per_byte = Histogram.from_bandwidths(bandwidths)
    found = time_on(Profile(0, 1000 * MB), Performance(1.0, per_byte, Histogram.constant(0)))
    assert found.mean == pytest.approx((100 + 1000 / 190) / 2)
    assert found.mean > 5 * 1000 * MB / bandwidths.mean()


def test_a_task_that_only_computes_takes_the_same_each_time():
    vary = Histogram.from_bandwidths([1.0, 2.0, 3.0])
    assert time_on(Profile(8 * SECOND), Performance(4.0, vary, vary)) == Histogram.constant(2.0)


STEADY = Performance(1.0, Histogram.constant(1e-6), Histogram.constant(1e-6))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Calibration(np.array([1, 2]), np.array([1.0])), "a time for each"),
        (lambda: Calibration(np.array([2, 1]), np.array([1.0, 1.0])), "ascending"),
        (lambda: Calibration(np.array([1]), np.array([0.0])), "leave it out"),
        (lambda: predicted(Calibration(np.array([5]), np.array([1.0])), 4, 1), "calibrate"),
        (lambda: time_on(Profile(-1), STEADY), "less than no time"),
        (lambda: time_on(Profile(1), Performance(0.0, STEADY.disk, STEADY.network)), "speed 0"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(make, message):
    with pytest.raises(InputError, match=message):
        make()
