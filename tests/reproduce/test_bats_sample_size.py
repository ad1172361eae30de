"""Sample sizes from the width of an interval (BaTS thesis, section 4.3.2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.model.errors import InputError
from bursar.reproduce.bats_sample_size import (
    deviation_width,
    mean_width,
    size_for_deviation,
    size_for_mean,
)


def test_the_width_for_the_deviation_is_that_of_the_equation():
    """Roots of n over the quantiles of chi-square with n - 1 degrees of freedom."""
    from scipy.stats import chi2  # late: it takes a second

    low, high = chi2.ppf(0.05, 29), chi2.ppf(0.95, 29)
    assert deviation_width(30, 0.9) == pytest.approx((30 / low) ** 0.5 - (30 / high) ** 0.5)


def test_the_width_for_the_mean_is_that_of_the_equation():
    from scipy.stats import t

    assert mean_width(30, 0.5, 0.9) == pytest.approx(2 * t.ppf(0.95, 29) * 0.5 / 30**0.5)


@pytest.mark.parametrize(("confidence", "size"), [(0.9, 546), (0.95, 774)])
def test_a_deviation_to_a_tenth_takes_hundreds_of_tasks(confidence, size):
    assert size_for_deviation(0.1, confidence) == size


@given(st.floats(0.02, 5), st.floats(0.05, 2), st.sampled_from([0.8, 0.9, 0.99]))
def test_a_size_is_the_first_that_is_narrow_enough(width, variation, confidence):
    size = size_for_mean(width, variation, confidence)
    assert mean_width(size, variation, confidence) <= width
    assert size == 2 or mean_width(size - 1, variation, confidence) > width
    size = size_for_deviation(width, confidence)
    assert deviation_width(size, confidence) <= width
    assert size == 2 or deviation_width(size - 1, confidence) > width


def test_what_no_sample_can_do_is_reported_in_one_line():
    with pytest.raises(InputError, match="more than 10,000,000 tasks"):
        size_for_deviation(1e-6)
    with pytest.raises(InputError, match="must be above 0"):
        size_for_mean(0.1, 0.0)
    with pytest.raises(InputError, match="must be above 0"):
        size_for_deviation(0.0)
