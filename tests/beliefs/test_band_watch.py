"""The watch on a prediction: seldom wrong, soon right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.band_watch import (
    FALSE_ALARMS,
    OUTSIDE,
    SHARES,
    TOLERANCE,
    BandWatch,
    band,
)
from bursar.beliefs.histogram import Histogram
from bursar.beliefs.lognormal import lognormal
from bursar.model.errors import InputError

TIMES = lognormal(0.3).scaled(60.0)


def tasks_until_alarm(actuals):
    watch = BandWatch()
    for number, actual in enumerate(actuals.tolist(), 1):
        watch.saw(TIMES, actual)
        if watch.is_outside_band():
            return number, watch.side
    return None, None


def test_false_alarms_are_as_rare_as_reported():
    """Tasks at the very limit of what the prediction allows: a tenth above, a tenth below."""
    rng = np.random.default_rng(0)
    low, high = band(TIMES)
    runs, alarms = 800, 0
    for _ in range(runs):
        luck = rng.random(500)
        actuals = np.select([luck < OUTSIDE, luck > 1 - OUTSIDE], [low / 2, high * 2], 60.0)
        alarms += tasks_until_alarm(actuals)[0] is not None
    assert alarms / runs <= FALSE_ALARMS


@given(st.floats(0, OUTSIDE), st.sampled_from(SHARES))
def test_no_bet_gains_while_the_prediction_is_right(share_outside, bet):
    gain = share_outside * bet / OUTSIDE + (1 - share_outside) * (1 - bet) / (1 - OUTSIDE)
    assert gain <= 1 + 1e-12


@pytest.mark.parametrize(
    ("factor", "side", "late"),
    [(2.0, "slower", 0), (0.4, "faster", 0), (1.5, "slower", 0), (2.0, "slower", 500)],
)
def test_a_wrong_prediction_is_found_soon(factor, side, late):
    rng = np.random.default_rng(1)
    found = []
    for _ in range(60):
        actuals = TIMES.sample(rng, late + 300)
        actuals[late:] *= factor
        number, reported = tasks_until_alarm(actuals)
        if number is not None and number > late:
            assert reported == side
            found.append(number - late)
    assert len(found) >= 58
    assert np.median(found) <= 40


def test_less_than_the_tolerance_raises_no_alarm():
    rng = np.random.default_rng(2)
    steady = Histogram.constant(60.0)
    watch = BandWatch()
    for actual in rng.uniform(60 * (1 - TOLERANCE) + 0.1, 60 * (1 + TOLERANCE) - 0.1, 500):
        watch.saw(steady, float(actual))
    assert not watch.is_outside_band()


def test_an_alarm_stays():
    watch = BandWatch()
    for actual in [600.0] * 20 + [60.0] * 500:
        watch.saw(TIMES, actual)
    assert watch.is_outside_band()
    assert watch.side == "slower"


def test_one_task_alone_raises_no_alarm():
    watch = BandWatch()
    watch.saw(TIMES, 1e6)
    assert not watch.is_outside_band()


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=250).map(sorted))
def test_at_most_a_tenth_of_a_prediction_lies_beyond_either_end_of_its_band(values):
    times = Histogram(np.array(values))
    low, high = band(times)
    assert np.mean(times.values > high) <= OUTSIDE
    assert np.mean(times.values < low) <= OUTSIDE


@pytest.mark.parametrize("wrong", [0.0, 1.0, -1.0, float("nan")])
def test_a_rate_that_cannot_be_is_refused(wrong):
    with pytest.raises(InputError, match="rate of false alarms"):
        BandWatch(wrong)


def test_a_time_that_cannot_be_is_refused():
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="finite"):
            BandWatch().saw(TIMES, wrong)
