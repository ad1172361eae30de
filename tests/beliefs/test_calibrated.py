import numpy as np
import pytest

from bursar.beliefs.calibrated import REFERENCE_DISK, REFERENCE_NETWORK, OfferCalibration
from bursar.beliefs.histogram import Histogram
from bursar.beliefs.performance import LEAST_MEASURED, Calibration, best_window, predicted
from bursar.model.time import DAY, HOUR, MINUTE


def measured(values, every=MINUTE):
    return Calibration(np.arange(len(values)) * every, np.array(values, dtype=np.float64))


def test_a_measured_speed_beats_that_of_the_market():
    known = OfferCalibration(cpu=measured([1.4, 1.5, 1.6]))
    assert known.performance(HOUR, market_speed=9.0).speed == 1.5
    assert OfferCalibration().performance(HOUR, market_speed=9.0).speed == 9.0


def test_a_busy_moment_counts_little_and_old_speeds_nothing():
    known = OfferCalibration(cpu=measured([5.0] * 50 + [2.0] * (LEAST_MEASURED - 1) + [0.1]))
    assert known.speed(DAY) == 2.0


def test_what_was_measured_later_is_not_known_yet():
    known = OfferCalibration(cpu=measured([1.0, 3.0]), disk=measured([1e6, 9e6]))
    assert known.speed(0) == 1.0
    assert known.speed(-1) is None
    assert known.performance(0).disk == Histogram.constant(1 / 1e6)
    assert known.performance(-1).disk == Histogram.constant(1 / REFERENCE_DISK)


def test_bandwidths_are_those_of_the_window_that_predicts_best():
    rng = np.random.default_rng(0)
    falling = measured(1e8 * np.exp(-np.arange(5000) / 1000) * rng.normal(1, 0.05, 5000))
    now = int(falling.times[-1])
    found = OfferCalibration(disk=falling).performance(now)
    assert found.disk == predicted(falling, now, best_window(falling, now))
    assert 1 / found.disk.mean == pytest.approx(falling.bandwidths[-60:].mean(), rel=0.2)
    assert found.network == Histogram.constant(1 / REFERENCE_NETWORK)
