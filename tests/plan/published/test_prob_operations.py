"""Sums, maxima and comparisons against plain ones; clustering and bundling on profiles."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bursar.beliefs.histogram import Histogram, greatest
from bursar.kernels.sum_of_histograms import CELLS
from bursar.model.errors import InputError
from bursar.plan.published.prob_operations import (
    Piece,
    Tally,
    Techniques,
    add,
    bundle,
    can_be_bundled,
    cluster,
    compare,
    maximum,
)

VALUES = st.just(0.0) | st.floats(1e-100, 1e6)
"""Times; nobody has such that are so short that there is no share of them."""


def histograms(bins=20):
    return arrays(np.float64, bins, elements=VALUES).map(np.sort).map(Histogram)


def skewed(seed, mean, spread, bins=200):
    """Few are very long."""
    drawn = np.random.default_rng(seed).lognormal(0, spread, 20_000)
    return Histogram.from_samples(drawn * mean / drawn.mean(), bins)


# --- add -----------------------------------------------------------------------------------------


@given(histograms(), histograms(30))
def test_a_sum_is_off_by_no_more_than_a_cell_and_has_the_exact_mean(one, other):
    tally = Tally()
    found, exact = add(one, other, tally), one + other
    width = (one.most + other.most - one.least - other.least) / (CELLS - 1)
    rounding = 1e-9 * (one.most + other.most)
    np.testing.assert_allclose(found.values, exact.values, rtol=0, atol=width + rounding)
    assert found.mean == pytest.approx(one.mean + other.mean, rel=1e-9)
    assert tally == Tally(adds=1)


def test_a_constant_shifts_a_distribution():
    one = skewed(1, 10, 1)
    assert add(one, Histogram.constant(5), Tally()) == one.shifted(5)
    narrow = Histogram(1 + np.arange(200) * 1e-13)
    assert add(narrow, narrow, Tally()) == narrow + narrow


# --- maximum -------------------------------------------------------------------------------------


@given(st.lists(histograms(), min_size=1, max_size=6))
def test_a_maximum_of_many_is_the_product_of_their_cumulative_distributions(rows):
    tally = Tally()
    found = maximum(np.array([one.values for one in rows]), tally)
    np.testing.assert_allclose(found.values, greatest(rows).values, rtol=1e-9, atol=1e-6)
    assert tally == Tally(maxima=len(rows) - 1)


def test_a_maximum_of_very_many_neglects_only_what_is_almost_impossible():
    rows = np.array([skewed(seed, 10, 0.5).values for seed in range(150)])
    found = maximum(rows, Tally())
    step_by_step = reduce(Histogram.maximum, map(Histogram, rows))
    assert found.mean == pytest.approx(step_by_step.mean, rel=0.01)
    values = np.unique(rows)
    reached = np.prod([np.searchsorted(row, values, side="right") / 200 for row in rows], axis=0)
    exact = Histogram.from_cumulative(values, reached)
    np.testing.assert_allclose(found.values, exact.values, rtol=1e-6)


@given(histograms(), histograms())
def test_the_expected_maximum_is_no_less_than_either_mean(one, other):
    """Lemma 1."""
    found = maximum(np.array([one.values, other.values]), Tally())
    assert found.mean >= max(one.mean, other.mean) * (1 - 1e-9)


def test_the_path_that_is_longer_on_average_may_seldom_be_the_critical_one():
    """As in figure 3: four tasks on two paths, and the same two paths twice in parallel."""
    first = add(skewed(1, 120, 0.05), skewed(2, 128, 0.05), Tally())
    second = add(skewed(3, 60, 0.1), skewed(4, 191.5, 0.5), Tally())
    static = max(first.mean, second.mean)
    assert static == second.mean == pytest.approx(251.5, abs=0.01)
    assert 1 - second.chance_at_most(first) < 0.5
    assert not compare(second, first, Tally())
    one = maximum(np.array([first.values, second.values]), Tally())
    two = maximum(np.array([one.values, one.values]), Tally())
    assert two.mean > one.mean * 1.05 > static * 1.05


# --- compare -------------------------------------------------------------------------------------


@given(histograms(), histograms())
def test_bounds_never_change_a_comparison(one, other):
    with_bounds, without = Tally(), Tally()
    plain = compare(one, other, without, bounds=False)
    assert compare(one, other, with_bounds) == plain == (1 - one.chance_at_most(other) > 0.5)
    assert without == Tally(compared_fully=1)
    assert with_bounds.compared_fully + with_bounds.compared_by_bounds == 1


def test_distributions_that_do_not_meet_are_reported_apart_by_their_bounds():
    short, long, tally = Histogram([1.0, 2.0]), Histogram([3.0, 4.0]), Tally()
    assert compare(long, short, tally)
    assert not compare(short, long, tally)
    assert tally == Tally(compared_by_bounds=2)


def test_a_comparison_that_its_bounds_leave_open_is_reckoned_out():
    one = Histogram(np.array([0.0] * 9 + [5.0] + [10.0] * 10))
    other, tally = Histogram(np.array([4.9] * 19 + [5.05])), Tally()
    assert one.bounds_of_exceeding(other) == pytest.approx((0.5, 0.55))
    assert compare(one, other, tally)
    assert tally == Tally(compared_fully=1)


def test_lemma_2_does_not_hold_for_maxima():
    long, short, other = Histogram([3.0, 4.0]), Histogram([1.0, 2.0]), Histogram([9.0, 9.0])
    assert compare(long, short, Tally())
    with_other = [maximum(np.array([one.values, other.values]), Tally()) for one in (long, short)]
    assert not compare(*with_other, Tally())


def test_lemma_2_does_not_hold_for_sums_that_are_compared_as_independent():
    often_longer = Histogram(np.concatenate([np.zeros(90), np.full(110, 101.0)]))
    constant, other = Histogram.constant(100.0), Histogram(np.linspace(0, 200, 200))
    assert compare(often_longer, constant, Tally())
    assert not compare(add(often_longer, other, Tally()), add(constant, other, Tally()), Tally())


# --- clustering and bundling ---------------------------------------------------------------------


def piece(rows, offers):
    return Piece(np.array(rows, dtype=float), np.array(offers))


def test_equivalent_tasks_share_a_machine_and_take_as_many_times_as_long():
    tally = Tally()
    rows = [[1, 10, 0], [3, 30, 0], [2, 20, 0], [7, 0, 0], [4, 40, 0]]
    given_piece = piece(rows, [0, 0, 0, 1, 0])
    lengths = given_piece.profiles.sum(axis=1)
    found = cluster(given_piece, lengths, np.array([5, 5, 5, 5, 5]), 3, tally)
    assert found.profiles.tolist() == [[12, 120, 0], [1, 10, 0], [7, 0, 0]]
    assert found.offers.tolist() == [0, 0, 1]
    assert tally == Tally(clustered=2)


def test_tasks_of_different_kinds_are_not_equivalent():
    given_piece = piece([[1, 0, 0], [2, 0, 0]], [0, 0])
    found = cluster(given_piece, np.array([1.0, 2.0]), np.array([0, 1]), 2, Tally())
    assert sorted(found.profiles.tolist()) == [[1, 0, 0], [2, 0, 0]]
    assert cluster(given_piece, np.array([1.0, 2.0]), np.array([0, 0]), 1, Tally()) is given_piece
    with pytest.raises(InputError, match="clusters of 0 tasks"):
        Techniques(cluster=0)


def test_bundled_tasks_are_one_with_the_sum_of_their_profiles():
    tally = Tally()
    one, other = piece([[1, 2, 3]], [1]), piece([[10, 20, 30]], [1])
    found = bundle([one, other], tally)
    assert (found.profiles.tolist(), found.offers.tolist()) == ([[11, 22, 33]], [1])
    assert tally == Tally(bundled=1)
    assert can_be_bundled(one, other)
    assert not can_be_bundled(one, piece([[1, 2, 3]], [0]))
    assert not can_be_bundled(one, piece([[1, 2, 3], [1, 2, 3]], [1, 1]))
