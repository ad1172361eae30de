"""Sample sizes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.sampling import missing_caution, sample_size, size_caution
from bursar.model.errors import InputError


@pytest.mark.parametrize(("bag", "size"), [(1000, 30), (5000, 31), (9000, 31), (10**6, 31)])
def test_the_sample_has_the_published_size(bag, size):
    assert sample_size(bag) == size


@pytest.mark.parametrize(("bag", "size"), [(9, 8), (66, 22), (168, 27), (222, 28)])
def test_one_task_of_the_bag_is_free(bag, size):
    """N z^2 / (z^2 + 2 (N - 1) Delta^2): with N in the place of N - 1 each is one less."""
    square = 1.96**2
    exact = bag * square / (square + 2 * (bag - 1) * 0.25**2)
    assert size - 1 < exact <= size
    assert sample_size(bag) == size
    assert bag * square / (square + 2 * bag * 0.25**2) < size - 1


@given(st.integers(1, 10**7), st.floats(0.5, 0.995), st.floats(0.05, 0.5))
def test_a_sample_fits_its_bag_and_does_not_shrink_as_the_bag_grows(bag, confidence, error):
    size = sample_size(bag, confidence, error)
    assert 1 <= size <= bag
    assert size <= sample_size(bag + 1, confidence, error)


def test_a_stricter_sample_is_larger():
    assert sample_size(1000, 0.99, 0.25) > sample_size(1000, 0.95, 0.25)
    assert sample_size(1000, 0.95, 0.10) > sample_size(1000, 0.95, 0.25)


@pytest.mark.parametrize("wrong", [(0, 0.95, 0.25), (10, 1.0, 0.25), (10, 0.95, 0.0)])
def test_an_impossible_sample_is_refused(wrong):
    with pytest.raises(InputError):
        sample_size(*wrong)


def test_people_are_reported_when_a_bag_is_small_for_its_sample():
    assert size_caution(1000, 30) is None
    assert "24 of 100" in size_caution(100, 24)
    assert "no plan can save that" in size_caution(100, 24)
    assert "no fleet to choose" in size_caution(5, 5)


def test_people_are_reported_when_a_sample_ended_early():
    assert missing_caution(30, 30) is None
    assert "Only 14 of the 30 tasks" in missing_caution(30, 14)
