import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.histogram import BINS, Histogram
from bursar.beliefs.lognormal import lognormal


@given(st.floats(0.001, 5), st.integers(2, 400))
def test_the_mean_is_1_and_nothing_is_0(deviation, bins):
    found = lognormal(deviation, bins)
    assert found.mean == pytest.approx(1.0)
    assert found.least > 0
    assert len(found.values) == bins


def test_bins_are_means_of_what_lies_in_them():
    drawn = np.random.default_rng(0).normal(0, 1, 10**6)
    spread = np.sqrt(np.log1p(0.3**2))
    sampled = Histogram.from_samples(np.exp(spread * drawn - spread**2 / 2))
    found = lognormal(0.3)
    assert found.values == pytest.approx(sampled.values, rel=0.02)
    assert found.values[1:-1] == pytest.approx(sampled.values[1:-1], rel=0.005)


def test_without_deviation_it_is_a_constant():
    assert lognormal(0.0) == Histogram.constant(1.0, BINS)
