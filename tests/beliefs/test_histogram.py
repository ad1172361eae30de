"""Histograms against brute force, closed forms, and the inputs that break careless ones."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
import scipy  # whose `stats` is loaded when it is needed: that takes a second
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.beliefs.histogram import BINS, Histogram, greatest
from bursar.model.errors import InputError

CLOSE = 0.01
"""The greatest difference of probabilities that is allowed."""
WITH_ATOMS = 3 / BINS + 1e-12
"""The same where single values are likely: a bin for each operand, and one for the result."""
FINE = (np.arange(BINS * BINS) + 0.5) / (BINS * BINS)

FAMILIES = {
    "normal": lambda: scipy.stats.norm(50, 4),
    "uniform": lambda: scipy.stats.uniform(3, 9),
    "exponential": lambda: scipy.stats.expon(scale=7),
    "lognormal": lambda: scipy.stats.lognorm(1.2, scale=5),
    "pareto": lambda: scipy.stats.pareto(1.1),
    "wide": lambda: scipy.stats.pareto(0.6, scale=1e-3),
    "two heaps": None,
}


@cache
def law(family):
    return FAMILIES[family]()


def drawn(family, seed, count=2000):
    rng = np.random.default_rng(seed)
    if family == "two heaps":
        return np.where(
            rng.random(count) < 0.3, rng.normal(5, 0.1, count), rng.normal(90, 2, count)
        )
    return law(family).rvs(size=count, random_state=rng)


def of(distribution):
    return Histogram.from_samples(distribution.ppf(FINE))


def kolmogorov(histogram, values):
    """Between a histogram and a sorted row of equally likely values."""
    points = np.unique(np.concatenate([histogram.values, values]))
    shares = [
        np.searchsorted(one, points, side="right") / len(one) for one in (histogram.values, values)
    ]
    return float(np.abs(shares[0] - shares[1]).max())


def kolmogorov_from(histogram, cdf):
    """Between a histogram and a continuous distribution."""
    bins = len(histogram.values)
    known = cdf(histogram.values)
    steps = np.arange(bins + 1) / bins
    return float(max(np.abs(steps[1:] - known).max(), np.abs(steps[:-1] - known).max()))


def all_pairs(operation, first, second):
    return np.sort(operation.outer(first, second), axis=None)


SAMPLED = st.tuples(st.sampled_from(sorted(FAMILIES)), st.integers(0, 10**6))
FEW = st.lists(st.integers(-3, 3), min_size=1, max_size=40)
MANY = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60)


@settings(max_examples=40)
@given(SAMPLED, SAMPLED)
def test_sum_and_maximum_are_those_of_all_pairs_of_samples(one, two):
    first, second = drawn(*one, 500), drawn(*two, 500)
    x, y = Histogram.from_samples(first), Histogram.from_samples(second)
    assert kolmogorov(x + y, all_pairs(np.add, first, second)) <= WITH_ATOMS
    assert kolmogorov(x.maximum(y), all_pairs(np.maximum, first, second)) <= WITH_ATOMS


CONTINUOUS = st.sampled_from(sorted(name for name, known in FAMILIES.items() if known))


@settings(max_examples=40)
@given(CONTINUOUS, CONTINUOUS, st.floats(0.1, 10))
def test_the_maximum_has_the_product_of_the_distributions(one, two, factor):
    first, second = law(one), law(two)
    greater = of(first).maximum(of(second).scaled(factor))
    assert kolmogorov_from(greater, lambda x: first.cdf(x) * second.cdf(x / factor)) <= CLOSE


@settings(max_examples=10)
@given(SAMPLED, SAMPLED, st.integers(0, 10**6))
def test_sum_and_maximum_are_those_of_a_simulation(one, two, seed):
    rng = np.random.default_rng(seed)
    first, second = drawn(*one), drawn(*two)
    x, y = Histogram.from_samples(first), Histogram.from_samples(second)
    some, others = rng.choice(first, 200_000), rng.choice(second, 200_000)
    assert kolmogorov(x + y, np.sort(some + others)) <= CLOSE
    assert kolmogorov(x.maximum(y), np.sort(np.maximum(some, others))) <= WITH_ATOMS


@settings(max_examples=100)
@given(FEW, FEW)
def test_single_values_that_are_likely_stay_so_but_for_a_bin_each(first, second):
    x, y = Histogram.from_samples(first), Histogram.from_samples(second)
    assert kolmogorov(x, np.sort(first)) <= 1 / BINS + 1e-12
    assert kolmogorov(x + y, all_pairs(np.add, first, second)) <= WITH_ATOMS
    assert kolmogorov(x.maximum(y), all_pairs(np.maximum, first, second)) <= WITH_ATOMS
    at_most = np.mean(np.less_equal.outer(first, second))
    assert x.chance_at_most(y) == pytest.approx(at_most, abs=WITH_ATOMS)


@given(MANY, MANY)
def test_means_are_kept_by_every_step(first, second):
    x, y = Histogram.from_samples(first), Histogram.from_samples(second)
    size = max(map(abs, first + second))
    assert x.mean == pytest.approx(np.mean(first), abs=1e-12 * size)
    assert (x + y).mean == pytest.approx(x.mean + y.mean, abs=1e-12 * size)
    assert x.maximum(y).mean >= max(x.mean, y.mean) - 1e-12 * size  # lemma 1
    expected = np.maximum.outer(x.values, y.values).mean()
    assert x.maximum(y).mean == pytest.approx(expected, abs=1e-12 * size)


@given(MANY, MANY)
def test_order_of_operands_does_not_matter(first, second):
    x, y = Histogram.from_samples(first), Histogram.from_samples(second)
    assert x + y == y + x
    assert x.maximum(y) == y.maximum(x)
    assert hash(x + y) == hash(y + x)


@given(MANY, MANY)
def test_the_bounds_of_the_paper_hold_and_decide_alike(first, second):
    x, y = Histogram.from_samples(first), Histogram.from_samples(second)
    chance = np.mean(np.greater.outer(x.values, y.values))
    low, high = x.bounds_of_exceeding(y)
    assert low <= chance + 1e-12
    assert chance <= high + 1e-12
    assert 1 - x.chance_at_most(y) == pytest.approx(chance)
    assert x.exceeds(y) == (np.count_nonzero(np.greater.outer(x.values, y.values)) > BINS**2 / 2)


@given(MANY, st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_quantiles_ascend_and_agree_with_the_cumulative_distribution(samples, shares):
    x = Histogram.from_samples(samples)
    found = [x.quantile(share) for share in sorted(shares)]
    assert found == sorted(found)
    for share, value in zip(sorted(shares), found, strict=True):
        assert x.cdf(value) >= share - 1 / BINS
        assert x.cdf(np.nextafter(value, -math.inf)) <= share + 1 / BINS


@given(MANY, st.floats(0, 1e3), st.floats(-1e3, 1e3))
def test_scale_and_shift_are_those_of_the_samples(samples, factor, by):
    direct = Histogram.from_samples(np.array(samples) * factor + by)
    moved = Histogram.from_samples(samples).scaled(factor).shifted(by)
    size = max(map(abs, samples)) * factor + abs(by)
    assert moved.values == pytest.approx(direct.values, abs=1e-12 * size)


# --- closed forms ---------------------------------------------------------------------------------


def test_the_sum_of_normals_is_normal():
    total = of(scipy.stats.norm(3, 3)) + of(scipy.stats.norm(-1, 4))
    assert kolmogorov_from(total, scipy.stats.norm(2, 5).cdf) <= CLOSE / 2
    assert total.quantile(0.9) == pytest.approx(scipy.stats.norm(2, 5).ppf(0.9), abs=0.02)


def test_the_greater_of_uniforms_has_the_square_for_its_distribution():
    greater = of(scipy.stats.uniform()).maximum(of(scipy.stats.uniform()))
    assert kolmogorov_from(greater, np.square) <= CLOSE
    assert greater.mean == pytest.approx(2 / 3, abs=0.001)


def test_the_greatest_of_many_uniforms_has_the_power():
    uniform = of(scipy.stats.uniform())
    assert kolmogorov_from(greatest([uniform] * 5), lambda x: x**5) <= 0.015
    assert greatest([uniform]) == uniform


def test_quantiles_of_an_exponential_are_logarithms():
    exponential = of(scipy.stats.expon(scale=10))
    for share in (0.1, 0.5, 0.9, 0.95):
        assert exponential.quantile(share) == pytest.approx(-10 * math.log(1 - share), rel=0.005)
    assert exponential.quantile(0.99) == pytest.approx(10 * math.log(100), rel=0.011)


def test_a_hundred_sums_of_exponentials_are_a_gamma_distribution():
    one = total = of(scipy.stats.expon())
    for _ in range(99):
        total += one
    assert kolmogorov_from(total, scipy.stats.gamma(100).cdf) <= CLOSE
    assert total.mean == pytest.approx(100, rel=1e-4)


def test_the_chance_that_one_exponential_comes_first_is_its_share_of_the_rates():
    assert of(scipy.stats.expon(scale=1 / 3)).chance_at_most(
        of(scipy.stats.expon())
    ) == pytest.approx(3 / 4, abs=0.005)


@pytest.mark.parametrize(("shift", "factor"), [(0.5, 1.0), (1.0, 1.0), (0.0, 2.0), (1.0, 1.5)])
def test_the_distance_of_normals_is_that_of_bhattacharyya(shift, factor):
    normal = of(scipy.stats.norm())
    variances = factor**2, 1.0
    known = shift**2 / (4 * sum(variances)) + 0.5 * math.log(sum(variances) / (2 * factor))
    assert normal.distance(normal.scaled(factor).shifted(shift)) == pytest.approx(known, rel=0.15)


def test_a_truncated_mean_leaves_out_the_ends():
    exponential = of(scipy.stats.expon())
    assert exponential.truncated_mean() == pytest.approx(exponential.mean)
    below_median = 1 - math.log(2)
    assert exponential.truncated_mean(0, 0.5) == pytest.approx(below_median, abs=0.001)
    assert exponential.truncated_mean(0.5, 0.501) == pytest.approx(math.log(2), abs=0.01)


# --- hard inputs ----------------------------------------------------------------------------------


@given(st.floats(-1e200, 1e200), MANY)
def test_a_constant_is_exact(value, samples):
    x, constant = Histogram.from_samples(samples), Histogram.constant(value)
    assert Histogram.from_samples([value] * 7) == constant
    assert constant + x == x.shifted(value) == x + constant
    assert constant.maximum(constant) == constant
    assert constant.mean == constant.quantile(0.3) == constant.truncated_mean(0.2, 0.4) == value
    assert constant.chance_at_most(constant) == constant.cdf(value) == 1
    assert not constant.exceeds(constant)


def test_of_disjoint_ones_the_greater_is_the_maximum():
    low, high = of(scipy.stats.uniform(0, 1)), of(scipy.stats.uniform(5, 1))
    assert low.maximum(high) is high
    assert greatest([low, high, low]) is high
    assert high.exceeds(low)
    assert low.chance_at_most(high) == 1
    assert low.distance(high) == math.inf


def test_nothing_is_put_into_a_gap():
    heaps = Histogram.from_samples(np.repeat([1.0, 100.0], 500))
    assert set(heaps.values) == {1.0, 100.0}
    assert set((heaps + heaps).values) == {2.0, 101.0, 200.0}


def test_the_last_bin_of_a_heavy_tail_weighs_what_it_should():
    tail = scipy.stats.pareto(1.1).rvs(size=50_000, random_state=1)
    x = Histogram.from_samples(tail)
    assert x.mean == pytest.approx(tail.mean(), rel=1e-12)
    assert (x + x + x).mean == pytest.approx(3 * tail.mean(), rel=1e-11)
    assert x.most == pytest.approx(np.sort(tail)[-250:].mean(), rel=1e-12)


def test_time_at_a_bandwidth_is_longer_on_average_than_at_the_mean_bandwidth():
    bandwidths = np.array([10.0, 20.0, 50.0, 100.0])
    time = Histogram.from_bandwidths(bandwidths, 1000)
    assert time.mean == pytest.approx(np.mean(1000 / bandwidths))
    assert time.mean > 1000 / bandwidths.mean()
    assert (time.least, time.most) == (10.0, 100.0)
    assert Histogram.from_bandwidths(bandwidths, 0) == Histogram.constant(0)


@given(MANY, MANY)
def test_distance_is_symmetric_and_zero_for_equals(first, second):
    x, y = Histogram.from_samples(first), Histogram.from_samples(second)
    assert x.distance(x) == 0
    assert x.distance(y) == y.distance(x) >= 0


def test_samples_of_a_histogram_give_it_back():
    x = of(scipy.stats.lognorm(1))
    again = x.sample(np.random.default_rng(3), 100_000)
    assert kolmogorov(x, np.sort(again)) <= CLOSE
    assert np.array_equal(again, x.sample(np.random.default_rng(3), 100_000))


def test_histograms_of_different_sizes_go_together():
    coarse, fine = Histogram.from_samples([1, 2, 3], bins=3), of(scipy.stats.uniform())
    assert len((coarse + fine).values) == BINS
    assert (coarse + fine).mean == pytest.approx(2.5)
    assert coarse.maximum(fine.shifted(1)).mean > 2
    assert coarse.distance(fine.shifted(1.5)) > 0


def test_a_cumulative_distribution_is_put_into_bins():
    values = np.array([1.0, 2.0, 5.0])
    x = Histogram.from_cumulative(values, np.array([0.25, 0.5, 1.0]))
    assert x == Histogram.from_samples([1, 2, 5, 5])
    assert Histogram.from_cumulative(values, np.array([0.0, 1.0, 1.0])) == Histogram.constant(2)


def test_the_values_cannot_be_changed():
    given_values = np.array([1.0, 2.0])
    x = Histogram(given_values)
    given_values[0] = 9.0
    assert x.least == 1.0
    with pytest.raises(ValueError, match="read-only"):
        x.values[0] = 3.0
    with pytest.raises(AttributeError):
        x.values = given_values


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Histogram(np.array([])), "at least one value"),
        (lambda: Histogram(np.array([2.0, 1.0])), "ascending"),
        (lambda: Histogram(np.array([1.0, math.inf])), "finite"),
        (lambda: Histogram.from_samples([]), "no samples"),
        (lambda: Histogram.from_samples([math.nan]), "finite"),
        (lambda: Histogram.from_samples([1.0], bins=0), "at least 1"),
        (lambda: Histogram.from_bandwidths([0.0], 5), "moves nothing"),
        (lambda: Histogram.from_bandwidths([1.0], -5), "volume"),
        (lambda: Histogram.constant(1).quantile(1.5), "quantile"),
        (lambda: Histogram.constant(1).truncated_mean(0.5, 0.5), "shares"),
        (lambda: Histogram.constant(1).scaled(-1), "scaled"),
        (lambda: greatest([]), "no histograms"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(make, message):
    with pytest.raises(InputError, match=message):
        make()
