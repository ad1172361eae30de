"""Run times where some attempts are still under way."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.survival import Survival

TIMES = st.lists(st.integers(1, 10_000), min_size=1, max_size=40).map(sorted)


@given(TIMES)
def test_where_all_have_ended_it_is_the_plain_mean(ended):
    assert Survival(ended, (), 1.0, 0.0).mean == pytest.approx(sum(ended) / len(ended))


@given(TIMES, st.integers(0, 9_999))
def test_where_all_have_ended_the_rest_is_that_of_the_longer_ones(ended, age):
    longer = [time - age for time in ended if time > age]
    if longer:
        expected = sum(longer) / len(longer)
        assert Survival(ended, (), 1.0, 0.0).rest(age) == pytest.approx(expected, abs=1)


@given(TIMES, st.lists(st.integers(0, 20_000), max_size=20), st.integers(0, 30_000))
def test_something_is_always_left(ended, ages, age):
    survival = Survival(ended, ages, 1.0, 100.0)
    assert survival.rest(age) >= 1
    assert survival.mean >= Survival(ended, (), 1.0, 100.0).mean - 1e-6


def test_attempts_younger_than_all_that_ended_tell_nothing():
    assert Survival([50, 60], [10] * 9, 1.0, 5.0).mean == pytest.approx(55)


def test_early_results_are_not_taken_for_the_whole():
    """Of 60 tasks begun at once, two thirds have ended: their mean is far too low."""
    rng = Random(1)
    times = sorted(round(rng.gauss(12_000, 4_000)) for _ in range(60))
    now = times[40]
    ended, deviation = times[:40], 2_700.0
    truth = sum(times) / 60
    estimate = Survival(ended, [now] * 20, 1.0, deviation).mean
    assert sum(ended) / 40 < 0.85 * truth
    assert estimate == pytest.approx(truth, rel=0.08)


def test_a_thinned_sample_weighs_as_much_as_the_whole():
    whole = Survival([10, 10, 30, 30], [20, 20], 1.0, 5.0).mean
    assert Survival([10, 30], [20, 20], 2.0, 5.0).mean == pytest.approx(whole, rel=0.1)
