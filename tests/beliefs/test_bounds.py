"""The published bounds, against the figures that the thesis prints."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.beliefs.bounds import (
    Confidence,
    OfferBelief,
    PublishedPrediction,
    Squad,
    aggregate,
    published_bound,
)
from bursar.model.errors import InputError
from bursar.model.market import Offer
from bursar.model.money import Money
from bursar.model.time import MINUTE
from bursar.simulate.distributions import BAGS

A, B, C = (Offer(name, Money.parse(price)) for name, price in (("A", "3"), ("B", "12"), ("C", "3")))


def sample(mean: float, deviation: float, size: int = 30) -> np.ndarray:
    """A sample with exactly these moments, in minutes."""
    shape = np.random.default_rng(0).normal(size=size)
    shape = (shape - shape.mean()) / shape.std()
    return np.rint((mean + deviation * shape) * MINUTE).astype(np.int64)


def thesis_fleet(times, machines=(24, 24, 24)):
    return [(A, machines[0], times), (B, machines[1], times // 3), (C, machines[2], times // 2)]


def test_the_fastest_schedule_of_the_normal_bag_is_as_published():
    """Section 4.5.5: 101.58 minutes, intervals of about 7 minutes, $864 for estimate and bound."""
    bound = published_bound(thesis_fleet(sample(15.08, sqrt(5))), 970)
    assert bound.makespan / MINUTE == pytest.approx(101.58, abs=0.01)
    assert (bound.makespan_bound - bound.makespan) / MINUTE == pytest.approx(7, abs=1)
    assert (bound.cost, bound.cost_bound) == (Money.parse(864), Money.parse(864))


def test_the_minimal_budget_of_the_normal_bag_is_as_published():
    """Section 4.5.5, experiment 18: $381 and 7586.20 minutes on one machine of type C."""
    bound = published_bound([(C, 1, sample(15.642, sqrt(5)) // 2)], 970)
    assert bound.makespan / MINUTE == pytest.approx(7586.2, abs=1)
    assert bound.cost == Money.parse(381)


def test_the_joint_confidence_is_that_of_equation_4_13():
    assert Confidence(0.9, 0.9, 0.9).joint == pytest.approx(0.7)
    assert Confidence(0.95, 0.95, 0.95).joint == pytest.approx(0.85)
    assert Confidence(0.5, 0.5, 0.5).joint == 0


def test_the_intervals_are_those_of_the_tables():
    """t(0.95; 29) = 1.699, chi-square(0.05; 29) = 17.708, chi-square(0.95; 29) = 42.557."""
    belief = OfferBelief(mean=15.0, deviation=2.0, size=30)
    mean, deviation = belief.mean_interval(0.9), belief.deviation_interval(0.9)
    assert mean.high - 15 == pytest.approx(1.699 * 2 / sqrt(30), rel=1e-3)
    assert 15 - mean.low == pytest.approx(mean.high - 15)
    assert deviation.high == pytest.approx(2 * sqrt(30 / 17.708), rel=1e-3)
    assert deviation.low == pytest.approx(2 * sqrt(30 / 42.557), rel=1e-3)


def test_the_intervals_of_the_normal_bag_hold_as_often_as_they_say():
    rng = np.random.default_rng(4)
    beliefs = [OfferBelief.of(s) for s in BAGS["normal"](rng, 30 * 1500).reshape(-1, 30)]
    means = [belief.mean_interval(0.9) for belief in beliefs]
    deviations = [belief.deviation_interval(0.9) for belief in beliefs]
    true_mean, true_deviation = 15 * MINUTE, sqrt(5) * MINUTE
    assert np.mean([i.low <= true_mean <= i.high for i in means]) == pytest.approx(0.9, abs=0.03)
    held = np.mean([i.low <= true_deviation <= i.high for i in deviations])
    assert held == pytest.approx(0.9, abs=0.03)


def test_the_aggregated_machine_is_a_mixture_of_the_machines():
    """Equations 4.4 to 4.6 by hand for two machines: means 10 and 5, deviations 2 and 1."""
    squads = [Squad(1, OfferBelief(10, 2, 1000)), Squad(1, OfferBelief(5, 1, 1000))]
    machine = aggregate(squads, Confidence())
    assert machine.mean == pytest.approx(1 / 0.3)
    weights = (1 / 3, 2 / 3)
    mean = weights[0] * 10 + weights[1] * 5
    variance = weights[0] * (100 + 4) + weights[1] * (25 + 1) - mean**2
    assert machine.deviation == pytest.approx(sqrt(variance) / 2)


@given(
    st.lists(st.tuples(st.integers(1, 40), st.floats(1, 100), st.floats(0, 0.5)), min_size=1,
             max_size=4),
    st.integers(30, 500),
)  # fmt: skip
def test_the_intervals_hold_their_estimates(offers, size):
    squads = [Squad(count, OfferBelief(mean, mean * cv, size)) for count, mean, cv in offers]
    machine = aggregate(squads, Confidence())
    assert machine.mean_interval.low <= machine.mean * (1 + 1e-9)
    assert machine.mean <= machine.mean_interval.high * (1 + 1e-9)
    slack = 1e-6 * machine.mean
    assert machine.deviation_interval.low <= machine.deviation + slack
    assert machine.deviation <= machine.deviation_interval.high + slack


def test_a_machine_with_slots_counts_once_in_the_cost():
    times = sample(15, 1)
    wide = Offer("wide", Money.parse("3"), slots=4)
    bound = published_bound([(wide, 2, times)], 100)
    same = published_bound([(A, 8, times)], 100)
    assert bound.makespan_bound == same.makespan_bound
    assert bound.cost_bound * 4 == same.cost_bound


def test_a_sample_that_allows_a_mean_of_zero_has_no_published_bound():
    with pytest.raises(InputError, match="too spread"):
        published_bound([(A, 1, np.array([1, 1000], dtype=np.int64))], 100)
    with pytest.raises(InputError, match="at least two"):
        published_bound([(A, 1, np.array([1000], dtype=np.int64))], 100)
    with pytest.raises(InputError, match="without machines"):
        published_bound([(A, 0, sample(15, 1))], 100)


def test_the_interval_of_the_aggregated_deviation_is_that_of_equation_4_11():
    """Two offers whose means differ, so that it matters which end of an interval goes where."""
    squads = [Squad(3, OfferBelief(15.0, 4.0, 200)), Squad(5, OfferBelief(4.0, 2.0, 200))]
    found = aggregate(squads, Confidence())
    counts = [squad.count for squad in squads]
    mean = [squad.belief.mean_interval(0.9) for squad in squads]
    spread = [squad.belief.deviation_interval(0.9) for squad in squads]

    def bound(near, far, deviations):
        rate = sum(a / m for a, m in zip(counts, near, strict=True))
        s1 = sum(a * m for a, m in zip(counts, near, strict=True)) / rate
        terms = zip(counts, far, deviations, strict=True)
        s2 = sum(a / m * d**2 for a, m, d in terms) / rate
        s3 = (sum(counts) / sum(a / m for a, m in zip(counts, far, strict=True))) ** 2
        return sqrt(s1 + s2 - s3) / sum(counts)

    lows, highs = [i.low for i in mean], [i.high for i in mean]
    interval = found.deviation_interval
    assert interval.high == pytest.approx(bound(highs, lows, [i.high for i in spread]))
    assert interval.low == pytest.approx(bound(lows, highs, [i.low for i in spread]))
    assert interval.low < found.deviation < interval.high


def test_the_bound_of_the_cost_pays_for_the_bound_of_the_makespan():
    """One machine: 9.9 hours are estimated, the bound takes it to the twelfth."""
    bound = published_bound([(A, 1, sample(14.85, sqrt(5)))], 40)
    assert (bound.makespan // (60 * MINUTE), bound.makespan_bound // (60 * MINUTE)) == (9, 11)
    assert (bound.cost, bound.cost_bound) == (Money.parse(30), Money.parse(36))


def test_a_joint_confidence_is_divided_among_the_three():
    """0.7 is 0.9 for each, as 3 x 0.9 - 2 (4.13)."""
    parts = thesis_fleet(sample(15.08, sqrt(5)))
    promised = PublishedPrediction(parts, 970)
    plain = published_bound(parts, 970)
    assert promised.makespan(0.7) == plain.makespan_bound
    assert promised.cost(0.7) == plain.cost_bound
    assert promised.makespan() == plain.makespan
