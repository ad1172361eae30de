"""Turnaround times that change along a run are noticed, chance is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.trend import MOST, slope_of


def times(slope, size=600, seed=1, watched=np.inf):
    """When each was sent, how long it was or is under way, whether it returned, and its weight."""
    rng = np.random.default_rng(seed)
    when = np.sort(rng.uniform(-1, 0, size))
    takes = 1000 * np.exp(slope * when) * rng.uniform(0.6, 1.4, size)
    left = watched * -when
    return when, np.minimum(takes, left), (takes <= left).astype(float), np.ones(size)


@pytest.mark.parametrize("slope", [-0.5, 0.3, 1.0])
def test_times_that_grow_or_shrink_are_noticed(slope):
    assert slope_of(*times(slope)) == pytest.approx(slope, abs=0.12)


@pytest.mark.parametrize("slope", [-0.5, 0.3])
def test_the_slope_is_the_same_where_many_are_still_under_way(slope):
    found = [slope_of(*times(slope, seed=seed, watched=3_000)) for seed in range(10)]
    assert np.mean(found) == pytest.approx(slope, abs=0.06)


def test_where_there_is_no_trend_chance_makes_next_to_none():
    found = [slope_of(*times(0.0, size, seed)) for size in (10, 600) for seed in range(30)]
    assert sum(one == 0 for one in found) > 30
    assert np.mean(np.abs(found[30:])) < 0.02


def test_times_that_were_all_sent_together_have_no_trend():
    _, spans, returned, weights = times(0.0)
    assert slope_of(np.full(len(spans), -1.0), spans, returned, weights) == 0
    assert slope_of(np.array([-1.0]), np.array([5.0]), np.ones(1), np.ones(1)) == 0


def test_those_that_are_hardly_awaited_count_little():
    when, spans, returned, weights = times(0.0)
    lost = np.linspace(-0.3, 0, 200)
    when, spans = np.append(when, lost), np.append(spans, np.full(200, 1e6))
    returned = np.append(returned, np.zeros(200))
    assert slope_of(when, spans, returned, np.append(weights, np.ones(200))) > 0.1
    assert abs(slope_of(when, spans, returned, np.append(weights, np.zeros(200)))) < 0.05


@given(factor=st.floats(10, 1000), seed=st.integers(0, 20))
def test_the_unit_of_time_does_not_matter(factor, seed):
    when, spans, returned, weights = times(0.4, 100, seed)
    again = slope_of(when, spans * factor, returned, weights)
    assert again == pytest.approx(slope_of(when, spans, returned, weights), abs=1e-3)


def test_of_very_many_times_a_part_tells_the_slope():
    assert slope_of(*times(0.3, size=5 * MOST)) == pytest.approx(0.3, abs=0.02)
