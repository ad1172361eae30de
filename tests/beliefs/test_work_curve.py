"""The chance that a task takes longer than any given work."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.beliefs.work_curve import BINS, EDGES, WorkCurve, bin_of, estimate, shifted


def binned(times):
    found = np.zeros(BINS)
    for time in times:
        found[bin_of(time)] += 1
    return found


def drawn(seed, count=4000):
    """Two kinds of tasks, which no lognormal form has."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(count) < 0.3, 300.0, 60.0) * rng.normal(1, 0.1, count)


def test_many_results_tell_the_curve_whatever_the_form():
    times = drawn(1)
    curve = estimate(binned(times), np.zeros(0), 500.0, 0.3, 8.0).curve
    assert curve.mean == pytest.approx(times.mean(), rel=0.02)
    assert curve.spread == pytest.approx(times.std() / times.mean(), rel=0.05)
    for work in (30.0, 100.0, 290.0):
        found = np.interp(work, curve.points, curve.alive)
        assert found == pytest.approx(np.mean(times > work), abs=0.03)


def test_attempts_that_run_count_as_far_as_they_have_come():
    """Each was looked at at some moment: half of them had not ended by then."""
    times = drawn(2)
    looked = np.random.default_rng(3).uniform(0, 400, len(times))
    has_ended = times <= looked
    found = estimate(binned(times[has_ended]), looked[~has_ended], 500.0, 0.3, 8.0)
    assert found.curve.mean == pytest.approx(times.mean(), rel=0.04)
    assert 0.5 < found.doubt / (times.std() / times.mean() / np.sqrt(has_ended.sum())) < 3


def test_without_results_it_is_the_form():
    curve = estimate(np.zeros(BINS), np.zeros(0), 120.0, 0.4, 8.0).curve
    assert curve.mean == pytest.approx(120.0, rel=0.01)
    assert WorkCurve.lognormal(120.0, 0.4).mean == pytest.approx(120.0, rel=0.01)


@pytest.mark.parametrize("work", [0.0, 60.0, 500.0])
def test_what_is_left_of_a_task_is_within_its_quantiles(work):
    curve = WorkCurve.lognormal(100.0, 0.8)
    rest = curve.rest(np.array([work]))[0]
    low, high = (curve.rest_within(np.array([work]), np.array([c]))[0] for c in (0.2, 0.95))
    assert low < rest < high


def test_a_faster_offer_shows_more_work_in_the_same_time():
    moved = shifted(binned([100.0] * 50), 1.5)
    assert moved.sum() == pytest.approx(50)
    middle = moved @ np.sqrt(EDGES[:-1] * EDGES[1:]) / 50
    assert middle == pytest.approx(150.0, rel=0.05)


def test_the_shortest_task_stays_the_shortest_on_a_slower_machine():
    """A task that takes no time at all is in the first bin, and is not moved beyond it."""
    bins = np.zeros(BINS)
    bins[0], bins[200] = 3, 10
    slower = shifted(bins, 0.87)
    assert slower[0] == 3
    assert slower.sum() == pytest.approx(13)
    assert not slower[202:].any()
    faster = shifted(np.eye(1, BINS, BINS - 1)[0], 1.5)
    assert faster[-1] == pytest.approx(1)
