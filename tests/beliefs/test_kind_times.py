"""What finished tasks teach about those to come."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.histogram import Histogram
from bursar.beliefs.kind_times import PRIOR, Factor, Piggyback
from bursar.beliefs.lognormal import lognormal
from bursar.model.errors import InputError

FACTORS = st.lists(st.floats(0, 100), max_size=30)


def taught(*rows):
    book = Piggyback()
    for kind, offer, factor, count in rows:
        for _ in range(count):
            book.saw(kind, offer, 10.0, 10.0 * factor)
    return book


def test_with_nothing_seen_the_prediction_stays():
    times = lognormal(0.3).scaled(7.0)
    factor = Piggyback().factor("align", "small")
    assert factor == Factor(1.0, 0.0, 0)
    assert factor.corrected(times) == times


def test_one_task_says_little_and_many_say_all():
    means = [taught(("a", "x", 2.0, count)).factor("a", "x").mean for count in (1, 3, 10, 1000)]
    assert 1 < means[0] < 1.5
    assert means == sorted(means)
    assert means[-1] == pytest.approx(2.0, rel=0.01)


def test_a_kind_without_tasks_of_its_own_is_reported_by_its_offer():
    book = taught(("a", "x", 2.0, 100), ("b", "x", 2.2, 100))
    assert book.factor("c", "x").mean == pytest.approx(2.1, rel=0.05)
    assert book.factor("c", "x").seen == 0
    assert book.factor("a", "y") == Factor()


def test_kinds_with_many_tasks_keep_their_own():
    book = taught(("a", "x", 0.5, 200), ("b", "x", 3.0, 200))
    assert book.factor("a", "x").mean == pytest.approx(0.5, rel=0.05)
    assert book.factor("b", "x").mean == pytest.approx(3.0, rel=0.05)


@given(FACTORS, FACTORS)
def test_a_factor_lies_between_what_was_seen_and_1(own, others):
    book = Piggyback()
    for kind, factors in (("a", own), ("b", others)):
        for factor in factors:
            book.saw(kind, "x", 2.0, 2.0 * factor)
    found = book.factor("a", "x")
    assert min([1.0, *own, *others]) - 1e-9 <= found.mean <= max([1.0, *own, *others]) + 1e-9
    assert found.seen == len(own)
    assert 0 <= found.spread <= 100


def test_the_weights_are_as_reported():
    found = taught(("a", "x", 4.0, 3)).factor("a", "x")
    of_offer = (3 * 4.0 + PRIOR) / (3 + PRIOR)
    assert found.mean == pytest.approx((3 * 4.0 + PRIOR * of_offer) / (3 + PRIOR))


def test_a_right_prediction_of_skewed_times_stays_as_it_is():
    """The median of the factors is 0.7, their mean is 1."""
    rng = np.random.default_rng(0)
    book = Piggyback()
    for actual in lognormal(1.0).sample(rng, 20_000):
        book.saw("a", "x", 1.0, float(actual))
    found = book.factor("a", "x")
    assert found.mean == pytest.approx(1.0, rel=0.02)
    assert found.spread == pytest.approx(1.0, rel=0.1)


def test_corrected_predictions_are_closer_than_those_as_they_were():
    """Kinds are off by factors of their own; few tasks of each are seen."""
    rng = np.random.default_rng(0)
    before, after = [], []
    for _ in range(300):
        book = Piggyback()
        truth = dict(zip("abcd", 1.3 * rng.lognormal(0, 0.2, 4), strict=True))
        for kind, factor in truth.items():
            for luck in rng.lognormal(-0.02, 0.2, 4):
                book.saw(kind, "x", 10.0, 10.0 * factor * luck)
        before += [abs(math.log(factor)) for factor in truth.values()]
        after += [
            abs(math.log(book.factor(kind, "x").mean / factor)) for kind, factor in truth.items()
        ]
    assert np.mean(after) < 0.5 * np.mean(before)


def test_a_factor_has_a_distribution_with_its_mean_and_spread():
    found = taught(("a", "x", 1.0, 50), ("a", "x", 3.0, 50)).factor("a", "x")
    drawn = found.distribution()
    assert drawn.mean == pytest.approx(found.mean)
    assert drawn.values.std() == pytest.approx(found.spread, rel=0.05)
    assert Factor(2.0).distribution() == Histogram.constant(2.0)


def test_a_task_predicted_to_take_no_time_teaches_nothing():
    book = Piggyback()
    book.saw("a", "x", 0.0, 5.0)
    assert book.factor("a", "x") == Factor()


@pytest.mark.parametrize("wrong", [(-1.0, 1.0), (1.0, -1.0), (math.nan, 1.0), (1.0, math.inf)])
def test_times_that_cannot_be_are_refused(wrong):
    with pytest.raises(InputError, match="finite and not negative"):
        Piggyback().saw("a", "x", *wrong)
