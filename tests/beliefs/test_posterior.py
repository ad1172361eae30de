"""Distributions that a sample leaves possible."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.beliefs.posterior import MOST_ATOMS, possible_runtimes
from bursar.model.errors import InputError
from bursar.model.time import MINUTE
from bursar.simulate.distributions import BAGS


def means(sample, draws: int = 4000, seed: int = 0) -> np.ndarray:
    return possible_runtimes([sample], draws, np.random.default_rng(seed))[0].mean()


@pytest.mark.parametrize("bag", ["normal", "levy", "multi-modal"])
@pytest.mark.parametrize("size", [15, 30, 50])
def test_the_upper_bound_of_the_mean_holds_about_as_often_as_it_says(bag, size):
    """At 90 %; the plain t interval falls to 84 % for the multi-modal bag."""
    rng = np.random.default_rng(8)
    truth = BAGS[bag](rng, 1_000_000).mean()
    samples = BAGS[bag](rng, size * 500).reshape(-1, size)
    bounds = [np.quantile(means(sample, 300, seed), 0.9) for seed, sample in enumerate(samples)]
    assert 0.87 <= np.mean(np.array(bounds) >= truth) <= 0.96


def test_a_larger_sample_leaves_less_possible():
    rng = np.random.default_rng(1)
    spreads = [means(BAGS["levy"](rng, size)).std() for size in (10, 100, 1000, 10_000)]
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[3] < spreads[1] / 5


def test_drawn_tasks_have_the_mean_and_variance_of_their_row():
    rng = np.random.default_rng(2)
    possible = possible_runtimes([BAGS["levy"](rng, 30)], 20, rng)[0]
    tasks = possible.draw(rng, slice(5, 15), 60_000)
    assert tasks.shape == (10, 60_000)
    assert tasks.mean(axis=1) == pytest.approx(possible.mean()[5:15], rel=0.03)
    assert tasks.var(axis=1) == pytest.approx(possible.variance()[5:15], rel=0.4)


def test_what_is_left_of_tasks_met_at_random_has_the_mean_of_renewal_theory():
    """E[T^2] / (2 E[T])."""
    rng = np.random.default_rng(3)
    possible = possible_runtimes([BAGS["multi-modal"](rng, 30)], 15, rng)[0]
    left = possible.draw_residuals(rng, 60_000).mean(axis=1)
    square = possible.variance() + possible.mean() ** 2
    assert left == pytest.approx(square / (2 * possible.mean()), rel=0.05)


@pytest.mark.parametrize("count", [1, 40])
def test_the_longest_that_is_left_is_that_of_as_many_tasks_met_at_random(count):
    rng = np.random.default_rng(3)
    possible = possible_runtimes([BAGS["multi-modal"](rng, 30)], 10_000, rng)[0]
    found = possible.draw_longest_residual(rng, count)
    wanted = possible.draw_residuals(rng, count).max(axis=1)
    for level in (0.1, 0.5, 0.9, 0.99):
        assert np.mean(found <= np.quantile(wanted, level)) == pytest.approx(level, abs=0.02)


def test_some_tasks_are_longer_than_any_seen_about_as_often_as_the_next_one_would_be():
    """Of n tasks and one more, each is as likely as any other to be the longest."""
    rng = np.random.default_rng(4)
    beyond = []
    for _ in range(40):
        sample = BAGS["normal"](rng, 30)
        tasks = possible_runtimes([sample], 200, rng)[0].draw(rng, slice(None), 100)
        beyond.append(np.mean(tasks > sample.max()))
    assert np.mean(beyond) == pytest.approx(1 / 31, rel=0.25)


def test_a_row_tells_the_same_story_for_all_offers_of_a_shared_sample():
    rng = np.random.default_rng(5)
    sample = BAGS["levy"](rng, 30)
    slow, fast = possible_runtimes([sample, sample // 4 + MINUTE], 500, rng)
    assert np.corrcoef(slow.mean(), fast.mean())[0, 1] > 0.999
    assert fast.mean() == pytest.approx(slow.mean() / 4 + MINUTE, rel=0.05)


def test_samples_that_are_not_shared_err_independently():
    rng = np.random.default_rng(6)
    first, second = (possible_runtimes([BAGS["levy"](rng, 30)], 2000, rng)[0] for _ in range(2))
    assert abs(np.corrcoef(first.mean(), second.mean())[0, 1]) < 0.1


def test_equal_run_times_leave_only_themselves_possible():
    possible = possible_runtimes([np.full(8, MINUTE)], 50, np.random.default_rng(0))[0]
    assert possible.mean() == pytest.approx(np.full(50, MINUTE))
    assert possible.variance() == pytest.approx(np.zeros(50), abs=1)
    assert (possible.draw(np.random.default_rng(0), slice(0, 50), 9) == MINUTE).all()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_tiny_samples_give_positive_run_times(size):
    sample = np.array([MINUTE, 50 * MINUTE, 2][:size], dtype=np.int64)
    possible = possible_runtimes([sample], 300, np.random.default_rng(1))[0]
    tasks = possible.draw(np.random.default_rng(1), slice(0, 300), 20)
    assert (tasks >= 1).all()
    assert np.isfinite(tasks).all()


def test_a_large_sample_is_represented_by_its_quantiles():
    sample = BAGS["levy"](np.random.default_rng(9), 40_000)
    possible = possible_runtimes([sample], 100, np.random.default_rng(9))[0]
    assert possible.atoms.shape == (100, MOST_ATOMS)
    assert possible.mean() == pytest.approx(np.full(100, sample.mean()), rel=0.03)


def test_a_shared_sample_needs_the_same_tasks_on_each_offer():
    for samples in ([np.array([1, 2]), np.array([1])], [np.array([], dtype=np.int64)]):
        with pytest.raises(InputError, match="same tasks"):
            possible_runtimes(samples, 10, np.random.default_rng(0))


def test_a_skewed_sample_may_have_missed_long_tasks():
    """The mean may be much longer than a plain t interval allows for."""
    sample = np.array([100] * 18 + [900, 1500])
    low, high = np.quantile(means(sample, 20_000), [0.05, 0.95])
    assert low > sample.mean() - 150
    assert high > sample.mean() + 400


@pytest.mark.parametrize("long", [1, 2, 3, 4, 6])
def test_a_rare_kind_of_long_tasks_counts_as_often_as_it_was_seen(long):
    """No tail fits two kinds; that must not make the longer one shorter than it was."""
    rng = np.random.default_rng(long)
    sample = np.append(rng.normal(1000, 150, 60 - long), rng.normal(8000, 1200, long))
    found = means(sample.astype(np.int64), 4000)
    assert np.median(found) == pytest.approx(sample.mean(), rel=0.06)
    likely = np.quantile(np.random.default_rng(0).beta(long, 61 - long, 4000), 0.9)
    assert np.quantile(found, 0.9) > 1000 + 5000 * likely


def test_some_draws_have_tasks_much_longer_than_all_of_an_odd_sample():
    """Three tasks like no other: a kind of long ones may be missing; of like tasks none is."""
    rng = np.random.default_rng(7)
    alike = rng.normal(1000, 50, 30)
    odd = np.append(alike[3:], [10, 50, 200])
    much_longer = []
    for sample in (alike, odd):
        drawn = possible_runtimes([sample.astype(np.int64)], 1000, rng)[0]
        longest = drawn.draw(rng, slice(None), 500).max(axis=1)
        much_longer.append(np.mean(longest > 2 * sample.max()))
    assert much_longer[0] < 0.05
    assert 0.1 < much_longer[1] < 0.4


def test_with_two_tasks_nearly_any_mean_is_possible():
    """By Student's t with one degree of freedom, 5.6 % lie beyond 4 deviations of the mean."""
    found = means(np.array([900, 1100]), 20_000)
    assert 0.05 < np.mean(found > 1000 + 4 * 141.4) < 0.2


def test_what_stands_for_a_large_sample_does_not_depend_on_its_order():
    mixed = np.array([100, 900] * MOST_ATOMS)
    rows = possible_runtimes([mixed], 50, np.random.default_rng(0))[0].atoms
    assert (rows.max(axis=1) > 5 * rows.min(axis=1)).all()
